import tracemalloc

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins, SystemCoins
from coterie.engines import ENGINES, Inline, engine, inline, play
from coterie.engines.inline import CHUNK
from coterie.errors import PointError, SettingError
from coterie.plan import Plan
from coterie.protocols.codeword.encode import CodewordEncoder

PLAN = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
POINTS = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 3))


@pytest.mark.slow
def test_everybody_sends_one_report():
    seen = []
    table = play(PLAN, POINTS, SystemCoins(), watch=seen.append)
    assert table.count == len(POINTS) == sum(len(partition.reports) for partition in seen)


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
    partitions = [each.reports for each in Inline().encode(PLAN, POINTS, SimulationCoins(5))]
    np.testing.assert_array_equal(np.concatenate(partitions), np.concatenate(expected))
    table = Aggregate(PLAN)
    table.add(np.concatenate(expected))
    assert play(PLAN, POINTS, SimulationCoins(5)) == table


SHARES = {"protocol": "vector-sums", "model": "shuffle", "delta": 1e-6, "cells": 4}


@pytest.mark.parametrize("options", [{}, SHARES])
def test_partitions_in_any_cut_and_order_give_one_table(options):
    plan = Plan.design(2, 2, 2.0, 40, **options)
    (partition,) = Inline().encode(plan, POINTS[:40, :2], SimulationCoins(0))
    cut = [partition.reports[25:], partition.reports[:0], partition.reports[:25]]
    assert Inline().aggregate(plan, cut) == Inline().aggregate(plan, [partition.reports])
    assert Inline().aggregate(plan, cut).count == 40
    assert Inline().aggregate(plan, []).count == 0


def test_clipped_people_are_counted_for_the_caller():
    partitions = list(Inline().encode(PLAN, np.array([[0.0, 0, 0], [9, 0, 0], [0, 0, 5]]), SystemCoins()))
    assert [partition.clipped for partition in partitions] == [2]


def test_an_engine_goes_by_its_name(monkeypatch):
    class Backwards(Inline):
        """The same reports, added in the other order."""

        def aggregate(self, plan, partitions):
            return super().aggregate(plan, list(partitions)[::-1])

    monkeypatch.setitem(ENGINES, "backwards", Backwards)
    assert isinstance(engine("backwards"), Backwards)
    expected = play(PLAN, POINTS, SimulationCoins(1))
    assert play(PLAN, POINTS, SimulationCoins(1), on="backwards") == expected
    assert play(PLAN, POINTS, SimulationCoins(1), on=Backwards()) == expected
    with pytest.raises(
        SettingError, match="there is no engine 'abacus'; known: inline, parallel, spark, backwards"
    ):
        play(PLAN, POINTS, SystemCoins(), on="abacus")


def peak_bytes(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Careless(Inline):
    def encode(self, plan, points, coins):
        return super().encode(plan, points.astype(np.float64), coins)


@pytest.mark.slow
def test_float32_is_never_copied_whole():
    """What memory is needed beyond the points does not grow with them; one copy of them would."""
    plan = Plan.design(dimension=64, clusters=2, epsilon=1.0, expected_users=1000)
    points = np.zeros((4 * CHUNK, 64), dtype=np.float32)  # 17 MB
    few = peak_bytes(lambda: play(plan, points[:CHUNK], SystemCoins()))
    many = peak_bytes(lambda: play(plan, points, SystemCoins()))
    copied = peak_bytes(lambda: play(plan, points, SystemCoins(), on=Careless()))
    slack = points.nbytes  # half of a float64 copy
    assert many - few < slack
    assert copied - few > slack  # the measure sees such a copy


@pytest.mark.parametrize("points", [np.zeros(3), np.zeros((2, 4)), np.full((2, 3), np.nan)])
def test_bad_points_are_refused(points):
    with pytest.raises(PointError, match="points"):
        play(PLAN, points, SystemCoins())
