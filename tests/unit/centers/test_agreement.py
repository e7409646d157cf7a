"""Whether waves speak of the same people: how often honest ones are doubted, and what is noticed."""

import numpy as np
import pytest
from scipy.stats import binom, chi2

from coterie import Plan, decode
from coterie.centers.agreement import FALSE_ALARM, agreement, disagreement, missed_by_ball
from coterie.engines import simulate
from coterie.protocols.codeword.decode import _waves, seen_in
from coterie.protocols.codeword.oracles.rows import unit_points

DIMENSION, PEOPLE = 4, 20_000
CENTERS = 0.6 * np.array([[1.0, 0, 0, 0], [-1, 0, 0, 0], [0, 1, 0, 0]])
PLAN = Plan.design(DIMENSION, 3, 2.0, PEOPLE)
STUDIES = 24
RARE = 1e-6  # false alarms of these tests


def people(seed, shares=(0.4, 0.3, 0.3), off=0.0, wide=0.15, dimension=DIMENSION):
    rng = np.random.default_rng(seed)
    points = wide * rng.standard_normal((4000, dimension))
    points[:, :DIMENSION] += CENTERS[rng.choice(3, 4000, p=shares)]
    points[:, 1] += off
    return points


def asked_of(plan, shift=0.0, radius=1.0, directions=None):
    return Plan.design(
        plan.dimension, 3, 2.0, PEOPLE, center=[shift] + [0.0] * (plan.dimension - 1), radius=radius,
        directions=directions, seed=1, study=plan.id,
    )  # fmt: skip


def chance(tables, points, centers):
    """The test's own chance where the population is the truth, as far as the last plan sees it."""
    last, waves = tables[-1].plan, _waves(tables, seen_in(tables))
    return agreement(waves, (unit_points(last, points), np.full(len(points), 1 / len(points))), centers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "radius"), [(0.0, 1.0), (0.2, 1.3)], ids=["the same ball", "a ball of its own"]
)
def test_honest_waves_differ_by_noise_alone(shift, radius):
    points, later = people(0)[:800], asked_of(PLAN, shift, radius)
    centers = unit_points(later, CENTERS)
    found = []
    for number in range(STUDIES):
        first = simulate(PLAN, points, PEOPLE, random_state=2 * number)
        second = simulate(later, points, 3 * PEOPLE, random_state=2 * number + 1)
        found.append(chance([first, second], points, centers))
    assert {one.degrees for one in found} == {DIMENSION + 1 + 2}
    # the error that is allowed for makes it smaller than chi-square, never larger
    assert binom.sf(sum(one.p_value < 0.05 for one in found) - 1, STUDIES, 0.05) > RARE
    assert not any(one.p_value < FALSE_ALARM for one in found)
    assert chi2.sf(sum(one.statistic for one in found), STUDIES * found[0].degrees) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("changed", [{"off": 0.15}, {"wide": 0.3}, {"shares": (0.2, 0.5, 0.3)}])
def test_waves_of_other_people_are_noticed(changed):
    tables = [
        simulate(PLAN, people(0), PEOPLE, random_state=0),
        simulate(asked_of(PLAN), people(1, **changed), PEOPLE, random_state=1),
    ]
    result = decode(tables, random_state=0)
    assert result.notes[0].startswith("The waves do not speak of the same people: they differ most")


def test_one_wave_has_nothing_to_agree_with():
    table = simulate(PLAN, people(0), 100, random_state=0)
    assert disagreement(_waves([table], None), (people(0), np.ones(4000)), CENTERS) == ()


def test_a_ball_beside_its_people_is_noticed_by_their_lengths():
    points = people(0)
    for shift, radius, missed in ((0.0, 1.0, False), (1.2, 0.5, True)):
        plan = asked_of(PLAN, shift, radius)
        held = (np.linalg.norm(unit_points(plan, points), axis=1) < 0.95).mean()
        notes = missed_by_ball(_waves([simulate(plan, points, 3 * PEOPLE, random_state=0)], None)[0])
        assert bool(held < 0.5) is missed
        assert bool(notes) is missed
    assert notes[0].startswith("The last plan's ball misses its people: at most")
