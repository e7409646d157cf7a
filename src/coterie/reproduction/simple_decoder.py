"""A plain decoder of `codeword` tables, for the ablation: what the cells alone buy.

    leaves above the noise -> means by the counting coordinate -> weighted k-means++ -> pooled means

No shrinkage, no counting by length, no settling of centers and cells, which is what `coterie.centers.solve`
adds; with `subspace` the means are projected onto the directions that the second moment shows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate.codeword import CodewordTable
from coterie.centers.leaves import Lift, significant_leaves
from coterie.centers.solution import into_ball, weighted_kmeans
from coterie.centers.subspace import signal_subspace
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import point_weight
from coterie.oracles.leaf_sums import leaf_sums
from coterie.oracles.second_moment import second_moment


def decode_simply(
    table: CodewordTable, generator: np.random.Generator, *, subspace: bool
) -> NDArray[np.float64]:
    """Return the centers of a codeword table in the unit ball, (k, d)."""
    clusters, dimension, weight = table.plan.clusters, table.plan.dimension, table.numbers.count_weight
    lift = Lift(point_weight(weight), weight / SCALE, dimension)
    leaves = significant_leaves(leaf_sums(table), lift, at_least=clusters)
    kept = leaves.kept
    deviations = np.sqrt(leaves.variances[kept])
    shares = np.maximum(leaves.vectors[kept, dimension], deviations) / lift.count  # (m,)
    sums = leaves.vectors[kept, :dimension] / lift.point
    moment = second_moment(table)
    if subspace and moment is not None:
        basis = signal_subspace(moment, dimension)
        if basis.shape[1]:
            sums = sums @ basis @ basis.T
    people = leaves.people[kept]
    labels = weighted_kmeans(into_ball(sums / shares[:, None]), shares * people, clusters, generator)
    members = np.zeros((clusters, len(labels)))
    members[labels, np.arange(len(labels))] = people
    return into_ball(members @ sums / np.maximum(members @ shares, 1e-9)[:, None])
