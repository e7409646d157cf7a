"""PrivUnit against its own definition, where heights on the sphere have a closed form."""

import math

import numpy as np
import pytest
from scipy import stats

from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.randomizers.privunit import PrivUnit, cap_share
from coterie.randomizers.response import BinaryResponse
from coterie.randomizers.sphere import normal_table

FALSE_ALARM = 1e-7
DRAWS = 5_000


@pytest.mark.parametrize(("cap", "keep"), [(0.2, 0.7), (0.5, 0.9), (0.7, 0.75)])
def test_gain_in_three_dimensions_where_heights_are_uniform(cap, keep):
    # The cap holds heights of [1 - 2q, 1], the rest those of [-1, 1 - 2q].
    leaning = keep * (1 - cap) + (1 - keep) * -cap
    found = PrivUnit(3, cap, keep)
    assert found.gain == pytest.approx(leaning, rel=1e-12)
    assert found.squared_norm == pytest.approx(leaning**-2, rel=1e-12)
    assert found.threshold == pytest.approx(1 - 2 * cap, abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 8])
@pytest.mark.parametrize("cap", [0.2, 0.7])
def test_answers_are_uniform_within_the_cap_and_within_the_rest(dimension, cap):
    randomizer = PrivUnit(dimension, cap, keep=0.8)
    generator = np.random.default_rng(dimension)
    point = generator.normal(size=dimension)
    point /= np.linalg.norm(point)
    drawn = randomizer.gain * randomizer.simulate(np.tile(point, (DRAWS, 1)), generator)
    heights = drawn @ point
    shares = np.array([cap_share(dimension, height) for height in heights.clip(-1, 1)])
    inside = shares <= cap
    assert stats.binomtest(int(inside.sum()), DRAWS, 0.8).pvalue > FALSE_ALARM
    assert stats.kstest(shares[inside] / cap, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest((shares[~inside] - cap) / (1 - cap), "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(0.9 * shares[inside] / cap, "uniform").pvalue < FALSE_ALARM
    across = drawn - heights[:, None] * point  # no direction around the point is preferred
    allowed = 6 * math.sqrt(np.mean(across**2) / DRAWS)
    assert np.abs(across.mean(axis=0)).max() < allowed * math.sqrt(dimension)
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1)


def test_one_answer_spends_all_of_epsilon_unless_told_otherwise():
    assert BinaryResponse.for_epsilon(1.5).odds == largest_odds(1.5)
    assert BinaryResponse.for_epsilon(1.5, 3).odds == pytest.approx(BASE_ODDS * math.exp(0.5), rel=1e-6)


def test_the_normal_of_every_word_is_the_wire_formats():
    # round(4096·Φ⁻¹((w+½)/2^16)): the middle of the word's 65536th of the law, and the other half mirrored
    words = np.arange(1 << 15, 1 << 16)
    upper = np.rint(4096 * stats.norm.ppf((words + 0.5) / 65536))
    assert (normal_table()[1 << 15 :] == upper).all()
    assert (normal_table()[: 1 << 15] == -upper[::-1]).all()
