"""Tight groups by cells alone: the finder of plans that ask for nothing else in many dimensions.

A tight group has few places to be: the cells. Centers and cells settle together (`solve`). Each group is
supposed to be one place; by what its center is too short, because noise shrank it, its mean may lie
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers.codeword import codeword_table, decoded, served
from coterie.centers.explain import explain
from coterie.centers.population import spread_beyond
from coterie.centers.repeats import Found
from coterie.centers.solution import Solution
from coterie.centers.tight.solve import solve
from coterie.centers.tight.subspace import signal_subspace
from coterie.plan.views import Partition
from coterie.protocols.codeword.oracles.cell_sums import CellSums
from coterie.protocols.codeword.oracles.rows import ViewRows, mean_rest, rows_of
from coterie.protocols.codeword.oracles.second_moment import second_moment


def decode_cells(
    tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, *, choose: bool = False
) -> Solution:
    """Find centers from the cells of one table alone: the design for tight groups among much noise."""
    (table,) = map(codeword_table, tables)
    cells = [view for view in rows_of(table) if not view.halfspaces]
    moment = second_moment(table)
    directions = None if moment is None else signal_subspace(moment, table.plan.dimension)
    find = partial(find_in_cells, directions=directions)
    return decoded(tables, explain(cells, clusters, rng, choose=choose, find=find))


def without_cells(tables: Sequence[Aggregate]) -> str | None:
    """Return why `decode_cells` cannot read this table, or None."""
    return None if served(codeword_table(tables[-1]), Partition) else "it needs reports about cells"


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
