"""The encoder against the one-page reference, bit for bit, by both kernels and any number of threads."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.coins import SimulationCoins
from coterie.errors import PointError, ReportError
from coterie.geometry.rounding import rounding_shift
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.privacy.odds import largest_odds
from coterie.protocols.codeword import encode as encode_module
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.codeword.parameters import CodewordParameters
from tests.reference.codeword_reference import Reference
from tests.reference.coins import FixedCoins

HAS_NUMBA = importlib.util.find_spec("numba") is not None
KERNELS = [
    "numpy",
    pytest.param("numba", marks=pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")),
]
SCALE = 1 << 20


def make_plan(dimension, views, *, embedding=128, codewords=16, cap=5, weight=0.4, center=None, radius=1.0):
    parameters = CodewordParameters(codewords, cap, largest_odds(1.0), embedding, int(weight * SCALE), views)
    return Plan(
        protocol="codeword", model="local", dimension=dimension, clusters=2, epsilon=1.0, delta=0.0,
        expected_users=100, center=center, radius=radius, seed=3, parameters=parameters,
    )  # fmt: skip


def random_net(points, dimension, seed, weight=1):
    net = np.random.default_rng(seed).integers(-SCALE, SCALE + 1, size=(points, dimension))
    return Net(tuple(tuple(point) for point in net.tolist()), weight)


def random_halfspaces(rows, dimension, seed, weight=1):
    reach = 2**20 * int(np.sqrt(128 * dimension)) // 2  # where about half of the sphere is cut
    offsets = np.random.default_rng(seed).integers(-reach, reach + 1, rows)
    return Halfspaces(rows, tuple(offsets.tolist()), weight)


PLANS = {
    "as designed": make_plan(100, (CrossPolytope(128),), codewords=256, cap=89),
    "one dimension, one cell": make_plan(1, (Net(((0,),)),), codewords=2, cap=1),
    "no counting": make_plan(5, (CrossPolytope(8),), weight=0.0),
    "only counting": make_plan(5, (CrossPolytope(8),), weight=1.0),
    "four views": make_plan(7, tuple(CrossPolytope(16) for _ in range(4)), embedding=256),
    "mixed views": make_plan(
        3, (CrossPolytope(4), random_net(8, 3, 0)), center=(0.5, -2.0, 1e-3), radius=2.5
    ),
    "uneven views": make_plan(
        9, (CrossPolytope(4, 3), random_net(32, 9, 2, weight=4), CrossPolytope(64, 1)), codewords=32
    ),
    "fewer corners than dimensions": make_plan(100, (CrossPolytope(16),)),
    "two-byte index": make_plan(2, (random_net(16, 2, 1),), codewords=300, cap=120),
    "full width": make_plan(126, (CrossPolytope(256),)),
    "wide": make_plan(400, (CrossPolytope(512),), embedding=1024, codewords=8, cap=2),
    "halfspaces": make_plan(100, (random_halfspaces(1024, 100, 0, 7), CrossPolytope(32)), codewords=32),
    "halfspaces of a line": make_plan(1, (random_halfspaces(256, 1, 1),)),
    "halfspaces through the center": make_plan(3, (Halfspaces(128, (0,) * 128), random_net(8, 3, 0))),
    "too many normals to keep": make_plan(260, (random_halfspaces(2**15, 260, 2),), embedding=512),
    "widest": make_plan(40, (CrossPolytope(64),), embedding=4096, codewords=4, cap=1),
}


def extreme_points(dimension):
    rng = np.random.default_rng(dimension)
    generic = rng.normal(size=(5, dimension))
    sphere = generic / np.linalg.norm(generic, axis=1, keepdims=True)
    corner = np.full((1, dimension), 1 / np.sqrt(dimension))
    one_hot = np.eye(dimension)[:2]
    return np.concatenate(
        [
            np.zeros((1, dimension)), np.full((1, dimension), 1e-7), corner, -corner,
            sphere, 0.6 * sphere[:1], 1.7 * sphere[:2], 1e200 * sphere[:1],
            one_hot, -one_hot, 0.5 * one_hot, 3 * one_hot, one_hot[:1] * (1 + 2**-52),
        ]
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_reports_are_those_of_the_reference(plan, kernels):
    points = extreme_points(plan.dimension)
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 256, size=(len(points), 12), dtype=np.uint8)
    total, cap, odds = plan.parameters.randomizer.total, plan.parameters.cap, plan.parameters.odds
    draws = rng.integers(0, total, size=len(points))
    draws[:4] = [0, cap * odds - 1, cap * odds, total - 1]
    encoder = CodewordEncoder(plan, kernels=kernels)
    reports = encoder.encode(points, ids, FixedCoins(draws))
    reference = Reference(plan.to_json())
    expected = [
        reference.steps(point, report_id.tobytes(), draw)
        for point, report_id, draw in zip(points.tolist(), ids, draws.tolist(), strict=True)
    ]
    assert [report.tobytes().hex() for report in reports] == [steps["report"] for steps in expected]
    # Few of the scores that a wrong rounding changes show in the one index: the integers themselves.
    rounded = [[steps["sign"] * entry for entry in steps["rounded"]] for steps in expected]
    assert encoder.scored(points, ids)[1].tolist() == rounded


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
@pytest.mark.parametrize("name", ["as designed", "four views", "two-byte index", "halfspaces"])
def test_kernels_and_threads_give_the_same_bits(monkeypatch, name):
    plan = PLANS[name]
    rng = np.random.default_rng(2)
    points = rng.normal(size=(3000, plan.dimension)) / np.sqrt(plan.dimension)
    points[::7] = 0.0  # many ties
    ids = rng.integers(0, 256, size=(3000, 12), dtype=np.uint8)
    sent = []
    for kernels, workers in (("numpy", 1), ("numpy", 3), ("numba", 1), ("numba", 4)):
        monkeypatch.setattr(encode_module, "default_workers", lambda workers=workers: workers)
        encoder = CodewordEncoder(plan, kernels=kernels)
        sent.append(encoder.encode_counting(points, ids, SimulationCoins(5)))
    expected, clipped = sent[0]
    assert 0 < clipped < 3000
    for reports, same in sent[1:]:
        assert (reports == expected).all()
        assert same == clipped


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
@given(st.data())
@settings(max_examples=25)
def test_any_plan_with_halfspaces_gives_the_references_bytes(data):
    dimension = data.draw(st.integers(1, 5))
    bound = 128 * SCALE
    offsets = st.one_of(st.integers(-bound, bound), st.integers(-2000, 2000), st.just(0))
    rows = data.draw(st.sampled_from([1, 2, 128, 256]))
    listed = data.draw(st.lists(offsets, min_size=4, max_size=4))
    views = (Halfspaces(rows, tuple(listed[row % 4] for row in range(rows)), 3), CrossPolytope(4))
    plan = make_plan(dimension, views, codewords=8, cap=3)
    steps = st.integers(-40, 40).map(lambda step: step / SCALE)  # near the center: many ties
    coordinate = st.one_of(steps, st.floats(-2, 2))
    points = np.array(data.draw(st.lists(st.tuples(*[coordinate] * dimension), min_size=1, max_size=4)))
    ids = np.frombuffer(
        data.draw(st.binary(min_size=12 * len(points), max_size=12 * len(points))), dtype=np.uint8
    ).reshape(-1, 12)
    draws = data.draw(
        st.lists(
            st.integers(0, plan.parameters.randomizer.total - 1), min_size=len(points), max_size=len(points)
        )
    )
    reference = Reference(plan.to_json())
    expected = [
        reference.steps(point, report_id.tobytes(), draw)["report"]
        for point, report_id, draw in zip(points.tolist(), ids, draws, strict=True)
    ]
    for kernels in ("numpy", "numba"):
        reports = CodewordEncoder(plan, kernels=kernels).encode(points, ids, FixedCoins(draws))
        assert [report.tobytes().hex() for report in reports] == expected


def test_a_batch_is_its_points_one_by_one():
    plan = PLANS["mixed views"]
    encoder = CodewordEncoder(plan)
    points = extreme_points(3)
    ids = np.random.default_rng(3).integers(0, 256, size=(len(points), 12), dtype=np.uint8)
    together = encoder.encode(points, ids, SimulationCoins(8))
    coins = SimulationCoins(8)
    one_by_one = [encoder.encode(points[i : i + 1], ids[i : i + 1], coins)[0] for i in range(len(points))]
    assert (together == one_by_one).all()
    assert encoder.encode(np.empty((0, 3)), np.empty((0, 12), dtype=np.uint8), coins).shape == (0, 13)


def test_rounded_vectors_keep_scores_below_2_to_23():
    for bits in range(7, 13):
        size = 1 << bits
        largest = size**1.5 * SCALE / (1 << rounding_shift(size)) + size / 2
        assert largest < 1 << 23
        assert largest > 1 << 21  # and no precision is given away


def test_bad_points_and_ids():
    encoder = CodewordEncoder(PLANS["no counting"])
    ids = np.zeros((1, 12), dtype=np.uint8)
    with pytest.raises(PointError, match=r"shape \(n, 5\)"):
        encoder.encode(np.zeros((1, 4)), ids, SimulationCoins(0))
    points = np.zeros((300, 5))
    points[250, 2] = np.nan
    with pytest.raises(PointError, match="NaN"):
        encoder.encode(points, np.zeros((300, 12), dtype=np.uint8), SimulationCoins(0))
    for bad in (ids[:, :11], ids.astype(np.int64), np.zeros((2, 12), dtype=np.uint8)):
        with pytest.raises(ReportError, match=r"ids must be uint8 of shape \(1, 12\)"):
            encoder.encode(np.zeros((1, 5)), bad, SimulationCoins(0))


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
@pytest.mark.parametrize("codewords", [16, 256, 300, 4096])
@pytest.mark.parametrize("size", [3, 1 << 20, 1 << 29])
def test_places_name_all_indices_whatever_the_scores(codewords, size):
    """The draw is private because its places are a permutation; no score may break that, however large."""
    from coterie.protocols.codeword.encode_numba import Chooser

    generator = np.random.default_rng(codewords + size)
    packed = generator.integers(0, 256, (1, codewords, 16), dtype=np.uint8)
    vector = generator.integers(-size, size, (1, 128)).astype(np.float64)
    choose = Chooser(1, codewords, 128)
    ranks = np.arange(codewords, dtype=np.int64)
    chosen = np.concatenate([choose(packed, vector, ranks[i : i + 1]) for i in range(codewords)])
    assert sorted(chosen.tolist()) == ranks.tolist()
