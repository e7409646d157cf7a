"""Trees of locality-sensitive hashes (docs/theory/lsh-tree.md)."""
