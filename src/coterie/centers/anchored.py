"""Centers in low dimension, where cells are so small that a cell's place says more than its noisy mean.

The net is public, so the mean of a cell's people is known to within the cell before a single report: it is
the cell's middle ± τ. Reports add a noisy mean of variance v; together they say

    mean ≈ middle + τ²/(τ²+v) · (noisy mean - middle).

And since the direction u of the middle's lifted vector is known, the cell's share is ⟨Y, u⟩, with the noise
of one coordinate only. k-means then runs on well-placed points with honest weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.leaves import Lift
from coterie.centers.solution import Solution, into_ball, weighted_kmeans
from coterie.centers.support import mean_of_everybody
from coterie.geometry.cells import NetCells
from coterie.oracles.leaf_sums import LeafSums

SMALL_CELL: Final = (
    0.06  # mean squared distance from the middle, in units of the radius, that counts as small
)
_CLEAR: Final = 3.0  # deviations by which a share must stand above zero
_SUPPORTED: Final = 4.5  # deviations, likewise, for a whole center to count as supported
_SAMPLE: Final = 1 << 15  # points of the ball that measure the cells


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """Middles of a net's cells and how far people are from them, were they spread evenly."""

    middles: NDArray[np.float64]  # (M, d), of the unit ball
    spreads: NDArray[np.float64]  # (M,), variance a coordinate: τ²

    @property
    def small(self) -> bool:
        """Whether the cells are small enough to be taken for points."""
        return bool(self.spreads.mean() * self.middles.shape[1] < SMALL_CELL)


def anchors_of(net: NDArray[np.float64]) -> Anchors:
    """Measure the cells of a net on an even sample of the ball: (M, d) -> Anchors.

    Examples
    --------
    >>> anchors = anchors_of(np.array([[-0.5], [0.5]]))
    >>> anchors.middles.round(2).ravel().tolist(), bool(anchors.spreads[0] < 0.1)
    ([-0.5, 0.5], True)
    """
    cells, dimension = net.shape
    rng = np.random.default_rng(0)  # a ruler, the same for everybody
    sample = rng.standard_normal((_SAMPLE, dimension))
    sample *= rng.random((_SAMPLE, 1)) ** (1 / dimension) / np.linalg.norm(sample, axis=1, keepdims=True)
    nearest = NetCells.from_points(net).of(sample)
    sizes = np.bincount(nearest, minlength=cells)
    sums = np.stack([np.bincount(nearest, column, cells) for column in sample.T], axis=1)
    middles = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], net)
    offsets = ((sample - middles[nearest]) ** 2).sum(axis=1) / dimension
    spreads = np.bincount(nearest, offsets, cells) / np.maximum(sizes, 1)
    return Anchors(middles, np.where(sizes > 0, spreads, spreads.max()))


def solve_anchored(
    views: Sequence[LeafSums], anchors: Sequence[Anchors], lift: Lift, clusters: int, rng: np.random.Generator
) -> Solution:
    """Find centers from the vector sums of small cells."""
    everyone = sum(view.people for view in views)
    sums = np.concatenate([view.vectors for view in views])
    variances = np.concatenate([np.full(len(view.vectors), view.variance) for view in views])
    people = np.concatenate([np.full(len(view.vectors), view.people / everyone) for view in views])
    middles = np.concatenate([anchor.middles for anchor in anchors])
    spreads = np.concatenate([anchor.spreads for anchor in anchors])

    # A broad cell's mean lifted vector is a little shorter than 1, by half its variance.
    shares = np.einsum("ij,ij->i", sums, lift.of(middles)) / (
        1 - lift.point**2 * spreads * lift.dimension / 2
    )
    clear = shares / np.sqrt(variances)
    kept = np.flatnonzero(clear > _CLEAR)
    if len(kept) < clusters:
        kept = np.sort(np.argsort(-clear, kind="stable")[:clusters])
    shares, noise = np.maximum(shares[kept], 1e-12), np.sqrt(variances[kept])
    raw = sums[kept, : lift.dimension] / (lift.point * shares[:, None])
    doubt = variances[kept] / (lift.point * shares) ** 2  # v
    trust = spreads[kept] / (spreads[kept] + doubt)
    points = into_ball(middles[kept] + trust[:, None] * (raw - middles[kept]))

    labels = weighted_kmeans(points, shares * people[kept], clusters, rng)
    members = np.zeros((clusters, len(kept)))
    members[labels, np.arange(len(kept))] = shares * people[kept]
    totals = members.sum(axis=1)
    filled = totals > 0
    weights = members / np.maximum(totals, 1e-300)[:, None]  # (k, leaves)
    centers = weights @ points
    away = ((points[None] - centers[:, None]) ** 2).sum(axis=2)  # (k, leaves)
    relative = noise * people[kept] / np.maximum(totals, 1e-300)[:, None]
    squares = ((members > 0) * relative**2 * away).sum(axis=1)  # by wrong shares
    squares += (weights**2 * (trust * doubt * lift.dimension)).sum(axis=1)  # by wrong points
    combined = np.sqrt(((members > 0) * (noise * people[kept]) ** 2).sum(axis=1))
    supported = filled & (totals > _SUPPORTED * combined)
    return Solution(
        centers=np.where(supported[:, None], centers, mean_of_everybody(views, lift)),
        shares=np.maximum(totals, 1e-12) / np.maximum(totals, 1e-12).sum(),
        errors=np.where(supported, np.sqrt(squares), 1.0),
        supported=supported,
        points=points,
        weights=shares * people[kept],
        deviations=np.sqrt(doubt * lift.dimension),
    )
