"""Tables drawn from their law against tables of real reports: two samples, several directions.

Thresholds are deviations of the difference of two means; 5.5 of them happen by chance once in 26 million.
"""

import math

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.engines import simulate
from coterie.errors import PlanError, SettingError
from coterie.plan import Plan
from coterie.protocols.codeword import law
from coterie.protocols.codeword.oracles.cell_sums import embedding_matrix
from coterie.protocols.codeword.oracles.rows import Lift
from coterie.wire.rows import Rows

DEVIATIONS = 5.5
PEOPLE = 60_000
TABLES = 8
PLAN = Plan.design(10, 2, 4.0, PEOPLE)
POINT = np.array([[0.5, 0.4] + [0.0] * 8])
GROUPS = np.array([[0.7] + [0.0] * 9, [0.0, -0.6] + [0.0] * 8])


def figures(table):
    """What the two kinds of tables must agree in: for each figure, many draws of it."""
    part = Rows.of(PLAN.parameters).parts[0]  # the halfspaces
    counts = table.table.counts[part].astype(float)
    sums = table.table.sums[part].astype(float)
    turn = embedding_matrix(PLAN, PLAN.parameters)
    lift = Lift.from_count_weight(PLAN.parameters.count_weight, PLAN.dimension)
    person, other = turn @ lift.of(POINT)[0], turn[:, 5]
    along = np.abs(sums @ person)  # everybody is in the same place: of one sign or the other, far from zero
    left = along - along.sum() / counts.sum() * counts
    second = table.table.second.astype(float) / table.count
    anything = np.random.default_rng(0).standard_normal(len(second))
    return {
        "gain": along / counts,
        "square along the person": left**2 / counts,
        "square across": (sums @ other) ** 2 / counts,
        "square of all": (sums**2).mean(axis=1) / counts,
        "reports per row": (counts - counts.mean()) ** 2 / counts.mean(),
        "second moment along": np.array([person @ second @ person]),
        "second moment across": np.array([other @ second @ other]),
        "second moment elsewhere": np.array([anything @ (second - np.eye(len(second))) @ anything]),
    }


def samples(**options):
    tables = [figures(simulate(PLAN, POINT, PEOPLE, random_state=seed, **options)) for seed in range(TABLES)]
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def differences(one, two):
    """How many deviations apart the two samples' means are, by figure."""
    return {
        name: abs(one[name].mean() - two[name].mean())
        / math.sqrt(one[name].var() / len(one[name]) + two[name].var() / len(two[name]))
        for name in one
    }


@pytest.fixture(scope="module")
def real():
    return samples(by="reports")


def test_drawn_tables_agree_with_tables_of_reports(real):
    found = differences(samples(by="law"), real)
    assert max(found.values()) < DEVIATIONS, found


def spread_along_a_group(by):
    """Squares of what rows differ by from table to table, along one of two groups: who serves is chance."""
    part = Rows.of(PLAN.parameters).parts[0]
    lift = Lift.from_count_weight(PLAN.parameters.count_weight, PLAN.dimension)
    along = embedding_matrix(PLAN, PLAN.parameters) @ lift.of(GROUPS)[0]
    tables = [simulate(PLAN, GROUPS, PEOPLE, random_state=seed, by=by).table for seed in range(TABLES)]
    sums = np.array([(table.sums[part] @ along) / table.counts[part] for table in tables])
    counts = np.array([table.counts[part] for table in tables])
    return ((sums - sums.mean(axis=0)) ** 2 * counts).ravel() * TABLES / (TABLES - 1)


def test_people_of_two_groups_differ_in_a_drawn_row_as_in_a_real_one(monkeypatch):
    real, drawn = ({"spread": spread_along_a_group(by)} for by in ("reports", "law"))
    assert differences(drawn, real)["spread"] < DEVIATIONS
    # As if the people who serve a row were the same part of everybody each time.
    monkeypatch.setattr(law, "_less", lambda standard, means: standard * np.sqrt(0.7))
    assert differences({"spread": spread_along_a_group("law")}, real)["spread"] > DEVIATIONS


@pytest.mark.parametrize(
    ("wrong", "noticed"),
    [("gain", "gain"), ("noise", "square along the person"), ("second", "second moment along")],
)
def test_a_wrong_law_is_noticed(real, monkeypatch, wrong, noticed):
    """A gain off by 5 %, noise with too much in common, a second moment off by 10 %."""
    randomizer = type(PLAN.parameters.randomizer)
    if wrong == "gain":
        gain = randomizer.gain
        monkeypatch.setattr(randomizer, "gain", lambda self, size: 1.05 * gain(self, size))
    elif wrong == "noise":
        root = law._root
        monkeypatch.setattr(
            law,
            "_root",
            lambda covariance: root(covariance + 0.003 * np.eye(len(covariance)) + 3 * covariance),
        )
    else:
        moment = law._second_moment
        monkeypatch.setattr(law, "_second_moment", lambda people, mean, rng: moment(people, 1.1 * mean, rng))
    assert differences(samples(by="law"), real)[noticed] > DEVIATIONS


def test_drawn_tables_are_tables(tmp_path):
    """Sums and counts that reports can have made: `from_arrays` refuses all others."""
    table = simulate(PLAN, GROUPS, 10**7)
    table.save(tmp_path / "table")
    assert Aggregate.load(tmp_path / "table") == table


@pytest.mark.parametrize("by", ["law", "reports"])
def test_the_seed_decides(by):
    one, same, other = (simulate(PLAN, GROUPS, 1000, random_state=seed, by=by) for seed in (0, 0, 1))
    assert one == same
    assert one != other
    assert simulate(PLAN, GROUPS, 0, by=by).count == 0


def test_points_are_clipped_to_the_ball_of_the_plan():
    plan = Plan.design(2, 2, 2.0, 1000, center=[10.0, 0.0], radius=2.0)
    inside, outside = (simulate(plan, [[x, 0.0]], 10**6) for x in (12.0, 99.0))
    np.testing.assert_array_equal(inside.table.sums, outside.table.sums)


def test_what_cannot_be_drawn_is_refused():
    tree = Plan.design(2, 2, 1.0, 1000, protocol="net-tree", levels=2)
    with pytest.raises(PlanError, match="no law of a table is known for protocol net-tree; known: codeword"):
        simulate(tree, [[0.0, 0.0]], 10)
    assert simulate(tree, [[0.0, 0.0]], 10, by="reports").count == 10
    with pytest.raises(SettingError, match="by must be law or reports"):
        simulate(PLAN, GROUPS, 10, by="magic")
    with pytest.raises(SettingError, match="device is for a simulation by law"):
        simulate(PLAN, GROUPS, 10, by="reports", device="cuda")
    with pytest.raises(PlanError, match="people must be"):
        simulate(PLAN, GROUPS, -1)
