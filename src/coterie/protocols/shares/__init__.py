"""What protocols share whose reports are vectors split into shares: `vector_sums`, `paper/net_tree_sums`."""
