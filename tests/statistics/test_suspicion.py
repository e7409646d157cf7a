"""Forged reports show in the table; honest ones of any shape do not.

Thresholds are the module's: a false alarm of 4·10⁻³ over all tests of a table. With fixed seeds a clean table
stays clean for ever; each test must also reject a law that is wrong.
"""

import dataclasses
import functools
import importlib.util
import json
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import chi2

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins
from coterie.engines import simulate
from coterie.plan import Plan
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.codeword.oracles.leverage import leverage
from coterie.protocols.codeword.oracles.seen import Seen
from coterie.protocols.codeword.oracles.suspicion import FALSE_ALARM, suspicions, warning
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream
from tools.markdown import reflowed

_SPEC = importlib.util.spec_from_file_location(
    "poisoning", Path(__file__).parents[2] / "benchmarks" / "poisoning.py"
)
poisoning = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(poisoning)

USERS = 40_000


@functools.cache
def honest_people(dimension, seed, epsilon, shape):
    """A plan, the reports of its people, what a forger would push, and the first group's center."""
    plan = Plan.design(dimension, 4, epsilon, USERS, seed=seed, shape=shape)
    rng = np.random.default_rng([seed, 1])
    centers = rng.normal(size=(4, dimension))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    points = 0.7 * centers[rng.integers(4, size=USERS)] + rng.normal(
        0, 0.1 / dimension**0.5, (USERS, dimension)
    )
    ids = np.frombuffer(rng.bytes(12 * USERS), dtype=np.uint8).reshape(-1, 12)
    honest = CodewordEncoder(plan).encode(points, ids, SimulationCoins([seed, 2]))
    honest.setflags(write=False)
    target = rng.normal(size=dimension)
    target *= 0.9 / np.linalg.norm(target)
    return plan, honest, target, 0.7 * centers[0]


def tables_by_law(epsilon):
    """Twenty tables of honest people, drawn from their law (test_table_law.py holds it against reports)."""
    for seed in range(20):
        plan = Plan.design(20, 4, epsilon, USERS, seed=seed)
        centers = np.random.default_rng([seed, 1]).normal(size=(4, 20))
        centers *= 0.7 / np.linalg.norm(centers, axis=1, keepdims=True)
        yield simulate(plan, centers, USERS, random_state=seed).table


def study(dimension=20, seed=0, epsilon=1.0, shape="broad"):
    plan, honest, target, center = honest_people(dimension, seed, epsilon, shape)
    return plan, honest, poisoning.Forger(plan, target, seed, center)


def table_of(plan, reports):
    aggregate = Aggregate(plan)
    aggregate.add(reports)
    return aggregate.table


def poisoned(plan, honest, forged):
    return table_of(plan, np.concatenate([forged, honest[len(forged) :]]))


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("dimension", [2, 40, 300])
def test_honest_people_of_any_shape_raise_no_suspicion(kind, dimension):
    rng = np.random.default_rng([kind, dimension])
    plan = Plan.design(dimension, 3, 2.0, 10_000)

    class Chosen:
        """The generator, with the shape given."""

        def __getattr__(self, name):
            return getattr(rng, name)

        def integers(self, *arguments, **options):
            return kind if arguments == (4,) else rng.integers(*arguments, **options)

    points = poisoning.shapes(Chosen(), 10_000, dimension, 3)
    ids = np.frombuffer(rng.bytes(12 * 10_000), dtype=np.uint8).reshape(-1, 12)
    found = suspicions(table_of(plan, CodewordEncoder(plan).encode(points, ids, SimulationCoins(kind))))
    assert all(one.note is None for one in found), found
    assert min(one.p_value for one in found) > FALSE_ALARM / 20
    tests = {one.test for one in found}
    assert {"energy", "count", "excess", "head", "direction", "whole", "rows", "views"} <= tests
    assert ("lean" in tests) == (dimension > 12)


@pytest.mark.parametrize("seed", range(3))
def test_one_forged_report_in_twenty_is_noticed(seed):
    plan, honest, forger = study(seed=seed)
    assert warning(table_of(plan, honest)) is None
    for attack in (
        "best index",
        "best index, short",
        "best index, balanced",
        "balanced, headless",
        "balanced, push and pull",
    ):
        note = warning(poisoned(plan, honest, poisoning.ATTACKS[attack](forger, USERS // 20)))
        assert note is not None, attack
        assert note.startswith("The reports look as those of honest people rarely do: ")


def test_it_works_without_a_second_moment():
    """Where everybody serves cells; among halfspaces too few do for this test."""
    plan, honest, forger = study(dimension=300, epsilon=2.0, shape="tight")
    clean, forged = table_of(plan, honest), poisoned(plan, honest, forger.best_index(USERS // 4))
    clean.second = forged.second = None  # as above 817 dimensions
    assert warning(clean) is None
    found = suspicions(forged)
    assert found[0].test == "mass"
    assert "more people than there are" in found[0].note


def said_of(table):
    return {one.test: one.note is not None for one in suspicions(table)}


def test_a_forger_who_balances_energy_leans_further_than_the_rows_show():
    """Neither energy, count nor excess sees it; the rows, held against the second moment, do."""
    plan, honest, forger = study()
    forged = forger.best_index(USERS // 20, among=poisoning.BALANCED)
    found = said_of(poisoned(plan, honest, forged))
    assert found["head"]
    assert found["lean"]
    assert not found["excess"]
    forged = forger.best_index(USERS // 20, among=poisoning.BALANCED, headless=True)
    found = said_of(poisoned(plan, honest, forged))
    assert found["lean"]


def test_a_push_away_from_people_is_noticed():
    """It takes people from the rows and adds them to the second moment; no direction is full by it."""
    plan, honest, forger = study()
    found = said_of(poisoned(plan, honest, forger.push_and_pull(USERS // 25)))
    assert found["head"]
    assert not found["direction"]


def test_everybody_is_counted_by_the_rows_that_hold_the_whole_ball():
    plan, honest, forger = study(epsilon=2.0)
    table = poisoned(plan, honest, forger.best_index(USERS // 4))
    table.second = None
    assert said_of(table)["whole"]
    clean = table_of(plan, honest)
    clean.second = None
    assert not any(said_of(clean).values())


def test_chosen_views_are_noticed():
    """Everybody who tried ids until they serve cells: a twentieth more there, and no row of them favoured."""
    plan, honest, forger = study()
    rows = Rows.of(plan.parameters)
    ids = forger.ids(USERS)
    cells = ids[PublicStream(plan.randomness_key()).choices(ids, rows)[0] >= rows.firsts[1]]
    forged = np.concatenate([cells, np.zeros((len(cells), 1), dtype=np.uint8)], axis=1)[: USERS // 50]
    found = said_of(poisoned(plan, honest, forged))
    assert found["views"]
    assert not found["rows"]


def test_chosen_rows_are_noticed():
    plan, honest, forger = study()
    found = suspicions(poisoned(plan, honest, forger.one_row(USERS // 100)))
    assert any("ids favour some rows" in (one.note or "") for one in found)


def test_false_points_with_honest_coins_are_people_as_far_as_anyone_can_tell():
    plan, honest, forger = study()
    assert warning(poisoned(plan, honest, forger.false_point(USERS // 20))) is None
    assert warning(poisoned(plan, honest, forger.plausible(USERS // 20))) is None


def test_the_second_moment_of_honest_reports_is_known_within_its_noise():
    """Means and deviations over twenty clean studies, both ways: the trace is 1, and b² of it is counted."""
    gain, counted = 0.155, 0.3**2
    deviations = {
        "energy": (2 * (22 - 22**2 / 128) / USERS) ** 0.5 / gain,
        "count": (2 / USERS) ** 0.5 / gain,
    }
    found = {"energy": [], "count": []}
    for table in tables_by_law(epsilon=1.0):
        for one in suspicions(table):
            if one.test in found:
                found[one.test].append(one.statistic)
    parameters = table.plan.parameters
    assert parameters.randomizer.second_gain(128) == pytest.approx(gain, rel=0.02)
    assert parameters.count_weight / 2**20 == pytest.approx(0.3, abs=1e-3)
    for test, mean in (("energy", 1.0), ("count", counted)):
        values, deviation = np.array(found[test]), deviations[test]
        assert abs(values.mean() - mean) < 5.5 * 1.2 * deviation / 20**0.5
        assert abs(values.mean() - (mean + 2 * deviation)) > 1.1 * deviation  # a wrong mean is told
        assert 0.35 < values.std() / deviation < 2.2


def test_head_and_lean_have_their_laws():
    """Twenty honest studies: the cube root of a chi-square over its mean, and a difference below its edge."""
    heads, leans = [], []
    for table in tables_by_law(epsilon=2.0):
        for one in suspicions(table):
            if one.test == "head":
                heads.append(one.statistic)
            elif one.test == "lean":
                leans.append(one.threshold - one.statistic)
    freedom = 21
    deviation = (2 / (9 * freedom)) ** 0.5
    # The stated mean is an upper bound, for people who are all at one point, at ε = 2 by a tenth.
    assert 1 - 5.5 * deviation / 20**0.5 - 0.1 < np.mean(heads) < 1 + 5.5 * deviation / 20**0.5
    assert 0.4 < np.std(heads) / deviation < 2.2
    assert min(leans) > 0


def test_the_law_of_squares_is_that_of_a_chi_square():
    for freedom in (3, 22, 300):
        for level in (0.05, 1e-4):
            value = chi2.isf(level, freedom)
            seen = Seen.from_squares("rows", value, freedom, 2 * freedom)
            assert 0.8 * level < seen.p_value() < 1.5 * level  # rather more
            wrong = Seen.from_squares("rows", 1.5 * value, freedom, 2 * freedom)
            assert wrong.p_value() < 0.6 * level


def test_the_page_shows_what_the_benchmark_printed():
    kept = json.loads(poisoning.RESULTS.read_text(encoding="utf-8"))
    page = (Path(__file__).parents[2] / "docs" / "poisoning.md").read_text(encoding="utf-8")
    for line in reflowed(poisoning.tables(kept)).splitlines():
        assert line in page
    assert all(met for _, met in poisoning.bars(kept)), poisoning.bars(kept)


def test_an_empty_table_says_nothing():
    assert suspicions(Aggregate(Plan.design(3, 2, 1.0, 100)).table) == ()


def test_no_forged_report_leans_further_than_its_leverage_says():
    """The mean over forgers is what `leverage` states, for one id and for many, to a twentieth."""
    plan, _, forger = study()
    parameters = plan.parameters
    gain = parameters.randomizer.gain(parameters.embedding)
    for tried in (1, 64):
        scores = forger._choose(forger.ids(200 * tried))[1].reshape(-1, tried).max(axis=1)
        lean = NormalDist().inv_cdf(1 - 0.5264 / (256 * tried))
        assert scores.mean() == pytest.approx(lean, rel=0.05)
    issued = leverage(dataclasses.replace(plan, ids="token"))
    assert issued.people == pytest.approx(forger._choose(forger.ids(400))[1].mean() / gain, rel=0.05)
