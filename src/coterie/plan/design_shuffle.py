"""The design of plans for the shuffle and the central model.

*Amplified.* The largest ε₀ whose reports, shuffled in the smallest batch allowed, are (ε, δ)-private; at most
`local_cap`, because beyond ε₀ = 10 the best of 256 codewords is sent almost surely and a weaker local
promise buys nothing. Then the codeword design for that ε₀, with many cells: the noise allows it.

*Vector sums.* The smallest noise that Rényi accounting proves, for the influence on a grid that is fine
enough for the rounding to vanish and for each person's part of the noise to span two steps; then a modulus
with room for twice the people expected; then the shares that the mixing group needs. One hundredth of δ pays
for the shares.

*Batches.* By default one person in ten may drop out: every promise is made for nine tenths of the expected
users, and a shuffler releases no smaller batch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeVar

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plan.amplified import AmplifiedParameters
from coterie.plan.codeword import EXTRA_COORDINATES
from coterie.plan.design import NET_DIMENSION, design_codeword
from coterie.plan.net import spread_points
from coterie.plan.net_tree_design import TreeOptions, design_tree, fewest_levels
from coterie.plan.net_tree_sums import COUNTING, NetTreeSumParameters
from coterie.plan.shares import (
    MAX_GRID_BITS,
    MAX_MODULUS,
    SCALE_PARTS,
    SMALLEST_LOCAL_SCALE,
    ShareParameters,
)
from coterie.plan.vector_sums import GROUP_SLACK, VectorSumParameters, likely_group
from coterie.plan.views import CrossPolytope, Net, View
from coterie.privacy.amplification import largest_local_epsilon
from coterie.privacy.renyi import Curve, Influence, distributed_curve, gaussian_curve, least_scale
from coterie.randomizers.split_and_mix import SMALLEST_GROUP, shares_needed
from coterie.randomizers.vector_sums import modulus_for

DROP_OUTS: Final = 10  # one person in so many may drop out
LOCAL_CAP: Final = 10.0  # ε₀ beyond this buys no accuracy
MANY_CELLS: Final = 1024
NET_CELLS: Final = 256
GRID_BITS: Final = 12
TABLE_ENTRIES: Final = 5_000_000  # of a tree's table, by default
TREE_SHRINK: Final = 2.0  # c of Λ = √(d/d')/c: at d' = 6 one point in 2,000 falls outside, and T is deep
DEEP_DIGITS: Final = 24  # d'·T of a practical tree of sums: more are too many children to look at

Draft = TypeVar("Draft", bound=ShareParameters)

# So many cells are rarely shared, and what shares one in the first view does not in the second.
_AMPLIFIED_VIEWS: Final = (CrossPolytope(MANY_CELLS // 2, 3), CrossPolytope(MANY_CELLS // 2, 1))
_LARGE_PARTS: Final = 1 << 24
_SHARES_PART: Final = 0.01  # of δ
_CELL_COUNT_SHARE: Final = 0.7  # b where counting is free: 4a² ≥ 2 still decides the influence
_TREE_COUNT_SHARE: Final = 0.7072  # b > 1/√2: then 2 decides the influence, not 4a²
_COLUMN_COUNT_SHARE: Final = 0.2
_CELLS_PER_CLUSTER: Final = 4  # of each of the two views of a column plan, at least
_QUIET_COLUMN: Final = 0.03  # error of a center, by noise, that more cells of a column plan may cost


def design_amplified(
    *,
    dimension: int,
    clusters: int,
    epsilon: float,
    delta: float,
    expected_users: int,
    seed: int,
    minimum_batch: int | None = None,
    local_cap: float = LOCAL_CAP,
) -> AmplifiedParameters:
    """Choose the parameters of a codeword plan in the shuffle model.

    Parameters
    ----------
    minimum_batch : int, optional
        The fewest reports to be released together; nine tenths of the expected users by default.
    local_cap : float
        The largest ε₀ to allow a single report.
    """
    batch = _smallest_batch(expected_users, minimum_batch)
    if not 0 < local_cap <= 16:
        raise PlanError(f"local_cap must be in (0, 16], got {local_cap!r}")
    local = largest_local_epsilon(epsilon, delta, batch, cap=max(local_cap, min(epsilon, local_cap)))
    base = design_codeword(
        dimension=dimension, clusters=clusters, epsilon=local, expected_users=expected_users, seed=seed
    )
    views = base.views if dimension <= NET_DIMENSION else _AMPLIFIED_VIEWS
    shared = {field.name: getattr(base, field.name) for field in dataclasses.fields(base)}
    return AmplifiedParameters(**{**shared, "views": views}, local_epsilon=local, minimum_batch=batch)


def design_vector_sums(
    *,
    dimension: int,
    clusters: int,
    epsilon: float,
    delta: float,
    expected_users: int,
    seed: int,
    model: str,
    layout: str = "cells",
    cells: int | None = None,
    minimum_batch: int | None = None,
    failure: float = 0.1,
) -> VectorSumParameters:
    """Choose the parameters of a plan of vector sums.

    Parameters
    ----------
    layout : {"cells", "hashed", "column"}
        All cells, the paper's hashed buckets (small n), or one public column a person.
    cells : int, optional
        Cells of a view, a power of two.
    minimum_batch : int, optional
        The fewest people to be released together; nine tenths of the expected users by default.
    failure : float
        β of the paper's s = 2n/β buckets, for "hashed".
    """
    noise = "curator" if model == "central" else "everyone"
    batch = _smallest_batch(expected_users, minimum_batch)
    if cells is None and layout == "column":
        cells = _column_cells(dimension, clusters, epsilon, delta, expected_users)
    views = _views(layout, dimension, cells or (MANY_CELLS if dimension > NET_DIMENSION else NET_CELLS), seed)
    rows = sum(view.rows for view in views)
    buckets = 0
    if layout == "hashed":
        if not 0 < failure < 1:
            raise PlanError(f"failure must be in (0, 1), got {failure!r}")
        buckets = rows = math.ceil(2 * expected_users / failure)
    group, largest = batch, 2 * expected_users
    if layout == "column":
        group = likely_group(batch, rows)
        largest = 2 * math.ceil(expected_users / rows + GROUP_SLACK * math.sqrt(expected_users / rows))
    if noise != "curator" and group < SMALLEST_GROUP:
        raise PlanError(
            f"{batch} people over {rows} rows may leave mixing groups of {group}; shares need "
            f"{SMALLEST_GROUP} or more: plan for more people, fewer cells, or the layout cells"
        )
    count_share = _COLUMN_COUNT_SHARE if layout == "column" else _CELL_COUNT_SHARE
    draft = VectorSumParameters(
        layout=layout,
        coordinates=dimension + EXTRA_COORDINATES,
        views=views,
        buckets=buckets,
        grid_bits=GRID_BITS,
        count_weight=int(count_share * SCALE),
        noise=noise,
        scale=1,
        minimum_batch=batch,
        group=group,
        modulus=0 if noise == "curator" else 2,
        shares=0 if noise == "curator" else 2,
    )
    return calibrated(draft, epsilon, delta, largest)


def design_net_tree_sums(
    *,
    dimension: int,
    clusters: int,
    epsilon: float,
    delta: float,
    expected_users: int,
    seed: int,
    model: str,
    constants: str = "practical",
    alpha: float = 0.5,
    beta: float = 0.1,
    jl_constant: float = 1.0,
    levels: int | None = None,
    ratio: int = 2,
    projected: int | None = None,
    shrink: float = TREE_SHRINK,
    expansion: int | None = None,
    rounds: int | None = None,
    strays: float | None = None,
    buckets: int | None = None,
    minimum_batch: int | None = None,
) -> NetTreeSumParameters:
    """Choose the parameters of a plan of vector sums over a net tree.

    Parameters
    ----------
    constants, alpha, beta, jl_constant, levels, ratio, projected, shrink, expansion, rounds, strays
        As in `coterie.plan.net_tree_design.TreeOptions`. The practical depth is ⌈½·log₂ n⌉ where the tree is
        narrow and less where a node has many children.
    buckets : int, optional
        s of each level; the paper's 2n/β, or as many as keep the table below five million entries.
    minimum_batch
        As in `design_vector_sums`.
    """
    del seed
    noise = "curator" if model == "central" else "everyone"
    batch = _smallest_batch(expected_users, minimum_batch)
    if noise != "curator" and batch < SMALLEST_GROUP:
        raise PlanError(f"shares need {SMALLEST_GROUP} people or more to mix, got a batch of {batch}")
    options = TreeOptions(
        constants, alpha, beta, jl_constant, levels, ratio, projected, shrink, expansion, rounds, strays
    )

    def depth(onto: int, radius: float) -> int:
        least = fewest_levels(clusters, onto, ratio, radius)
        return max(least, min(math.ceil(0.5 * math.log2(expected_users)), DEEP_DIGITS // onto))

    shape = design_tree(options, depth, dimension=dimension, clusters=clusters, expected_users=expected_users)
    width = dimension + COUNTING
    if buckets is None:
        room = TABLE_ENTRIES // (shape["levels"] * width)
        buckets = max(min(math.ceil(2 * expected_users / beta), room), 1)
    draft = NetTreeSumParameters(
        **shape,
        buckets=buckets,
        coordinates=width,
        grid_bits=_fine_grid(expected_users),
        count_weight=int(_TREE_COUNT_SHARE * SCALE),
        noise=noise,
        noise_parts=1,
        minimum_batch=batch,
        group=batch,
        modulus=0 if noise == "curator" else 2,
        shares=0 if noise == "curator" else 2,
    )
    return calibrated(draft, epsilon, delta, 2 * expected_users)


def _fine_grid(users: int) -> int:
    """Return grid bits with 1/G ≤ 1/n, the paper's η, where the modulus has room for it: 12 to 20."""
    bits = (users - 1).bit_length()
    return max(GRID_BITS, min(bits, MAX_GRID_BITS, MAX_MODULUS.bit_length() - 4 - bits))


def calibrated(draft: Draft, epsilon: float, delta: float, largest: int) -> Draft:
    """Return a draft with the noise, the modulus and the shares that make it (ε, δ)-private.

    `largest` is the most people whose vectors one entry has room for.
    """
    curator = draft.noise == "curator"
    draft = _with_noise(draft, epsilon, delta * (1 - (not curator) * _SHARES_PART))
    return draft if curator else _with_shares(draft, epsilon, delta, largest)


def _with_noise(draft: Draft, epsilon: float, delta: float) -> Draft:
    """Return the draft with the smallest noise that is (ε, δ)-private, on a fine enough grid."""
    while True:
        scale = least_scale(_curves(draft), epsilon, delta, parts=SCALE_PARTS)
        if scale >= SMALLEST_LOCAL_SCALE:
            if scale * SCALE_PARTS > _LARGE_PARTS:
                scale = Fraction(math.ceil(scale))  # the sampler's integers have no room for 64ths of it
            return _changed(draft, **{draft.noise_field: int(scale * SCALE_PARTS)})
        draft = _changed(draft, grid_bits=draft.grid_bits + 1)


def _changed(draft: Draft, **fields: int) -> Draft:
    return dataclasses.replace(draft, **fields)  # type: ignore[type-var]  # both are frozen dataclasses


def _curves(draft: ShareParameters) -> Callable[[Fraction], Curve]:
    """Return the Rényi curve of the draft's table as a function of the noise's scale."""
    influence = draft.influence()
    if draft.noise == "curator":
        return lambda scale: gaussian_curve(influence, scale)
    adders = draft.group if draft.by_column else draft.minimum_batch
    return lambda scale: distributed_curve(influence, scale, adders)


def _with_shares(draft: Draft, epsilon: float, delta: float, largest: int) -> Draft:
    """Return the draft with a modulus for `largest` people a row and as many shares as the group needs."""
    modulus = modulus_for(largest, draft.grid, float(draft.noise_scale) * math.sqrt(largest))
    bits = math.log2(draft.touched * (1 + math.exp(epsilon)) / (_SHARES_PART * delta)) + 1e-6
    shares = shares_needed(bits, modulus, draft.group)
    return _changed(draft, modulus=modulus, shares=shares)


def _views(layout: str, dimension: int, wanted: int, seed: int) -> tuple[View, ...]:
    if wanted & (wanted - 1) or not 2 <= wanted <= 1 << 15:
        raise PlanError(f"cells must be a power of two in [2, 32768], got {wanted}")
    copies = 2 if layout == "column" else 1
    if dimension <= NET_DIMENSION:
        return tuple(Net(spread_points(wanted, dimension, seed + copy)) for copy in range(copies))
    return tuple(CrossPolytope(wanted // 2) for _ in range(copies))


def _column_cells(dimension: int, clusters: int, epsilon: float, delta: float, users: int) -> int:
    """Return the cells of each of two views: 4k, and more for as long as the noise of all rows stays small.

    The center of n/k people is off by k·√(rows·σ²·D + n)/n, in units of the radius.
    """
    width = dimension + EXTRA_COORDINATES  # D
    influence = Influence(4, width)
    scale = float(least_scale(lambda s: gaussian_curve(influence, s), epsilon, delta, parts=SCALE_PARTS))

    def error(cells: int) -> float:
        return clusters * math.sqrt(2 * cells * scale**2 * width + users) / users

    cells = _power_of_two_at_least(max(_CELLS_PER_CLUSTER * clusters, 8))
    most = NET_CELLS if dimension <= NET_DIMENSION else MANY_CELLS
    while 2 * cells <= most and error(2 * cells) <= _QUIET_COLUMN:
        cells *= 2
    return cells


def _smallest_batch(expected_users: int, minimum_batch: int | None) -> int:
    if minimum_batch is None:
        return max(1, expected_users - expected_users // DROP_OUTS)
    if not 1 <= minimum_batch <= expected_users:
        raise PlanError(
            f"minimum_batch must be in [1, expected_users = {expected_users}], got {minimum_batch}"
        )
    return minimum_batch


def _power_of_two_at_least(number: int) -> int:
    return 1 << (number - 1).bit_length()
