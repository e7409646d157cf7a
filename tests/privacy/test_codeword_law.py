"""The exact law of the serialized report, enumerated in integers, and samplers that must fail the same check.

A report is a function of the point, the public id and one secret draw U. The law of the bytes is the number
of draws that lead to them. The encoder is asked at both ends of every interval of draws that belongs to one
place of the order, so that all of [0, total) is accounted for: no sampling, no tolerance. What is checked,
for every pair of inputs and every string of bytes, is law(x)·2^24 ≤ law(y)·A with A the exact largest odds of
the claimed ε.
"""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from coterie.plan import Plan
from coterie.plan.views import CrossPolytope, Halfspaces
from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.codeword.parameters import CodewordParameters
from tests.reference.codeword_reference import Reference
from tests.reference.coins import FixedCoins

DIMENSION = 6
TIGHT = 0.99  # share of the claimed ε that some pair of inputs must reach

CASES = [  # ε, N, m, count weight
    (0.5, 256, 108, 0.4),
    (1.0, 256, 89, 0.4),
    (1.0, 256, 89, 0.0),  # the zero point is then one-hot: its scores tie in large groups
    (2.0, 64, 14, 0.4),
    (4.0, 256, 17, 0.2),
    (8.0, 16, 1, 0.4),
    (1.0, 300, 100, 0.4),  # two-byte index
    (0.01, 2, 1, 0.4),
]


VIEWS = {
    "cells": (CrossPolytope(8),),
    "directions": (CrossPolytope(8),),
    # Two rotations; hyperplanes that nobody is above, and through the center, where the zero point ties.
    "halfspaces": (Halfspaces(256, (0, 3 << 20, -(3 << 20), 1 << 27) * 64),),
}


# Some of what lies in the plan's ball is then outside that of the directions, and some directions are alike.
DIRECTIONS = ((3 << 20, 0, 0, 1 << 20, 0, 0), (0, 1 << 20, 5, 0, 0, 0), (0, 1 << 20, -5, 0, 0, 0))


def make_plan(epsilon, codewords, cap, weight, views="cells"):
    odds = largest_odds(epsilon)
    parameters = CodewordParameters(codewords, cap, odds, 128, int(weight * 2**20), VIEWS[views])
    return Plan(
        protocol="codeword", model="local", dimension=DIMENSION, clusters=2, epsilon=epsilon, delta=0.0,
        expected_users=100, center=None, radius=1.0, seed=0, parameters=parameters,
        directions=DIRECTIONS if views == "directions" else None,
    )  # fmt: skip


def inputs():
    rng = np.random.default_rng(0)
    generic = rng.normal(size=(6, DIMENSION))
    generic /= np.linalg.norm(generic, axis=1, keepdims=True)
    one_hot = np.eye(DIMENSION)[:2]
    return np.concatenate(
        [
            np.zeros((1, DIMENSION)),
            one_hot,
            -one_hot,
            generic,
            -generic[:2],
            0.3 * generic[:2],
            50 * generic[:2],
        ]
    )


def laws_of_reports(plan, report_id):
    """Return, for each input, {report bytes: number of draws}."""
    parameters = plan.parameters
    places = [parameters.odds] * parameters.cap + [BASE_ODDS] * (parameters.codewords - parameters.cap)
    ends = np.cumsum([0, *places])
    assert ends[-1] == parameters.randomizer.total
    draws = np.stack([ends[:-1], ends[1:] - 1])  # (2, N): both ends of every place
    encoder = CodewordEncoder(plan, kernels="numpy")
    laws = []
    for point in inputs():
        points = np.repeat(point[None], draws.size, axis=0)
        ids = np.repeat(np.frombuffer(report_id, dtype=np.uint8)[None], draws.size, axis=0)
        reports = encoder.encode(points, ids, FixedCoins(draws.ravel())).reshape(2, -1, plan.report_width)
        law: dict[bytes, int] = {}
        for first, last, draws_here in zip(*reports, places, strict=True):
            assert (first == last).all()  # one report over the whole interval
            law[first.tobytes()] = law.get(first.tobytes(), 0) + draws_here
        laws.append(law)
    return laws


def largest_ratio(laws):
    """Return the largest ratio of two inputs' probabilities of one report, exactly; ∞ where one is 0."""
    totals = [sum(law.values()) for law in laws]
    largest = Fraction(0)
    for report in set().union(*laws):
        chances = [Fraction(law.get(report, 0), total) for law, total in zip(laws, totals, strict=True)]
        if min(chances) == 0:
            return math.inf
        largest = max(largest, max(chances) / min(chances))
    return largest


def check(laws, epsilon, codewords, width):
    """Raise AssertionError unless the laws are ε-private, use ε up, and cannot be told apart by length."""
    assert {len(report) for law in laws for report in law} == {width}
    assert len(set().union(*laws)) <= codewords
    ratio = largest_ratio(laws)
    assert ratio <= Fraction(largest_odds(epsilon), BASE_ODDS), "not private"
    assert math.log(ratio) >= TIGHT * epsilon, "ε not used up"


@pytest.mark.slow
@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize(("epsilon", "codewords", "cap", "weight"), CASES)
def test_the_exact_law_of_the_report_is_private_and_tight(epsilon, codewords, cap, weight, views):
    plan = make_plan(epsilon, codewords, cap, weight, views)
    for report_id in (bytes(12), bytes(range(12)), b"\xff" * 12):
        laws = laws_of_reports(plan, report_id)
        assert all(sum(law.values()) == plan.parameters.randomizer.total for law in laws)
        assert all(sorted(law.values()) == sorted(laws[0].values()) for law in laws)  # whatever the point
        check(laws, epsilon, codewords, plan.report_width)


# ---------------------------------------------------------------- wrong samplers

EPSILON, CODEWORDS, CAP = 1.0, 256, 89


@pytest.fixture(scope="module")
def ranked():
    """The order of the indices for each input."""
    return [sorted(range(CODEWORDS), key=lambda i: (-scores[i], i)) for scores in scores_of_inputs()]


@cache
def scores_of_inputs():
    reference = Reference(make_plan(EPSILON, CODEWORDS, CAP, 0.0).to_json())
    return [reference.steps(point, bytes(12), draw=0)["scores"] for point in inputs().tolist()]


def serialized(index):
    return bytes(12) + bytes([index])


def law_from_shares(order, shares):
    """The law of a sampler that gives the places of the order these numbers of draws."""
    return {serialized(index): share for index, share in zip(order, shares, strict=True)}


def right_shares(odds=None, cap=CAP):
    odds = largest_odds(EPSILON) if odds is None else odds
    return [odds] * cap + [BASE_ODDS] * (CODEWORDS - cap)


def test_the_check_accepts_the_right_shares(ranked):
    check([law_from_shares(order, right_shares()) for order in ranked], EPSILON, CODEWORDS, 13)


def test_odds_one_too_large_fail(ranked):
    laws = [law_from_shares(order, right_shares(largest_odds(EPSILON) + 1)) for order in ranked]
    with pytest.raises(AssertionError, match="not private"):
        check(laws, EPSILON, CODEWORDS, 13)


def test_a_cap_by_threshold_fails(ranked):
    # "score ≥ the m-th score": where scores tie the cap is larger, so the same odds are other probabilities.
    caps = []
    for scores in scores_of_inputs():
        threshold = sorted(scores, reverse=True)[CAP - 1]
        caps.append(sum(score >= threshold for score in scores))
    assert len(set(caps)) > 1
    laws = [law_from_shares(order, right_shares(cap=cap)) for order, cap in zip(ranked, caps, strict=True)]
    with pytest.raises(AssertionError, match="not private"):
        check(laws, EPSILON, CODEWORDS, 13)


def test_a_cap_one_too_large_for_the_draw_fails(ranked):
    # The draw is below m·A + (N-m)·B, but m + 1 places take A of it: too little is left for the last ones.
    odds = largest_odds(EPSILON)
    total = sum(right_shares())
    shares = []
    for share in [odds] * (CAP + 1) + [BASE_ODDS] * (CODEWORDS - CAP - 1):
        shares.append(max(0, min(share, total - sum(shares))))
    with pytest.raises(AssertionError, match="not private"):
        check([law_from_shares(order, shares) for order in ranked], EPSILON, CODEWORDS, 13)


@pytest.mark.parametrize("bits", [33, 40, 52])
def test_a_draw_by_remainder_fails(ranked, bits):
    # U = word mod total favours small U by one word each: the cap gets more than its due.
    total = sum(right_shares())
    copies, more = divmod(1 << bits, total)
    shares, start = [], 0
    for share in right_shares():
        shares.append(copies * share + max(0, min(start + share, more) - start))
        start += share
    assert sum(shares) == 1 << bits
    with pytest.raises(AssertionError, match="not private"):
        check([law_from_shares(order, shares) for order in ranked], EPSILON, CODEWORDS, 13)


def test_half_the_odds_are_private_but_not_tight(ranked):
    laws = [law_from_shares(order, right_shares(largest_odds(EPSILON / 2))) for order in ranked]
    with pytest.raises(AssertionError, match="not used up"):
        check(laws, EPSILON, CODEWORDS, 13)


def test_a_length_that_tells_fails(ranked):
    laws = [law_from_shares(order, right_shares()) for order in ranked]
    laws[0] = {report + b"\0": share for report, share in laws[0].items()}
    with pytest.raises(AssertionError):
        check(laws, EPSILON, CODEWORDS, 13)
