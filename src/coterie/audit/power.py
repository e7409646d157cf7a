"""What a sample of this size would have caught: the smallest faults that its tests cannot miss.

A test of n counts at chance p fails where n·KL(k/n ‖ p) ≥ t, t the logarithm of all tests that share the
false alarm, over it. A client with another chance p' is then caught surely (but for one time in a hundred) if
the count at the unlucky end of its own law still fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import special

from coterie.audit.bounds import ALPHA
from coterie.audit.fit import LONGEST_PERIOD
from coterie.audit.reading import Law
from coterie.audit.result import Check
from coterie.audit.samples import Sample

_UNLUCKY: Final = 2.33  # deviations: one time in a hundred
_FAMILIES: Final = 100  # of tests of a law, about


def smallest(
    change: Callable[[float], float], trials: float, chance: float, tests: float, most: float
) -> float:
    """Return the smallest amount whose changed chance is caught; infinity where none is.

    Examples
    --------
    >>> round(smallest(lambda amount: 0.5 + amount, 10**6, 0.5, 1, 0.5), 4)
    0.0045
    """
    bar = math.log(2 * tests * _FAMILIES / ALPHA)

    def caught(amount: float) -> bool:
        other = min(max(change(amount), 0.0), 1.0)
        least = other - _UNLUCKY * math.sqrt(other * (1 - other) / max(trials, 1)) * np.sign(other - chance)
        if (least - chance) * (other - chance) <= 0:
            return False
        least = min(max(float(least), 0.0), 1.0)
        apart = float(special.rel_entr(least, chance) + special.rel_entr(1 - least, 1 - chance))
        return trials * apart >= bar

    if not caught(most):
        return math.inf
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return high


def check_power(sample: Sample, claim: float) -> Check:
    """Return what the sample would have caught; an audit is not failed for being short."""
    figures: dict[str, float] = {}
    told = []
    reports, people = len(sample), len(sample.names)
    per_probe = float(np.bincount(sample.probes, minlength=people)[:-1].min()) if reports else 0.0
    for law in sample.laws:
        if law.cap:
            for name, found in _of_answers(law, reports, per_probe, people).items():
                figures[name] = max(figures.get(name, 0.0), found)
    if figures:
        told.append(
            f"epsilon larger by {_number(figures['epsilon_excess'])} "
            f"({figures['epsilon_excess'] / claim:.1%}), at one fixed point by "
            f"{_number(figures['epsilon_excess_at_one_point'])}; {_one_in(figures['bad_share'])} without "
            f"coins ({_one_in(figures['bad_share_in_the_cap'])} if it hides in the cap) or, where a rule "
            f"says which, {figures['reports_of_a_rule']:.0f} in a group that is looked at"
        )
    for law in sample.laws:
        if law.name == "noise":
            found = _noise(law, reports)
            figures["noise_share"] = found
            told.append(f"noise smaller by {found:.2%}")
    words = f"{reports:,} reports would have shown: {'; '.join(told) or 'nothing'}"
    return Check("empirical", "power", True, words, dict(figures))


def _of_answers(law: Law, reports: int, per_probe: float, people: int) -> dict[str, float]:
    """Return the smallest faults that answers with a cap would have shown, by their names."""
    inside, best = float(law.chances[: law.cap].sum()), float(law.chances[0])
    odds, trials, kinds = inside / (1 - inside), reports * law.size, len(law.chances)

    def excess(amount: float) -> float:  # of the whole report: it is spread over the answers
        grown = odds * math.exp(amount / law.size)
        return grown / (1 + grown)

    def bad(chance: float) -> float:
        return smallest(lambda share: chance + share * (1 - chance), trials, chance, kinds, 1.0)

    folded = math.log(2 * LONGEST_PERIOD**2 / 2 * _FAMILIES / ALPHA) / -math.log(best)
    return {
        "epsilon_excess": smallest(excess, trials, inside, 1, 50.0),
        "epsilon_excess_at_one_point": smallest(excess, per_probe * law.size, inside, people, 50.0),
        "bad_share": bad(best),
        "bad_share_in_the_cap": bad(inside),
        "reports_of_a_rule": math.ceil(folded),
    }


def _noise(law: Law, reports: int) -> float:
    """Return the smallest relative loss of scale that a tail of the noise shows."""
    tail = float(law.chances[law.coarse == 0].sum())
    edge = float(special.ndtri(tail))

    def left(share: float) -> float:
        return float(special.ndtr(edge / (1 - share)))

    return smallest(left, reports * law.size, tail, len(law.chances), 0.99)


def _number(value: float) -> str:
    return "any" if math.isinf(value) else f"{value:.3g}"


def _one_in(share: float) -> str:
    return "no share of reports" if math.isinf(share) else f"one report in {math.floor(1 / share):,}"
