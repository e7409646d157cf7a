"""The default protocol: a report names one of 256 public codewords (docs/theory/codeword.md)."""

from coterie.protocols.protocol import Decoder, Protocol

PROTOCOL = Protocol(
    package=__name__,
    models={"local": ".parameters:CodewordParameters", "shuffle": ".amplified:AmplifiedParameters"},
    designs={"local": ".design:design", "shuffle": ".amplified_design:design"},
    encoder=".encode:CodewordEncoder",
    table=".table:CodewordTable",
    decoders={
        "confirm": Decoder(
            "coterie.centers.confirm:decode_confirmed",
            ".decode:not_confirming",
            several=True,
            any_number=False,
            medians=False,
        ),
        "population": Decoder(
            ".decode:decode_population",
            ".decode:not_explained",
            chooses=True,
            several=True,
            distance="coterie.centers.medians:mean_distance",
        ),
        "cells": Decoder(".decode:decode_cells", ".decode:without_cells", chooses=True),
    },
    channel=".design:channel",
    leverage=".oracles.leverage:leverage",
    simulate=".law:drawn_codeword_table",
    takes_directions=True,
)
