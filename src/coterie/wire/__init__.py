"""Bytes that leave a machine: the public stream, report layouts, report files.

`docs/wire-format.md` is the specification; this room is its Python reading. Whatever is read here is
bounded and checked before anything counts.
"""
