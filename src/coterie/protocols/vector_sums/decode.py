"""The decoder of `vector-sums`: weighted k-means on cells whose sums are nearly exact.

With all cells at hand and little noise, each cell is a point (its mean) with a weight (its count), and a
group's center is the sum of its cells' vectors over the sum of their counts: the paper's kMeansDecoder,
with cells for the paper's tree. Cells that noise alone explains are left out.

By column there is more noise, and two views that can tell apart what shares a cell: there the decoder of
`codeword` is used. (With little noise its mixtures of groups in a cell would follow the shape of broad
groups instead, and pull the centers outwards.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np

from coterie.aggregate import Aggregate
from coterie.centers.explain import explain
from coterie.centers.solution import Solution, into_ball, with_equal_points
from coterie.centers.tight.cells import find_in_cells
from coterie.centers.tight.kept_cells import KeptCells, significant_cells
from coterie.centers.tight.shrinkage import shrink
from coterie.plan.views import Halfspaces
from coterie.protocols.codeword.oracles.rows import Lift, all_rows
from coterie.protocols.shares.table import VectorSumTable
from coterie.protocols.vector_sums.oracle import mixed_cell_sums
from coterie.protocols.vector_sums.parameters import VectorSumParameters
from coterie.wire.rows import Rows

_RESTARTS = 20  # of k-means++ on the cells
_SUPPORTED = 5.0  # deviations by which a group's count must stand above noise


def decode_vector_sums(
    tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, *, choose: bool = False
) -> Solution:
    """Find the centers of a `vector-sums` table."""
    table, plan = cast("VectorSumTable", tables[-1].table), tables[-1].plan
    parameters, sums = VectorSumParameters.of(plan), mixed_cell_sums(table)
    if parameters.layout == "column":
        people, parts = table.people_by_row(), Rows.of(parameters).parts
        served = [
            number
            for number, (view, rows) in enumerate(zip(parameters.views, parts, strict=True))
            if people[rows].any() and not isinstance(view, Halfspaces)
        ]
        views = [
            all_rows(plan, number, one.vectors, math.sqrt(one.variance), one.people)
            for number, one in zip(served, sums, strict=True)
        ]
        find = partial(find_in_cells, unmix=True)
        return explain(views, clusters, rng, choose=choose, find=find)
    lift = Lift.from_count_weight(parameters.count_weight, plan.dimension)
    cells = significant_cells(sums, lift, at_least=clusters)
    solution = pooled_centers(cells, lift, clusters, rng)
    clear = max(int(solution.supported.sum()), 1)
    return pooled_centers(cells, lift, clear, rng) if choose and clear < clusters else solution


def pooled_centers(cells: KeptCells, lift: Lift, clusters: int, rng: np.random.Generator) -> Solution:
    """Cluster the kept cells by their means and pool each group's sums: its center is sum over count."""
    from sklearn.cluster import KMeans

    kept = np.flatnonzero(cells.kept)
    sums = cells.vectors[kept, : lift.dimension] / lift.point  # (cells, d)
    deviation = np.sqrt(cells.variances[kept])
    counts = np.maximum(cells.vectors[kept, lift.dimension] / lift.count, deviation)  # (cells,), shares
    means = sums / counts[:, None]
    noise = (deviation / (lift.point * counts)) ** 2  # of each coordinate of a mean
    total = counts.sum()
    middle = sums.sum(axis=0) / total
    points = into_ball(shrink(means, noise, middle))
    # A mean is worth its count, less where noise moves it as far as the ball is wide.
    weights = counts / (1 + lift.dimension * noise)
    solver = KMeans(min(clusters, len(kept)), n_init=_RESTARTS, random_state=int(rng.integers(1 << 31)))
    with with_equal_points():
        labels = solver.fit(points, sample_weight=weights).labels_

    held = np.bincount(labels, counts, minlength=clusters)  # (k,)
    spread = np.bincount(labels, deviation**2, minlength=clusters)
    pooled = np.zeros((clusters, lift.dimension))
    np.add.at(pooled, labels, sums)
    alive = held > 0
    centers = np.tile(middle, (clusters, 1))
    centers[alive] = pooled[alive] / held[alive, None]
    errors = np.zeros(clusters)
    errors[alive] = np.sqrt(lift.dimension * spread[alive]) / (lift.point * held[alive])
    centers = into_ball(shrink(centers, (errors**2) / lift.dimension, middle))
    return Solution(
        centers=centers,
        shares=np.maximum(held, 1e-12) / np.maximum(held, 1e-12).sum(),
        errors=np.minimum(errors, 1.0),
        supported=held * lift.count > _SUPPORTED * np.sqrt(spread),
        points=points,
        weights=counts,
    )
