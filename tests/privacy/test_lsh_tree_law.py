"""The exact law of a whole lsh-tree report, on its serialized bytes, for every switch of the protocol.

Every outcome of the secret draws is played through the real encoder with its integer weight; the weights of
all draws that lead to the same bytes add up to the report's law.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from coterie.plan import Plan
from coterie.privacy.odds import BASE_ODDS, product_allowed
from coterie.protocols.paper.lsh_tree.encode import LshTreeEncoder


class ScriptedCoins:
    """Gives the encoder the draws of a script, each call its own."""

    def __init__(self, script):
        self.script = list(script)

    def below_many(self, bound, size):
        taken = self.script.pop(0)
        assert len(taken) == size
        assert all(0 <= draw < bound for draw in taken)
        return np.array(taken, dtype=np.int64)


def outcomes_of_bits(response, count):
    """All (draws, weight) of some bits: draw 0 tells the truth, `odds` lies."""
    for lies in itertools.product((0, 1), repeat=count):
        weight = math.prod(BASE_ODDS if lie else response.odds for lie in lies)
        yield [response.odds if lie else 0 for lie in lies], weight


def outcomes_of_codeword(law):
    for rank in range(law.codewords):
        inside = rank < law.cap
        draw = rank * law.odds if inside else law.cap * law.odds + (rank - law.cap) * BASE_ODDS
        yield [draw], law.odds if inside else BASE_ODDS


def law(plan, encoder, point, id_):
    parameters = plan.parameters
    parts = (
        [] if parameters.joint else [list(outcomes_of_bits(parameters.count_response, parameters.answers))]
    )
    if parameters.randomizer == "djw":
        parts.append(list(outcomes_of_bits(parameters.vector_response, parameters.answers)))
    else:
        parts.append(list(outcomes_of_codeword(parameters.codeword_response)))
    weights = {}
    for chosen in itertools.product(*parts):
        coins = ScriptedCoins(draws for draws, _ in chosen)
        report = encoder.encode(point[None], id_[None], coins).tobytes()
        weights[report] = weights.get(report, 0) + math.prod(weight for _, weight in chosen)
    return weights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reports"),
    [
        ({}, 4),
        ({"split": "budget", "levels": 2}, 16),
        ({"split": "deepest"}, 4),
        ({"count": "joint"}, 2),
        ({"randomizer": "privunit"}, 512),
        ({"randomizer": "privunit", "count": "joint", "histogram_share": 0.0}, 256),
    ],
    ids=str,
)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_whole_report_is_private_at_the_total_epsilon(options, reports, epsilon):
    plan = Plan.design(4, 2, epsilon, 1000, protocol="lsh-tree", **options)
    encoder = LshTreeEncoder(plan)
    generator = np.random.default_rng(0)
    points = generator.standard_normal((3, 4))
    points /= 1.1 * np.linalg.norm(points, axis=1, keepdims=True)
    points = np.concatenate([points, -points[:1], np.zeros((1, 4))])
    worst = Fraction(0)
    for id_ in generator.integers(0, 256, (2 if reports > 100 else 6, 12), dtype=np.uint8):
        laws = [law(plan, encoder, point, id_) for point in points]
        assert len({sum(weights.values()) for weights in laws}) == 1  # the same denominator for everybody
        assert all(weights.keys() == laws[0].keys() for weights in laws)  # the same reports are possible
        assert len(laws[0]) == reports
        for first, second in itertools.permutations(laws, 2):
            worst = max(worst, *(Fraction(first[report], second[report]) for report in first))
    odds = [part.odds for part in plan.parameters.parts()]
    assert worst <= Fraction(math.prod(odds), BASE_ODDS ** len(odds))
    assert product_allowed(odds, epsilon)
    assert math.log(worst) > 0.6 * epsilon  # tight: what is promised is nearly what can be told


def test_which_level_is_served_does_not_depend_on_the_point():
    plan = Plan.design(4, 2, 1.0, 1000, protocol="lsh-tree")
    encoder, id_ = LshTreeEncoder(plan), np.arange(12, dtype=np.uint8)
    for point in np.eye(4):
        for report in law(plan, encoder, point, id_):
            assert report[:12] == id_.tobytes()
            assert report[12] & 0b00111111 == 0  # two bits, and padding
