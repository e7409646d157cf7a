"""Trees of locality-sensitive hashes, as in the paper's experiments (docs/theory/lsh-tree.md)."""

from coterie.protocols.protocol import Decoder, Protocol

PROTOCOL = Protocol(
    package=__name__,
    models={"local": ".parameters:LshTreeParameters"},
    designs={"local": ".design:design"},
    encoder=".encode:LshTreeEncoder",
    table=".table:LshTreeTable",
    decoders={
        "paper": Decoder(
            ".decode:decode_lsh_tree", any_number=False, takes_solver=True, options=("threshold",)
        )
    },
    canaries=".canaries:CANARIES",
)
