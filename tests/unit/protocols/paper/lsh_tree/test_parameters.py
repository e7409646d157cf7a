import json
import math

import pytest

from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.privacy.odds import BASE_ODDS, product_allowed
from coterie.protocols.paper.lsh_tree.parameters import LshTreeParameters

OPTIONS = [
    {},
    {"randomizer": "privunit"},
    {"split": "budget"},
    {"split": "deepest"},
    {"count": "joint"},
    {"randomizer": "privunit", "split": "budget", "count": "joint", "levels": 3},
    {"levels": 2, "histogram_share": 0.5},
]


def design(dimension=100, clusters=8, epsilon=1.0, **options):
    return Plan.design(dimension, clusters, epsilon, 10**6, protocol="lsh-tree", **options)


def test_the_defaults_are_the_paper_s():
    parameters = design().parameters
    assert (parameters.levels, parameters.split, parameters.randomizer) == (6, "users", "djw")
    assert math.log(parameters.count_odds / BASE_ODDS) == pytest.approx(0.1, rel=1e-5)
    assert math.log(parameters.vector_odds / BASE_ODDS) == pytest.approx(0.9, rel=1e-5)


@pytest.mark.parametrize(
    ("clusters", "levels"), [(1, 3), (2, 4), (5, 6), (8, 6), (9, 7), (32, 8), (4096, 14)]
)
def test_levels_are_the_logarithm_and_three(clusters, levels):
    assert design(clusters=clusters).parameters.levels == levels


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 6.0])
def test_plans_round_trip_and_keep_their_promise(options, epsilon):
    plan = design(epsilon=epsilon, **options)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee.spent <= epsilon
    allowed = 1.0 - (0.1 if options.get("count") == "joint" else 0.0)  # joint leaves the share unspent
    assert plan.guarantee.spent > 0.999 * allowed * epsilon


@pytest.mark.parametrize(
    ("options", "width"),
    [
        ({}, 13),
        ({"randomizer": "privunit"}, 14),
        ({"split": "budget"}, 14),
        ({"split": "budget", "randomizer": "privunit"}, 19),
        ({"count": "joint", "randomizer": "privunit"}, 13),
    ],
)
def test_widths(options, width):
    assert design(**options).report_width == width


def test_joint_without_a_share_spends_everything():
    assert design(count="joint", histogram_share=0.0).guarantee.spent > 0.9999


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "nobody"}, "split must be one of"),
        ({"randomizer": "laplace"}, "randomizer must be one of"),
        ({"count": "none"}, "count must be one of"),
        ({"levels": 15}, "levels must be in"),
        ({"levels": 0}, "levels must be in"),
        ({"threshold": 1.0}, "has no option 'threshold'; known: levels, split"),
        ({"histogram_share": 1.0}, "histogram_share must be in"),
        ({"histogram_share": 0.0}, "too small for a histogram share"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(PlanError, match=message):
        design(**options)


@pytest.mark.parametrize("name", ["count_odds", "vector_odds"])
def test_odds_beyond_the_promise_are_refused(name):
    data = json.loads(design().to_json())
    data["parameters"][name] += 3
    with pytest.raises(PlanError, match="would not keep its promise"):
        Plan.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cap": 5}, "cap must be in"),
        ({"embedding": 128}, "embedding must be in"),
        ({"count_weight": 5}, "count_odds must be in"),
        ({"count_odds": 0}, "count_odds must be in"),
        ({"layout": 2}, "layout must be in"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(changes, message):
    with pytest.raises(PlanError, match=message):
        LshTreeParameters.from_dict({**design().parameters.to_dict(), **changes})


def test_codewords_must_hold_the_lifted_point():
    parameters = design(randomizer="privunit").parameters
    with pytest.raises(PlanError, match="embedding must be at least"):
        parameters.check_fit(200)
    with pytest.raises(PlanError, match="power of two"):
        LshTreeParameters.from_dict({**parameters.to_dict(), "embedding": 130})


def test_rows_of_the_levels_lie_back_to_back():
    parameters = design(3, 2, levels=3).parameters
    assert [parameters.first_row(level) for level in (1, 2, 3)] == [0, 2, 6]
    assert parameters.rows == 14


def test_shares_that_round_up_are_taken_back():
    for epsilon in (0.1, 0.3, 0.7, 1.1, 2.3):
        parameters = design(epsilon=epsilon, histogram_share=0.3).parameters
        assert product_allowed([parameters.count_odds, parameters.vector_odds], epsilon)
