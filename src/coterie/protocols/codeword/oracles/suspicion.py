"""Signs of forged reports in a `codeword` table: sums that no honest population can have, whatever it is.

A forger cannot send more than an index, but can choose it: the codeword that leans most towards where they
want a center, of length 2.8 along it where an honest report's is κ (0.4 at ε = 1). Each test has a law that
holds for *every* population of honest people:

- of the second moment, where one is kept (`moment_tests`): energy, count, excess, head, lean,
  direction;
- of cells, of everybody's count and of the rows' own counts (`row_tests`): mass, whole,
  rows, views.

What none of them sees: false points sent with honest coins, which are people as far as anyone can tell, and
codewords that lean no further than those show (docs/poisoning.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coterie.protocols.codeword.oracles.moment_tests import moment_tests
from coterie.protocols.codeword.oracles.row_tests import row_tests
from coterie.protocols.codeword.table import CodewordTable

FALSE_ALARM: Final = 4e-3  # of all tests of a clean table together: one honest study in 250
_PARTS: Final = {"energy": 4, "head": 4, "excess": 2}  # of the false alarm: these see most; others have one


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What one test says.

    Attributes
    ----------
    test : str
        energy, count, excess, head, lean, direction, mass, whole, rows or views.
    statistic, threshold : float
        What was seen, and what an honest table exceeds with probability `FALSE_ALARM` over all tests.
    p_value : float
        An upper bound of the chance that honest reports of any population show as much.
    note : str or None
        What to tell the analyst; None where there is nothing to tell.
    """

    test: str
    statistic: float
    threshold: float
    p_value: float
    note: str | None = None


def suspicions(table: CodewordTable) -> tuple[Suspicion, ...]:
    """Return what every test says of a table, the most suspicious first.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.coins import SimulationCoins
    >>> from coterie.engines import play
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
    >>> honest = play(plan, np.full((3000, 3), 0.4), SimulationCoins(1))
    >>> suspicions(honest.table)[0].note is None
    True
    """
    if table.count == 0:
        return ()
    seen = [*moment_tests(table), *row_tests(table)]
    parts = sum(_PARTS.get(one.test, 1) for one in seen)
    found = []
    for one in seen:
        level, p_value = FALSE_ALARM * _PARTS.get(one.test, 1) / parts, one.p_value()
        note = _note(one.test, p_value) if p_value < level else None
        found.append(Suspicion(one.test, one.value, one.threshold(level), p_value, note))
    return tuple(sorted(found, key=lambda one: one.p_value))


def warning(table: CodewordTable) -> str | None:
    """Return a note about forged reports, or None: for a result's `notes`."""
    notes = [one.note for one in suspicions(table) if one.note]
    return notes[0] if notes else None


_WHAT: Final = {
    "energy": "codewords are longer, or shorter, than honest draws make them",
    "count": "codewords lean along the counting coordinate as those of no people do",
    "excess": "codewords lean further than honest draws do",
    "head": "codewords lean further than the mean of everybody does",
    "lean": "codewords lean further along some direction than people in the ball can",
    "direction": "codewords lean one way more than if everybody were at one point",
    "mass": "cells hold more people than there are",
    "whole": "the whole ball holds more people, or fewer, than there are",
    "rows": "ids favour some rows",
    "views": "ids favour some views",
}


def _note(test: str, p_value: float) -> str:
    return (
        f"The reports look as those of honest people rarely do: {_WHAT[test]} (chance in an honest study "
        f"below {max(p_value, 1e-300):.0e}). If somebody sent reports to mislead, centers may stand where "
        "they want them: find out before you rely on them."
    )
