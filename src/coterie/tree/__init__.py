"""Net trees: subtrees of the complete net tree, grown where the data are."""

from coterie.tree.build import build_tree, compute_threshold
from coterie.tree.net_tree import NetTree

__all__ = ["NetTree", "build_tree", "compute_threshold"]
