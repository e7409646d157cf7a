"""What a table says of published groups, without any model: shares, means, and their joint law.

The k cells of a plan that confirms are its groups (docs/theory/confirming.md). `cell_sums` gives

    Y_l = E[1_l(x)·w(x)] + noise,      w = (a·x, b, rest)

and the law of the noise is known but for E[w·wᵀ], which the table tells: a report enters cell l with the sign
(-1)^popcount(l & c) of its random row c, and E[v·vᵀ] is the same for both signs. So different cells are
uncorrelated but for their means, and with S = Rᵀ·E[v·vᵀ]·R/κ²

    Cov(Y_l, Y_m) = ([l = m]·S - E[Y_l]·E[Y_m]ᵀ)/n

in any one direction of which the gain's own error adds (g·share)², g = `CodewordRandomizer.gain_error`.

Shares sum to 1: each is corrected by a k-th of what is missing. With x' = Y_x/a, a vector, and p the share of
a group, its mean m is where x' - m·p has mean 0; both are normal, so that aᵀm lies in {t: (aᵀx' - t·p)² ≤
z²·Var(aᵀx' - t·p)} with the probability that z has (Fieller 1954). Where p stands more than z deviations
clear of 0, this set is an interval for every a, and all of them are the shadow of one ellipsoid: `Shadow`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.protocols.codeword.oracles.cell_sums import cell_sums
from coterie.protocols.codeword.oracles.rows import Lift
from coterie.protocols.codeword.oracles.second_moment import embedding_matrix
from coterie.protocols.codeword.table import CodewordTable


def report_spread(table: CodewordTable) -> NDArray[np.float64]:
    """Return S, (D, D): what one report adds to the covariance of a row; at most, where none was kept."""
    parameters = table.parameters
    law, gain = parameters.randomizer, parameters.randomizer.gain(parameters.embedding)  # κ
    if table.second is None:  # E⟨v, Ra⟩² = 1 + c₂·E⟨w, a⟩² at most, and ⟨w, a⟩ ≤ 1
        lifted = table.plan.coordinates + EXTRA_COORDINATES
        return np.eye(lifted) * ((1 + law.second_gain(parameters.embedding)) / gain**2)
    back = embedding_matrix(table.plan, parameters)  # R, (P, D)
    return back.T @ (table.second / table.count) @ back / gain**2


class Shadow(NamedTuple):
    """An ellipsoid whose shadow in every direction a is the interval of aᵀm: aᵀplace ± z·√(aᵀCa)."""

    place: NDArray[np.float64]  # (d,)
    covariance: NDArray[np.float64]  # (d, d): C
    deviations: float  # z


@dataclass(frozen=True, eq=False)
class GroupSums:
    """What one table of a plan that confirms says of its groups, in units of the unit ball.

    Attributes
    ----------
    vectors : ndarray, shape (k, D)
        Y.
    spread : ndarray, shape (D, D)
        S; where the table keeps no second moment, what it is at most.
    people : int
        n.
    gain_error : float
        g.
    lift : Lift
        Weights a and b.
    """

    vectors: NDArray[np.float64]
    spread: NDArray[np.float64]
    people: int
    gain_error: float
    lift: Lift

    @classmethod
    def of(cls, table: CodewordTable) -> GroupSums:
        """Read a table of a plan that confirms, with at least one report."""
        parameters, clusters = table.parameters, table.plan.clusters
        return cls(
            vectors=cell_sums(table)[0].vectors[:clusters],
            spread=report_spread(table),
            people=table.count,
            gain_error=parameters.randomizer.gain_error(parameters.embedding),
            lift=Lift.from_count_weight(parameters.count_weight, table.plan.dimension),
        )

    # ------------------------------------------------------------ shares

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Share of the people in each group, (k,): they sum to 1, and noise may carry one below 0."""
        found = self.vectors[:, self.lift.dimension] / self.lift.count
        return np.asarray(found + (1 - found.sum()) / len(found))

    @cached_property
    def share_variances(self) -> NDArray[np.float64]:
        """Of the shares, (k,); 0 where there is one group."""
        number, count = len(self.shares), self.lift.count
        along = self.spread[self.lift.dimension, self.lift.dimension] / count**2
        own = 1 - 1 / number  # Σ of the squared weights that a share gives the cells' counts
        noise = (own * along - (self._held - 1 / number) ** 2) / self.people
        squares = self._held**2
        gain = (self.gain_error / count) ** 2 * ((1 - 2 / number) * squares + squares.sum() / number**2)
        return np.asarray(np.maximum(noise, 0.0) + gain * (number > 1))

    @cached_property
    def _held(self) -> NDArray[np.float64]:
        return np.clip(self.shares, 0.0, 1.0)

    # ------------------------------------------------------------ means

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """E[1_l(x)·x], (k, d): share times mean of each group."""
        return self.vectors[:, : self.lift.dimension] / self.lift.point

    def joint(self, group: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return Cov(x'), (d, d), Cov(x', p), (d,), and Var(p) of one group."""
        size, a, b = self.lift.dimension, self.lift.point, self.lift.count
        number, total = len(self.shares), self.sums[group]
        covariance = (self.spread[:size, :size] / a**2 - np.outer(total, total)) / self.people
        covariance[np.diag_indices(size)] += (self.gain_error * self._held[group] / a) ** 2
        across = (1 - 1 / number) * self.spread[:size, size] / (a * b)
        across = (across - total * (self._held[group] - 1 / number)) / self.people
        return covariance, across, float(self.share_variances[group])

    def shadow(self, group: int, deviations: float) -> Shadow | None:
        """Return the ellipsoid of a group's mean; None where the share is not so many deviations above 0."""
        covariance, across, variance = self.joint(group)
        share, total = float(self.shares[group]), self.sums[group]
        doubt = deviations**2 * variance / share**2 if share > 0 else math.inf  # g of Fieller
        if doubt >= 1:
            return None
        mean = total / share
        if variance == 0:  # one group: the share is 1
            return Shadow(mean, covariance, deviations)
        slope = across / variance
        residual = covariance - np.outer(across, slope)
        beside = mean - slope
        place = (mean - doubt * slope) / (1 - doubt)
        matrix = ((1 - doubt) * residual + variance * np.outer(beside, beside)) / (share * (1 - doubt)) ** 2
        return Shadow(place, matrix, deviations)

    # ------------------------------------------------------------ tests

    def emptiness(self, group: int, center: NDArray[np.float64]) -> float:
        """Return how many deviations the group stands above nobody, looking where its center is: (d,).

        Of an empty group Y is noise alone, in every direction; the people of one near its published center
        are seen best along that center's own lifted vector.
        """
        toward = self.lift.of(center[None])[0]
        deviation = math.sqrt(float(toward @ self.spread @ toward) / self.people)
        return float(toward @ self.vectors[group]) / deviation

    def gap(self, first: int, second: int, direction: NDArray[np.float64]) -> tuple[float, float]:
        """Return how far apart the means of two groups are along a unit direction, (d,), and its deviation.

        The deviation is that of the error's linear part; NaN where a share is not above 0.
        """
        pair = (first, second)
        shares = self.shares[list(pair)]
        if shares.min() <= 0:
            return math.nan, math.nan
        totals = self.sums[list(pair)] @ direction
        means = totals / shares
        size, number = self.lift.dimension, len(self.shares)
        between = float(self.spread[:size, size] @ direction) / (self.lift.point * self.lift.count)
        counted = float(self.spread[size, size]) / self.lift.count**2
        off = self._held[list(pair)] - 1 / number
        variance = 0.0
        for place, group in enumerate(pair):
            covariance, across, own = self.joint(group)
            along = float(direction @ covariance @ direction) - 2 * means[place] * float(direction @ across)
            variance += (along + means[place] ** 2 * own) / shares[place] ** 2
        # What the two errors have in common, by the shares' sum and the means.
        common = (
            -totals[0] * totals[1]
            + means[1] * (between / number + totals[0] * off[1])
            + means[0] * (between / number + totals[1] * off[0])
            - means[0] * means[1] * (counted / number + off[0] * off[1])
        ) / self.people
        variance -= 2 * common / (shares[0] * shares[1])
        return float(means[0] - means[1]), math.sqrt(max(variance, 0.0))
