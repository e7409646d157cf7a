import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.coins import SimulationCoins
from coterie.errors import PlanError
from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.randomizers.codeword import CodewordRandomizer, best_cap, indices_at

SMALL_SCORES = st.lists(st.integers(-3, 3), min_size=2, max_size=300)


@given(SMALL_SCORES, st.data())
def test_order_is_score_descending_then_index_ascending(scores, data):
    rank = data.draw(st.integers(0, len(scores) - 1))
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    for dtype in (np.int32, np.int64):
        assert indices_at(np.array([scores], dtype=dtype), np.array([rank])).tolist() == [order[rank]]


def test_keys_hold_the_largest_scores():
    scores = np.array([[-(2**23) + 1, 2**23 - 1] * 128], dtype=np.int32)
    ranks = np.arange(256)
    order = indices_at(np.repeat(scores, 256, axis=0), ranks)
    assert order.tolist() == [*range(1, 256, 2), *range(0, 256, 2)]


@given(st.integers(2, 40), st.data())
def test_ranks_give_every_place_its_share(codewords, data):
    cap = data.draw(st.integers(1, codewords - 1))
    odds = data.draw(st.integers(BASE_ODDS + 1, 5 * BASE_ODDS))
    randomizer = CodewordRandomizer(codewords, cap, odds)
    starts = np.cumsum([0] + [odds] * cap + [BASE_ODDS] * (codewords - cap))
    assert starts[-1] == randomizer.total
    assert randomizer.ranks(starts[:-1]).tolist() == list(range(codewords))
    assert randomizer.ranks(starts[1:] - 1).tolist() == list(range(codewords))


def test_draws_follow_the_law():
    randomizer = CodewordRandomizer(4, 2, 3 * BASE_ODDS)
    ranks = randomizer.ranks(SimulationCoins(0).below_many(randomizer.total, 4000))
    counts = np.bincount(indices_at(np.array([[1, 7, 7, 0]] * 4000), ranks), minlength=4)
    # odds 1:3:3:1; six standard deviations of the widest count
    assert np.abs(counts - 4000 * np.array([1, 3, 3, 1]) / 8).max() < 6 * math.sqrt(4000 * 15 / 64)


@pytest.mark.parametrize(
    ("codewords", "cap", "odds", "match"),
    [
        (1, 1, 2 << 24, "codewords must be in"),
        ((1 << 16) + 1, 1, 2 << 24, "codewords must be in"),
        (16, 0, 2 << 24, "cap must be in"),
        (16, 16, 2 << 24, "cap must be in"),
        (16, 4, 1 << 24, "odds must exceed"),
        (1 << 16, 1 << 15, 1 << 38, "below 2\\^53"),
    ],
)
def test_impossible_numbers(codewords, cap, odds, match):
    with pytest.raises(PlanError, match=match):
        CodewordRandomizer(codewords, cap, odds)


def test_gains_of_two_codewords_in_closed_form():
    # The larger of two normals has mean 1/√π; the cap of one carries odds 3 of 4.
    randomizer = CodewordRandomizer(2, 1, 3 * BASE_ODDS)
    assert randomizer.gain() == pytest.approx(0.5 / math.sqrt(math.pi), rel=1e-12)
    assert randomizer.second_gain() == pytest.approx(0, abs=1e-12)
    assert randomizer.fourth_moment() == pytest.approx(3, rel=1e-12)
    # Of its powers the second has mean 1, the third 5/(2√π) and the fourth 3: P bends the first gain alone.
    bend = -6 / (128 + 2) / 24
    expected = 0.5 * (1 + bend * (2.5 - 3)) / math.sqrt(math.pi)
    assert randomizer.gain(128) == pytest.approx(expected, rel=1e-12)
    assert randomizer.second_gain(128) == pytest.approx(0, abs=1e-12)


def test_gains_of_three_codewords_in_closed_form():
    # The largest of three normals has mean 3/(2√π) and mean square 1 + √3/(2π); its odds are 3 of 5.
    randomizer = CodewordRandomizer(3, 1, 3 * BASE_ODDS)
    assert randomizer.gain() == pytest.approx(2 / 5 * 1.5 / math.sqrt(math.pi), rel=1e-12)
    assert randomizer.second_gain() == pytest.approx(2 / 5 * math.sqrt(3) / (2 * math.pi), rel=1e-12)


def test_gains_tend_to_those_of_a_cap_of_the_sphere():
    # Very many codewords: the best share q of normals has mean φ(z)/q, and PrivUnit's odds.
    share, odds = 0.25, 3 * BASE_ODDS
    z = 0.6744897501960817  # Φ(z) = 0.75
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    expected = (3 - 1) * density / (3 * share + 1 - share)
    randomizer = CodewordRandomizer(1 << 16, 1 << 14, odds)
    assert randomizer.gain() == pytest.approx(expected, rel=1e-4)
    assert randomizer.gain(4096) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 8.0])
def test_the_best_cap_is_the_best(epsilon):
    odds = largest_odds(epsilon)
    gains = {cap: CodewordRandomizer(64, cap, odds).gain() for cap in range(1, 64)}
    assert best_cap(64, odds) == max(gains, key=gains.__getitem__)
