"""What one forged report may weigh in a codeword table: how many people's worth (docs/poisoning.md)."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from coterie.geometry.lift import point_weight
from coterie.plan import Plan
from coterie.protocols.base import Leverage
from coterie.protocols.codeword.parameters import CodewordParameters

TRIED: Final = 1 << 20  # ids that a forger is taken to try: some seconds of one core

_OF_LARGEST: Final = 0.5264  # Φ⁻¹(1 - this/M) is the mean of the largest of M normal deviates (Blom)


def leverage(plan: Plan) -> Leverage:
    """Return what one forged report may weigh: that of the best codeword which its sender can name.

    A codeword leans along a unit vector by ⟨v,u⟩, about a normal deviate and at most √P; an honest one by κ
    in the mean. Of M codewords the best leans by Φ⁻¹(1 - 0.53/M) in the mean: those of one id where ids
    follow from tokens, of `TRIED` ids where whoever sends it draws them.

    Examples
    --------
    >>> from coterie import Plan
    >>> [round(leverage(Plan.design(20, 4, 1.0, 10**5, ids=ids)).people, 1) for ids in ("random", "token")]
    [14.8, 7.2]
    """
    parameters = CodewordParameters.of(plan)
    tried = parameters.codewords * (1 if plan.ids == "token" else TRIED)
    lean = min(NormalDist().inv_cdf(1 - _OF_LARGEST / tried), math.sqrt(parameters.embedding))
    people = lean / parameters.randomizer.gain(parameters.embedding)
    return Leverage(people, people / point_weight(parameters.count_weight))
