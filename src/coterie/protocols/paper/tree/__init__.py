"""Net trees: subtrees of the complete net tree, grown where the data are."""

from coterie.protocols.paper.tree.build import build_tree, compute_threshold
from coterie.protocols.paper.tree.net_tree import NetTree

__all__ = ["NetTree", "build_tree", "compute_threshold"]
