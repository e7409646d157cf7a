"""PrivUnit against its own definition, where heights on the sphere have a closed form."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.baselines.privunit import PrivUnit, cap_share
from coterie.errors import PlanError

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


@pytest.mark.parametrize("dimension", [2, 3, 10])
def test_caps_larger_than_half_the_sphere(dimension):
    small, large = PrivUnit(dimension, 0.2, 0.5), PrivUnit(dimension, 0.8, 0.9)
    assert small.threshold > 0
    assert large.threshold == pytest.approx(-small.threshold)
    assert PrivUnit(dimension, 0.5, 0.6).threshold == pytest.approx(0, abs=1e-9)
    for each in (small, large):
        assert cap_share(dimension, each.threshold) == pytest.approx(each.cap)
    assert cap_share(dimension, 0.0) == pytest.approx(0.5)
    assert PrivUnit.with_cap(dimension, 1.5, 0.3).epsilon == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("make", "last", "refused", "message"),
    [
        (lambda dimension: PrivUnit(dimension, 0.5, 0.5), 2, 1, "at least 2 dimensions"),
        (lambda cap: PrivUnit(3, cap, 0.5), 1e-12, 0.0, "strictly between 0 and 1"),
        (lambda cap: PrivUnit(3, cap, 0.5), 1 - 1e-12, 1.0, "strictly between 0 and 1"),
        (lambda keep: PrivUnit(3, 0.5, keep), 1e-12, 0.0, "strictly between 0 and 1"),
        (lambda keep: PrivUnit(3, 0.5, keep), 1 - 1e-12, 1.0, "strictly between 0 and 1"),
    ],
)
def test_the_last_value_that_is_taken_and_the_first_that_is_refused(make, last, refused, message):
    make(last)
    with pytest.raises(PlanError, match=message):
        make(refused)
