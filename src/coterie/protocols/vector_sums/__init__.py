"""Sums of vectors per cell, by shares that are mixed, or by a curator (docs/theory/shuffle.md)."""

from coterie.protocols.protocol import Decoder
from coterie.protocols.shares import protocol_of_shares

PROTOCOL = protocol_of_shares(
    __name__,
    ".parameters:VectorSumParameters",
    {"cells": Decoder(".decode:decode_vector_sums", chooses=True)},
    encoder=".encode:VectorSumEncoder",
    channel=".design:channel",
    canaries=".canaries:CANARIES",
)
