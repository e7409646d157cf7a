"""The decoders of `codeword`: what the rows say of everybody, and what cells alone say of tight groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING

import numpy as np

from coterie.aggregate import Aggregate
from coterie.centers.explain import explain
from coterie.centers.solution import Solution
from coterie.centers.spectrum import FLAT
from coterie.errors import DecodeError
from coterie.plan.views import Halfspaces, Partition
from coterie.protocols.codeword.oracles.rows import ViewRows, rows_of
from coterie.protocols.codeword.oracles.second_moment import second_moment
from coterie.protocols.codeword.oracles.suspicion import warning
from coterie.protocols.codeword.table import CodewordTable
from coterie.wire.rows import Rows

if TYPE_CHECKING:
    from coterie.centers.directions import InDirections
    from coterie.plan import Plan


def decode_population(
    tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, *, choose: bool = False
) -> Solution:
    """Find centers from the rows of one table, or of several answered by different people."""
    return decoded(tables, explained(tables, clusters, rng, choose=choose))


def explained(
    tables: Sequence[Aggregate],
    clusters: int,
    rng: np.random.Generator,
    *,
    choose: bool = False,
    repeats: int | None = None,
) -> Solution:
    """Return what explains the rows of tables, in the unit ball of the last plan; see `explain`."""
    seen = seen_in(tables)
    waves = _waves(tables, seen)
    views = [view for own in waves for view in own] if seen is None else seen.views
    found = explain(views, clusters, rng, choose=choose, repeats=repeats)
    if len(tables) > 1:
        from coterie.centers.agreement import disagreement, missed_by_ball  # few studies have waves

        asked = [_question(each.plan) for each in tables]
        missed = () if asked[-1] in asked[:-1] else missed_by_ball(waves[-1])
        said = missed or disagreement(waves, (found.points, found.weights), found.centers)
        found = replace(found, notes=(*said, *found.notes))
    return found if seen is None else seen.outward(found)


def decoded(tables: Sequence[Aggregate], solution: Solution) -> Solution:
    """Return a solution with what is suspicious about the reports said first."""
    suspicions = (warning(codeword_table(each)) for each in tables)
    return replace(solution, notes=(*(said for said in suspicions if said is not None), *solution.notes))


def not_explained(tables: Sequence[Aggregate]) -> str | None:
    """Return why `decode_population` cannot read these tables, or None."""
    flat = tables[-1].plan.coordinates <= FLAT
    if flat or any(served(codeword_table(table), Halfspaces) for table in tables):
        return None
    return f"it needs reports about halfspaces, or at most {FLAT} dimensions"


def not_confirming(tables: Sequence[Aggregate]) -> str | None:
    """Return why `centers.confirm.decode_confirmed` cannot read these tables, or None."""
    return None if tables[-1].plan.confirms else "the last plan asks about no published groups"


def decode_cells(
    tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, *, choose: bool = False
) -> Solution:
    """Find centers from the cells of one table alone: the design for tight groups among much noise."""
    from coterie.centers.tight.cells import find_in_cells  # few plans need it
    from coterie.centers.tight.subspace import signal_subspace

    (table,) = map(codeword_table, tables)
    cells = [view for view in rows_of(table) if not view.halfspaces]
    moment = second_moment(table)
    directions = None if moment is None else signal_subspace(moment, table.plan.dimension)
    find = partial(find_in_cells, directions=directions)
    return decoded(tables, explain(cells, clusters, rng, choose=choose, find=find))


def without_cells(tables: Sequence[Aggregate]) -> str | None:
    """Return why `decode_cells` cannot read this table, or None."""
    return None if served(codeword_table(tables[-1]), Partition) else "it needs reports about cells"


def rows_of_all(aggregates: Sequence[Aggregate]) -> list[ViewRows]:
    """Return the rows of all tables, seen from the ball of the last, or from its directions."""
    seen = seen_in(aggregates)
    return seen.views if seen is not None else [view for own in _waves(aggregates, None) for view in own]


def _waves(aggregates: Sequence[Aggregate], seen: InDirections | None) -> list[Sequence[ViewRows]]:
    """Return the rows of each table, seen from the ball of the last, or from its directions."""
    if seen is None:
        return [rows_of(codeword_table(each), aggregates[-1].plan) for each in aggregates]
    own, whole = iter(seen.own), iter(seen.whole)
    return [next(whole if each.plan.directions is None else own) for each in aggregates]


def seen_in(aggregates: Sequence[Aggregate]) -> InDirections | None:
    """Return what the last plan's directions see of all tables, if it has any."""
    tables = [codeword_table(each) for each in aggregates]
    last = tables[-1].plan
    alike = [table for table in tables if _question(table.plan) == _question(last)]
    whole = [table for table in tables if table.plan.directions is None]
    if last.directions is None:
        if len(whole) < len(tables):
            raise DecodeError(
                "a plan of whole points is decoded before plans with directions, not after them"
            )
        return None
    if len(alike) + len(whole) < len(tables):
        raise DecodeError("tables decoded together must have the same directions, or none: decode them apart")
    from coterie.centers.directions import InDirections  # few plans need it

    own = [rows_of(table) for table in alike]
    return InDirections(last, own, [rows_of(table, last) for table in whole])


def _question(plan: Plan) -> tuple[object, ...]:
    return plan.directions, plan.center, plan.radius


def served(table: CodewordTable, kind: type | UnionType) -> bool:
    """Return whether anybody reported on a view of this kind."""
    parts = zip(table.parameters.views, Rows.of(table.parameters).parts, strict=True)
    return any(isinstance(view, kind) and bool(table.counts[rows].any()) for view, rows in parts)


def codeword_table(aggregate: Aggregate) -> CodewordTable:
    """Return the table of an aggregate of this protocol."""
    if not isinstance(aggregate.table, CodewordTable):
        raise DecodeError(f"this decoder needs a codeword table, got {type(aggregate.table).__name__}")
    return aggregate.table
