"""What protocols share whose reports are vectors split into shares: `vector_sums`, `paper/net_tree_sums`."""

from collections.abc import Mapping

from coterie.protocols.protocol import Decoder, Protocol


def protocol_of_shares(
    package: str,
    parameters: str,
    decoders: Mapping[str, Decoder],
    *,
    encoder: str,
    channel: str | None = None,
    canaries: str | None = None,
) -> Protocol:
    """Return a protocol of vector sums: mixed shares of everybody, or a curator's."""
    return Protocol(
        package=package,
        models={"shuffle": parameters, "central": parameters},
        designs={"shuffle": ".design:design", "central": ".design:design"},
        encoder=encoder,
        table=f"{__name__}.table:VectorSumTable",
        decoders=decoders,
        form=f"{__name__}.report:form",
        message_form=f"{__name__}.report:message_form",
        mix=f"{__name__}.report:mixed",
        channel=channel,
        leverage=f"{__name__}.report:leverage",
        canaries=canaries,
        audit=f"{__name__}.audit:ShareAudit",
    )
