"""The decoders of `codeword`: what the rows say of everybody, or what the cells say alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import UnionType

import numpy as np

from coterie.aggregate import Aggregate
from coterie.centers.cells import find_in_cells
from coterie.centers.explain import explain
from coterie.centers.population import FLAT
from coterie.centers.solution import Solution
from coterie.centers.subspace import signal_subspace
from coterie.errors import DecodeError
from coterie.plan.views import Halfspaces, Partition
from coterie.protocols.codeword.oracles.rows import ViewRows, rows_of
from coterie.protocols.codeword.oracles.second_moment import second_moment
from coterie.protocols.codeword.oracles.suspicion import warning
from coterie.protocols.codeword.table import CodewordTable
from coterie.wire.rows import Rows


def decode_population(
    tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, *, choose: bool = False
) -> Solution:
    """Find centers from the rows of one table, or of several answered by different people."""
    return _decoded(tables, explain(rows_of_all(tables), clusters, rng, choose=choose))


def decode_cells(
    tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, *, choose: bool = False
) -> Solution:
    """Find centers from the cells of one table alone: the design for tight groups among much noise."""
    (table,) = map(_codeword_table, tables)
    cells = [view for view in rows_of(table) if not view.halfspaces]
    moment = second_moment(table)
    directions = None if moment is None else signal_subspace(moment, table.plan.dimension)
    find = partial(find_in_cells, directions=directions)
    return _decoded(tables, explain(cells, clusters, rng, choose=choose, find=find))


def _decoded(tables: Sequence[Aggregate], solution: Solution) -> Solution:
    suspicions = (warning(_codeword_table(each)) for each in tables)
    return replace(solution, notes=(*(said for said in suspicions if said is not None), *solution.notes))


def not_explained(tables: Sequence[Aggregate]) -> str | None:
    """Return why `decode_population` cannot read these tables, or None."""
    flat = tables[-1].plan.dimension <= FLAT
    if flat or any(_served(_codeword_table(table), Halfspaces) for table in tables):
        return None
    return f"it needs reports about halfspaces, or at most {FLAT} dimensions"


def without_cells(tables: Sequence[Aggregate]) -> str | None:
    """Return why `decode_cells` cannot read this table, or None."""
    return None if _served(_codeword_table(tables[-1]), Partition) else "it needs reports about cells"


def rows_of_all(aggregates: Sequence[Aggregate]) -> list[ViewRows]:
    """Return the rows of all tables, seen from the ball of the last."""
    frame = aggregates[-1].plan
    return [view for each in aggregates for view in rows_of(_codeword_table(each), frame)]


def _served(table: CodewordTable, kind: type | UnionType) -> bool:
    """Return whether anybody reported on a view of this kind."""
    parts = zip(table.parameters.views, Rows.of(table.parameters).parts, strict=True)
    return any(isinstance(view, kind) and bool(table.counts[rows].any()) for view, rows in parts)


def _codeword_table(aggregate: Aggregate) -> CodewordTable:
    if not isinstance(aggregate.table, CodewordTable):
        raise DecodeError(f"this decoder needs a codeword table, got {type(aggregate.table).__name__}")
    return aggregate.table
