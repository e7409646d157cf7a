"""Theorem 22's guarantee with its constants (that noise-free decoding keeps it: tests/paper)."""

import math
from dataclasses import replace

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.geometry.nets import NetFamily
from coterie.plan import Plan
from coterie.plan.approximation import complete_nodes

LETTER = {"constants": "theory"}  # the paper's decoder


def theory(users=200_000, **options):
    return Plan.design(2, 4, 1.0, users, protocol="net-tree", constants="theory", levels=5, **options)


def test_the_additive_error_grows_as_root_n_and_one_over_epsilon():
    def noise(users, epsilon):  # the part that is the oracles' alone
        plan = Plan.design(2, 4, epsilon, users, protocol="net-tree", constants="theory", levels=5)
        found = plan.approximation(LETTER)
        return found.count_error, found.vector_error

    base = noise(10**6, 0.5)
    assert np.array(noise(16 * 10**6, 0.5)) / base == pytest.approx([4, 4], rel=1e-6)
    assert np.array(noise(10**6, 0.125)) / base == pytest.approx([4, 4], rel=0.01)


def test_the_errors_are_the_oracles_bounds():
    from coterie.aggregate import Aggregate
    from coterie.centers.net_tree import oracles_of

    plan = theory(1000)
    table = Aggregate(plan)
    table.add(np.zeros((1000, plan.report_width), dtype=np.uint8))
    frequencies, vectors = oracles_of(table.table)
    found = plan.approximation(LETTER, people=1000, failure=0.1)
    nodes = sum(complete_nodes(plan.parameters))
    assert found.count_error == pytest.approx(frequencies.bound(0.05, nodes))
    assert found.vector_error == pytest.approx(vectors.bound(0.05, nodes))


def test_the_union_is_over_the_complete_tree():
    # BuildTree chooses its nodes by the noise, so the bound must cover all that it could have asked for.
    plan = theory()
    assert plan.approximation(LETTER, nodes=10).count_error == plan.approximation(LETTER).count_error
    shape = plan.parameters
    nets = NetFamily.from_key(bytes(16), 2, 5)
    assert complete_nodes(shape)[0] >= len(nets.roots_children())


def test_units_and_options():
    plan = theory()
    assert plan.additive_error(LETTER) == plan.approximation(LETTER).additive
    far = replace(plan, radius=3.0)
    assert far.additive_error(LETTER) == pytest.approx(9 * plan.additive_error(LETTER))
    assert plan.additive_error(LETTER, solver_ratio=163.0) > 10 * plan.additive_error(LETTER)
    assert plan.approximation(LETTER, solver_ratio=163.0).ratio > 163
    assert plan.additive_error(LETTER, nodes=100) < plan.additive_error(LETTER)
    with pytest.raises(PlanError, match="solver_ratio must be in"):
        plan.additive_error(LETTER, solver_ratio=0.5)


def test_practical_constants_and_other_protocols_guarantee_nothing():
    assert math.isinf(Plan.design(2, 4, 1.0, 10**6, protocol="net-tree").additive_error())
    small = {**LETTER, "expansion": 3}  # a too small for any theta, and not every node is expanded
    assert math.isinf(theory().approximation(small).ratio)
    assert math.isinf(theory().approximation({**LETTER, "strays": 0.5}).ratio)
    with pytest.raises(PlanError, match="has no option 'depth'; known: constants, alpha"):
        theory().additive_error({"depth": 3})
    with pytest.raises(PlanError, match="states no approximation ratio"):
        Plan.design(2, 4, 1.0, 10**6).additive_error()
