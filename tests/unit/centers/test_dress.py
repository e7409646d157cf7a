"""What a result promises holds for every protocol, because one dresser fills it in."""

from dataclasses import replace

import numpy as np
import pytest

from coterie import Aggregate, Plan, decode
from coterie.centers.dress import _leverage, dress
from coterie.centers.solution import Choice, Interval, Solution
from coterie.coins import SimulationCoins
from coterie.engines import drawn_table, play
from coterie.errors import DecodeError
from coterie.protocols import PROTOCOLS
from tests.plans import is_there

CENTER, RADIUS = np.array([7.0, -2.0, 1.0]), 3.0
PEOPLE = 400
DESIGNS = {
    "codeword": {},
    "net-tree": {"protocol": "net-tree"},
    "lsh-tree": {"protocol": "lsh-tree"},
    "vector-sums": {"protocol": "vector-sums", "model": "central", "delta": 1e-6},
    "net-tree-sums": {"protocol": "net-tree-sums", "model": "central", "delta": 1e-6},
}
DESIGNS = {name: options for name, options in DESIGNS.items() if is_there(options)}


def table_of(protocol, epsilon=0.3, people=PEOPLE, planned=PEOPLE, **more):
    plan = Plan.design(3, 4, epsilon, planned, center=CENTER, radius=RADIUS, **DESIGNS[protocol], **more)
    points = CENTER + np.random.default_rng(1).normal(0, 0.5, (people, 3))
    if plan.model == "central":
        return drawn_table(plan, points, SimulationCoins(0))[0]
    return play(plan, points, SimulationCoins(0))


def test_every_protocol_is_held_to_it():
    assert set(DESIGNS) == set(PROTOCOLS)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", DESIGNS)
def test_a_hopeless_study_gives_all_that_a_result_promises(protocol):
    table = table_of(protocol, planned=4 * PEOPLE)
    result = decode(table, random_state=0)
    assert result.centers.shape == (4, 3)
    assert np.isfinite(result.centers).all()
    assert result.supported < 4
    assert result.weights.sum() == pytest.approx(1)
    assert (result.errors > 0).all()
    assert result.weight_errors.shape == result.clear.shape == (4,)
    assert result.mean.shape == (3,)
    said = " ".join(result.notes)
    doubts = ("not stand clear", "None of the groups stands clear", "tell no groups apart", "says little")
    assert any(doubt in said for doubt in doubts)
    assert f"designed for {4 * PEOPLE} reports and {PEOPLE} came" in said
    plan = table.plan
    assert (result.plan_id, result.plan_ids, result.study_id) == (plan.id, (plan.id,), plan.id)
    assert result.count == PEOPLE
    assert 0.299999 < result.guarantee.epsilon <= 0.3
    assert result.population.points.shape[1] == 3
    away = np.linalg.norm(result.population.points - CENTER, axis=1)  # in the plan's coordinates
    assert away.max() < 2 * RADIUS
    assert result.coverage == (0.9 if protocol == "codeword" else None)  # a rate where one was measured


def solution(supported, errors=0.1, **more):
    centers, halves = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.full(2, 0.5)
    return Solution(centers, halves, np.full(2, errors), np.array(supported), centers, halves, **more)


def test_units_are_the_plans():
    table = table_of("codeword")
    result = dress(solution([True, True], scatter=0.25), [table])
    np.testing.assert_allclose(result.centers, CENTER + np.array([[1.5, 0, 0], [0, 0, 0]]))
    np.testing.assert_allclose(result.errors, 0.3)
    assert result.population.scatter == pytest.approx(0.25 * RADIUS**2)
    assert result.notes == ()


def test_what_is_doubtful_is_said_by_name_the_worst_first_and_shortly():
    table = table_of("codeword")
    (note,) = dress(solution([True, False]), [table]).notes
    assert note.startswith("Group B does not stand clear of the privacy noise")
    told = Interval(0.5, 0.4, 0.6)
    (note,) = dress(solution([True, True], errors=0.6, explained=told), [table]).notes
    assert "uncertain by more than half the radius" in note
    vague = Interval(0.5, 0.1, 0.7)
    rough, hardly, doubt = dress(
        solution([True, True], 0.6, explained=vague, notes=("a doubt",)), [table]
    ).notes
    assert "uncertain" in rough
    assert "hardly say how much of people's spread the groups explain: between 10% and 70%." in hardly
    assert doubt == "a doubt"
    many = tuple(f"doubt {number}" for number in range(9))
    assert dress(solution([True, True], notes=many), [table]).notes == many[:5]


def test_where_there_are_groups_but_too_many_a_number_to_ask_for_is_named():
    table = table_of("codeword")
    explained = Interval(0.8, 0.7, 0.9)
    (note,) = dress(solution([False, False], explained=explained), [table]).notes
    assert note.endswith("clear of the privacy noise. Ask for fewer: that costs no privacy.")
    four = replace(
        solution(
            [False] * 2, explained=explained, choices=[Choice(k, explained, k < 4) for k in range(1, 7)]
        ),
        **{"centers": np.zeros((4, 3)), "shares": np.full(4, 0.25), "errors": np.full(4, 0.1)},
        supported=np.zeros(4, dtype=bool),
    )
    (note,) = dress(four, [table]).notes
    assert note == "None of the groups stands clear of the privacy noise. Ask for 3: that costs no privacy."


def test_a_batch_below_the_minimum_has_the_promise_of_its_size():
    plan = Plan.design(3, 2, 1.0, 1000, model="shuffle", delta=1e-6, minimum_batch=500)
    few = play(plan, np.zeros((400, 3)), SimulationCoins(0))
    result = dress(solution([True, True]), [few])
    assert result.guarantee.epsilon == plan.guarantee_for(400).epsilon > 1.0
    assert "releases no batch of fewer than 500 people and 400 are in" in " ".join(result.notes)


@pytest.mark.slow
def test_decoders_go_by_their_names():
    table = table_of("codeword", epsilon=4.0)
    default, named = decode(table, random_state=0), decode(table, random_state=0, decoder="population")
    np.testing.assert_array_equal(default.centers, named.centers)
    cells = decode(table, random_state=0, decoder="cells")
    assert (cells.centers.shape, cells.coverage) == ((4, 3), 0.9)
    with pytest.raises(DecodeError, match="has no decoder 'paper'; known: confirm, population, cells"):
        decode(table, decoder="paper")
    with pytest.raises(DecodeError, match="protocol net-tree has no decoder 'population'; known: paper"):
        decode(table_of("net-tree"), decoder="population")
    tight = play(Plan.design(40, 8, 0.5, 100, shape="tight"), np.zeros((50, 40)), SimulationCoins(0))
    with pytest.raises(DecodeError, match="population cannot read this: it needs reports about halfspaces"):
        decode(tight, decoder="population")
    assert decode(tight, random_state=0).supported == 0  # cells alone, so the decoder of cells


def test_the_trees_find_the_planned_number_only():
    table = table_of("net-tree")
    with pytest.raises(DecodeError, match=r"finds the plan's 4 clusters only, asked for 3; refit\(3\)"):
        decode(table, clusters=3)
    assert len(decode(table, clusters="auto", random_state=0).centers) == 4


def small_result(plan, coverage=0.9):
    """Two groups, as if they were found from reports of a plan."""
    centers = np.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]])
    shares, errors = np.array([0.8, 0.2]), np.array([0.1, 0.3])
    found = Solution(centers, shares, errors, np.array([True, True]), centers, shares, coverage=coverage)
    table = Aggregate(Plan.design(3, 2, 1.0, 1000))
    table.add(bytes(table.plan.report_width))
    return replace(dress(found, [table]), leverage=_leverage([plan]))


def test_a_group_is_as_fragile_as_a_forged_report_is_heavy():
    plans = [
        Plan.design(3, 2, epsilon, 1000, ids=ids) for ids in ("random", "token") for epsilon in (1.0, 2.0)
    ]
    for result in map(small_result, plans):
        people, radii = result.leverage
        assert radii > people > 1  # the coordinates of a point have less than all of the length
        assert result.fragile == pytest.approx(
            np.array([[0.8 / people, 0.8 * 0.1 / radii], [0.2 / people, 0.2 * 0.3 / radii]])
        )
        assert result.describe().splitlines()[-1].endswith("forged, group B could be made up.")
    drawn, steeper, issued, _ = (_leverage([plan]).people for plan in plans)
    assert drawn > 1.9 * issued  # who may try ids finds better codewords
    assert drawn > 1.8 * steeper  # at a larger epsilon an honest report says more
    assert _leverage(plans) == _leverage(plans[:1])  # of several tables, the worst


def test_what_is_not_known_of_forged_reports_is_not_stated():
    codeword = Plan.design(3, 2, 1.0, 1000)
    noise_alone = small_result(codeword, coverage=None)
    assert np.isnan(noise_alone.fragile[:, 1]).all()
    assert np.isfinite(noise_alone.fragile[:, 0]).all()
    tree = Plan.design(3, 2, 1.0, 1000, protocol="net-tree")
    sums = {"protocol": "vector-sums", "delta": 1e-6}
    assert _leverage([codeword, tree]) is None
    for plan in (tree, Plan.design(3, 2, 1.0, 1000, model="central", **sums)):
        unknown = small_result(plan)
        assert np.isnan(unknown.fragile).all()
        assert "made up" not in unknown.describe()
    shares = small_result(Plan.design(3, 2, 1.0, 1000, model="shuffle", **sums))
    assert (shares.fragile == 0).all()
    assert "If one report was forged" in shares.describe()
