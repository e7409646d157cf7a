"""Sums of vectors per cell, by shares that are mixed, or by a curator (docs/theory/shuffle.md)."""
