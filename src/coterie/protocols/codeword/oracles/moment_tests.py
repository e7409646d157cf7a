"""Signs of forged reports in the second moment of a `codeword` table, where one is kept.

M, the unbiased second moment of the lifted vectors (`codeword.oracles.second_moment`), is E[w·wᵀ] of honest
people, whoever they are. A codeword chosen for its length L along u enters it as (L² - 1)/c₂ people at u,
some 44 of them at ε = 1, where it enters the rows as L/κ, which is 7. So M can be held against what is known
of every w, and against the rows:

*Energy.* |w|² = 1: the trace of M is 1, within √(2D/n)/c₂ and some parts in P.

*Count.* One coordinate of w is the same for everybody, b: M is b² there. *Excess* is the best sum of both for
a codeword that leans along a lifted vector.

*Head.* Its column of M is E[b·w] = b·E[w], and E[w] can be read off the rows that hold everybody. Chosen
codewords tell 44 people along u in one and 7 in the other, and a push *away* from u tells 44 against -7.

*Lean.* E[x·xᵀ] ≼ E[x·xᵀ/|x|], because |x| ≤ 1; the latter is what halfspaces through the middle of the ball
show (`coterie.centers.spectrum` has the law). The largest eigenvalue of the difference is then at most the
edge of its noise, 2·s·√d, and what a finite number of hyperplanes may err by: their mean of φ_j(x)·u_j is
x/|x| plus an error of length √(d/rows).

*Direction.* No eigenvalue of Rᵀ(S - I)R exceeds c₂ (everybody at one point) plus the edge of its noise,
√(D/n)·2 + D/n.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.halfspaces import mean_coordinate
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.protocols.codeword.oracles.rows import ViewRows, rows_of
from coterie.protocols.codeword.oracles.second_moment import embedding_matrix, second_moment
from coterie.protocols.codeword.oracles.seen import Seen
from coterie.protocols.codeword.table import CodewordTable

_LOW, _HIGH = 2, 5  # parts in P by which a second moment may err
_FEWEST_DIMENSIONS: Final = 12  # above which hyperplanes lie in all directions alike, for `lean`
_FEWEST_ROWS: Final = 64
_GEOMETRY: Final = 0.6  # of √(d/rows): for everybody at one point half of it is the error, and 2·0.1 to spare


def moment_tests(table: CodewordTable) -> list[Seen]:
    """Return the tests of a table's second moment; none where it keeps none."""
    moment = second_moment(table)
    if table.second is None or moment is None:
        return []
    embed = embedding_matrix(table.plan, table.parameters)  # R, (P, D)
    length = table.parameters.embedding  # P
    views = rows_of(table)
    # E[v_i·v_j] is c·w'_i·w'_j with E⟨v,w'⟩² - 1 = c·(1 - Σw'_i⁴): the sum is 3/(P+2) for a rotated vector in
    # the mean, and anything from 1/P to some 8/P for one point.
    correction = 1 - 3 / (length + 2)
    gain = table.parameters.randomizer.second_gain(length) / correction
    excess = table.second / table.count - np.eye(length)  # S - I, (P, P), its diagonal 0
    matrix = moment.matrix * correction  # M
    law = _Law(gain, table.parameters.randomizer.fourth_moment(), table.count, length)
    return [
        *_linear_tests(table, embed, excess, law),
        *_head(table, matrix, embed, views, law),
        *_lean(matrix, views, law),
        _direction(excess, embed, law),
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Law:
    """What is known of honest codewords."""

    gain: float  # c₂, of the second moment
    fourth: float  # E⟨v,w'⟩⁴
    people: int  # n
    length: int  # P

    @property
    def square(self) -> float:
        """Variance of ⟨v,w'⟩², 2 for fair bits."""
        return self.fourth - (1 + self.gain) ** 2


def _linear_tests(
    table: CodewordTable, embed: NDArray[np.float64], excess: NDArray[np.float64], law: _Law
) -> list[Seen]:
    """Return energy, count and their best sum."""
    place = embed.shape[1] - EXTRA_COORDINATES  # of b
    counted = (table.parameters.count_weight / SCALE) ** 2  # b²
    energy, count = _functional(embed, embed), _functional(embed, embed[:, [place]])

    def linear(test: str, functional: NDArray[np.float64], center: float, reach: float) -> Seen:
        """Return a test of ⟨A, S - I⟩/c₂, of mean `center` = wᵀAw and with |Aw|² = `reach` for all w.

        A codeword varies as fair bits do, and more along w: by Var⟨v,w'⟩² instead of 2, by 1 + c₂ across.
        """
        value = float((functional * excess).sum()) / law.gain
        more = center**2 * (law.square - 2) + 4 * law.gain * (reach - center**2)
        variance = (2 * float((functional**2).sum()) + max(more, 0.0)) / law.people
        low, high = center * (1 - _LOW / law.length), center * (1 + _HIGH / law.length)
        return Seen(test, value, low, high, math.sqrt(variance) / law.gain)

    found = [linear("energy", energy, 1.0, 1.0), linear("count", count, counted, counted)]
    # A codeword that leans along a lifted vector u adds |u|² = 1 to the one where it adds b² to the other:
    # the sum of both that shows it best.
    both = np.array([[2 * float((a * b).sum()) for b in (energy, count)] for a in (energy, count)])
    weights = np.linalg.solve(both, np.array([1.0, counted]))
    summed = weights[0] * energy + weights[1] * count
    center = float(weights @ np.array([1.0, counted]))
    reach = float(weights[0] ** 2 + 2 * weights[0] * weights[1] * counted + weights[1] ** 2 * counted)
    return [*found, dataclasses.replace(linear("excess", summed, center, reach), low=-math.inf)]


def _functional(embed: NDArray[np.float64], left: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return A, (P, P) with a diagonal of 0, for which ⟨A, S - I⟩/c₂ is tr(left·leftᵀ·R·M·Rᵀ).

    M = G + Rᵀdiag(t)R as in `second_moment`: linear in S, unbiased for E[w·wᵀ] of every population.
    """
    span = embed @ embed.T  # H = RRᵀ
    direct = left @ left.T
    filled = np.linalg.solve(np.eye(len(span)) - span * span, np.diagonal(direct))
    functional: NDArray[np.float64] = direct + span @ (filled[:, None] * span)
    np.fill_diagonal(functional, 0.0)  # the diagonal of S is 1 whatever happens
    return functional


def _head(
    table: CodewordTable,
    matrix: NDArray[np.float64],
    embed: NDArray[np.float64],
    views: Sequence[ViewRows],
    law: _Law,
) -> list[Seen]:
    """Return the test of M's counting column against everybody's mean; none where no row tells the mean."""
    weight = table.parameters.count_weight / SCALE  # b
    told = [(mean, variance) for mean, variance in (view.mean() for view in views) if np.isfinite(variance)]
    if not weight or not told:
        return []
    trust = sum(1 / variance for _, variance in told)
    everybody = np.sum([mean / variance for mean, variance in told], axis=0) / trust  # E[w], (D,)
    size = len(matrix)  # D
    place = size - EXTRA_COORDINATES
    others = np.arange(size) != place  # that entry is `count`
    off = (matrix[place] - weight * everybody)[others]
    # The entries of the column vary about alike; a few are looked at.
    variance = max(
        2 * float((_off_diagonal(embed, i, place) ** 2).sum()) / (law.people * law.gain**2)
        for i in {0, place - 1, size - 1}
    )
    rows = weight**2 / trust
    # Honest codewords vary more along their person's vector: by that much if everybody is at one point.
    across = variance * (1 + law.gain * weight**2) + rows
    along = variance * (weight**2 * law.fourth + (1 - weight**2) * (1 + law.gain)) + rows * (1 + law.gain)
    bias = (weight * _HIGH / law.length) ** 2  # the square of its length, at most
    freedom = size - 2
    return [
        Seen.from_squares(
            "head",
            float(off @ off),
            freedom * across + along + bias,
            2 * (freedom * across**2 + along**2) + 4 * along * bias,
        )
    ]


def _off_diagonal(embed: NDArray[np.float64], i: int, j: int) -> NDArray[np.float64]:
    """Return the functional of the entry M_ij, (P, P): by M_(i+j, i+j) = M_ii + M_jj + 2·M_ij."""
    both = (embed[:, [i]] + embed[:, [j]]) / 2
    apart = (embed[:, [i]] - embed[:, [j]]) / 2
    return _functional(embed, both) - _functional(embed, apart)


def _lean(matrix: NDArray[np.float64], views: Sequence[ViewRows], law: _Law) -> list[Seen]:
    """Return the test of E[x·xᵀ] against E[x·xᵀ/|x|]; none where no halfspaces pass through the middle."""
    found: list[Seen] = []
    for view in views:
        dimension, lift = view.lift.dimension, view.lift.point  # d, a
        if not view.halfspaces or dimension <= _FEWEST_DIMENSIONS or not lift:
            continue
        middle = np.flatnonzero(view.geometry.bounds[view.kept] == 0)
        if len(middle) < _FEWEST_ROWS:
            continue
        normals = view.geometry.normals[view.kept[middle]]
        units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        factor = mean_coordinate(dimension) * lift * len(middle)
        shown = view.vectors[middle, :dimension].T @ units / factor
        square = matrix[:dimension, :dimension] / lift**2
        noise = 1 / (law.people * (law.gain * lift**2) ** 2)  # s², of M's entries
        noise += float((view.deviations[middle] ** 2).sum()) / (2 * dimension * factor**2)
        top = float(np.linalg.eigvalsh(square - (shown + shown.T) / 2)[-1])
        edge = 2 * math.sqrt(noise * dimension) + _GEOMETRY * math.sqrt(dimension / len(middle))
        deviation = math.sqrt(noise * max(2.0, law.square, 2 * (1 + law.gain)))
        found.append(Seen("lean", top, -math.inf, edge + _HIGH / law.length / lift**2, deviation))
    return found


def _direction(excess: NDArray[np.float64], embed: NDArray[np.float64], law: _Law) -> Seen:
    size = embed.shape[1]  # D
    edge = 2 * math.sqrt(size / law.people) + size / law.people
    top = float(np.linalg.eigvalsh(embed.T @ excess @ embed)[-1])
    # The top fluctuates by √(2/n) at most, or as a person's own vector does; the diagonal that S lacks only
    # lowers the bound.
    return Seen("direction", top, -math.inf, law.gain + edge, math.sqrt(max(2.0, law.square) / law.people))
