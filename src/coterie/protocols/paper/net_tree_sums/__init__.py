"""Net trees from vector sums in shares (docs/theory/net-tree-sums.md)."""

from coterie.protocols.paper.tree import tree_decoder
from coterie.protocols.shares import protocol_of_shares

PROTOCOL = protocol_of_shares(
    __name__,
    ".parameters:NetTreeSumParameters",
    tree_decoder(".decode:decode"),
    encoder=".encode:NetTreeSumEncoder",
)
