"""Tables of mixed shares: any order, any split, any merge of the same messages gives the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins
from coterie.collect.shuffler import mixed
from coterie.plan import Plan
from coterie.protocols.vector_sums.encode import VectorSumEncoder
from coterie.randomizers.vector_sums import big_endian, from_big_endian

PLAN = Plan.design(
    2, 2, 2.0, 25, protocol="vector-sums", model="shuffle", delta=1e-3, cells=2, minimum_batch=25
)
IDS = np.random.default_rng(0).integers(0, 256, (25, 12), dtype=np.uint8)
REPORTS = VectorSumEncoder(PLAN).encode(np.full((25, 2), 0.3), IDS, SimulationCoins(0))
MESSAGES = np.concatenate(list(mixed(PLAN, [REPORTS])))
WHOLE = Aggregate(PLAN)
WHOLE.add(MESSAGES)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, len(MESSAGES)), max_size=4))
def test_any_order_split_and_merge_gives_the_same_bits(seed, cuts):
    order = np.random.default_rng(seed).permutation(len(MESSAGES))
    total = Aggregate(PLAN)
    for piece in np.split(order, sorted(cuts)):
        part = Aggregate(PLAN)
        part.add(MESSAGES[piece])
        total.merge(part)
    assert total == WHOLE
    assert total.to_bytes() == WHOLE.to_bytes()


@given(st.permutations(range(25)))
def test_the_order_of_arrival_leaves_no_trace(order):
    again = np.concatenate(list(mixed(PLAN, [REPORTS[list(order)]])))
    assert np.array_equal(again, MESSAGES)


@given(st.lists(st.integers(0, 2**40 - 1), max_size=20))
def test_parameters_survive_being_written(values):
    assert from_big_endian(big_endian(np.array(values, dtype=np.int64), 5)).tolist() == values


@pytest.mark.slow
@settings(max_examples=30)  # the search for the noise takes a moment
@given(st.sampled_from(["model", "layout"]), st.floats(0.2, 8), st.integers(500, 10**7), st.integers(2, 40))
def test_plans_are_valid_whatever_is_asked(kind, epsilon, users, dimension):
    options = {"protocol": "vector-sums", "cells": 2, "layout": "column"} if kind == "layout" else {}
    if dimension <= 16 and not options:
        dimension += 16  # nets take a moment to spread
    plan = Plan.design(dimension, 2, epsilon, users, model="shuffle", delta=1e-6, **options)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee.spent <= epsilon
    assert plan.guarantee_for(users).epsilon <= epsilon * (1 + 1e-6)
