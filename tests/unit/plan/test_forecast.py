"""The forecast: monotone, invertible, honest about what is hopeless, and close to what was measured."""

import json
import subprocess
import sys
import time
from dataclasses import asdict, replace
from itertools import pairwise
from statistics import median

import pytest

from benchmarks import harness
from benchmarks.forecast import BENCHMARK, CHOSEN, WITHIN, calibration, fitted, ratio, stored, stored_shuffle
from coterie import Plan
from coterie.errors import PlanError
from coterie.plan.forecast import (
    KINDS,
    MEASURED,
    Channel,
    Kind,
    epsilon_needed,
    expect,
    people_needed,
    target,
)
from tests.plans import needs

DIMENSIONS, GROUPS = (1, 2, 10, 64, 100, 1000), (2, 8, 50)
CHECKED = list(stored())
MIXED = [line for line in stored_shuffle() if line.name != "central-1000000"]  # one seed of it lost a group
CPU_SECONDS = 0.05
CONSTANTS_SLACK = 0.25  # they are rounded, and a few see only a few studies


@pytest.fixture(scope="module")
def base():
    return Plan.design(100, 8, 1.0, 10**6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1024], ids=["cells", "halfspaces"])
def test_less_noise_is_never_worse(kind, rows):
    for dimension in DIMENSIONS:
        for clusters in GROUPS:
            tables = [Channel(10 ** (x / 8), rows, dimension, dimension + 2) for x in range(-64, 33)]
            found = [expect(table, 1000, clusters, kind) for table in tables]
            assert all(a.objective <= b.objective + 1e-12 for a, b in pairwise(found))
            assert all(a.recovered >= b.recovered - 1e-12 for a, b in pairwise(found))
            assert all(one.low - 1e-12 <= one.objective <= one.high + 1e-12 for one in found)
            assert found[-1].recovered < 0.05
            assert found[0].recovered > 0.95


@pytest.mark.parametrize("dimension", [2, 20, 100])
def test_more_people_and_more_epsilon_help(dimension):
    plans = [Plan.design(dimension, 8, epsilon, 10**6) for epsilon in (0.1, 0.3, 1, 2, 4, 8, 16)]
    for plan in plans:
        shares = [plan.expected(n).recovered for n in (10, 10**3, 10**4, 10**5, 10**6, 10**8)]
        assert shares == sorted(shares)
    shares = [plan.expected().recovered for plan in plans]
    assert shares == sorted(shares)


def test_more_groups_and_more_dimensions_are_harder():
    by_groups = [Plan.design(50, k, 1.0, 10**6).expected().recovered for k in (2, 4, 8, 16, 64)]
    by_dimension = [Plan.design(d, 8, 1.0, 10**6).expected().recovered for d in (5, 20, 100, 500)]
    assert by_groups == sorted(by_groups, reverse=True)
    assert by_dimension == sorted(by_dimension, reverse=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", [{"recovered": 0.6}, {"recovered": 0.95}, {"objective": 0.4}])
def test_inverse_questions_invert(base, kind, wanted):
    good = target(**wanted)
    people = people_needed(lambda n: base.expected(n, kind), good)
    assert good(base.expected(people, kind))
    assert not good(base.expected(people - 1, kind))

    def at(epsilon):
        return Plan.design(100, 8, epsilon, 10**6).expected(kind=kind)

    epsilon = epsilon_needed(at, good)
    if epsilon is None:
        assert not good(at(16.0))
    else:
        assert good(at(epsilon))
        assert epsilon <= 0.011 or not good(at(epsilon - 0.011))


def test_what_cannot_be_reached_is_said(base):
    assert people_needed(lambda n: base.expected(n, "broad"), target(objective=0.01)) is None
    assert epsilon_needed(lambda _: base.expected(1000), target(recovered=0.9)) is None
    with pytest.raises(PlanError, match="give one target"):
        target()
    with pytest.raises(PlanError, match="recovered must be in"):
        target(recovered=1.5)


def test_hopeless_studies_are_named(base):
    nothing = Plan.design(3000, 100, 0.1, 1000)
    assert all(nothing.expected(kind=kind).hopeless for kind in KINDS)
    assert "hopeless, noise hides the groups" in str(nothing.expected())
    assert not base.expected().hopeless
    assert base.expected().words.startswith("round groups, r = 8: objective 0.0")
    assert "at the edge" in base.expected(250_000).words


def test_the_band_is_wide_where_groups_are_about_to_be_lost(base):
    def width(n):
        found = base.expected(n, "tight")
        return found.recovered_high - found.recovered_low

    assert width(200_000) > 0.3
    assert width(200_000) > 5 * max(width(4_000_000), width(1_000))


@pytest.mark.parametrize("line", [pytest.param(line, id=line.name) for line in CHECKED + MIXED])
def test_the_forecast_is_within_a_quarter_of_means_it_was_not_fitted_on(line):
    assert 1 / WITHIN <= ratio(line) <= WITHIN


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_forecast_of_other_noise_is_not(factor):
    wrong = [replace(line, plan=replace(line.plan, expected_users=int(factor * 10**6))) for line in CHECKED]
    assert sum(not 1 / WITHIN <= ratio(line) <= WITHIN for line in wrong) > 5


def test_recovered_shares_are_close_too():
    off = [abs(line.forecast().recovered - (1 - line.lost)) for line in CHECKED]
    assert median(off) < 0.05
    assert max(off) < 0.25


@pytest.mark.slow
def test_the_constants_are_those_of_the_stored_runs():
    runs = harness._read(BENCHMARK.out)["runs"]
    by_study = {
        study.name: [run for (name, _), run in runs.items() if name == study.name] for study in BENCHMARK.grid
    }
    new = asdict(fitted(calibration(BENCHMARK.grid, by_study)))
    for name, value in asdict(MEASURED).items():
        assert name in CHOSEN or value == pytest.approx(new[name], rel=CONSTANTS_SLACK)


def test_a_forecast_is_fast_and_needs_no_server_libraries(base):
    start = time.process_time()
    for _ in range(10):
        base.expected()
    assert (time.process_time() - start) / 10 < CPU_SECONDS
    script = (
        "import json, sys; from coterie import Plan; Plan.design(5, 2, 1.0, 1000).expected(); "
        "print(json.dumps([n for n in sys.modules if n.split('.')[0] in ('sklearn', 'rich', 'typer')]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("net-tree", {}),
        pytest.param("lsh-tree", {}, marks=needs("lsh-tree")),
        ("vector-sums", {"model": "shuffle", "delta": 1e-6, "layout": "column"}),
    ],
)
def test_protocols_without_a_measurement_are_refused(protocol, options):
    plan = Plan.design(4, 2, 1.0, 100_000, protocol=protocol, **options)
    with pytest.raises(PlanError, match=rf"no forecast for {protocol} plans .* forecast a codeword plan"):
        plan.expected()


def test_kinds_are_checked():
    with pytest.raises(PlanError, match="kind must be one of"):
        Plan.design(2, 2, 1.0, 1000).expected(kind="nice")
    with pytest.raises(PlanError, match="separation of a kind must be in"):
        Kind("wide", separation=0.5)
    with pytest.raises(PlanError, match="optimum of a kind must be in"):
        Kind("odd", one_center=0.1, optimum=0.2)
    with pytest.raises(PlanError, match="n must be in"):
        Plan.design(2, 2, 1.0, 1000).expected(0)


def test_data_of_ones_own_can_be_described(base):
    mine = Kind("mine", one_center=0.2, optimum=0.05)
    found = base.expected(kind=mine)
    assert found.one_center == pytest.approx(0.2)
    assert found.non_private == pytest.approx(0.05)
    assert found.kind == "mine"
    assert (
        expect(Channel(0.01, 1024, 100, 102), 10, 1, Kind("one", 100.0)).recovered == 0.0
    )  # one center is all


STUDIES = {
    "base": {"dimension": 100, "clusters": 8, "epsilon": 1.0, "expected_users": 10**6},
    "small": {"dimension": 20, "clusters": 4, "epsilon": 1.0, "expected_users": 50_000},
    "few": {"dimension": 10, "clusters": 3, "epsilon": 0.5, "expected_users": 30_000},
    "tight": {"dimension": 100, "clusters": 32, "epsilon": 1.0, "expected_users": 200_000, "shape": "tight"},
    "shuffled": {
        "dimension": 20,
        "clusters": 4,
        "epsilon": 1.0,
        "expected_users": 20_000,
        "protocol": "vector-sums",
        "model": "shuffle",
        "delta": 1e-6,
    },
    "central": {
        "dimension": 20,
        "clusters": 4,
        "epsilon": 1.0,
        "expected_users": 2_000,
        "protocol": "vector-sums",
        "model": "central",
        "delta": 1e-6,
    },
}
FIGURES = [  # study, kind: objective, its band, recovered
    ("base", "tight", 0.0211124, 0.0155915, 0.0306415, 0.975499),
    ("base", "separated", 0.0390129, 0.0307136, 0.0535643, 0.965206),
    ("base", "broad", 0.154796, 0.139424, 0.185294, 0.889101),
    ("base", "real", 0.439999, 0.408157, 0.511568, 0.701994),
    ("small", "separated", 0.0392409, 0.0303896, 0.0549023, 0.959562),
    ("small", "real", 0.535113, 0.488133, 0.603424, 0.482384),
    ("few", "separated", 0.071867, 0.0472013, 0.140362, 0.891374),
    ("few", "real", 0.626337, 0.600304, 0.629825, 0.0226513),
    ("tight", "tight", 0.947456, 0.917357, 0.949572, 0.00222923),
    ("tight", "separated", 0.757402, 0.757354, 0.757403, 1.34132e-06),
    ("tight", "real", 0.63, 0.63, 0.63, 1.00113e-11),
    ("shuffled", "separated", 0.0161074, 0.0160785, 0.0161509, 0.999849),
    ("shuffled", "real", 0.441816, 0.438976, 0.446076, 0.956684),
    ("central", "separated", 0.0237495, 0.0211926, 0.0275489, 0.98654),
    ("central", "real", 0.618565, 0.566431, 0.628587, 0.0581319),
]


@pytest.mark.parametrize("line", FIGURES, ids=lambda line: f"{line[0]}-{line[1]}")
def test_a_forecast_is_the_one_written_down(line):
    """Constants of the forecast change with a new fit, never by accident."""
    study, kind, *figures = line
    found = Plan.design(**STUDIES[study]).expected(kind=kind)
    assert [found.objective, found.low, found.high, found.recovered] == pytest.approx(
        figures, rel=1e-5, abs=1e-9
    )
