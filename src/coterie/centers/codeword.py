"""The decoders of `codeword`: what the rows say of everybody, or what the cells say alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import UnionType

import numpy as np

from coterie.aggregate import Aggregate
from coterie.aggregate.codeword import CodewordTable
from coterie.centers.choose import choose_clusters, most_clusters
from coterie.centers.explain import explain
from coterie.centers.population import FLAT
from coterie.centers.repeats import COVERAGE
from coterie.centers.scatter import scatter_of
from coterie.centers.solution import Solution
from coterie.centers.solve import solve
from coterie.errors import DecodeError
from coterie.oracles.leaf_sums import leaf_sums
from coterie.oracles.rows import Lift, ViewRows, rows_of
from coterie.oracles.second_moment import second_moment
from coterie.oracles.suspicion import warning
from coterie.plan.views import Halfspaces, Partition
from coterie.wire.rows import Rows


def decode_population(tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator) -> Solution:
    """Find centers from the rows of one table, or of several answered by different people."""
    views = _rows(tables)
    solution = explain(views, clusters, rng)
    flat = tables[-1].plan.dimension <= FLAT  # there the points themselves scatter
    return replace(
        solution,
        notes=(*solution.notes, *_suspicions(tables)),
        coverage=COVERAGE,
        scatter=0.0 if flat else scatter_of(views, solution.points, solution.weights, rng),
    )


def decode_cells(tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator) -> Solution:
    """Find centers from the cells of one table alone: the design for tight groups among much noise."""
    (table,) = map(_codeword_table, tables)
    lift = Lift.from_count_weight(table.parameters.count_weight, table.plan.dimension)
    solution = solve(leaf_sums(table), second_moment(table), lift, clusters, rng)
    return replace(solution, notes=(*solution.notes, *_suspicions(tables)))


def not_explained(tables: Sequence[Aggregate]) -> str | None:
    """Return why `decode_population` cannot read these tables, or None."""
    flat = tables[-1].plan.dimension <= FLAT
    if flat or any(_served(_codeword_table(table), Halfspaces) for table in tables):
        return None
    return f"it needs reports about halfspaces, or at most {FLAT} dimensions"


def without_cells(tables: Sequence[Aggregate]) -> str | None:
    """Return why `decode_cells` cannot read this table, or None."""
    return None if _served(_codeword_table(tables[-1]), Partition) else "it needs reports about cells"


def number_of_groups(aggregates: Sequence[Aggregate], rng: np.random.Generator) -> int | None:
    """Return how many round groups the rows of `codeword` aggregates speak of; None if rows cannot tell."""
    return choose_clusters(_rows(aggregates), most_clusters(aggregates[-1].plan.clusters), rng)


def _rows(aggregates: Sequence[Aggregate]) -> list[ViewRows]:
    frame = aggregates[-1].plan
    return [view for each in aggregates for view in rows_of(_codeword_table(each), frame)]


def _served(table: CodewordTable, kind: type | UnionType) -> bool:
    """Say whether anybody reported on a view of this kind."""
    parts = zip(table.parameters.views, Rows.of(table.parameters).parts, strict=True)
    return any(isinstance(view, kind) and bool(table.counts[rows].any()) for view, rows in parts)


def _suspicions(tables: Sequence[Aggregate]) -> list[str]:
    return [said for each in tables if (said := warning(_codeword_table(each))) is not None]


def _codeword_table(aggregate: Aggregate) -> CodewordTable:
    if not isinstance(aggregate.table, CodewordTable):
        raise DecodeError(f"this decoder needs a codeword table, got {type(aggregate.table).__name__}")
    return aggregate.table
