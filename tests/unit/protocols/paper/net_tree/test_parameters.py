import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

from coterie.centers import decode
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.errors import PlanError
from coterie.plan import Plan, theory_constants
from coterie.privacy.odds import BASE_ODDS
from coterie.protocols.base import Facts
from coterie.protocols.paper.net_tree.design import design as design_net_tree
from coterie.protocols.paper.net_tree.parameters import NetTreeParameters
from coterie.protocols.paper.nets.sizes import net_points
from coterie.protocols.paper.tree.parameters import SEARCH_RATIO, TreeDecoding


def design(dimension=2, clusters=4, epsilon=1.0, users=200_000, **options):
    facts = Facts(dimension=dimension, clusters=clusters, epsilon=epsilon, expected_users=users)
    return design_net_tree(facts, **options)


def decoding(dimension=2, clusters=4, users=200_000, design_options=None, **options):
    plan = Plan.design(dimension, clusters, 1.0, users, protocol="net-tree", **(design_options or {}))
    return TreeDecoding.of(plan.parameters, plan.facts, options)


@pytest.mark.parametrize(
    ("levels", "width"), [(1, 13), (4, 13), (5, 14), (8, 14), (9, 15), (12, 15), (16, 16), (24, 18)]
)
def test_a_report_is_an_id_and_two_bits_a_level(levels, width):
    parameters = NetTreeParameters(levels, 2, 2, 1.0, BASE_ODDS + 1, BASE_ODDS + 1)
    assert parameters.report_width == width


def test_a_plan_round_trips_through_json():
    plan = Plan.design(100, 8, 1.0, 10**6, protocol="net-tree", levels=3, ratio=2)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee.spent <= 1.0
    assert plan.parameters.projected == 6
    assert plan.randomness_key("net") != plan.randomness_key("subspace")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"levels": 0}, "levels must be in"),
        ({"ratio": 5}, "ratio must be in"),
        ({"projected": 16}, "projected must be in"),
        ({"scale": 0.0}, "scale must be in"),
        ({"count_odds": BASE_ODDS}, "count_odds must be in"),
        ({"vector_odds": 1.5}, "vector_odds must be an integer"),
        ({"layout": 2}, "layout must be in"),
        ({"ratio": 4, "projected": 12}, "children"),
    ],
)
def test_parameters_are_valid_once_built(change, message):
    with pytest.raises(PlanError, match=message):
        dataclasses.replace(design(), **change)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expansion": 0}, "expansion must be in"),
        ({"rounds": 65}, "rounds must be in"),
        ({"strays": -0.1}, "strays must be in"),
        ({"constants": "magic"}, "constants must be one of"),
        ({"alpha": 2.0}, "alpha must be in"),
        ({"depth": 3}, "has no option 'depth'; known: constants, alpha, expansion, rounds, strays"),
    ],
)
def test_decoder_options_are_checked(options, message):
    with pytest.raises(PlanError, match=message):
        decoding(**options)


def test_what_steers_the_decoder_is_no_part_of_the_plan():
    fields = set(design().to_dict()) | set(design(randomizer="codeword").to_dict())
    assert fields.isdisjoint({"expansion", "rounds", "strays"})
    assert decoding() == TreeDecoding(1, 18, 0.5)
    assert decoding(design_options={"randomizer": "codeword"}).strays == 0.02
    assert decoding(expansion=7, rounds=3, strays=0.25) == TreeDecoding(7, 3, 0.25)


def test_unknown_and_missing_fields_are_refused():
    fields = design().to_dict()
    with pytest.raises(PlanError, match="unknown field"):
        NetTreeParameters.from_dict({**fields, "floor": 1})
    fields.pop("levels")
    with pytest.raises(PlanError, match="lacks the field"):
        NetTreeParameters.from_dict(fields)


def test_the_projection_must_fit_the_dimension():
    with pytest.raises(PlanError, match=r"projected must be in \[1, 2\]"):
        Plan.design(2, 2, 1.0, 1000, protocol="net-tree", projected=3, shrink=1.0)
    with pytest.raises(PlanError, match="at most the dimension"):
        replace(Plan.design(3, 2, 1.0, 1000, protocol="net-tree", projected=3), dimension=2)


def test_theory_follows_a_given_projection():
    # Λ, γ and a are those of the d' that is played, not of the one the theorem would have liked.
    parameters = design(dimension=100, constants="theory", projected=3, levels=3)
    constants = theory_constants(dimension=100, clusters=4, expected_users=200_000, projected=3)
    assert parameters.scale == constants.scale
    assert parameters.scale == pytest.approx(math.sqrt(0.01 / math.log(200_000 / 0.1) * 100 / 3))
    base = 1 + (2 + constants.theta) / math.sqrt(3 / 5)
    to_the_letter = decoding(dimension=100, design_options={"projected": 3, "levels": 3}, constants="theory")
    assert to_the_letter.expansion == math.ceil(base**3) == constants.expansion


def test_the_depth_grows_with_the_people():
    depths = [design(users=users).levels for users in (10**4, 2 * 10**5, 2 * 10**7, 10**9, 10**12)]
    assert depths == sorted(depths)
    assert (depths[0], depths[1]) == (2, 2)
    assert depths[2] > 2
    assert depths[-1] == 6


def test_practical_choices():
    assert (design().projected, design().scale, design().levels) == (2, 1.0, 2)
    high = design(dimension=100, clusters=8)
    assert (high.projected, high.levels) == (6, 1)
    assert high.scale == pytest.approx(math.sqrt(100 / 6) / 1.5)
    assert high.count_odds == high.vector_odds
    assert design(dimension=1, clusters=50).levels == 6  # never more than six


@pytest.mark.slow
def test_codewords_have_smaller_cells_and_groups_share_them_more_rarely():
    assert design(randomizer="codeword").ratio == 3
    assert design(randomizer="codeword", ratio=4).ratio == 4
    assert design(randomizer="codeword", constants="theory", ratio=2).ratio == 2
    assert design().ratio == 2
    shared = {}
    for randomizer in ("djw", "codeword"):
        shared[randomizer] = 0
        for seed in range(60):  # the geometry alone: which of eight groups land in one cell
            plan = Plan.design(100, 8, 4.0, 200_000, protocol="net-tree", randomizer=randomizer, seed=seed)
            centers = gaussian_mixture(8, 100, 8, 100.0, seed)[1]
            low, _ = plan.parameters.projection(plan.randomness_key, 100).apply(centers)
            cells = plan.parameters.nets(plan.randomness_key).representatives(low)[-1]
            shared[randomizer] += len(np.unique(cells, axis=0)) < 8
    assert shared["djw"] > 15
    assert shared["codeword"] < shared["djw"] / 3


def test_theory_computes_every_constant():
    constants = theory_constants(dimension=2, clusters=4, expected_users=200_000, alpha=0.5, beta=0.1)
    xi = 0.05
    assert constants.theta == pytest.approx(8 * math.sqrt((1 + 2 / xi) / xi))
    assert constants.packing == pytest.approx(math.sqrt(3 / 4))
    assert constants.expansion == math.ceil((1 + (2 + constants.theta) / constants.packing) ** 2)
    assert (constants.levels, constants.rounds) == (9, 18)
    assert constants.wanted_dimension == math.ceil(math.log(4 / 0.01) / 0.05**2)
    assert constants.scale == 1.0  # nothing is projected
    projected = theory_constants(dimension=10**6, clusters=8, expected_users=10**6, alpha=0.5)
    assert projected.projected == projected.wanted_dimension
    assert projected.scale == pytest.approx(
        math.sqrt(0.01 / math.log(10**6 / 0.1) * 10**6 / projected.projected)
    )
    assert "theta=" in str(constants)


def test_theory_builds_where_it_can_and_refuses_with_the_numbers_where_not():
    parameters = design(constants="theory", users=20_000)
    assert parameters.levels == 1  # the paper's 8 would have a larger additive error
    assert design(constants="theory", users=10**12).levels == 3
    assert decoding(users=20_000, constants="theory") == TreeDecoding(71736, 15, 0.0, SEARCH_RATIO)
    with pytest.raises(PlanError, match=r"nets of 100 dimensions cannot be built.*theta=.*nodes"):
        design(dimension=100, constants="theory")
    with pytest.raises(PlanError, match=r"the tree would have up to .* nodes.*theta="):
        design(dimension=5, constants="theory", levels=9)
    assert design(dimension=5, constants="theory").levels == 1
    with pytest.raises(PlanError, match="the root would have about"):
        design(dimension=15, projected=15)
    assert design(dimension=100, constants="theory", projected=3, levels=3).projected == 3


def test_options_are_checked():
    with pytest.raises(PlanError, match="constants must be one of"):
        design(constants="magic")
    with pytest.raises(PlanError, match="alpha must be in"):
        design(constants="theory", alpha=2.0)
    with pytest.raises(PlanError, match="too small"):
        design(epsilon=1e-7)
    with pytest.raises(PlanError, match=r"no option 'flavour'; known: randomizer, constants, .*, shrink$"):
        Plan.design(2, 2, 1.0, 1000, protocol="net-tree", flavour="sweet")


def test_a_nets_size_is_predicted():
    from coterie.protocols.paper.nets.nets import NetFamily

    for dimension in (2, 5, 6):
        found = len(NetFamily.from_key(bytes(16), dimension, 1).roots_children())
        assert net_points(dimension, 1.0, 0.5) == pytest.approx(found, rel=0.35)


def amplified(**options):
    return Plan.design(2, 4, 1.0, 10_000, protocol="net-tree", model="shuffle", delta=1e-6, **options)


def test_a_shuffled_plan_keeps_both_promises_and_is_of_version_2():
    plan = amplified()
    assert Plan.from_json(plan.to_json()) == plan
    assert (plan.version, plan.report_width, plan.minimum_batch) == (2, 13, 9000)
    assert plan.parameters.local_epsilon > 3
    assert plan.guarantee.spent <= 1.0
    with pytest.raises(PlanError, match="of version 2, got version 1"):
        Plan.from_json(plan.to_json().replace('"version":2', '"version":1'))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"odds": 1}, "spend more than epsilon"),
        ({"minimum_batch": -1000}, r"are not \(1, 1e-06\)-private"),
    ],
)
def test_a_shuffled_plan_that_breaks_a_promise_is_refused(changes, message):
    plan = amplified()
    worse = {name: getattr(plan.parameters, name) + by for name, by in changes.items()}
    with pytest.raises(PlanError, match=message):
        replace(plan, parameters=replace(plan.parameters, **worse))


def test_shuffled_reports_find_groups_that_local_ones_do_not():
    """Of ε₀ = 5 instead of ε = 1; the tree, its oracles and its decoder are the same."""
    points, means, _ = gaussian_mixture(10_000, 2, 4, 20.0, random_state=0)
    local = Plan.design(2, 4, 1.0, 10_000, protocol="net-tree", randomizer="codeword")
    worst = []
    for plan in (amplified(minimum_batch=10_000), local):
        found = decode(play(plan, points, SimulationCoins(0)), random_state=0).centers
        worst.append(np.linalg.norm(means[:, None] - found[None], axis=2).min(axis=1).max())
    assert worst[0] < 0.2 < 0.3 < worst[1]
