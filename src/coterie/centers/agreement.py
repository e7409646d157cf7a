"""Whether waves speak of the same people: asked before anything is stated of all of them together.

All waves together gave a population. A wave whose people differ from it sees the atoms x with other weights,
to first order

    the population's · (1 + θ·t(x)),      t: along the axes in which people differ most, their squared
                                          distance from the mean, membership of each group

Rows are linear in θ and have noise of a known law, so each wave tells a θ of its own by one regression, with
information G_w and score b_w. If all asked the same people, these differ by noise alone, and

    Σ_w b_wᵀ·G_w⁻¹·b_w - bᵀ·G⁻¹·b,      b = Σ_w b_w, G = Σ_w G_w

is chi-square. Of two waves it is Δᵀ(G₁⁻¹ + G₂⁻¹)⁻¹Δ for Δ = θ₁ - θ₂: the noise of one, and what the other
does not know. By how much the population itself is wrong all waves see alike, and it falls out, where they
ask alike; where they do not, each sees it by an error of its own, of deviation δ: G_w⁻¹ + δ² for G_w⁻¹.

Whether a ball that followed from earlier waves holds its people, its own reports tell without any model: the
last coordinate of a lifted point is a·√(1 - |x|²), 0 for all whom the ball does not hold, so that

    P(|x| ≤ ρ) ≤ E√(1 - |x|²)/√(1 - ρ²)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from coterie.centers.explain import as_long
from coterie.centers.population import ATOMS
from coterie.centers.solution import Weighted, squared_distances
from coterie.centers.spectrum import FLAT
from coterie.geometry.ball import SCALE
from coterie.plain.words import letter
from coterie.protocols.codeword.oracles.rows import ViewRows

FALSE_ALARM: Final = 1e-3  # of each of both tests, in an honest study

_OWN: Final = 0.05  # δ, of a deviation of people, or of everybody where it is a share: not worth a note
_UNKNOWN: Final = 2.0**-26  # of the largest eigenvalue of what is known: half the digits of a double
_WITHIN: Final = 0.95  # ρ, of the radius: whom the note calls clearly inside
_FEW: Final = 0.5  # share of the people: a ball that surely holds fewer within ρ is said to miss them


class Agreement(NamedTuple):
    """How far waves differ: chi-square, its degrees, the chance of as much by noise, and in what most."""

    statistic: float
    degrees: int
    p_value: float
    most: str


def disagreement(
    waves: Sequence[Sequence[ViewRows]], supposed: Weighted, centers: NDArray[np.float64]
) -> tuple[str, ...]:
    """Return a note if waves do not speak of the same people, or none.

    Parameters
    ----------
    waves : sequence of sequences of ViewRows
        The rows of each table, in one frame.
    supposed : Weighted
        The population that all of them gave, without the scatter that it does not show.
    centers : ndarray, shape (k, d)
        Of its groups.
    """
    if len(waves) < 2:
        return ()
    people = as_long(supposed, [view for views in waves for view in views], np.random.default_rng(0))
    found = agreement(waves, people, centers)
    if found.p_value >= FALSE_ALARM:
        return ()
    return (
        f"The waves do not speak of the same people: they differ most clearly in {found.most} (chance "
        f"if they did below {max(found.p_value, 1e-300):.0e}). Other people may have come, somebody may have "
        "sent reports to mislead, or the last plan's ball does not hold its people: decode each wave alone "
        "before you rely on them together.",
    )


def agreement(
    waves: Sequence[Sequence[ViewRows]], people: Weighted, centers: NDArray[np.float64]
) -> Agreement:
    """Test whether the rows of waves can come from the same people.

    Parameters
    ----------
    waves : sequence of sequences of ViewRows
        The rows of each, in one frame; two at least.
    people : Weighted
        Who all waves together say they are, scatter and all.
    centers : ndarray, shape (k, d)
        Of their groups.
    """
    tilts = _Tilts.of(_thinned(people), centers)
    told = [_each_wrong(*tilts.told_by(views)) for views in waves]
    apart = [_explained(known, score) for known, score in told]
    together = _explained(*(np.sum(part, axis=0) for part in zip(*told, strict=True)))
    statistic = sum(one[0] for one in apart) - together[0]
    degrees = sum(one[1] for one in apart) - together[1]
    return Agreement(statistic, degrees, float(chi2.sf(statistic, degrees)), tilts.names[_most_apart(told)])


def missed_by_ball(views: Sequence[ViewRows]) -> tuple[str, ...]:
    """Return a note if a ball that followed from earlier waves surely holds few of its people, or none.

    Parameters
    ----------
    views : sequence of ViewRows
        The rows of the plan, in its own ball.
    """
    total, trust = 0.0, 0.0
    for view in views:
        mean, variance = view.mean()
        if np.isfinite(variance):
            total += float(mean[-1]) * view.lift.point / variance
            trust += view.lift.point**2 / variance
    if not trust:
        return ()
    most = (total / trust + float(norm.isf(FALSE_ALARM)) / math.sqrt(trust)) / math.sqrt(1 - _WITHIN**2)
    if most >= _FEW:
        return ()
    return (
        f"The last plan's ball misses its people: at most {max(most, 0.01):.0%} of them lie clearly inside, "
        "and all others are seen at its surface. Follow up with a larger ball, or decode the earlier waves "
        "alone.",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Tilts:
    """How the weights of a population may differ from wave to wave."""

    people: Weighted
    axes: NDArray[np.float64]  # (d, r), orthonormal: rows are looked at along these
    weights: NDArray[np.float64]  # (N, p), of the atoms, a column each
    names: tuple[str, ...]  # (p,)

    @classmethod
    def of(cls, people: Weighted, centers: NDArray[np.float64]) -> _Tilts:
        points, weights = people
        away = points - weights @ points
        spreads, axes = np.linalg.eigh((weights[:, None] * away).T @ away)
        wide = np.flatnonzero(spreads > SCALE**-2)[::-1][:FLAT]  # what a device's steps show
        columns = [*(weights[:, None] * (away @ (axes[:, wide] / np.sqrt(spreads[wide])))).T]
        names = ["where people are"] * len(columns)
        squares = np.einsum("ij,ij->i", away, away)
        squares -= weights @ squares
        if (deviation := math.sqrt(float(weights @ squares**2))) > 1 / SCALE:
            columns.append(weights * squares / deviation)
            names.append("how widely people are spread")
        nearest = squared_distances(points, centers).argmin(axis=1)
        for group in range(len(centers) - 1):  # the last one's share follows
            mine = nearest == group
            if 0 < (share := float(weights[mine].sum())) < 1:
                columns.append(weights * (mine / share - 1))
                names.append(f"how many belong to group {letter(group)}")
        return cls(people, axes[:, wide], np.array(columns).T.reshape(len(points), -1), tuple(names))

    def told_by(self, views: Sequence[ViewRows]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the information on θ in these rows, (p, p), and its score, (p,)."""
        points, weights = self.people
        size = self.weights.shape[1]
        known, score = np.zeros((size, size)), np.zeros(size)
        columns = np.column_stack([weights, self.weights])
        for view in views:
            dimension, seen = self.axes.shape
            look = np.zeros((dimension + 2, seen + 2))
            look[:dimension, :seen] = self.axes
            look[dimension, seen] = look[dimension + 1, seen + 1] = 1
            lifted = view.lifted(points) @ look
            each = (columns[:, :, None] * lifted[:, None]).reshape(len(points), -1)
            rows = (view.features(points).T.astype(np.float64) @ each).reshape(-1, size + 1, seen + 2)
            covariance = view.noise_covariance(points, weights, view.predicted(points, weights))
            white = np.linalg.cholesky(np.linalg.inv(look.T @ covariance @ look))
            left = (view.vectors @ look - rows[:, 0]) @ white / view.deviations[:, None]
            lines = (
                (rows[:, 1:] @ white / view.deviations[:, None, None]).transpose(1, 0, 2).reshape(size, -1)
            )
            known += lines @ lines.T
            score += lines @ left.ravel()
        return known, score


def _each_wrong(
    known: NDArray[np.float64], score: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return information and score of a θ that is known less well, by the population's own error."""
    less = np.linalg.inv(np.eye(len(score)) + _OWN**2 * known)
    told = known @ less
    return (told + told.T) / 2, less.T @ score


def _thinned(people: Weighted) -> Weighted:
    points, weights = people
    shares = weights / weights.sum()
    if len(points) <= ATOMS:  # their own noise is the same for all waves
        return points, shares
    chosen = np.random.default_rng(0).choice(len(points), ATOMS, p=shares)
    return points[chosen], np.full(ATOMS, 1 / ATOMS)


def _explained(known: NDArray[np.float64], score: NDArray[np.float64]) -> tuple[float, int]:
    """Return what the best θ explains of chi-square, and how many numbers of it are known at all."""
    values, vectors = np.linalg.eigh(known)
    clear = values > _UNKNOWN * max(float(values[-1]), 1e-300)
    return float(((vectors[:, clear].T @ score) ** 2 / values[clear]).sum()), int(clear.sum())


def _most_apart(told: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> int:
    """Return which number of θ, by itself, differs most between some wave and all together."""
    known = np.array([np.diagonal(one) for one, _ in told])
    scores = np.array([score for _, score in told])
    common = scores.sum(axis=0) / known.sum(axis=0)
    apart = (scores - common * known) ** 2 / np.maximum(known, 1e-300)
    return int(apart.sum(axis=0).argmax())
