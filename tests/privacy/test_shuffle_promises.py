"""What the promise of the shuffle model rests on, each part with a plan or batch that just breaks it."""

import dataclasses
import json
import math

import numpy as np
import pytest

from coterie.collect.shuffler import mixed
from coterie.errors import PlanError, ReportError
from coterie.geometry.ball import SCALE
from coterie.plan import Plan
from coterie.privacy.amplification import largest_local_epsilon
from coterie.privacy.odds import largest_odds
from coterie.protocols.vector_sums.encode import VectorSumEncoder
from coterie.randomizers.split_and_mix import security_of
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream

SUMS = {"protocol": "vector-sums", "model": "shuffle", "delta": 1e-6}


def edited(plan, **parameters):
    data = json.loads(plan.to_json())
    return json.dumps({**data, "parameters": {**data["parameters"], **parameters}})


@pytest.mark.parametrize(("times", "kept"), [(0.999, True), (1.5, False), (1.9, False)])
def test_an_amplified_plan_is_accepted_at_its_delta_and_at_no_larger_one(times, kept):
    plan = Plan.design(2, 2, 1.0, 20_000, model="shuffle", delta=1e-6)
    batch = plan.parameters.minimum_batch
    local = largest_local_epsilon(plan.epsilon, times * plan.delta, batch)  # its δ at ε is `times` the plan's
    text = edited(plan, local_epsilon=local, odds=min(plan.parameters.odds, largest_odds(local)))
    if kept:
        assert Plan.from_json(text).guarantee.spent <= plan.epsilon
    else:
        with pytest.raises(PlanError, match="would not keep its promise"):
            Plan.from_json(text)


def changes(plan, first, second):
    """What replacing each of `first` by the same row of `second`, with one id, changes of the table."""
    ids = np.random.default_rng(0).integers(0, 256, (len(first), 12), dtype=np.uint8)
    encoder = VectorSumEncoder(plan)
    before, after = encoder.contributions(first, ids), encoder.contributions(second, ids)
    tables = np.zeros((len(first), plan.parameters.rows, plan.parameters.coordinates))
    every = np.arange(len(first))
    np.add.at(tables, (every, before[0]), before[1])
    np.subtract.at(tables, (every, after[0]), after[1])
    return tables


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75, 0.95])
def test_the_influence_covers_a_change_of_cell_whatever_a_person_counts(share):
    """Leaving a cell for another moves two vectors of the grid's length, even where points count little."""
    plan = Plan.design(3, 2, 1.0, 5000, **SUMS, cells=8)
    weight = round(share * SCALE)
    parameters = dataclasses.replace(
        plan.parameters, count_weight=weight, noise_parts=2 * plan.parameters.noise_parts
    )
    plan = dataclasses.replace(plan, parameters=parameters)
    points = np.random.default_rng(1).normal(size=(500, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    moved = changes(plan, points, -points)
    squared = (moved**2).sum(axis=(1, 2))
    assert squared.max() <= parameters.influence().squared
    assert squared.max() >= 1.99 * parameters.grid**2
    # And no more than that: 4a² within a cell, 2 across cells, where a² = 1 - b².
    assert parameters.influence().squared <= max(4 * (1 - share**2), 2) * parameters.grid**2 + 2


@pytest.mark.parametrize("layout", ["cells", "column"])
def test_the_shares_part_of_delta_pays_for_every_sum_a_person_touches(layout):
    plan = Plan.design(3, 2, 1.0, 5000, **SUMS, cells=8, layout=layout)
    parameters = plan.parameters
    points, others = np.random.default_rng(1).normal(0, 0.4, (2, 500, 3))
    touched = (changes(plan, points, others) != 0).sum(axis=(1, 2)).max()
    assert parameters.touched == touched == (5 if layout == "column" else 10)
    bits = security_of(parameters.shares, parameters.modulus, parameters.group)
    exact = touched * (1 + math.e) * 2.0**-bits
    assert exact <= parameters.mixing_delta(1.0) <= exact * (1 + 1e-8)


def test_the_noise_alone_does_not_make_a_plan_private():
    """δ is shared by noise and shares: shares that take more of it than the noise leaves are refused."""
    plan = Plan.design(3, 2, 1.0, 5000, **SUMS, cells=8)
    shares = plan.parameters.shares
    assert plan.parameters.mixing_delta(1.0) < plan.delta
    assert dataclasses.replace(plan.parameters, shares=shares - 1).mixing_delta(1.0) > plan.delta / 100
    with pytest.raises(PlanError, match="would not keep its promise"):
        Plan.from_json(edited(plan, shares=shares - 1))


def test_a_row_with_one_person_too_few_is_not_released():
    """Below `group` people the row's noise and mixing are weaker than promised."""
    plan = Plan.design(2, 2, 2.0, 400, **{**SUMS, "delta": 1e-4}, cells=2, layout="column")
    group = plan.parameters.group
    assert group > 2
    ids = np.random.default_rng(3).integers(0, 256, (600, 12), dtype=np.uint8)
    rows, _ = PublicStream(plan.randomness_key()).choices(ids, Rows.of(plan.parameters))
    reports = np.zeros((600, plan.report_width), dtype=np.uint8)
    reports[:, :12] = ids
    own = np.flatnonzero(rows == 0)
    enough = np.concatenate([own[:group], np.flatnonzero(rows != 0)])
    assert len(list(mixed(plan, [reports[enough]]))) == plan.parameters.rows
    with pytest.raises(ReportError, match=f"has {group - 1} people, the plan needs {group}"):
        list(mixed(plan, [reports[enough[1:]]]))
