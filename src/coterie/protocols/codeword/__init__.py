"""The default protocol: a report names one of 256 public codewords (docs/theory/codeword.md)."""

from coterie.protocols.protocol import Decoder, Protocol

_CENTERS = "coterie.centers.codeword"
_CELLS = "coterie.centers.tight.cells"
PROTOCOL = Protocol(
    package=__name__,
    models={"local": ".parameters:CodewordParameters", "shuffle": ".amplified:AmplifiedParameters"},
    designs={"local": ".design:design", "shuffle": ".amplified_design:design"},
    encoder=".encode:CodewordEncoder",
    table=".table:CodewordTable",
    decoders={
        "confirm": Decoder(
            "coterie.centers.confirm:decode_confirmed",
            "coterie.centers.confirm:not_confirming",
            several=True,
            any_number=False,
        ),
        "population": Decoder(
            f"{_CENTERS}:decode_population", f"{_CENTERS}:not_explained", chooses=True, several=True
        ),
        "cells": Decoder(f"{_CELLS}:decode_cells", f"{_CELLS}:without_cells", chooses=True),
    },
    channel=".design:channel",
    leverage=".oracles.leverage:leverage",
    simulate=".law:drawn_codeword_table",
    takes_directions=True,
)
