"""Rows: what a table says, E[φ(x)·w(x)] for every public function φ, each with its noise.

A view is a set of rows. A halfspace is a row by itself, φ = ±1; the M rows of a partition, one Hadamard
transform later, are the M cells, φ = 1 inside and 0 outside. Either way

    Y_j = E[φ_j(x)·w(x)] + noise,      w the lifted point (a·x, b, rest), |w| = 1

where the noise has a known deviation, on average over the coordinates (`cell_sums` tells why):
√((1 + c₂/D)/(κ²·n_j)) for a row that n_j reports served, √((1 + c₂/D)/(κ²·n)) for a cell of a view of n. In a
direction u its variance is 1 + c₂·E[(u·w)²] - κ²·(u·Y_j)² instead of 1 + c₂/D: larger where people are, by
half at ε = 4, unless all of them are at one place (`noise_covariance`).

Everything a decoder knows of a table is here: it may be made of several views, and of several plans' tables,
each with a ball of its own. Points are given in the coordinates of one *frame*, and every view maps them into
its own ball. The frame of a plan with directions has their coordinates alone; a view of whole points is then
seen through them: its people are supposed to scatter around their mean in all other directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.hadamard import fwht
from coterie.geometry.halfspaces import HalfspaceSigns
from coterie.geometry.lift import point_weight
from coterie.plan.plan import Plan
from coterie.plan.views import Halfspaces
from coterie.protocols.codeword.oracles.second_moment import SecondMoment, embedding_matrix, second_moment
from coterie.protocols.codeword.table import CodewordTable
from coterie.wire.rows import Rows

_DECIMALS: Final = 12  # of what a root is taken of: last bits, in which processors differ, become large by it


@dataclass(frozen=True, slots=True)
class Lift:
    """Weights of a lifted vector (a·x, b, rest), a² + b² = 1."""

    point: float  # a
    count: float  # b
    dimension: int  # d

    @classmethod
    def from_count_weight(cls, count_weight: int, dimension: int) -> Lift:
        """Read the weights off the plan's integer b·2^20."""
        return cls(point_weight(count_weight), count_weight / SCALE, dimension)

    def of(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lift points of the unit ball: (n, d) -> (n, D)."""
        body = self.point * points
        room = np.round(1 - self.count**2 - np.einsum("ij,ij->i", body, body), _DECIMALS)
        rest = np.sqrt(np.maximum(0.0, room))
        return np.column_stack([body, np.full(len(points), self.count), rest])


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A ball seen from the frame's unit ball: local = (x - shift) / scale, clipped to the unit ball."""

    shift: NDArray[np.float64]  # (d,)
    scale: float

    def local(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map points of the frame into this ball: (n, d) -> (n, d)."""
        return _drawn_back((points - self.shift) / self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class Through(Frame):
    """A ball of whole points seen from the unit ball of m directions: basisᵀ·local = (y - shift) / scale."""

    basis: NDArray[np.float64]  # (d, m), orthonormal
    middle: NDArray[np.float64]  # (d,), orthogonal to it: where people are in all other directions
    others: NDArray[np.float64]  # (d, d - m): those directions, as long as people scatter in them

    def local(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map points of the frame into this ball, each with a scatter that is always its own: -> (n, d)."""
        scatter = np.random.default_rng(0).standard_normal((len(points), self.others.shape[1]))
        whole = (points - self.shift) / self.scale @ self.basis.T + self.middle + scatter @ self.others.T
        return _drawn_back(whole)


def _drawn_back(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw points outside the unit ball back to its surface, in place: (n, d)."""
    points /= np.maximum(np.sqrt(np.einsum("ij,ij->i", points, points)), 1.0)[:, None]
    return points


@dataclass(frozen=True, slots=True, eq=False)
class ViewRows:
    """The rows of one view of one table."""

    vectors: NDArray[np.float64]  # (M, D): Y
    deviations: NDArray[np.float64]  # (M,), of each coordinate
    people: int  # reports of this view
    geometry: Any  # what tells φ: `HalfspaceSigns` or cells
    kept: NDArray[np.int64]  # (M,): which rows of the geometry these are, without those that nobody served
    frame: Frame
    lift: Lift
    across: float = 1.0  # 1/(1 + c₂/D): the noise's variance where nobody is, over that of `deviations`
    along: float = 0.0  # c₂/(1 + c₂/D): what E[w·wᵀ] adds to it
    known: float = 0.0  # κ²/(1 + c₂/D): what Y·Yᵀ takes from it
    moment: SecondMoment | None = None  # of all reports of the table: its first view of halfspaces has it

    @property
    def halfspaces(self) -> bool:
        """Whether the rows are halfspaces rather than cells."""
        return isinstance(self.geometry, HalfspaceSigns)

    @property
    def own_ball(self) -> bool:
        """Whether the view's ball is the frame's."""
        seen_through = isinstance(self.frame, Through)
        return self.frame.scale == 1 and not self.frame.shift.any() and not seen_through

    def features(self, points: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return φ of every row for points of the frame: (n, d) -> (n, M)."""
        local = self.frame.local(points)
        if self.halfspaces:
            signs: NDArray[np.float32] = self.geometry.nearly(local)
            return signs if len(self.kept) == signs.shape[1] else signs[:, self.kept]
        inside = np.zeros((len(points), len(self.vectors)), dtype=np.float32)
        inside[np.arange(len(points)), self.geometry.of(local * SCALE)] = 1.0
        return inside

    def lifted(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lift points of the frame as their devices did, as far as the frame sees it: (n, d) -> (n, D)."""
        lifted = self.lift.of(self.frame.local(points))
        return seen_of(lifted, self.frame.basis) if isinstance(self.frame, Through) else lifted

    def predicted(self, points: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the rows would be for weighted points: (n, d), (n,) -> (M, D)."""
        features = self.features(points).T.astype(np.float64)
        return np.asarray(features @ (weights[:, None] * self.lifted(points)))

    def second_moment(self, points: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return E[w·wᵀ] of weighted points: (n, d), (n,) -> (D, D)."""
        lifted = self.lifted(points)
        return np.asarray((weights[:, None] * lifted).T @ lifted / weights.sum())

    def noise_covariance(
        self, points: NDArray[np.float64], weights: NDArray[np.float64], rows: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the covariance of a row's noise in units of its deviation²: (D, D), the mean over rows.

        For people like these points, (n, d), of these weights, (n,), who make these rows of them, (M, D).
        """
        squares = rows.T @ rows / (len(rows) if self.halfspaces else 1)  # cells add up to rows of as many
        across = self.across * np.eye(rows.shape[1])
        return np.asarray(across + self.along * self.second_moment(points, weights) - self.known * squares)

    def mean(self) -> tuple[NDArray[np.float64], float]:
        """Return E[w], (D,), and the variance of each of its coordinates; infinite where no row tells.

        The cells add up to everybody; so does each halfspace that holds the whole ball.
        """
        if not self.halfspaces:
            return self.vectors.sum(axis=0), float((self.deviations**2).sum())
        whole = np.flatnonzero(self.geometry.bounds[self.kept] <= -self.geometry.size * SCALE)
        if not len(whole):
            return np.zeros(self.vectors.shape[1]), np.inf
        trust = 1 / self.deviations[whole] ** 2
        return trust @ self.vectors[whole] / trust.sum(), float(1 / trust.sum())


def rows_of(table: CodewordTable, frame: Plan | None = None) -> tuple[ViewRows, ...]:
    """Return the rows of each view that has reports, seen from the ball of `frame` (the table's own plan).

    Examples
    --------
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
    >>> table = CodewordTable.zero(plan)
    >>> table.add(np.arange(39000, dtype=np.uint32).astype(np.uint8).reshape(3000, 13))
    >>> {view.vectors.shape[1] for view in rows_of(table)}  # d + 2
    {5}
    """
    plan, parameters = table.plan, table.parameters
    gain = parameters.randomizer.gain(parameters.embedding)  # κ
    back = embedding_matrix(plan, parameters)  # R, (P, D)
    second = parameters.randomizer.second_gain(parameters.embedding)  # c₂
    whole = 1 + second / back.shape[1]
    spread = np.sqrt(whole) / gain
    lift = Lift.from_count_weight(parameters.count_weight, plan.coordinates)
    place = frame_of(plan, frame or plan)
    views: list[ViewRows] = []
    for number, (view, rows) in enumerate(zip(parameters.views, Rows.of(parameters).parts, strict=True)):
        counts = table.counts[rows]
        people = int(counts.sum())
        if not people:
            continue
        geometry = view.geometry(plan.randomness_key, number, plan.coordinates)
        sums = table.sums[rows].astype(np.float64)
        if isinstance(view, Halfspaces):
            kept = np.flatnonzero(counts)
            vectors = sums[kept] @ back / (gain * counts[kept, None])
            deviations = spread / np.sqrt(counts[kept])
        else:
            kept = np.arange(view.rows)
            vectors = fwht(sums.T).T @ back / (gain * people)
            deviations = np.full(view.rows, spread / np.sqrt(people))
        first = isinstance(view, Halfspaces) and not any(one.halfspaces for one in views)
        noise = 1 / whole, second / whole, gain**2 / whole
        moment = second_moment(table) if first else None
        views.append(ViewRows(vectors, deviations, people, geometry, kept, place, lift, *noise, moment))
    return tuple(views)


def all_rows(
    plan: Plan, number: int, vectors: NDArray[np.float64], deviation: float = 1.0, people: int = 1
) -> ViewRows:
    """Return the rows of one view of a plan, (M, D), none left out and all alike in their noise."""
    parameters: Any = plan.parameters
    geometry = parameters.views[number].geometry(plan.randomness_key, number, plan.coordinates)
    lift = Lift.from_count_weight(parameters.count_weight, plan.coordinates)
    deviations, every = np.full(len(vectors), deviation), np.arange(len(vectors))
    return ViewRows(vectors, deviations, people, geometry, every, frame_of(plan, plan), lift)


def joined(views: Sequence[ViewRows]) -> ViewRows:
    """Return views of halfspaces of one ball as one view: different people answered them.

    Those that do not lift points alike, or end within a rotation, are left out, but for the largest.
    """
    largest = max(views, key=lambda view: view.people)
    alike = [
        view
        for view in views
        if view is not largest and view.lift == largest.lift and not view.geometry.rows % view.geometry.size
    ]
    if not alike:
        return largest
    parts = [*alike, largest]
    starts = np.cumsum([0, *(view.geometry.rows for view in alike)])
    return replace(
        largest,
        vectors=np.concatenate([view.vectors for view in parts]),
        deviations=np.concatenate([view.deviations for view in parts]),
        people=sum(view.people for view in parts),
        geometry=HalfspaceSigns.joined([view.geometry for view in parts]),
        kept=np.concatenate([view.kept + start for view, start in zip(parts, starts, strict=True)]),
    )


def seen_of(lifted: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a basis, (d, m), sees of lifted vectors: (n, d + 2) -> (n, m + 2)."""
    split = len(basis)
    return np.column_stack([lifted[:, :split] @ basis, lifted[:, split:]])


def seen_through(view: ViewRows, frame: Through) -> ViewRows:
    """Return a view of whole points as a frame of directions sees it."""
    lift = replace(view.lift, dimension=frame.basis.shape[1])
    return replace(view, vectors=seen_of(view.vectors, frame.basis), frame=frame, lift=lift, moment=None)


def frame_of(plan: Plan, frame: Plan) -> Frame:
    """Return the ball that a plan's reports speak of, as another plan's sees it; directions see their own."""
    if plan.directions is not None:
        return Frame(np.zeros(plan.coordinates), 1.0)
    return ball_in(plan, frame)


def ball_in(plan: Plan, frame: Plan) -> Frame:
    """Return a plan's ball of whole points as seen from the unit ball of another plan."""
    zero = np.zeros(plan.dimension)
    own, other = (zero if one.center is None else np.array(one.center) for one in (plan, frame))
    return Frame((own - other) / frame.radius, plan.radius / frame.radius)


def unit_points(plan: Plan, points: NDArray[Any]) -> NDArray[np.float64]:
    """Return what is reported of points, before the grid: (n, d) -> (n, m), m the plan's coordinates."""
    center = np.zeros(plan.dimension) if plan.center is None else np.array(plan.center)
    local = Frame(center, plan.radius).local(np.asarray(points, dtype=np.float64))
    if plan.directions is None:
        return local
    seen = local @ np.array(plan.directions, dtype=np.float64).T / SCALE
    return Frame(np.zeros(plan.coordinates), 1.0).local(seen)


def everybody(views: Sequence[ViewRows]) -> tuple[NDArray[np.float64], float]:
    """Return the mean point in the frame, (d,), and the deviation of each of its coordinates.

    Where no row tells, the middle of the ball, as far from certain as the ball is wide.
    """
    dimension = views[0].lift.dimension
    total, trust = np.zeros(dimension), float(dimension)  # before looking: in the unit ball
    for view in views:
        mean, variance = view.mean()
        if np.isfinite(variance):
            weight = (view.lift.point / view.frame.scale) ** 2 / variance
            total += weight * (view.frame.shift + view.frame.scale * mean[:dimension] / view.lift.point)
            trust += weight
    return total / trust, float(1 / np.sqrt(trust))


def mean_rest(views: Sequence[ViewRows]) -> float:
    """Return E√(1 - |x|²) by the lifted vectors' last coordinate, 0 to 1, in the frame's own ball.

    Before looking |x|² may be anything from 0 to 1, so the root is 2/3 ± √(1/18).
    """
    total, trust = 18 * 2 / 3, 18.0
    for view in views:
        mean, variance = view.mean()
        if np.isfinite(variance) and view.own_ball:
            total += float(mean[-1]) * view.lift.point / variance
            trust += view.lift.point**2 / variance
    return min(max(total / trust, 0.0), 1.0)
