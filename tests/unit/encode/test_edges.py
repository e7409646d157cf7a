"""Where encoders could differ and must not: cuts of the work, ties, the widest report, plans of others."""

import importlib.util
import math
import sys

import numpy as np
import pytest

import coterie.protocols.codeword.encode_numpy as kernels_numpy
from coterie.coins import SimulationCoins
from coterie.errors import PlanError
from coterie.geometry.ball import quantize
from coterie.protocols import encoder_of
from coterie.protocols.shares import encode as shares
from coterie.protocols.shares import parameters
from tests.plans import plans_of

HAS_NUMBA = importlib.util.find_spec("numba") is not None
MIXED = {"model": "shuffle", "delta": 1e-6}
PLANS = plans_of(
    {
        "codeword": (3, 2, 1.0, 1000, {}),
        "net-tree": (3, 2, 2.0, 10**5, {"protocol": "net-tree", "levels": 3}),
        "net-tree codeword": (3, 2, 2.0, 10**5, {"protocol": "net-tree", "randomizer": "codeword"}),
        "lsh-tree": (3, 2, 2.0, 10**5, {"protocol": "lsh-tree"}),
        "lsh-tree privunit": (
            3, 2, 2.0, 10**5, {"protocol": "lsh-tree", "randomizer": "privunit", "count": "joint"}
        ),
        "vector-sums": (3, 2, 1.0, 100, {"protocol": "vector-sums", "cells": 4, **MIXED}),
        "vector-sums by column": (
            3, 2, 1.0, 1000, {"protocol": "vector-sums", "cells": 4, "layout": "column", **MIXED}
        ),
        "net-tree-sums": (
            3, 2, 1.0, 100, {"protocol": "net-tree-sums", "levels": 2, "buckets": 20, **MIXED}
        ),
    }
)  # fmt: skip
PEOPLE = 30


def people():
    generator = np.random.default_rng(0)
    points = generator.normal(0, 0.7, (PEOPLE, 3))
    return points, generator.integers(0, 256, (PEOPLE, 12), dtype=np.uint8)


@pytest.mark.parametrize("name", PLANS)
def test_the_cut_of_the_work_changes_no_byte_and_every_clipped_point_counts(name, monkeypatch):
    points, ids = people()
    encoder = encoder_of(PLANS[name])
    whole, clipped = encoder.encode_counting(points, ids, SimulationCoins(1))
    assert clipped == (np.linalg.norm(points, axis=1) > 1).sum() > 3
    assert (encoder.encode(points, ids, SimulationCoins(1)) == whole).all()
    if "sums" in name:
        # Shares are drawn piece by piece: other bytes, the same values.
        monkeypatch.setattr(shares, "_SHARES_AT_A_TIME", 1)
        cut, again = encoder.encode_counting(points, ids, SimulationCoins(1))
        assert cut.shape == whole.shape == (PEOPLE, PLANS[name].report_width)
        assert (cut[:, :12] == ids).all()
    else:
        modules = {sys.modules[kind.__module__] for kind in type(encoder).__mro__} | {kernels_numpy}
        steps = {"_SIGNS_AT_A_TIME": 1, "_NORMALS_AT_A_TIME": 1, "_CODEWORDS_AT_A_TIME": 7}
        found = [(module, name) for module in modules for name in steps if hasattr(module, name)]
        assert len(found) > 1
        for module, constant in found:
            monkeypatch.setattr(module, constant, steps[constant])
        cut, again = encoder.encode_counting(points, ids, SimulationCoins(1))
        assert (cut == whole).all()
    assert again == clipped


@pytest.mark.parametrize("name", [name for name in ("net-tree", "lsh-tree") if name in PLANS])
def test_a_vector_across_its_direction_counts_as_towards_it(name, monkeypatch):
    """The sign of 0 is +1, as the wire format has it: one step less would already be the other side."""
    points, ids = people()
    plan = PLANS[name]
    encoder = encoder_of(plan)
    stream, levels = type(encoder._stream), 3
    sent = {}
    for height in (0, 1, -1):
        # Its product with a lifted point has the sign of the height: the filler of points inside is positive.
        one = np.array([0, 0, 0, height], dtype=np.int16)
        if hasattr(stream, "all_directions"):
            all_ = lambda _, ids, one=one: np.tile(one, (len(ids), levels, 1))  # noqa: E731
            monkeypatch.setattr(stream, "all_directions", all_)
        else:
            one_ = lambda _, ids, answer, one=one: np.tile(one, (len(ids), 1))  # noqa: E731
            monkeypatch.setattr(stream, "directions", one_)
        sent[height] = encoder.encode(0.1 * points, ids, SimulationCoins(2))
    assert (sent[0] == sent[1]).all()
    assert (sent[0] != sent[-1]).any()


@pytest.mark.parametrize("protocol", [name for name in PLANS if name.endswith("sums")])
def test_the_widest_report_is_sent_and_one_byte_more_is_not(protocol, monkeypatch):
    points, ids = people()
    plan = PLANS[protocol]
    assert parameters.MOST_BYTES == 65535
    monkeypatch.setattr(parameters, "MOST_BYTES", plan.report_width)
    assert encoder_of(plan).encode(points, ids, SimulationCoins(0)).shape[1] == plan.report_width
    monkeypatch.setattr(parameters, "MOST_BYTES", plan.report_width - 1)
    with pytest.raises(PlanError, match="a person sends"):
        encoder_of(plan).encode(points, ids, SimulationCoins(0))


@pytest.mark.parametrize("name", PLANS)
def test_plans_of_other_protocols_are_refused(name):
    other = PLANS["net-tree" if PLANS[name].protocol == "codeword" else "codeword"]
    with pytest.raises(PlanError, match=rf"needs a plan with \w+, got one of protocol {other.protocol}"):
        type(encoder_of(PLANS[name]))(other)


@pytest.mark.parametrize("name", [name for name in PLANS if "sums" in name])
def test_shares_of_a_report_add_up_to_the_vectors_and_the_noise(name, monkeypatch):
    points, ids = people()
    plan = PLANS[name]
    encoder = encoder_of(plan)
    rows, vectors, _ = encoder.contributions(points, ids)
    quantized, _ = quantize(points, None, 1.0)
    assert vectors.shape == (PEOPLE, plan.parameters.coordinates)
    grid = plan.parameters.grid
    assert ((vectors**2).sum(axis=1) <= grid**2).all()
    sums = plan.parameters.sums()
    reports = encoder.encode(points, ids, SimulationCoins(3))
    read = reports[:, 12:].reshape(PEOPLE, -1, sums.mixer.share_bytes).astype(np.int64)
    places = 256 ** np.arange(sums.mixer.share_bytes)[::-1]
    values = sums.centered(
        (read @ places).reshape(PEOPLE, -1, sums.mixer.shares).sum(axis=2) % sums.mixer.modulus
    )
    values = values.reshape(PEOPLE, -1, plan.parameters.coordinates)
    expected = np.zeros_like(values)
    if plan.parameters.by_column:
        assert values.shape[1] == 1
        expected[:, 0] = vectors
    else:
        expected[np.arange(PEOPLE)[:, None], rows.reshape(PEOPLE, -1)] += vectors[:, None]
    noise = (values - expected) / float(plan.parameters.noise_scale)
    # Of unit deviation; six of its own deviations either way.
    assert abs(noise.var() - 1) < 6 * math.sqrt(2 / noise.size)
    # Towards zero, in steps of the grid: never longer than the quantized point, never a step shorter.
    scaled = quantized / 2**20
    lean = np.abs(vectors[:, :3] / grid) / np.maximum(np.abs(scaled), 1e-9)
    assert (lean.max(axis=1) <= 1 + 1e-9).all()


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
@pytest.mark.parametrize("codewords", [2, 16, 256, 257, 300])
def test_both_kernels_choose_the_same_codeword_at_every_place(codewords):
    from coterie.protocols.codeword import encode_numba as kernels_numba

    generator = np.random.default_rng(codewords)
    packed = generator.integers(0, 256, (2, codewords, 8), dtype=np.uint8)
    packed[1, : codewords // 2] = packed[1, -1]  # many ties
    vectors = generator.integers(-(2**16), 2**16, (2, 64)).astype(np.float64)
    vectors[1] %= 2
    numpy_, numba_ = (module.Chooser(2, codewords, 64) for module in (kernels_numpy, kernels_numba))
    signs = 2 * np.unpackbits(packed, axis=2).astype(np.int64) - 1
    scores = np.einsum("nkp,np->nk", signs, vectors.astype(np.int64))
    for rank in sorted({0, 1, codewords // 3, codewords - 2, codewords - 1}):
        ranks = np.full(2, rank)
        expected = [
            sorted(range(codewords), key=lambda index, row=row: (-row[index], index))[rank] for row in scores
        ]
        assert numpy_(packed, vectors, ranks).tolist() == expected
        assert numba_(packed, vectors, ranks).tolist() == expected


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
def test_places_name_all_indices_though_keys_wrap():
    """Scores beyond those of the wire format, whose keys use all 32 bits: still N different indices."""
    from coterie.protocols.codeword.encode_numba import Chooser

    generator = np.random.default_rng(0)
    packed = generator.integers(0, 256, (1, 256, 8), dtype=np.uint8)
    vector = generator.integers(-(2**25), 2**25, (1, 64)).astype(np.float64)
    choose = Chooser(1, 256, 64)
    chosen = [int(choose(packed, vector, np.array([rank]))[0]) for rank in range(0, 256, 8)]
    chosen += [int(choose(packed, vector, np.array([rank]))[0]) for rank in (1, 127, 129, 255)]
    assert len(set(chosen)) == 36
