"""The same groups, label by label: shares and means of the people nearest to common centers, each by itself.

A label's rows are linear in its people, Y_j = E[φ_j(x)·w(x)] + noise of known covariance. All tables together
have given a population (atoms, weights) and centers; in the cell of center l a label's people are taken to be
the population's own, more or fewer of them, and tilted:

    weight of an atom x in cell l  =  the population's · (α_l + β_lᵀ(x - m_l)),      m_l its mean there

Rows are linear in all α and β, so one weighted regression gives them, with their covariance. The share of a
group is the cell's weight, its mean m_l plus what the tilt moves it by.

*Means* come from the regression as it stands, without any belief. *Shares* suffer most from tilts that are
not there: to look for a tilt in every direction makes them twice as uncertain. So for shares the labels'
tilts, beyond what all have in common, are believed to be normal, and how large they are is read off all of
them together, by the likelihood (Robbins 1956). Labels that differ in shares alone are read as sharply as if
nothing else could differ; where groups moved as well, that is noticed, and counted.

Tables of a plan whose cells are the groups (`Plan.confirms`) need none of this: `read_confirmed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.confirm import mean_covariance
from coterie.centers.solution import squared_distances
from coterie.plan import Plan
from coterie.protocols.codeword.oracles.group_sums import GroupSums, report_spread
from coterie.protocols.codeword.oracles.rows import ViewRows, rows_of
from coterie.protocols.codeword.table import CodewordTable

_FLAT: Final = 1e-6  # of the ball's squared radius: spread of a group below which nothing can tilt
_TILTS: Final = np.geomspace(0.01, 3.0, 24)  # that are tried, in deviations of a group
_BLOCK: Final = 1 << 23  # numbers of the regression at a time
_SEEN: Final = 2.0  # deviations above 0 of a share from which on a mean is stated


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one label's tables say of the groups, in the unit ball of the frame."""

    people: int
    shares: NDArray[np.float64]  # (k,), sum 1
    share_variances: NDArray[np.float64]  # (k,)
    means: NDArray[np.float64]  # (k, d)
    covariances: NDArray[np.float64]  # (k, d, d); infinite on the diagonal where nobody is seen


def read_confirmed(table: CodewordTable) -> Reading:
    """Return what a table of a plan that confirms says of its groups, without any model."""
    sums = GroupSums.of(table)
    number, size = len(sums.shares), sums.lift.dimension
    covariances = np.array([_or_unknown(mean_covariance(sums, group), size) for group in range(number)])
    held = np.where(sums.shares > 0, sums.shares, np.inf)[:, None]
    return Reading(sums.people, sums.shares, sums.share_variances, sums.sums / held, covariances)


def read_labels(
    tables: Sequence[Sequence[CodewordTable]],
    frame: Plan,
    people: tuple[NDArray[np.float64], NDArray[np.float64]],
    centers: NDArray[np.float64],
) -> list[Reading]:
    """Return what each label's tables say of the people nearest to common centers.

    Parameters
    ----------
    tables : sequence of sequence of CodewordTable
        By label.
    frame : Plan
        In whose unit ball everything lies.
    people : pair of ndarray, shapes (N, d) and (N,)
        The population of all tables together.
    centers : ndarray, shape (k, d)
        The common centers, each of them nearest to somebody of the population.
    """
    groups = _groups(*people, centers)
    seen = [_Sums.of(own, frame, groups) for own in tables]
    starts = np.cumsum([0, *(group.size for group in groups)])
    shares = starts[:-1]  # places of the α among all parameters
    tilts = np.setdiff1d(np.arange(starts[-1]), shares)
    of_group = np.repeat(np.arange(len(groups)), [group.size - 1 for group in groups])
    scale = np.array([group.share for group in groups])[of_group]  # a tilt of 1 is a deviation of the group
    common = _Sums.total(seen).solved(None)[0]
    flat = [each.solved(None, shares) for each in seen]
    prior = np.zeros(starts[-1])
    if len(tilts):
        prior[tilts] = 1 / (scale * _tilt(seen, flat, common, tilts, scale)) ** 2
    readings = []
    for each, (free, free_covariance) in zip(seen, flat, strict=True):
        sure, covariance = each.solved((prior, common), shares)
        told = [
            group.mean_of(free[a:b], free_covariance[a:b, a:b])
            for group, a, b in zip(groups, starts[:-1], starts[1:], strict=True)
        ]
        means, covariances = (np.array(part) for part in zip(*told, strict=True))
        variances = np.diagonal(covariance)[shares]
        readings.append(Reading(each.people, sure[shares], np.maximum(variances, 0), means, covariances))
    return readings


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A cell's people: how their weights may differ from label to label."""

    points: NDArray[np.float64]  # (N_l, d)
    weights: NDArray[np.float64]  # (N_l, p): columns of weights, that of the whole group first
    share: float  # of the population
    mean: NDArray[np.float64]  # (d,)
    moves: NDArray[np.float64]  # (d, p - 1): by how much a column moves the mean of a group of share 1

    @property
    def size(self) -> int:
        return int(self.weights.shape[1])

    def mean_of(
        self, found: NDArray[np.float64], covariance: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean, (d,), and its covariance by the error's linear part, (d, d)."""
        share, size = float(found[0]), len(self.mean)
        if not share > _SEEN * np.sqrt(max(float(covariance[0, 0]), 0.0)):
            return self.mean, _or_unknown(None, size)
        away = self.moves @ found[1:] / share
        slope = np.column_stack([-away / share, self.moves / share])
        return self.mean + away, slope @ covariance @ slope.T


def _groups(
    points: NDArray[np.float64], weights: NDArray[np.float64], centers: NDArray[np.float64]
) -> list[_Group]:
    labels = squared_distances(points, centers).argmin(axis=1)
    groups = []
    for number in range(len(centers)):
        mine = (labels == number) & (weights > 0)
        here, share = points[mine], float(weights[mine].sum())
        own = weights[mine] / share
        mean = own @ here
        away = here - mean
        spreads, axes = np.linalg.eigh((own[:, None] * away).T @ away)
        wide = spreads > _FLAT
        deviations = np.sqrt(spreads[wide])
        tilted = own[:, None] * (away @ (axes[:, wide] / deviations))
        groups.append(_Group(here, np.column_stack([own, tilted]), share, mean, axes[:, wide] * deviations))
    return groups


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """A weighted regression, added up over rows: XᵀX, Xᵀy, both in units of the noise."""

    people: int
    gram: NDArray[np.float64]  # (p, p)
    pull: NDArray[np.float64]  # (p,)

    @classmethod
    def of(cls, tables: Sequence[CodewordTable], frame: Plan, groups: Sequence[_Group]) -> _Sums:
        """Add up all rows of one label's tables."""
        size = sum(group.size for group in groups)
        gram, pull = np.zeros((size, size)), np.zeros(size)
        for table in tables:
            spread = report_spread(table)
            inverse = np.linalg.inv(spread / (np.trace(spread) / len(spread)))  # rows know its mean
            white = np.linalg.cholesky(inverse)
            for view in rows_of(table, frame):
                for lines, targets in _lines(view, groups, white):
                    gram += lines @ lines.T
                    pull += lines @ targets
        return cls(sum(table.count for table in tables), gram, pull)

    @classmethod
    def total(cls, parts: Sequence[_Sums]) -> _Sums:
        return cls(
            sum(each.people for each in parts),
            np.sum([each.gram for each in parts], axis=0),
            np.sum([each.pull for each in parts], axis=0),
        )

    def solved(
        self,
        belief: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
        shares: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return parameters and covariance; beliefs have a precision and a place; shares are to sum to 1."""
        precision, place = (np.zeros(len(self.pull)), 0 * self.pull) if belief is None else belief
        # A millionth of the least that is known keeps directions apart in which nothing is known.
        floor = 1e-9 * float(np.diagonal(self.gram).mean())
        covariance = np.linalg.inv(self.gram + np.diag(precision + floor))
        covariance = (covariance + covariance.T) / 2
        found = place + covariance @ (self.pull - self.gram @ place)
        if shares is not None:
            ones = np.zeros(len(found))
            ones[shares] = 1.0
            along = covariance @ ones
            whole = float(ones @ along)
            found = found + along * (1 - float(ones @ found)) / whole
            covariance = covariance - np.outer(along, along) / whole
        return found, covariance


def _lines(
    view: ViewRows, groups: Sequence[_Group], white: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield what the rows of a view would be for each parameter, (p, rows·D), and what they are."""
    features = [view.features(group.points).astype(np.float64) for group in groups]
    lifted = [view.lifted(group.points) @ white for group in groups]
    columns = [
        (group.weights[:, :, None] * each[:, None, :]).reshape(len(each), -1)
        for group, each in zip(groups, lifted, strict=True)
    ]
    wide = sum(each.shape[1] for each in columns)
    step = max(_BLOCK // wide, 1)
    for start in range(0, len(view.vectors), step):
        rows = slice(start, start + step)
        trust = 1 / view.deviations[rows, None]
        lines = [
            (part[:, rows].T @ column).reshape(-1, group.size, white.shape[1]) * trust[:, :, None]
            for part, column, group in zip(features, columns, groups, strict=True)
        ]
        whole = np.concatenate(lines, axis=1)  # (rows, p, D)
        flat = whole.transpose(1, 0, 2).reshape(whole.shape[1], -1)
        yield flat, (view.vectors[rows] @ white * trust).ravel()


def _tilt(
    seen: Sequence[_Sums],
    flat: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    common: NDArray[np.float64],
    tilts: NDArray[np.int64],
    scale: NDArray[np.float64],
) -> float:
    """Return how large labels' own tilts are, by the likelihood of what was found beyond the common ones.

    The root of the mean square over all sizes that may be, each as likely as it makes what was found: the
    likeliest alone would be too sure of itself where it is small.
    """
    total = sum(each.people for each in seen)
    worth = np.zeros(len(_TILTS))
    for each, (found, covariance) in zip(seen, flat, strict=True):
        own = 1 - each.people / total  # of the label's variance: the common part is made of it, too
        away = (found - common)[tilts] / scale
        noise = own * covariance[np.ix_(tilts, tilts)] / np.outer(scale, scale)
        spreads, axes = np.linalg.eigh(noise)
        squares = (axes.T @ away) ** 2
        for place, tilt in enumerate(_TILTS):
            variances = np.maximum(spreads, 0.0) + own * tilt**2
            worth[place] -= 0.5 * float((np.log(variances) + squares / variances).sum())
    likely = np.exp(worth - worth.max())
    return float(np.sqrt(likely @ _TILTS**2 / likely.sum()))


def _or_unknown(covariance: NDArray[np.float64] | None, size: int) -> NDArray[np.float64]:
    return np.diag(np.full(size, np.inf)) if covariance is None else covariance
