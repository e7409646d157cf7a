"""Signs of forged reports in a `codeword` table: sums that no honest population can have, whatever it is.

A forger cannot send more than an index, but can choose it: the codeword that leans most towards where they
want a center, of length 2.8 along it where an honest report's is κ (0.4 at ε = 1). Each test has a law that
holds for *every* population of honest people, because each lifted vector w has length 1:

*Energy* (where the second moment S is kept). M, the unbiased second moment of the lifted vectors
(`coterie.oracles.second_moment`), has trace E|w|² = 1 for every population, known within √(2D/n)/c₂ and some
parts in P. A codeword chosen for its length along u adds (⟨v,Ru⟩² - 1)/c₂, nearly 7/c₂; one chosen among the
short ones takes away.

*Count* (where S is kept). One coordinate of w is the same for everybody, b: M is b² there. A codeword that
was chosen for a lifted vector leans along it as much more as along the vector. *Excess* is the best sum of
both.

*Direction* (where S is kept). The largest eigenvalue of Rᵀ(S - I)R is at most c₂ (everybody at one point)
plus the edge of its noise, √(D/n)·2 + D/n.

*Mass.* Y_l, the sum of lifted vectors in cell l as a share, has length at most the share of people in the
cell, and shares add up to 1. So do the lengths of the cells that stand clear of the noise, each less what
noise adds to a length. A forged report weighs several people: where most people are in clear cells, the sum
exceeds 1.

*Cone.* The coordinate b counts the people of a cell, and what is left of their sum is at most a/b times as
long, a² + b² = 1. A sum that is longer was not made by people.

*Rows.* The id decides the row. Honest ids are uniform, and so are the rows of a view; ids that were tried
until one suited are not always.

What none of them sees: false points sent with honest coins, which are people as far as anyone can tell.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate.codeword import CodewordTable
from coterie.geometry.ball import SCALE
from coterie.oracles.leaf_sums import LeafSums, embedding_matrix, leaf_sums
from coterie.plan.codeword import EXTRA_COORDINATES
from coterie.wire.rows import Rows

FALSE_ALARM: Final = 4e-3  # of all tests of a clean table together: one honest study in 250
_PARTS: Final = {"energy": 4, "excess": 2}  # of the false alarm; these see most, the others have one each
CLEAR: Final = 1e-4  # chance that noise alone makes any cell of a view stand clear


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What one test says.

    Attributes
    ----------
    test : str
        energy, count, excess, direction, mass, cone or rows.
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
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
    >>> table = CodewordTable.zero(plan)
    >>> table.add(np.random.default_rng(1).integers(0, 256, (300, 13), dtype=np.uint8))
    >>> suspicions(table)[0].note is None
    True
    """
    if table.count == 0:
        return ()
    embed = embedding_matrix(table.plan, table.parameters)  # R, (P, D)
    seen = [*_moments(table, embed), *_cells(table), *_rows(table)]
    parts = sum(_PARTS.get(one.test, 1) for one in seen)
    found = [one.judged(FALSE_ALARM * _PARTS.get(one.test, 1) / parts) for one in seen]
    return tuple(sorted(found, key=lambda one: one.p_value))


def warning(table: CodewordTable) -> str | None:
    """Return a note about forged reports, or None: for a result's `notes`."""
    notes = [one.note for one in suspicions(table) if one.note]
    return notes[0] if notes else None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A statistic whose honest mean lies in [low, high], with its deviation; -∞ where only much is wrong."""

    test: str
    value: float
    low: float
    high: float
    deviation: float

    def judged(self, level: float) -> Suspicion:
        from scipy.stats import norm

        sides = 1 if self.low == -math.inf else 2
        above = (self.value - self.high) / self.deviation
        below = (self.low - self.value) / self.deviation
        p_value = min(1.0, sides * float(norm.sf(max(above, below))))
        threshold = self.high + float(norm.isf(level / sides)) * self.deviation
        note = _note(self.test, p_value) if p_value < level else None
        return Suspicion(self.test, self.value, threshold, p_value, note)


def _moments(table: CodewordTable, embed: NDArray[np.float64]) -> list[_Seen]:
    """Return the tests of energy, count and direction, where the table keeps a second moment."""
    if table.second is None:
        return []
    parameters, people = table.parameters, table.count
    size = embed.shape[1]  # D
    length = parameters.embedding  # P
    # E[v_i·v_j] is c·w'_i·w'_j with E⟨v,w'⟩² - 1 = c·(1 - Σw'_i⁴): the sum is 3/(P+2) for a rotated vector in
    # the mean, and anything from 1/P to some 8/P for one point.
    gain = parameters.randomizer.second_gain(length) / (1 - 3 / (length + 2))
    excess = table.second / people - np.eye(length)  # S - I, (P, P), its diagonal 0
    place = size - EXTRA_COORDINATES  # of b
    counted = (parameters.count_weight / SCALE) ** 2  # b²
    energy, count = _functional(embed, None), _functional(embed, place)
    square = parameters.randomizer.fourth_moment() - (1 + gain) ** 2  # variance of ⟨v,w'⟩²

    def linear(test: str, functional: NDArray[np.float64], center: float, reach: float) -> _Seen:
        """Return a test of ⟨A, S - I⟩/c₂, of mean `center` = wᵀAw and with |Aw|² = `reach` for all w.

        A codeword varies as fair bits do, and more along w: by Var⟨v,w'⟩² instead of 2, by 1 + c₂ across.
        """
        value = float((functional * excess).sum()) / gain
        more = center**2 * (square - 2) + 4 * gain * (reach - center**2)
        variance = (2 * float((functional**2).sum()) + max(more, 0.0)) / people
        low, high = center * (1 - 2 / length), center * (1 + 5 / length)
        return _Seen(test, value, low, high, math.sqrt(variance) / gain)

    found = [linear("energy", energy, 1.0, 1.0), linear("count", count, counted, counted)]
    # A codeword that leans along a lifted vector u adds |u|² = 1 to the one where it adds b² to the other:
    # the sum of both that shows it best.
    both = np.array([[2 * float((a * b).sum()) for b in (energy, count)] for a in (energy, count)])
    weights = np.linalg.solve(both, np.array([1.0, counted]))
    summed = weights[0] * energy + weights[1] * count
    center = float(weights @ np.array([1.0, counted]))
    reach = float(weights[0] ** 2 + 2 * weights[0] * weights[1] * counted + weights[1] ** 2 * counted)
    found.append(dataclasses.replace(linear("excess", summed, center, reach), low=-math.inf))
    edge = 2 * math.sqrt(size / people) + size / people
    top = float(np.linalg.eigvalsh(embed.T @ excess @ embed)[-1])
    # The top of the noise fluctuates by √(2/n) at most; the diagonal that S lacks only lowers the bound.
    return [*found, _Seen("direction", top, -math.inf, gain + edge, math.sqrt(2 / people))]


def _functional(embed: NDArray[np.float64], place: int | None) -> NDArray[np.float64]:
    """Return A, (P, P) with a diagonal of 0, for which ⟨A, S - I⟩/c₂ is the trace of M or one M_ii.

    M = G + Rᵀdiag(t)R as in `second_moment`: linear in S, unbiased for E[w·wᵀ] of every population.
    """
    span = embed @ embed.T  # H = RRᵀ
    column = embed if place is None else embed[:, place : place + 1]
    direct = column @ column.T
    filled = np.linalg.solve(np.eye(len(span)) - span * span, np.diagonal(direct))
    functional: NDArray[np.float64] = direct + span @ (filled[:, None] * span)
    np.fill_diagonal(functional, 0.0)  # the diagonal of S is 1 whatever happens
    return functional


def _cells(table: CodewordTable) -> list[_Seen]:
    """Return the tests of mass and cone, each of the view that shows most."""
    weight = table.parameters.count_weight / SCALE  # b
    tests: dict[str, list[_Seen]] = {}
    for view in leaf_sums(table):
        for one in _cells_of(view, weight):
            tests.setdefault(one.test, []).append(one)
    return [max(ones, key=lambda one: (one.value - one.high) / one.deviation) for ones in tests.values()]


def _cells_of(view: LeafSums, weight: float) -> list[_Seen]:
    from scipy.stats import chi2

    cells, size = view.vectors.shape
    energies = (view.vectors**2).sum(axis=1) / view.variance
    clear = energies > chi2.isf(CLEAR / cells, size)
    if not clear.any():
        return []
    # Less the noise's own part. A length is known within one coordinate's noise, and a little more where it
    # is short: the noncentral chi-square has variance 2D + 4λ.
    excess = energies[clear] - size  # λ
    lengths = np.sqrt(excess * view.variance)
    noise = math.sqrt(view.variance)
    doubt = noise * math.sqrt(float((1 + size / (2 * excess)).sum()))
    mass = _Seen("mass", float(lengths.sum()), -math.inf, 1.0, doubt)
    if not weight:
        return [mass]
    found = view.vectors[clear]
    counts = found[:, size - EXTRA_COORDINATES]
    rest = np.sqrt(np.maximum((found**2).sum(axis=1) - counts**2 - (size - 1) * view.variance, 0))
    slope = math.sqrt(1 - weight**2) / weight  # a/b
    # The longest of several excesses: each is in doubt by its length's noise and by its count's, times a/b.
    deviation = noise * math.sqrt(2 + slope**2)
    slack = deviation * math.sqrt(2 * math.log(max(int(clear.sum()), 1)))
    return [mass, _Seen("cone", float((rest - slope * counts).max()), -math.inf, slack, deviation)]


def _rows(table: CodewordTable) -> list[_Seen]:
    """Return a test of uniform rows for each view with several."""
    found: list[_Seen] = []
    for rows in Rows.of(table.parameters).parts:
        counts = table.counts[rows].astype(np.float64)
        if len(counts) > 1 and counts.sum() > 5 * len(counts):
            mean, freedom = counts.mean(), len(counts) - 1
            # Wilson and Hilferty: the cube root of a chi-square over its freedom is nearly normal.
            ratio = float(((counts - mean) ** 2).sum() / mean / freedom)
            deviation = math.sqrt(2 / (9 * freedom))
            found.append(_Seen("rows", ratio ** (1 / 3), -math.inf, 1 - deviation**2, deviation))
    return found


_WHAT: Final = {
    "energy": "codewords are longer, or shorter, than honest draws make them",
    "count": "codewords lean along the counting coordinate as those of no people do",
    "excess": "codewords lean further than honest draws do",
    "direction": "codewords lean one way more than if everybody were at one point",
    "mass": "cells hold more people than there are",
    "cone": "the sum of a cell is longer than its people can make it",
    "rows": "ids favour some rows",
}


def _note(test: str, p_value: float) -> str:
    return (
        f"Some reports seem to be forged: {_WHAT[test]} (chance in an honest study below "
        f"{max(p_value, 1e-300):.0e}). Centers may stand where somebody wants them: do not rely on them."
    )
