"""The design of a plan of vector sums: cells, then noise and shares (`coterie.protocols.shares.design`)."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.geometry.spread import spread_points
from coterie.plain.checks import checked_power_of_two, checked_real
from coterie.plan.forecast import Channel
from coterie.plan.views import CrossPolytope, Net, View
from coterie.privacy.renyi import Influence, gaussian_curve, least_scale
from coterie.protocols.base import Facts
from coterie.protocols.codeword.design import MANY_CELLS, NET_DIMENSION, power_of_two_at_least
from coterie.protocols.shares.design import GRID_BITS, calibrated, smallest_batch, undecided
from coterie.protocols.shares.parameters import SCALE_PARTS
from coterie.protocols.vector_sums.parameters import GROUP_SLACK, VectorSumParameters, likely_group
from coterie.randomizers.split_and_mix import SMALLEST_GROUP

NET_CELLS: Final = 256

_CELL_COUNT_SHARE: Final = 0.7  # b where counting is free: 4a² ≥ 2 still decides the influence
_COLUMN_COUNT_SHARE: Final = 0.2
_CELLS_PER_CLUSTER: Final = 4  # of each of the two views of a column plan, at least
_QUIET_COLUMN: Final = 0.03  # error of a center, by noise, that more cells of a column plan may cost


def design(
    facts: Facts,
    *,
    layout: str = "cells",
    cells: int | None = None,
    minimum_batch: int | None = None,
    failure: float = 0.1,
) -> VectorSumParameters:
    """Choose the parameters of a plan of vector sums.

    Parameters
    ----------
    facts : Facts
        Of the study.
    layout : {"cells", "hashed", "column"}
        All cells, the paper's hashed buckets (small n), or one public column per person.
    cells : int, optional
        Cells of a view, a power of two.
    minimum_batch : int, optional
        The fewest people to be released together; nine tenths of the expected users by default.
    failure : float
        β of the paper's s = 2n/β buckets, for "hashed".
    """
    column, users = layout == "column", facts.expected_users
    batch = smallest_batch(facts, minimum_batch)
    if cells is None and column:
        cells = _column_cells(facts)
    views = _views(facts, layout, cells or (MANY_CELLS if facts.dimension > NET_DIMENSION else NET_CELLS))
    rows = sum(view.rows for view in views)
    buckets = 0
    if layout == "hashed":
        failure = checked_real("failure", failure, 0.0, 1.0)
        if not 0 < failure < 1:
            raise PlanError(f"failure must be in (0, 1), got {failure!r}")
        buckets = rows = math.ceil(2 * users / failure)
    group, largest = batch, 2 * users
    if column:
        group = likely_group(batch, rows)
        largest = 2 * math.ceil(users / rows + GROUP_SLACK * math.sqrt(users / rows))
    if facts.model != "central" and group < SMALLEST_GROUP:
        raise PlanError(
            f"{batch} people over {rows} rows may leave mixing groups of {group}; shares need "
            f"{SMALLEST_GROUP} or more: plan for more people, fewer cells, or the layout cells"
        )
    draft = VectorSumParameters(
        layout=layout,
        coordinates=facts.dimension + EXTRA_COORDINATES,
        views=views,
        buckets=buckets,
        grid_bits=GRID_BITS,
        count_weight=int((_COLUMN_COUNT_SHARE if column else _CELL_COUNT_SHARE) * SCALE),
        group=group,
        **undecided(facts, batch),
    )
    return calibrated(draft, facts, largest)


def _views(facts: Facts, layout: str, wanted: int) -> tuple[View, ...]:
    wanted = checked_power_of_two("cells", wanted, 2, 1 << 15)
    copies = 2 if layout == "column" else 1
    if facts.dimension <= NET_DIMENSION:
        nets = (spread_points(wanted, facts.dimension, facts.seed + copy) for copy in range(copies))
        return tuple(Net(points) for points in nets)
    return tuple(CrossPolytope(wanted // 2) for _ in range(copies))


def _column_cells(facts: Facts) -> int:
    """Return the cells of each of two views: 4k, and more for as long as the noise of all rows stays small.

    The center of n/k people is off by k·√(rows·σ²·D + n)/n, in units of the radius.
    """
    width = facts.dimension + EXTRA_COORDINATES  # D
    users, clusters = facts.expected_users, facts.clusters
    influence = Influence(4, width)
    curve = partial(gaussian_curve, influence)
    scale = float(least_scale(curve, facts.epsilon, facts.delta, parts=SCALE_PARTS))

    def error(cells: int) -> float:
        return clusters * math.sqrt(2 * cells * scale**2 * width + users) / users

    cells = power_of_two_at_least(max(_CELLS_PER_CLUSTER * clusters, 8))
    most = NET_CELLS if facts.dimension <= NET_DIMENSION else MANY_CELLS
    while 2 * cells <= most and error(2 * cells) <= _QUIET_COLUMN:
        cells *= 2
    return cells


def channel(parameters: VectorSumParameters, facts: Facts, people: int) -> Channel | None:
    """Return the noise of a table of so many people, as the forecast needs it; None by column."""
    if parameters.by_column:
        return None
    adding = people if parameters.noise == "everyone" else 1
    variance = adding * float(parameters.noise_scale / parameters.grid) ** 2
    return Channel.of(variance, parameters.count_weight, facts, people)
