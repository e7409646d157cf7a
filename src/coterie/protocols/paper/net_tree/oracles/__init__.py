"""What a table of net-tree reports says of any bucket: histogram and sums of vectors."""
