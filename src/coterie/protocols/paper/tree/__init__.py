"""Net trees: subtrees of the complete net tree, grown where the data are."""

from coterie.protocols.protocol import Decoder

DECODER_OPTIONS = ("constants", "alpha", "expansion", "rounds", "strays")


def tree_decoder(find: str) -> dict[str, Decoder]:
    """Return the one decoder of a protocol over a net tree."""
    return {"paper": Decoder(find, any_number=False, takes_solver=True, options=DECODER_OPTIONS)}
