import dataclasses
import json
import math

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.centers import decode
from coterie.coins import SimulationCoins
from coterie.encode import Client
from coterie.engines import Inline, drawn_table
from coterie.errors import AggregateError, DecodeError, PlanError, ReportError
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.lift import lift
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope, Halfspaces
from coterie.privacy import Policy
from coterie.privacy.amplification import amplified_delta
from coterie.protocols.vector_sums.encode import VectorSumEncoder

AMPLIFIED = {"model": "shuffle", "delta": 1e-6}
UNMIXED = Policy(models=("shuffle", "central"), max_local_epsilon=math.inf, shufflers=("00" * 32,))
MIXED = {"protocol": "vector-sums", "model": "shuffle", "delta": 1e-6}
CENTRAL = {"protocol": "vector-sums", "model": "central", "delta": 1e-6}


@pytest.mark.parametrize("options", [AMPLIFIED, MIXED, {**MIXED, "layout": "column"}, CENTRAL])
@pytest.mark.parametrize("dimension", [2, 100])
def test_plans_survive_json_and_keep_their_promise(options, dimension):
    plan = Plan.design(dimension, 4, 1.0, 20_000, **options)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee.spent <= plan.guarantee.epsilon == 1.0
    assert plan.guarantee.delta == 1e-6


def test_both_promises_are_said_in_words():
    words = str(Plan.design(100, 8, 1.0, 100_000, **AMPLIFIED).guarantee)
    assert "1-differential privacy" in words
    assert "If the mixing fails, 7.6" in words
    assert "in a batch of 90000 people" in words
    assert "collector is the shuffler" in words
    assert "no promise" in str(Plan.design(2, 2, 1.0, 1000, **MIXED).guarantee)


def test_a_smaller_batch_is_never_promised_the_planned_epsilon():
    for options in (AMPLIFIED, MIXED, {**MIXED, "layout": "column"}):
        plan = Plan.design(10, 4, 1.0, 20_000, **options)
        spent = [plan.guarantee_for(people).epsilon for people in (14_000, 18_000, 40_000)]
        assert spent[0] > 1.0 >= spent[1] >= spent[2]
        # More people hide more, except by column: there a row's smallest group is all that is enforced.
        assert (spent[1] > spent[2]) == (options.get("layout") != "column")
    with pytest.raises(PlanError, match="2000 people are too few to mix shares"):
        plan.guarantee_for(2_000)
    local = Plan.design(10, 4, 1.0, 20_000)
    assert local.guarantee_for(5) == local.guarantee
    assert (local.minimum_batch, plan.minimum_batch) == (1, 18_000)


def test_the_local_epsilon_can_be_capped():
    free = Plan.design(100, 8, 1.0, 100_000, **AMPLIFIED).parameters
    capped = Plan.design(100, 8, 1.0, 100_000, **AMPLIFIED, local_cap=4.0).parameters
    assert (capped.local_epsilon, round(free.local_epsilon, 1)) == (4.0, 7.7)
    assert capped.spent_epsilon() <= 4.0
    assert amplified_delta(1.0, free.local_epsilon, free.minimum_batch) <= 1e-6


def test_a_plan_edited_by_hand_is_refused():
    plan = Plan.design(10, 4, 1.0, 20_000, **AMPLIFIED)
    for change in ({"minimum_batch": 9_000}, {"local_epsilon": 9.0, "odds": plan.parameters.odds * 8}):
        with pytest.raises(PlanError, match=r"would not keep its promise; do not answer it"):
            dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, **change))
    with pytest.raises(PlanError, match=r"odds .* spend more than epsilon"):
        dataclasses.replace(
            plan, parameters=dataclasses.replace(plan.parameters, odds=plan.parameters.odds + 1)
        )
    with pytest.raises(PlanError, match="lacks the field 'minimum_batch'"):
        Plan.from_json(plan.to_json().replace('"minimum_batch":18000,', ""))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "shuffle"}, r"delta must be in \[1e-30, 0\.01\] in the shuffle model"),
        ({"model": "local", "delta": 1e-6}, "delta must be 0 in the local model"),
        ({"protocol": "vector-sums"}, "does not run in the local model; it needs model central or shuffle"),
        ({**AMPLIFIED, "minimum_batch": 2000}, "minimum_batch must be in"),
        ({**AMPLIFIED, "local_cap": 0}, "local_cap must be in"),
        ({**AMPLIFIED, "cells": 8}, "has no option 'cells'; known: minimum_batch, local_cap"),
        ({**MIXED, "cells": 100}, "power of two"),
        ({**MIXED, "layout": "rows"}, "layout must be one of"),
        ({**MIXED, "layout": "column", "cells": 64}, "shares need 19 or more"),
        ({**MIXED, "layout": "hashed", "failure": 0}, "failure must be in"),
        ({**CENTRAL, "layout": "column"}, "a curator sums whole cells"),
    ],
)
def test_impossible_wishes_get_a_clear_answer(options, message):
    with pytest.raises(PlanError, match=message):
        Plan.design(2, 2, 1.0, 1000, **options)


def test_the_cost_is_stated_and_absurd_sizes_are_refused_with_it():
    plan = Plan.design(100, 8, 1.0, 100_000, **MIXED)
    cost = plan.parameters.cost
    assert cost.messages == 1024 * 102 * plan.parameters.shares
    with pytest.raises(PlanError, match=f"a person sends {cost.messages:,} messages .*{cost.bytes:,} bytes"):
        Client(plan, policy=UNMIXED).encode(np.zeros(100))
    column = Plan.design(100, 8, 1.0, 100_000, **MIXED, layout="column").parameters
    assert column.cost.messages == 102 * column.shares < 2000
    assert Plan.design(2, 2, 1.0, 40, **MIXED, layout="hashed", failure=0.5).parameters.rows == 160


def test_no_person_can_move_the_table_further_than_stated():
    rng = np.random.default_rng(0)
    for options in ({}, {"layout": "column"}):
        plan = Plan.design(3, 2, 1.0, 5000, **MIXED, cells=8, **options)
        encoder, allowed = VectorSumEncoder(plan), plan.parameters.influence().squared
        points = rng.normal(0, 1, (400, 3))
        points[:200] /= np.linalg.norm(points[:200], axis=1, keepdims=True)
        points[1::2] = -points[::2]
        ids = np.repeat(rng.integers(0, 256, (200, 12), dtype=np.uint8), 2, axis=0)
        rows, vectors, _ = encoder.contributions(points, ids)
        for one in range(0, 400, 2):
            table = np.zeros((plan.parameters.rows, 5))
            table[rows[one]] += vectors[one]
            table[rows[one + 1]] -= vectors[one + 1]
            assert (table**2).sum() <= allowed
        assert (vectors**2).sum(axis=1).max() <= plan.parameters.grid**2


def test_the_printed_noise_would_not_be_private():
    """σ = 20·log(sd/δ)/ε as printed has no 1/η: on a grid of n steps it hides almost nothing."""
    from fractions import Fraction

    from coterie.privacy.renyi import Influence, gaussian_curve, renyi_epsilon

    people, dimension, delta = 10_000, 10, 1e-6
    buckets = 2 * people * 10
    printed = 20 * math.log(buckets * dimension / delta)
    influence = Influence(math.ceil((2 * (people + math.sqrt(dimension))) ** 2), buckets * dimension)
    assert renyi_epsilon(gaussian_curve(influence, Fraction(printed)), delta) > 500


def test_missing_doubled_and_foreign_messages():
    plan = Plan.design(2, 2, 2.0, 40, **MIXED, cells=2)
    ids = np.random.default_rng(0).integers(0, 256, (40, 12), dtype=np.uint8)
    reports = VectorSumEncoder(plan).encode(np.zeros((40, 2)), ids, SimulationCoins(0))
    whole = Inline().aggregate(plan, [reports])
    assert decode(whole, random_state=0).count == 40
    from coterie.collect.shuffler import mixed

    messages = np.concatenate(list(mixed(plan, [reports])))
    for wrong in (messages[1:], np.concatenate([messages, messages[:1]])):
        table = Aggregate(plan)
        table.add(wrong)
        with pytest.raises(DecodeError, match=r"row 0, coordinate 0 has .* missing or doubled"):
            decode(table)
    foreign = messages[:3].copy()
    foreign[2, :4] = 255
    table = Aggregate(plan)
    with pytest.raises(ReportError, match="report 2 of 3: the table has 8 entries"):
        table.add(foreign)
    foreign = messages[:3].copy()
    foreign[1, 4:] = 255
    with pytest.raises(ReportError, match=r"report 1 of 3: .* a share is below"):
        table.add(foreign)
    assert table.count == 0
    halves = Aggregate(plan), Aggregate(plan)
    halves[0].add(messages[::2])
    halves[1].add(messages[1::2])
    halves[0].merge(halves[1])
    assert halves[0] == whole
    assert Aggregate.from_bytes(whole.to_bytes()) == whole


def test_a_curators_table_is_neither_sent_nor_merged():
    plan = Plan.design(2, 2, 2.0, 40, **CENTRAL)
    table, _ = drawn_table(plan, np.zeros((40, 2)), SimulationCoins(0))
    with pytest.raises(ReportError, match="no messages"):
        table.add(b"")
    with pytest.raises(AggregateError, match="not merged"):
        table.merge(table)
    with pytest.raises(PlanError, match="no private reports"):
        Client(plan, policy=UNMIXED).encode([0.0, 0.0])


def test_too_few_people_in_a_table_are_said_and_not_promised():
    plan = Plan.design(2, 2, 2.0, 2000, **AMPLIFIED)
    table = Aggregate(plan)
    table.add(Client(plan).encode_many(np.repeat([[0.8, 0.0], [-0.8, 0.0]], 300, axis=0)))
    result = decode(table, random_state=0)
    assert result.guarantee.epsilon > 2.0
    assert any("the promise that holds is epsilon" in note for note in result.notes)


HALFSPACES = Halfspaces(4, (0, 1 << 20, -(1 << 20), 1 << 27), 3)


def with_views(plan, *views):
    return dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, views=views))


def test_amplified_plans_take_halfspaces():
    plan = with_views(Plan.design(5, 2, 1.0, 20_000, **AMPLIFIED), HALFSPACES, CrossPolytope(4))
    assert Plan.from_json(plan.to_json()) == plan
    table = Aggregate(plan)
    table.add(Client(plan).encode_many(np.full((50, 5), 0.1)))
    assert table.count == 50
    assert len(table.table.counts) == 12


@pytest.mark.parametrize(
    "options", [MIXED, {**MIXED, "layout": "hashed", "failure": 0.5, "minimum_batch": 30}, CENTRAL]
)
def test_only_columns_take_halfspaces(options):
    plan = Plan.design(2, 2, 2.0, 40, **options)
    with pytest.raises(PlanError, match="halfspaces have none; column takes them"):
        with_views(plan, dataclasses.replace(HALFSPACES, weight=1))


def test_a_column_has_the_sign_of_its_halfspace():
    base = Plan.design(3, 2, 1.0, 20_000, **MIXED, layout="column", cells=8)
    plan = with_views(base, CrossPolytope(4), HALFSPACES)  # 12 rows instead of 16: groups are larger
    assert Plan.from_json(plan.to_json()) == plan
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 3)) / 2
    ids = rng.integers(0, 256, (300, 12), dtype=np.uint8)
    encoder = VectorSumEncoder(plan)
    rows, vectors, _ = encoder.contributions(points, ids)
    quantized, _ = quantize(points, None, 1.0)
    plain = np.trunc(lift(quantized, plan.parameters.count_weight) * (plan.parameters.grid / SCALE))
    sides = HALFSPACES.geometry(plan.randomness_key, 1, 3).of(quantized)
    here = rows >= 8
    assert 190 < here.sum() < 260
    signs = sides[here, rows[here] - 8]
    assert (vectors[here] == signs[:, None] * plain[here]).all()
    assert set(signs) == {-1, 1}


def test_oracles_of_cells_pass_halfspaces_by():
    from coterie.protocols.vector_sums.oracle import mixed_cell_sums

    base = Plan.design(3, 2, 1.0, 2_000, **MIXED, layout="column", cells=8)
    plan = with_views(base, HALFSPACES, CrossPolytope(4))
    table, _ = drawn_table(plan, np.zeros((2_000, 3)), SimulationCoins(0))
    (only,) = mixed_cell_sums(table.table)
    assert only.vectors.shape == (8, 5)
    assert 400 < only.people < 600
    assert decode(table, random_state=0).centers.shape == (2, 3)  # and so does the decoder


def edited(plan, **changes):
    data = json.loads(plan.to_json())
    parameters = changes.pop("parameters", {})
    return json.dumps({**data, **changes, "parameters": {**data["parameters"], **parameters}})


def test_nobody_can_be_left_alone_with_the_noise():
    """One trusted noiser who drops out cells exact sums; no plan can ask for one any more."""
    plan = Plan.design(2, 2, 1.0, 100, **MIXED, cells=4)
    with pytest.raises(PlanError, match="noise must be one of everyone, curator"):
        Plan.from_json(edited(plan, parameters={"noise": "one"}))
    with pytest.raises(PlanError, match="has no option 'noise'"):
        Plan.design(2, 2, 1.0, 100, **MIXED, cells=4, noise="one")
    # Without anyone's noise the sums would be exact: everybody's report carries some.
    silent = VectorSumEncoder(plan).encode(
        np.zeros((200, 2)), np.zeros((200, 12), dtype=np.uint8), SimulationCoins(0)
    )
    sums = [Inline().aggregate(plan, [row[None]]).table.sums for row in silent]
    assert len({each.tobytes() for each in sums}) == 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0.999999}, r"delta must be in \[1e-30, 0\.01\]"),
        ({"delta": 0.010001}, r"delta must be in \[1e-30, 0\.01\]"),
        ({"delta": 5e-324}, r"delta must be in \[1e-30, 0\.01\]"),
        ({"expected_users": 89}, "minimum_batch 90 must not exceed expected_users 89"),
        ({"parameters": {"noise_parts": 128}}, "would not keep its promise"),
        ({"delta": 1e-30}, "would not keep its promise"),
    ],
)
@pytest.mark.parametrize("options", [MIXED, CENTRAL])
def test_a_plan_without_sane_bounds_is_refused_when_it_is_read(options, changes, message):
    plan = Plan.design(2, 2, 1.0, 100, **options, cells=4)
    with pytest.raises(PlanError, match=message):
        Plan.from_json(edited(plan, **changes))


def test_an_amplified_plan_whose_batch_nobody_expects_is_refused():
    plan = Plan.design(2, 2, 1.0, 2000, **AMPLIFIED)
    with pytest.raises(PlanError, match="minimum_batch 2001 must not exceed expected_users 2000"):
        Plan.from_json(edited(plan, parameters={"minimum_batch": 2001}))


def test_hardly_any_noise_is_a_broken_promise_and_no_overflow():
    plan = Plan.design(2, 2, 1.0, 100, **CENTRAL, cells=4)
    with pytest.raises(PlanError, match="would not keep its promise"):
        Plan.from_json(edited(plan, parameters={"noise_parts": 1}))


def test_column_tables_whose_counts_wrap_are_refused():
    plan = Plan.design(2, 2, 2.0, 400, **MIXED, cells=2, layout="column")
    table = Aggregate(plan).table
    shares = plan.parameters.shares
    messages = np.zeros_like(table.messages)
    messages[0] = messages[1] = 1 << 62
    messages[2] = messages[3] = (1 << 62) + 200 * shares  # together 2^64 and 400 people
    with pytest.raises(AggregateError, match="more than 2"):
        type(table).from_arrays(plan, {"sums": table.sums, "messages": messages})
