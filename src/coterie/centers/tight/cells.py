"""Tight groups by cells alone: the finder of plans that ask for nothing else in many dimensions.

A tight group has few places to be: the cells. Centers and cells settle together (`solve`). Each group is
supposed to be one place; by what its center is too short, because noise shrank it, its mean may lie
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.centers.population import spread_beyond
from coterie.centers.repeats import Found
from coterie.centers.tight.solve import solve
from coterie.protocols.codeword.oracles.cell_sums import CellSums
from coterie.protocols.codeword.oracles.rows import ViewRows, mean_rest


def find_in_cells(
    views: Sequence[ViewRows],
    clusters: int,
    rng: np.random.Generator,
    members: int,
    *,
    directions: NDArray[np.float64] | None = None,
    unmix: bool = False,
) -> Found | None:
    """Find `clusters` centers, half of which stand clear of the noise; None if they do not.

    No rows are left out here that could judge the answer, so that it has to be this clear.
    `directions`, (d, r), span the centers as far as that is known.

    With `unmix`, cells that two groups share are told apart by their differences: for little noise.
    """
    del members  # there is one way only
    lift = views[0].lift
    sums = [CellSums(view.vectors, float(view.deviations[0]) ** 2, view.people) for view in views]
    answer, clear = solve(sums, directions, lift, clusters, rng, unmix=unmix)
    if 2 * int(clear.sum()) < clusters:
        return None
    lack = spread_beyond(answer.centers, answer.shares, mean_rest(views), 1)
    return Found(
        answer=answer,
        people=(answer.centers, answer.shares),
        basis=np.empty((lift.dimension, 0)),
        hidden=lack,
        scatter=0.0,
        sure=True,
        clear=clear,
    )
