"""Net trees from vector sums in shares (docs/theory/net-tree-sums.md)."""
