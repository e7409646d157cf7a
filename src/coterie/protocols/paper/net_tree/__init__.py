"""Net trees from reports of one person each, alone or in a shuffled batch (docs/theory/net-tree.md)."""

from coterie.protocols.paper.tree import tree_decoder
from coterie.protocols.protocol import Protocol

PROTOCOL = Protocol(
    package=__name__,
    models={"local": ".parameters:LocalTreeParameters", "shuffle": ".amplified:AmplifiedTreeParameters"},
    designs={"local": ".design:design", "shuffle": ".design:design_amplified"},
    encoder=".encode:encoder_of",
    table=".table:NetTreeTable",
    decoders=tree_decoder(".decode:decode"),
)
