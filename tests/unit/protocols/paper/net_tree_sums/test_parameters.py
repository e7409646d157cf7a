"""Plans of vector sums over a net tree: their promise, and what one person can do to the table."""

import dataclasses
import math

import numpy as np
import pytest

from coterie.encode import Client
from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.privacy import Policy
from coterie.protocols.paper.approximation import complete_nodes
from coterie.protocols.paper.net_tree_sums.encode import NetTreeSumEncoder

UNMIXED = Policy(models=("shuffle", "central"), max_local_epsilon=math.inf, shufflers=("00" * 32,))
SUMS = {"protocol": "net-tree-sums", "model": "shuffle", "delta": 1e-6}


def plan_of(people=5000, dimension=3, **options):
    return Plan.design(dimension, 2, 1.0, people, **{**SUMS, **options})


@pytest.mark.parametrize("options", [{}, {"model": "central"}, {"constants": "theory"}])
def test_plans_survive_json_and_keep_their_promise(options):
    plan = plan_of(dimension=2, **options)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee.spent <= 1.0
    assert plan.guarantee_for(plan.minimum_batch).epsilon <= 1.0 * (1 + 1e-6)
    assert plan.parameters.grid >= 2**12


def test_a_weaker_plan_is_refused():
    plan = plan_of()
    parameters = plan.parameters
    for change in (
        {"noise_parts": math.floor(parameters.noise_parts * 0.99)},
        {"levels": parameters.levels + 1},  # a further level is a further release
        {"shares": parameters.shares - 1},
        {"count_weight": parameters.count_weight // 2},  # 4a² decides the influence then
        {"minimum_batch": parameters.minimum_batch // 2, "group": 1000},
    ):
        with pytest.raises(PlanError, match="would not keep its promise; do not answer it"):
            dataclasses.replace(plan, parameters=dataclasses.replace(parameters, **change))


def test_nobody_is_asked_to_add_all_the_noise():
    plan = plan_of()
    with pytest.raises(PlanError, match="noise must be"):
        dataclasses.replace(plan.parameters, noise="one")
    with pytest.raises(PlanError, match="has no option 'noise'"):
        plan_of(noise="one")


def test_no_person_can_move_the_table_further_than_stated():
    plan = plan_of(buckets=50)
    parameters = plan.parameters
    rng = np.random.default_rng(0)
    points = rng.normal(0, 1, (600, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[1::2] = -points[::2]
    rows, vectors, _ = NetTreeSumEncoder(plan).contributions(points, np.zeros((600, 12), dtype=np.uint8))
    assert rows.shape == (600, parameters.levels)
    assert (rows // 50 == np.arange(parameters.levels)).all()
    moved = []
    for one in range(0, 600, 2):
        table = np.zeros((parameters.rows, parameters.coordinates))
        table[rows[one]] += vectors[one]
        table[rows[one + 1]] -= vectors[one + 1]
        moved.append((table**2).sum())
    assert 0.99 * parameters.influence().squared < max(moved) <= parameters.influence().squared
    assert (vectors**2).sum(axis=1).max() <= parameters.grid**2


def test_composing_two_oracles_a_level_would_cost_more():
    # The paper: 2T mechanisms of (ε/2T, δ/2T). One Rényi bound over the whole table needs far less noise.
    from coterie.privacy.renyi import Influence, gaussian_curve, least_scale

    plan = plan_of(200_000, dimension=2)
    levels = plan.parameters.levels
    influence = Influence(2, 3)

    def composed(scale):
        return gaussian_curve(influence, scale)

    printed = float(least_scale(composed, 1.0 / (2 * levels), 1e-6 / (2 * levels), parts=64))
    assert printed / plan.parameters.total_noise(plan.minimum_batch) > 1.9 * math.sqrt(levels)


def test_what_cannot_be_is_said():
    with pytest.raises(PlanError, match="shares need 19 people or more"):
        plan_of(20)
    with pytest.raises(PlanError, match="does not run in the local model"):
        Plan.design(2, 2, 1.0, 1000, protocol="net-tree-sums")
    with pytest.raises(PlanError, match=r"no option 'cells'; known: buckets, minimum_batch, constants, "):
        plan_of(cells=4)
    with pytest.raises(PlanError, match="has more than 268435456 entries"):
        plan_of(buckets=1 << 26, levels=9)
    plan = plan_of(200_000, dimension=100)
    cost = plan.parameters.cost
    with pytest.raises(PlanError, match=f"a person sends {cost.messages:,} messages .*{cost.bytes:,} bytes"):
        Client(plan, policy=UNMIXED).encode(np.zeros(100))
    with pytest.raises(PlanError, match="no private reports"):
        Client(plan_of(model="central"), policy=UNMIXED).encode(np.zeros(3))
    with pytest.raises(PlanError, match="coordinates must be dimension"):
        dataclasses.replace(plan_of(), dimension=4)


@pytest.mark.parametrize("people", [1000, 10**6])
def test_the_theorem_needs_a_bucket_for_everybody(people):
    # Theorem 22 holds only where no node shares a bucket with people: 2N·M/β buckets for N nodes, of which
    # people can be in M on a level. However many people there are, they are in no more nodes than there are.
    plan = plan_of(people, dimension=1, constants="theory", levels=4, ratio=2)
    letter = {"constants": "theory"}
    assert math.isfinite(plan.approximation(letter).ratio)
    nodes = 1 + sum(complete_nodes(plan.parameters))
    assert plan.parameters.buckets < 20 * nodes**2
    for share, proved in ((2, False), (1, True)):
        fewer = plan_of(
            people,
            dimension=1,
            constants="theory",
            levels=4,
            ratio=2,
            buckets=plan.parameters.buckets // share,
        )
        assert math.isfinite(fewer.approximation(letter).ratio) == proved


def test_the_stated_errors_are_flat_in_the_people():
    errors = [
        plan_of(people, dimension=2, constants="theory", levels=5).approximation({"constants": "theory"})
        for people in (10**5, 10**6)
    ]
    assert errors[0].count_error == pytest.approx(errors[1].count_error, rel=0.05)
    assert errors[0].vector_error == pytest.approx(errors[1].vector_error, rel=0.2)
