"""The exact law of a net-tree report of layout 2, on its serialized bytes, in integers."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.privacy.odds import BASE_ODDS, product_allowed
from coterie.protocols.paper.net_tree.encode_codeword import CodewordTreeEncoder


class Draws:
    def __init__(self, draws):
        self.draws = np.asarray(draws, dtype=np.int64)

    def below_many(self, bound, size):
        assert len(self.draws) == size
        assert 0 <= self.draws.min() <= self.draws.max() < bound
        return self.draws


def law(plan, encoder, point, identity):
    """How many of the secret draws lead to each report: every draw of a stretch sends the same index."""
    parameters = plan.parameters
    starts = [place * parameters.odds for place in range(parameters.cap)]
    starts += [parameters.cap * parameters.odds + place * BASE_ODDS for place in range(256 - parameters.cap)]
    lengths = [parameters.odds] * parameters.cap + [BASE_ODDS] * (256 - parameters.cap)
    found = {}
    for ends in (starts, [s + n - 1 for s, n in zip(starts, lengths, strict=True)]):
        count = len(ends)
        reports = encoder.encode(np.tile(point, (count, 1)), np.tile(identity, (count, 1)), Draws(ends))
        weights = {}
        for report, length in zip(reports, lengths, strict=True):
            weights[report.tobytes()] = weights.get(report.tobytes(), 0) + length
        assert found in ({}, weights)  # the first and the last draw of a stretch agree
        found = weights
    return found


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_exact_law_is_private_and_tight(epsilon):
    plan = Plan.design(3, 2, epsilon, 1000, protocol="net-tree", randomizer="codeword", levels=2)
    encoder = CodewordTreeEncoder(plan)
    generator = np.random.default_rng(0)
    points = generator.standard_normal((4, 3))
    points /= 1.1 * np.linalg.norm(points, axis=1, keepdims=True)
    worst = Fraction(0)
    for identity in generator.integers(0, 256, (3, 12), dtype=np.uint8):
        laws = [law(plan, encoder, point, identity) for point in points]
        assert {sum(weights.values()) for weights in laws} == {plan.parameters.randomizer.total}
        assert all(weights.keys() == laws[0].keys() and len(weights) == 256 for weights in laws)
        for one in laws:
            for other in laws:
                worst = max(worst, *(Fraction(one[key], other[key]) for key in one))
    assert worst == Fraction(plan.parameters.odds, BASE_ODDS)  # attained, and …
    assert product_allowed([plan.parameters.odds], epsilon)  # … at most e^ε, in integers
    assert plan.parameters.spent_epsilon() <= epsilon
    assert math.log(worst) > epsilon - 1e-6


def test_odds_one_too_large_are_refused():
    plan = Plan.design(3, 2, 1.0, 1000, protocol="net-tree", randomizer="codeword")
    more = dataclasses.replace(plan.parameters, odds=plan.parameters.odds + 1)
    with pytest.raises(PlanError, match="would not keep its promise; do not answer it"):
        dataclasses.replace(plan, parameters=more)
    with pytest.raises(PlanError, match="would not keep its promise"):
        more.check_odds(1.0)


def test_every_report_has_one_length_and_a_plan_its_own_form():
    plan = Plan.design(100, 8, 1.0, 10**6, protocol="net-tree", randomizer="codeword")
    assert plan.report_width == 13
    assert Plan.from_json(plan.to_json()) == plan
    bits = Plan.design(100, 8, 1.0, 10**6, protocol="net-tree")
    assert Plan.from_json(bits.to_json()) == bits
    with pytest.raises(PlanError, match=r"lacks the field|unknown field"):
        Plan.from_json(plan.to_json().replace('"layout":2', '"layout":1'))
