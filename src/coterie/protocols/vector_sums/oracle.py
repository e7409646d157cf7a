"""Vector sums of every cell, read off a `vector-sums` table: nearly those of a trusted curator.

Center each residue and divide by G·n: a row of layout "cells" is then Y_l = (1/n)·Σ_{people in cell l} w, and
each coordinate carries noise of variance (total scale / G·n)², whatever the cell.

By "column" each of the n people of a view served one random row c with sign (-1)^popcount(cell & c), so

    Y_l = (1/G·n)·Σ_c (-1)^popcount(l & c)·sums[c]

keeps the people of cell l and cancels the others in the mean. Its noise is that of all M rows, and the
others' random signs add n·E[w_k²] to the variance of coordinate k of the sum, about n/D on average.
"""

from __future__ import annotations

import numpy as np

from coterie.geometry.hadamard import fwht
from coterie.geometry.hashing import PairwiseHash
from coterie.plan.views import Halfspaces
from coterie.protocols.codeword.oracles.cell_sums import CellSums
from coterie.protocols.shares.table import VectorSumTable
from coterie.protocols.vector_sums.parameters import VectorSumParameters
from coterie.wire.rows import Rows


def mixed_cell_sums(table: VectorSumTable) -> tuple[CellSums, ...]:
    """Return the vector sums of the cells of each view that has cells and people.

    Raises
    ------
    DecodeError
        If shares are missing or doubled.
    """
    parameters = VectorSumParameters.of(table.plan)
    people = table.people_by_row()  # (rows,)
    sums = (parameters.sums().centered(table.sums) if parameters.modulus else table.sums).astype(np.float64)
    per_person = float(parameters.noise_scale) ** 2
    if parameters.layout != "column":
        everyone = int(people[0])
        total = per_person * (everyone if parameters.noise == "everyone" else 1)
        if parameters.layout == "hashed":
            cells = np.arange(parameters.views[0].rows)
            sums = sums[PairwiseHash.from_key(table.plan.randomness_key(), parameters.buckets).of(cells)]
        scale = parameters.grid * everyone
        return (CellSums(sums / scale, total / scale**2, everyone),)
    views = []
    for view, rows in zip(parameters.views, Rows.of(parameters).parts, strict=True):
        here = int(people[rows].sum())
        if here and not isinstance(view, Halfspaces):
            adders = here if parameters.noise == "everyone" else rows.stop - rows.start
            signs = here * parameters.grid**2 / parameters.coordinates  # the others' random signs
            variance = (per_person * adders + signs) / (parameters.grid * here) ** 2
            views.append(CellSums(fwht(sums[rows].T).T / (parameters.grid * here), variance, here))
    return tuple(views)
