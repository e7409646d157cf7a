import tracemalloc

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins, SystemCoins
from coterie.encode.codeword import CodewordEncoder
from coterie.engines import inline
from coterie.engines.inline import CHUNK, encode_in_chunks, play
from coterie.errors import PointError
from coterie.plan import Plan

PLAN = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
POINTS = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 3))


def test_everybody_sends_one_report():
    seen: list[int] = []
    table = play(PLAN, POINTS, SystemCoins(), progress=seen.append)
    assert table.count == len(POINTS) == sum(seen)


def test_a_seed_repeats_and_the_systems_coins_do_not():
    assert play(PLAN, POINTS, SimulationCoins(1)) == play(PLAN, POINTS, SimulationCoins(1))
    assert play(PLAN, POINTS, SimulationCoins(1)) != play(PLAN, POINTS, SimulationCoins(2))
    assert play(PLAN, POINTS, SystemCoins()) != play(PLAN, POINTS, SystemCoins())


def test_reports_are_the_encoders_own(monkeypatch):
    monkeypatch.setattr(inline, "CHUNK", 300)
    coins = SimulationCoins(5)
    encoder = CodewordEncoder(PLAN)
    expected = []
    for start in range(0, 1000, 300):
        rows = POINTS[start : start + 300]
        ids = np.frombuffer(coins.bytes(12 * len(rows)), dtype=np.uint8).reshape(-1, 12)
        expected.append(encoder.encode(rows, ids, coins))
    chunks = [chunk.reports for chunk in encode_in_chunks(PLAN, POINTS, SimulationCoins(5))]
    np.testing.assert_array_equal(np.concatenate(chunks), np.concatenate(expected))
    table = Aggregate(PLAN)
    table.add(np.concatenate(expected))
    assert play(PLAN, POINTS, SimulationCoins(5)) == table


def test_clipped_people_are_counted_for_the_caller():
    chunks = list(encode_in_chunks(PLAN, np.array([[0.0, 0, 0], [9, 0, 0], [0, 0, 5]]), SystemCoins()))
    assert [chunk.clipped for chunk in chunks] == [2]


def test_float32_is_never_copied_whole():
    points = np.zeros((20 * CHUNK, 3), dtype=np.float32)
    play(PLAN, points[:2000], SystemCoins())  # load what loads once
    tracemalloc.start()
    play(PLAN, points, SystemCoins())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < points.nbytes * 2 + 40e6  # one float64 copy of it would be twice its size


@pytest.mark.parametrize("points", [np.zeros(3), np.zeros((2, 4)), np.full((2, 3), np.nan)])
def test_bad_points_are_refused(points):
    with pytest.raises(PointError, match="points"):
        play(PLAN, points, SystemCoins())
