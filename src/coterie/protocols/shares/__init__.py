"""What protocols share whose reports are vectors split into shares: `vector_sums`, `paper/net_tree_sums`."""

from collections.abc import Mapping
from typing import Any

from coterie.protocols.protocol import Decoder, Protocol


def protocol_of_shares(
    package: str, parameters: str, decoders: Mapping[str, Decoder], **own: Any
) -> Protocol:
    """Return a protocol of vector sums, mixed shares of everybody or a curator's, with entries of its own."""
    return Protocol(
        package=package,
        models={"shuffle": parameters, "central": parameters},
        designs={"shuffle": ".design:design", "central": ".design:design"},
        table=f"{__name__}.table:VectorSumTable",
        decoders=decoders,
        form=f"{__name__}.report:form",
        message_form=f"{__name__}.report:message_form",
        mix=f"{__name__}.report:mixed",
        leverage=f"{__name__}.report:leverage",
        audit=f"{__name__}.audit:ShareReading",
        **own,
    )
