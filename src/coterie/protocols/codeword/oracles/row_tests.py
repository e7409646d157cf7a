"""Signs of forged reports in the sums of a `codeword` table's cells, and in how many reports each row has.

*Mass.* Y_l, the sum of lifted vectors in cell l as a share, has length at most the share of people in the
cell, and shares add up to 1. So do the lengths of the cells that stand clear of the noise, each less what
noise adds to a length. A forged report weighs several people: where most people are in clear cells, the sum
exceeds 1.

*Whole.* The halfspaces that hold the whole ball count everybody: b in that coordinate, whoever they are.

*Rows.* The id decides the row. Honest ids are uniform, and so are the rows of a view, and views get their
tickets' shares; ids that were tried until one suited are not always.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from coterie.geometry.ball import SCALE
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.protocols.codeword.oracles.cell_sums import direction_variance
from coterie.protocols.codeword.oracles.rows import ViewRows, rows_of
from coterie.protocols.codeword.oracles.seen import Seen
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.codeword.table import CodewordTable
from coterie.wire.rows import Rows

CLEAR: Final = 1e-4  # chance that noise alone makes any cell of a view stand clear
_FEWEST: Final = 5  # reports a row for the law of counts


def row_tests(table: CodewordTable) -> list[Seen]:
    """Return the tests of cells, of the rows that hold everybody, and of the rows' counts."""
    views = rows_of(table)
    cells = [one for view in views if (one := _mass_of(view, table.parameters)) is not None]
    mass = [max(cells, key=lambda one: one.score)] if cells else []  # of the view that shows most
    return [*mass, *_whole(table, views), *_counts(table)]


def _mass_of(view: ViewRows, parameters: CodewordParameters) -> Seen | None:
    from scipy.stats import chi2

    if view.halfspaces:
        return None
    cells, size = view.vectors.shape
    variance = float(view.deviations[0]) ** 2
    energies = (view.vectors**2).sum(axis=1) / variance
    clear = energies > chi2.isf(CLEAR / cells, size)
    if not clear.any():
        return None
    # Less the noise's own part. A length is known within one coordinate's noise, and a little more where it
    # is short: the noncentral chi-square has variance 2D + 4λ.
    excess = energies[clear] - size  # λ
    lengths = np.sqrt(excess * variance)
    # Along people's own vectors noise is largest, and with steep odds by far.
    noise = math.sqrt(direction_variance(parameters, view.people, share=1.0))
    doubt = noise * math.sqrt(float((1 + size / (2 * excess)).sum()))
    return Seen("mass", float(lengths.sum()), -math.inf, 1.0, doubt)


def _whole(table: CodewordTable, views: Sequence[ViewRows]) -> list[Seen]:
    """Return the test of everybody's count, by the rows that hold the whole ball."""
    weight = table.parameters.count_weight / SCALE  # b
    gain = table.parameters.randomizer.second_gain(table.parameters.embedding)
    found = []
    for view in views:
        mean, variance = view.mean()
        if view.halfspaces and weight and np.isfinite(variance):
            place = len(mean) - EXTRA_COORDINATES
            # κ is known within 0.1 %; the noise along b is that of a direction with a share b² of the energy.
            low, high = weight * 0.998, weight * 1.002
            deviation = math.sqrt(variance * (1 + gain * weight**2))
            found.append(Seen("whole", float(mean[place]), low, high, deviation))
    return found


def _counts(table: CodewordTable) -> list[Seen]:
    """Return a test of uniform rows for each view with several, and one of the views' shares."""
    layout = Rows.of(table.parameters)
    found: list[Seen] = []
    for rows in layout.parts:
        counts = table.counts[rows].astype(np.float64)
        if len(counts) > 1 and counts.sum() > _FEWEST * len(counts):
            freedom = len(counts) - 1
            chi_square = float(((counts - counts.mean()) ** 2).sum() / counts.mean())
            found.append(Seen.from_squares("rows", chi_square, freedom, 2 * freedom))
    people = np.array([table.counts[rows].sum() for rows in layout.parts], dtype=np.float64)
    expected = people.sum() * np.bincount(layout.tickets) / len(layout.tickets)
    if len(people) > 1 and expected.min() > _FEWEST * _FEWEST:
        # The view that is furthest from its share; of two, both are equally far.
        off = (people - expected) / np.sqrt(expected * (1 - expected / people.sum()))
        slack = 0.0 if len(people) == 2 else math.sqrt(2 * math.log(len(people)))
        found.append(Seen("views", float(off[np.abs(off).argmax()]), -slack, slack, 1.0))
    return found
