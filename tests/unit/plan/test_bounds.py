"""The ends of what a plan's numbers may be: the last that is taken, and the first that is refused."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from coterie import Plan
from coterie.errors import PlanError
from coterie.plan.follow_up import ball_after, surely_reached
from coterie.plan.forecast import Channel, Kind, expect
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.privacy.guarantee import CONDITIONS
from coterie.privacy.odds import BASE_ODDS
from coterie.protocols.paper.tree.parameters import TreeDecoding
from coterie.protocols.shares.design import smallest_batch

SUMS = Plan.design(2, 2, 2.0, 60, protocol="vector-sums", model="shuffle", delta=1e-4, cells=4)
CURATOR = Plan.design(2, 2, 2.0, 60, protocol="vector-sums", model="central", delta=1e-4, cells=4)
WORDS = Plan.design(2, 4, 1.0, 10**6, protocol="net-tree", randomizer="codeword", levels=3)
CODEWORD = Plan.design(2, 3, 1.0, 10_000)

ENDS = [  # parameters, field, the least, the most
    (SUMS, "grid_bits", 1, 20),
    (SUMS, "noise_parts", 1, 64 << 24),
    (SUMS, "minimum_batch", SUMS.parameters.group, 1 << 40),
    (SUMS, "shares", 2, 1 << 10),
    (SUMS, "count_weight", 0, (1 << 20)),
    (CURATOR, "group", 1, CURATOR.parameters.minimum_batch),
    (WORDS, "cap", 1, 255),
    (WORDS, "odds", BASE_ODDS + 1, None),
    (WORDS, "count_weight", 1, (1 << 20) - 1),
    (WORDS, "layout", 2, 2),
    (WORDS, "projected", 1, None),
    (WORDS, "levels", 1, None),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: f"{end[0].protocol}-{end[1]}")
def test_a_number_is_taken_up_to_its_ends_and_no_further(end):
    plan, name, least, most = end
    for value in {least, most} - {None}:
        assert getattr(replace(plan.parameters, **{name: value}), name) == value
    for value in {least - 1, None if most is None else most + 1} - {None}:
        with pytest.raises(PlanError, match=f"{name}|group|prime|shares"):
            replace(plan.parameters, **{name: value})


@pytest.mark.parametrize("embedding", [128, 4096])
def test_embeddings_are_powers_of_two_within_their_ends(embedding):
    for plan in (CODEWORD, WORDS):
        assert replace(plan.parameters, embedding=embedding).embedding == embedding
        for wrong in (64, 129, 8192):
            with pytest.raises(PlanError, match="embedding"):
                replace(plan.parameters, embedding=wrong)


def test_a_decoding_is_taken_up_to_its_ends():
    tree, facts = WORDS.parameters, WORDS.facts
    for name, most in (("expansion", 1 << 40), ("rounds", 64), ("strays", 1000.0)):
        assert getattr(TreeDecoding.of(tree, facts, {name: most}), name) == most
        with pytest.raises(PlanError, match=name):
            TreeDecoding.of(tree, facts, {name: most + 1})
    assert TreeDecoding.of(tree, facts, {"strays": 0}).strays == 0.0
    with pytest.raises(PlanError, match="strays"):
        TreeDecoding.of(tree, facts, {"strays": -1.0})
    with pytest.raises(PlanError, match="strays"):
        TreeDecoding(1, 1, "few")
    assert TreeDecoding.of(tree, facts, {"constants": "theory", "alpha": 1.0}).expansion > 1
    with pytest.raises(PlanError, match="alpha"):
        TreeDecoding.of(tree, facts, {"alpha": 1.5})


def test_batches_are_nine_tenths_or_what_is_asked_for():
    facts = SUMS.facts
    assert smallest_batch(facts, None) == 54
    assert smallest_batch(replace(facts, expected_users=1), None) == 1
    assert smallest_batch(facts, 60) == 60
    with pytest.raises(PlanError, match="minimum_batch"):
        smallest_batch(facts, 61)


def test_promises_of_sums_name_who_is_trusted():
    shuffled, central = (str(plan.guarantee) for plan in (SUMS, CURATOR))
    assert "The curator sees the points" in central
    assert "The curator sees the points" not in shuffled
    assert "add their noise honestly" in shuffled
    assert "add their noise honestly" not in central
    assert SUMS.guarantee.conditions[0] == CURATOR.guarantee.conditions[0] == CONDITIONS[1]


def test_kinds_of_data_and_their_ends():
    for separation in (1.0, 1.5e12):
        with pytest.raises(PlanError, match="separation of a kind"):
            Kind("odd", separation=separation)
    assert Kind("ends", separation=1e12).separation == 1e12
    assert Kind("whole", one_center=1.0).one_center == 1.0
    for one_center in (0.0, 1.5):
        with pytest.raises(PlanError, match="one_center of a kind"):
            Kind("odd", one_center=one_center)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"recovered_high": 0.2, "recovered": 0.1, "lost": 0.9}, ": hopeless, noise hides the groups"),
        (
            {"recovered_high": 0.3, "recovered": 0.1, "lost": 0.9},
            ": at the edge, some groups may stay hidden",
        ),
        ({"recovered_high": 0.9, "recovered": 0.4, "lost": 0.0}, ": poor"),
        ({"recovered_high": 0.9, "recovered": 0.6, "lost": 0.0}, "60% recovered (95% to 90%)"),
    ],
)
def test_a_forecast_says_how_good_it_is(found, words):
    base = expect(Channel(0.047, 1024, 100, 102), 10**6, 8, "tight")
    assert replace(base, recovered_low=0.95, **found).words.endswith(words)


def test_views_and_their_ends():
    with pytest.raises(PlanError, match="offsets must be 4, one a row, got 3"):
        Halfspaces(4, (0, 0, 0))
    with pytest.raises(PlanError, match="view weight"):
        Net(((0, 0), (1, 1)), weight=0)
    assert Net(((0, 0), (1, 1))).weight == CrossPolytope(2).weight == Halfspaces(4, (0,) * 4).weight == 1
    with pytest.raises(PlanError, match="at least one view"):
        replace(CODEWORD.parameters, views=())
    assert replace(CODEWORD.parameters, views=(Net(((0, 0),)),)).rows == 1  # one cell is everybody's
    with pytest.raises(PlanError, match=r"views\[0\].cells"):
        replace(CODEWORD.parameters, views=("cells",))


def test_how_large_a_tree_may_be():
    with pytest.raises(PlanError, match="more than 2097152"):
        Plan.design(6, 4, 4.0, 10**6, protocol="net-tree", levels=6, constants="theory", projected=6)
    assert math.isfinite(Plan.design(6, 4, 4.0, 10**6, protocol="net-tree", levels=6).parameters.scale)


def test_what_the_room_offers_is_found_and_nothing_else():
    import coterie.plan as room

    assert room.Approximation.__name__ == "Approximation"
    assert room.theory_constants(dimension=2, clusters=4, expected_users=100).levels == 4
    with pytest.raises(AttributeError, match="nonsense"):
        _ = room.nonsense


def test_a_ball_reaches_what_surely_lies_out_there_and_is_as_wide_as_its_center_is_unsure():
    points, weights = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.ones(2)
    population = SimpleNamespace(points=points, weights=weights, scatter=0.0, study_id="", plan_ids=())
    assert ball_after(population) == ([0.0, 0.0], 1.0)
    result = SimpleNamespace(
        population=population,
        centers=np.array([[0.0, 5.0], [0.0, 2.0]]),
        errors=np.array([2.0, np.inf]),
        clear=np.array([True, True]),
        mean=np.zeros(2),
        mean_error=np.nan,
    )
    assert ball_after(result) == ([0.0, 0.0], 3.0)
    result.errors = np.array([5.0, 2.0])  # as wrong as they are far
    assert ball_after(result) == ([0.0, 0.0], 1.0)
    result.mean_error = 1.5 * np.sqrt(2)  # half of √2·1.5·√2 is 1.5
    assert ball_after(result)[1] == pytest.approx(np.hypot(1, 1.5))
    result.clear = np.array([False, False])
    assert len(surely_reached(result)) == 0
    assert surely_reached(("no", "result")).size == 0
