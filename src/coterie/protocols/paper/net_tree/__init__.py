"""Net trees from reports of one person each, which keep ε by themselves (docs/theory/net-tree.md)."""
