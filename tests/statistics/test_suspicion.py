"""Forged reports show in the table; honest ones of any shape do not.

Thresholds are the module's: a false alarm of 10⁻³ over all tests of a table. With fixed seeds a clean table
stays clean for ever; each test must also reject a law that is wrong.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins
from coterie.encode.codeword import CodewordEncoder
from coterie.oracles.suspicion import FALSE_ALARM, suspicions, warning
from coterie.plan import Plan

_SPEC = importlib.util.spec_from_file_location(
    "poisoning", Path(__file__).parents[2] / "benchmarks" / "poisoning.py"
)
poisoning = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(poisoning)

USERS = 40_000


def study(dimension=20, seed=0, epsilon=1.0, shape="broad"):
    plan = Plan.design(dimension, 4, epsilon, USERS, seed=seed, shape=shape)
    rng = np.random.default_rng([seed, 1])
    centers = rng.normal(size=(4, dimension))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    points = 0.7 * centers[rng.integers(4, size=USERS)] + rng.normal(
        0, 0.1 / dimension**0.5, (USERS, dimension)
    )
    ids = np.frombuffer(rng.bytes(12 * USERS), dtype=np.uint8).reshape(-1, 12)
    honest = CodewordEncoder(plan).encode(points, ids, SimulationCoins([seed, 2]))
    target = rng.normal(size=dimension)
    return plan, honest, poisoning.Forger(plan, 0.9 * target / np.linalg.norm(target), seed)


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
    assert {"energy", "count", "excess", "direction"} <= tests or dimension == 300
    assert "rows" in tests


@pytest.mark.parametrize("seed", range(3))
def test_one_forged_report_in_twenty_is_noticed(seed):
    plan, honest, forger = study(seed=seed)
    assert warning(table_of(plan, honest)) is None
    for attack in ("best index", "best index, short", "best index, balanced"):
        note = warning(poisoned(plan, honest, poisoning.ATTACKS[attack](forger, USERS // 20)))
        assert note is not None, attack
        assert note.startswith("Some reports seem to be forged: ")


def test_it_works_without_a_second_moment():
    """Where everybody serves cells; among halfspaces too few do for this test."""
    plan, honest, forger = study(dimension=300, epsilon=2.0, shape="tight")
    assert table_of(plan, honest).second is None
    assert warning(table_of(plan, honest)) is None
    found = suspicions(poisoned(plan, honest, forger.best_index(USERS // 8)))
    assert found[0].test == "mass"
    assert "more people than there are" in found[0].note


def test_a_sum_that_no_people_can_make_is_noticed():
    """Codewords that lean along the point and not along the count of people."""
    plan, honest, forger = study(epsilon=2.0)
    encoder = CodewordEncoder(plan)
    signed = encoder.signed_vectors

    class Headless:
        def signed_vectors(self, points, ids):
            far = signed(points, ids) - signed(-points, ids)  # what the point alone gives, without its count
            return np.where(np.abs(far).max(axis=1, keepdims=True) > 0, far, signed(points, ids))

    forger._encoder = Headless()
    found = {one.test: one for one in suspicions(poisoned(plan, honest, forger.best_index(USERS // 5)))}
    assert any(one.note for one in found.values())


def test_chosen_rows_are_noticed():
    plan, honest, forger = study()
    found = suspicions(poisoned(plan, honest, forger.one_row(USERS // 100)))
    assert any("ids favour some rows" in (one.note or "") for one in found)


def test_false_points_with_honest_coins_are_people_as_far_as_anyone_can_tell():
    plan, honest, forger = study()
    assert warning(poisoned(plan, honest, forger.false_point(USERS // 20))) is None


def test_the_second_moment_of_honest_reports_is_known_within_its_noise():
    """Means and deviations over twenty clean studies, both ways: the trace is 1, and b² of it is counted."""
    gain, counted = 0.155, 0.3**2
    deviations = {
        "energy": (2 * (22 - 22**2 / 128) / USERS) ** 0.5 / gain,
        "count": (2 / USERS) ** 0.5 / gain,
    }
    found = {"energy": [], "count": []}
    for seed in range(20):
        plan, honest, _ = study(seed=seed)
        for one in suspicions(table_of(plan, honest)):
            if one.test in found:
                found[one.test].append(one.statistic)
    assert plan.parameters.randomizer.second_gain(128) == pytest.approx(gain, rel=0.02)
    assert plan.parameters.count_weight / 2**20 == pytest.approx(0.3, abs=1e-3)
    for test, mean in (("energy", 1.0), ("count", counted)):
        values, deviation = np.array(found[test]), deviations[test]
        assert abs(values.mean() - mean) < 5.5 * 1.2 * deviation / 20**0.5
        assert abs(values.mean() - (mean + 2 * deviation)) > 1.1 * deviation  # a wrong mean is told
        assert 0.35 < values.std() / deviation < 2.2


def test_an_empty_table_says_nothing():
    assert suspicions(Aggregate(Plan.design(3, 2, 1.0, 100)).table) == ()
