"""Reports in some directions of the space: what they and earlier reports of whole points say together.

A plan with m directions e, orthogonal and of one length s, tells of a point x of its ball y = e·x alone. The
groups are found in the unit ball of y, where all rows are of m + 2 coordinates: those of the plan itself, and
those of whole points that other people reported before, seen through the directions (`rows.Through`). Then

    centers = eᵀ·y/s² + the mean of everybody outside the directions, which the earlier reports tell

Outside, groups differ by what the earlier reports could hide (`spectrum`), and by a part of how people differ
there that was not asked about; and the mean itself is not known exactly. All of it counts in the errors.
Where nobody reported whole points, nothing is known there: the result says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.explain import hidden_outside
from coterie.centers.population import shrunk_mean
from coterie.centers.repeats import normal
from coterie.centers.solution import Interval, Solution
from coterie.centers.spectrum import spectrum
from coterie.errors import DecodeError
from coterie.geometry.ball import SCALE
from coterie.plan import Plan
from coterie.plan.follow_up import UNSURE
from coterie.protocols.codeword.oracles.rows import (
    Frame,
    Through,
    ViewRows,
    everybody,
    mean_rest,
    seen_through,
)

# What lies between groups outside the directions, of people's spread there: 0.002 to 0.1 of calibration data,
# 0.06 of digits (benchmarks/results/follow_up.csv); the most that was seen.
_BETWEEN: Final = 0.1
# Relative deviation of a population's spread inside them: 0.099 of 34 studies (questions.csv, there).
_SPREAD: Final = 0.1
_EQUAL: Final = (
    1e-3  # of their squared length: what steps of 2^-20 leave of orthogonal directions of one length
)


class InDirections:
    """What a plan's directions see of its own rows, and of earlier ones of whole points.

    Parameters
    ----------
    plan : Plan
        With directions.
    own : sequence of sequences of ViewRows
        The rows of each table of such a plan.
    earlier : sequence of sequences of ViewRows
        The rows of each earlier table, in the plan's ball.
    """

    def __init__(
        self, plan: Plan, own: Sequence[Sequence[ViewRows]], earlier: Sequence[Sequence[ViewRows]]
    ) -> None:
        directions = np.array(plan.directions, dtype=np.float64) / SCALE  # (m, d)
        gram = directions @ directions.T
        self._stretch = math.sqrt(float(np.diag(gram).mean()))  # s
        self._basis = directions.T / self._stretch  # (d, m)
        if np.abs(gram / self._stretch**2 - np.eye(len(gram))).max() > _EQUAL:
            raise DecodeError(
                "the plan's directions are not orthogonal and of one length: nothing decodes them"
            )
        self._own = [view for views in own for view in views]
        self._whole = [view for views in earlier for view in views]
        self._middle, self._astray, self._outside = self._beyond()
        self.own = list(own)
        self.whole = [[self._seen(view) for view in views] for views in earlier]
        self.views = [*self._own, *(view for views in self.whole for view in views)]

    def _beyond(self) -> tuple[NDArray[np.float64], float, float]:
        """Return where people are outside the directions, (d,), how wrong that may be, how far they scatter.

        Both squared. The mean is drawn to the middle of the ball, which is that of the last population: so
        its error is that of a ball that followed, not what is left of the noise after drawing.
        """
        dimension, size = self._basis.shape
        if not self._whole:
            return np.zeros(dimension), 0.0, 0.0
        mean, deviation = shrunk_mean(self._whole), everybody(self._whole)[1]
        middle = mean - self._basis @ (self._basis.T @ mean)
        astray = (dimension - size) * (UNSURE * deviation) ** 2
        return middle, astray, max(spread(self._whole)[0] - spread(self._own)[0] / self._stretch**2, 0.0)

    def _seen(self, view: ViewRows) -> ViewRows:
        """Return a view of whole points as the directions see it."""
        basis, frame = self._basis, view.frame
        size, dimension = basis.shape[1], len(basis)
        full = np.linalg.qr(np.column_stack([basis, np.eye(dimension)]))[0]
        others = full[:, size:] * math.sqrt(self._outside / max(dimension - size, 1)) / frame.scale
        shift = self._stretch * (basis.T @ frame.shift)
        away = frame.shift - basis @ (basis.T @ frame.shift)
        middle = (self._middle - away) / frame.scale
        return seen_through(view, Through(shift, self._stretch * frame.scale, basis, middle, others))

    def outward(self, found: Solution) -> Solution:
        """Return a solution of the directions' unit ball as one of the plan's."""
        basis, stretch = self._basis, self._stretch
        dimension, size = basis.shape
        part = self._part(found)
        hidden = self._hidden(len(found.centers)) + self._astray
        radii = found.errors / stretch
        errors = np.minimum(np.hypot(radii, math.sqrt(hidden)), 1.0)
        inner = np.zeros(size) if found.profile is None else found.profile
        typical = float(np.sqrt(np.mean(radii**2)))
        free = 1 - (basis**2).sum(axis=1)
        variances = basis**2 @ (inner * typical) ** 2 + free * hidden / max(dimension - size, 1)
        mean, wrong = self._mean(found)
        return replace(
            found,
            centers=self._out(found.centers),
            points=self._out(found.points),
            errors=errors,
            scatter=found.scatter / stretch**2 + self._outside,
            profile=np.sqrt(variances) / max(math.hypot(typical, math.sqrt(hidden)), 1e-12),
            explained=None if found.explained is None else _times(found.explained, part),
            choices=tuple(one._replace(explained=_times(one.explained, part)) for one in found.choices),
            mean=mean,
            mean_error=wrong,
            notes=found.notes if self._whole else (*found.notes, _NOWHERE),
        )

    def _part(self, found: Solution) -> tuple[float, float]:
        """Return which part of people's spread lies inside the directions, and its deviation.

        Inside, the population tells it better than lengths: those are read off few rows.
        """
        if not self._whole:
            return 1.0, 0.0  # nothing else was asked about
        shares = found.weights / found.weights.sum()
        inside = float(shares @ ((found.points - shares @ found.points) ** 2).sum(axis=1)) / self._stretch**2
        whole, wrong = spread(self._whole)
        part = min(inside / max(whole, 1e-12), 1.0)
        return part, part * math.hypot(_SPREAD, wrong / max(whole, 1e-12))

    def _out(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        out: NDArray[np.float64] = points @ self._basis.T / self._stretch + self._middle
        return out

    def _mean(self, found: Solution) -> tuple[NDArray[np.float64], float]:
        """Return everybody's mean, (d,), and the deviation of a coordinate of it, on average."""
        dimension, size = self._basis.shape
        inner = np.zeros(size) if found.mean is None else found.mean
        wrong = (found.mean_error / self._stretch) ** 2
        if not self._whole:
            return self._out(inner[None])[0], math.sqrt(wrong)
        outside, deviation = everybody(self._whole)
        mean = self._out(inner[None])[0] - self._middle
        mean += outside - self._basis @ (self._basis.T @ outside)
        return mean, math.sqrt((size * wrong + (dimension - size) * deviation**2) / dimension)

    def _hidden(self, clusters: int) -> float:
        """Return the mean square distance of groups' means outside the directions.

        What noise could hide there, and at least what lies between groups where it could hide nothing.
        """
        halves = [view for view in self._whole if view.halfspaces]
        if not halves:
            return 0.0
        mean = shrunk_mean(self._whole)
        square = spread(self._whole)[0] + float(mean @ mean)
        seen = spectrum(halves, mean, square)
        hidden = hidden_outside(seen.edge, clusters, seen.basis.shape[1])
        return min(max(hidden, _BETWEEN * self._outside), self._outside)


_NOWHERE: Final = (
    "Nobody reported what lies outside the plan's directions: centers and errors are stated inside them, and "
    "so is what the groups explain."
)


def spread(views: Sequence[ViewRows]) -> tuple[float, float]:
    """Return E|x - mean|² in the frame and its deviation, by the ball that most people answered for."""
    ball = max(views, key=lambda view: view.people).frame
    local = Frame(np.zeros_like(ball.shift), 1.0)
    own = [replace(view, frame=local) for view in views if view.frame is ball or view.own_ball]
    mean, rest = shrunk_mean(own), mean_rest(own)
    trust = sum(view.lift.point**2 / variance for view in own if np.isfinite(variance := view.mean()[1]))
    square = max(1 - rest**2 - float(mean @ mean), 0.0)
    return ball.scale**2 * square, ball.scale**2 * 2 * rest / math.sqrt(max(trust, 1.0))


def _times(told: Interval, part: tuple[float, float]) -> Interval:
    """Return a share of a part that is known within a deviation."""
    value, relative = told.value * part[0], part[1] / max(part[0], 1e-12)
    low = value - math.hypot((told.value - told.low) * part[0], normal() * value * relative)
    high = value + math.hypot((told.high - told.value) * part[0], normal() * value * relative)
    return Interval(value, max(low, 0.0), min(high, 1.0))
