"""The exact law of a whole net-tree report, on its serialized bytes, for small T.

Every pattern of secret coins is played through the real encoder; a pattern with f lies has weight
A^(2T-f)·B^f. The weights of all patterns that lead to the same bytes add up, in integers, to the report's
law.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.privacy.odds import BASE_ODDS, largest_shared_odds, product_allowed, spent_by_product
from coterie.protocols.paper.net_tree.encode import NetTreeEncoder
from coterie.protocols.paper.net_tree.parameters import NetTreeParameters


class ScriptedCoins:
    """Answers the encoder's draws from a script of lies: 0 tells the truth, bound-1 lies."""

    def __init__(self, lies):
        self.lies = list(lies)

    def below_many(self, bound, size):
        taken, self.lies = self.lies[:size], self.lies[size:]
        return np.array([bound - 1 if lie else 0 for lie in taken], dtype=np.int64)


def law(plan, encoder, point, id_):
    """Integer weights of every report that this point and id can give."""
    levels, parameters = plan.parameters.levels, plan.parameters
    weights = {}
    for lies in itertools.product((0, 1), repeat=2 * levels):
        report = encoder.encode(point[None], id_[None], ScriptedCoins(lies)).tobytes()
        counts, vectors = lies[:levels], lies[levels:]
        weight = parameters.count_odds ** counts.count(0) * parameters.vector_odds ** vectors.count(0)
        weight *= BASE_ODDS ** sum(lies)
        weights[report] = weights.get(report, 0) + weight
    return weights


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "levels", "projected"), [(2, 1, 2), (2, 3, 2), (7, 2, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_whole_report_is_private_at_the_total_epsilon(dimension, levels, projected, epsilon):
    plan = Plan.design(dimension, 2, epsilon, 1000, protocol="net-tree", levels=levels, projected=projected)
    encoder = NetTreeEncoder(plan)
    generator = np.random.default_rng(0)
    points = generator.standard_normal((5, dimension))
    points /= 1.2 * np.linalg.norm(points, axis=1, keepdims=True)
    points[0] = 0  # the point that the projection maps to the middle
    worst = Fraction(0)
    for id_ in generator.integers(0, 256, (4, 12), dtype=np.uint8):
        laws = [law(plan, encoder, point, id_) for point in points]
        totals = {sum(weights.values()) for weights in laws}
        assert len(totals) == 1  # the same denominator for everybody
        assert all(weights.keys() == laws[0].keys() for weights in laws)  # the same reports are possible
        assert len(laws[0]) == 4**levels
        for first, second in itertools.permutations(laws, 2):
            worst = max(worst, *(Fraction(first[report], second[report]) for report in first))
    spent = Fraction(plan.parameters.count_odds * plan.parameters.vector_odds, BASE_ODDS**2) ** levels
    assert worst <= spent
    assert product_allowed([plan.parameters.count_odds, plan.parameters.vector_odds] * levels, epsilon)
    # Tight: some pair of people is told apart by nearly everything that was promised.
    assert math.log(worst) > 0.6 * epsilon


def test_bytes_reveal_nothing_but_the_id_and_the_bits():
    plan = Plan.design(3, 2, 1.0, 1000, protocol="net-tree", levels=3)
    id_ = np.arange(12, dtype=np.uint8)
    for report in law(plan, NetTreeEncoder(plan), np.full(3, 0.3), id_):
        assert report[:12] == id_.tobytes()
        assert len(report) == 13
        assert report[12] & 0b11 == 0  # padding


def test_a_plan_that_spends_more_is_refused_by_one_unit():
    good = Plan.design(2, 2, 1.0, 1000, protocol="net-tree", levels=2).parameters
    fields = good.to_dict()
    good.check_odds(1.0)
    for name in ("count_odds", "vector_odds"):
        # Two bits at the old odds leave room below one unit in the last place of the other two.
        worse = NetTreeParameters(**{**fields, name: fields[name] + 2})
        with pytest.raises(PlanError, match="would not keep its promise"):
            worse.check_odds(1.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.3])
@pytest.mark.parametrize("parts", [1, 2, 20, 48])
def test_shared_odds_are_the_largest_that_keep_the_promise(epsilon, parts):
    odds = largest_shared_odds(epsilon, parts)
    assert product_allowed([odds] * parts, epsilon)
    assert not product_allowed([odds + 1] * parts, epsilon)
    assert spent_by_product([odds] * parts) <= epsilon


def test_floats_are_not_trusted_with_the_promise():
    # 1/3 as a double is below a third; three answers at exactly "ε/3" must still be checked against ε itself.
    for epsilon in (0.1, 0.3, 0.7, 1.1):
        odds = largest_shared_odds(epsilon, 3)
        assert Fraction(odds, BASE_ODDS) ** 3 <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**50))
