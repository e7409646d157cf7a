"""A plain decoder of `codeword` tables, for the ablation: what each of its parts buys.

    cells above the noise -> means by the counting coordinate -> weighted k-means++ -> pooled means

What `coterie.centers.tight.solve` adds can be put in one at a time: shrinkage of cells and centers by known
noise ("plain"), and shrinkage that knows the subspace of the centers from the second moment ("blocks"). Not
here: counting by length, and centers and cells that settle together.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie.centers.refit import weighted_kmeans
from coterie.centers.solution import into_ball
from coterie.centers.tight.kept_cells import significant_cells
from coterie.centers.tight.subspace import shrink_in_blocks, signal_subspace
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import point_weight
from coterie.protocols.codeword.oracles.cell_sums import cell_sums
from coterie.protocols.codeword.oracles.rows import Lift
from coterie.protocols.codeword.oracles.second_moment import second_moment
from coterie.protocols.codeword.table import CodewordTable

Shrinkage = Literal["none", "plain", "blocks"]


def decode_simply(
    table: CodewordTable, generator: np.random.Generator, *, shrinkage: Shrinkage
) -> NDArray[np.float64]:
    """Return the centers of a codeword table in the unit ball, (k, d)."""
    clusters, dimension, weight = table.plan.clusters, table.plan.dimension, table.parameters.count_weight
    lift = Lift(point_weight(weight), weight / SCALE, dimension)
    cells = significant_cells(cell_sums(table), lift, at_least=clusters)
    kept, variances = cells.kept, cells.variances[cells.kept]
    shares = np.maximum(cells.vectors[kept, dimension], np.sqrt(variances)) / lift.count  # (m,)
    sums = cells.vectors[kept, :dimension] / lift.point  # (m, d)
    people = cells.people[kept]
    target = people * shares @ (sums / shares[:, None]) / (people @ shares)
    moment = second_moment(table) if shrinkage == "blocks" else None
    basis = None if moment is None else signal_subspace(moment, dimension)

    def estimate(means: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
        return into_ball(means if shrinkage == "none" else shrink_in_blocks(means, noise, target, basis))

    points = estimate(sums / shares[:, None], variances / (lift.point * shares) ** 2)
    labels = weighted_kmeans(points, shares * people, clusters, generator)
    members = np.zeros((clusters, len(labels)))
    members[labels, np.arange(len(labels))] = people
    held = np.maximum(members @ shares, 1e-9)  # (k,)
    return estimate(members @ sums / held[:, None], members**2 @ variances / (lift.point * held) ** 2)
