"""The default protocol: one byte that names a codeword, 13 bytes a person (docs/theory/codeword.md)."""
