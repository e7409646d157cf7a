"""Where encoders could differ and must not: cuts of the work, ties, the widest report, plans of others."""

import importlib.util
import math

import numpy as np
import pytest

import coterie.protocols.codeword.encode_numpy as kernels_numpy
from coterie.coins import SimulationCoins
from coterie.encode.base import ENCODERS
from coterie.errors import PlanError
from coterie.geometry.ball import quantize
from coterie.plan import Plan
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.paper.lsh_tree.encode import LshTreeEncoder
from coterie.protocols.paper.lsh_tree.report import LshTreeStream
from coterie.protocols.paper.net_tree.encode import NetTreeEncoder
from coterie.protocols.paper.net_tree.report import NetTreeStream
from coterie.protocols.paper.net_tree_sums.encode import NetTreeSumEncoder
from coterie.protocols.shares import encode as shares
from coterie.protocols.vector_sums.encode import VectorSumEncoder

HAS_NUMBA = importlib.util.find_spec("numba") is not None
MIXED = {"model": "shuffle", "delta": 1e-6}
PLANS = {
    "codeword": Plan.design(3, 2, 1.0, 1000),
    "net-tree": Plan.design(3, 2, 2.0, 10**5, protocol="net-tree", levels=3),
    "net-tree codeword": Plan.design(3, 2, 2.0, 10**5, protocol="net-tree", randomizer="codeword"),
    "lsh-tree": Plan.design(3, 2, 2.0, 10**5, protocol="lsh-tree"),
    "lsh-tree privunit": Plan.design(
        3, 2, 2.0, 10**5, protocol="lsh-tree", randomizer="privunit", count="joint"
    ),
    "vector-sums": Plan.design(3, 2, 1.0, 100, protocol="vector-sums", cells=4, **MIXED),
    "vector-sums by column": Plan.design(
        3, 2, 1.0, 1000, protocol="vector-sums", cells=4, layout="column", **MIXED
    ),
    "net-tree-sums": Plan.design(3, 2, 1.0, 100, protocol="net-tree-sums", levels=2, buckets=20, **MIXED),
}
PEOPLE = 30


def people():
    generator = np.random.default_rng(0)
    points = generator.normal(0, 0.7, (PEOPLE, 3))
    return points, generator.integers(0, 256, (PEOPLE, 12), dtype=np.uint8)


@pytest.mark.parametrize("name", PLANS)
def test_the_cut_of_the_work_changes_no_byte_and_every_clipped_point_counts(name, monkeypatch):
    points, ids = people()
    encoder = ENCODERS[PLANS[name].protocol](PLANS[name])
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
        for module, constant in (
            ("codeword.encode", "_SIGNS_AT_A_TIME"),
            ("codeword.encode_numpy", "_SIGNS_AT_A_TIME"),
            ("paper.net_tree.encode", "_NORMALS_AT_A_TIME"),
            ("paper.lsh_tree.encode", "_NORMALS_AT_A_TIME"),
        ):
            monkeypatch.setattr(f"coterie.protocols.{module}.{constant}", 1)
        monkeypatch.setattr("coterie.protocols.paper.lsh_tree.encode._CODEWORDS_AT_A_TIME", 7)
        cut, again = encoder.encode_counting(points, ids, SimulationCoins(1))
        assert (cut == whole).all()
    assert again == clipped


@pytest.mark.parametrize("name", ["net-tree", "lsh-tree"])
def test_a_vector_across_its_direction_counts_as_towards_it(name, monkeypatch):
    """The sign of 0 is +1, as the wire format has it: one step less would already be the other side."""
    points, ids = people()
    plan = PLANS[name]
    encoder = ENCODERS[plan.protocol](plan)
    levels = 3
    sent = {}
    for height in (0, 1, -1):
        # Its product with a lifted point has the sign of the height: the filler of points inside is positive.
        one = np.array([0, 0, 0, height], dtype=np.int16)
        monkeypatch.setattr(
            NetTreeStream, "all_directions", lambda _, ids, one=one: np.tile(one, (len(ids), levels, 1))
        )
        monkeypatch.setattr(
            LshTreeStream, "directions", lambda _, ids, answer, one=one: np.tile(one, (len(ids), 1))
        )
        sent[height] = encoder.encode(0.1 * points, ids, SimulationCoins(2))
    assert (sent[0] == sent[1]).all()
    assert (sent[0] != sent[-1]).any()


@pytest.mark.parametrize("protocol", ["vector-sums", "net-tree-sums"])
def test_the_widest_report_is_sent_and_one_byte_more_is_not(protocol, monkeypatch):
    points, ids = people()
    plan = PLANS[protocol]
    assert shares.MOST_BYTES == 65535
    monkeypatch.setattr(shares, "MOST_BYTES", plan.report_width)
    assert ENCODERS[protocol](plan).encode(points, ids, SimulationCoins(0)).shape[1] == plan.report_width
    monkeypatch.setattr(shares, "MOST_BYTES", plan.report_width - 1)
    with pytest.raises(PlanError, match="a person sends"):
        ENCODERS[protocol](plan).encode(points, ids, SimulationCoins(0))


@pytest.mark.parametrize(
    ("encoder", "protocol"),
    [
        (CodewordEncoder, "codeword"),
        (NetTreeEncoder, "net-tree"),
        (LshTreeEncoder, "lsh-tree"),
        (VectorSumEncoder, "vector-sums"),
        (NetTreeSumEncoder, "net-tree-sums"),
    ],
)
def test_plans_of_other_protocols_are_refused(encoder, protocol):
    other = PLANS["lsh-tree" if protocol == "codeword" else "codeword"]
    with pytest.raises(PlanError, match=f"protocol {protocol}"):
        encoder(other)


@pytest.mark.parametrize("name", ["vector-sums", "vector-sums by column", "net-tree-sums"])
def test_shares_of_a_report_add_up_to_the_vectors_and_the_noise(name, monkeypatch):
    points, ids = people()
    plan = PLANS[name]
    encoder = ENCODERS[plan.protocol](plan)
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
