"""Net trees from reports of one person each, which keep ε by themselves (docs/theory/net-tree.md)."""

from coterie.protocols.paper.tree import tree_decoder
from coterie.protocols.protocol import Protocol

PROTOCOL = Protocol(
    package=__name__,
    models={"local": ".parameters:LocalTreeParameters"},
    designs={"local": ".design:design"},
    encoder=".encode:encoder_of",
    table=".table:NetTreeTable",
    decoders=tree_decoder(".decode:decode"),
)
