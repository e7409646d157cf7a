"""Golden vectors of single steps: log, circle and projection of a record, and from random words to a draw."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from coterie.coins import SystemCoins
from coterie.features import Embedding
from coterie.features.arithmetic import binary_log, on_circle

VECTORS = json.loads(Path(__file__).with_name("steps.json").read_text(encoding="utf-8"))


def test_logs():
    found = binary_log(np.array([each["x"] for each in VECTORS["logs"]]))
    assert found.tolist() == [each["log"] for each in VECTORS["logs"]]


def test_circles():
    cosine, sine = on_circle(np.array([each["n"] for each in VECTORS["circles"]]))
    assert cosine.tolist() == [each["cos"] for each in VECTORS["circles"]]
    assert sine.tolist() == [each["sin"] for each in VECTORS["circles"]]


@pytest.mark.parametrize("vector", VECTORS["projections"], ids=lambda each: str(len(each["q"])))
def test_projections(vector):
    size = len(vector["q"])
    feature = Embedding("e", size, 1.0, weight=2.0, projected=vector["projected"])  # a step is 2^-20
    place = feature.place(np.array([vector["q"]]) / (1 << 20))
    assert (place[0] * (1 << 20)).tolist() == vector["seen"]


@pytest.mark.parametrize("vector", [each for each in VECTORS["draws"] if each["bits"] == 64], ids=str)
def test_draws_from_words_of_64_bits(vector, monkeypatch):
    data = bytes.fromhex(vector["bytes"])
    for draw in (SystemCoins().below, lambda bound: int(SystemCoins().below_many(bound, 1)[0])):
        pieces = iter([data[start : start + 8] for start in range(0, len(data), 8)])
        monkeypatch.setattr(os, "urandom", lambda _, pieces=pieces: next(pieces))
        assert draw(vector["below"]) == vector["draw"]
        assert next(pieces, None) is None
