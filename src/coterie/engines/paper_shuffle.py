"""The paper's shuffle protocol over cells: a histogram and vector sums, (ε/2, δ/2) each, in one process.

The appendix takes the two oracles of the local construction and replaces them: frequencies from a shuffled,
hashed histogram (`coterie.oracles.shuffled_histogram`), vector sums from split-and-mix
(`coterie.randomizers.vector_sums`). Then, as before, the leaves' frequencies make a weighted point set,
k-means is run on it, and a center is the sum of its leaves' vectors over that of their frequencies. Here
the leaves are the cells of a public partition. By composition the whole is (ε, δ)-private after shuffling.

`Plan.design(protocol="shuffle")` does better with the same trust: its vectors count people, too, at no cost
in privacy, so that nothing is split. This is kept as the construction to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate.vector_sums import VectorSumTable
from coterie.centers.leaves import significant_leaves
from coterie.centers.vector_sums import pooled_centers
from coterie.coins import Coins
from coterie.encode.vector_sums import VectorSumEncoder
from coterie.engines.vector_sums import drawn_table, sent_table
from coterie.errors import DecodeError
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import point_weight
from coterie.oracles.mixed_sums import mixed_leaf_sums
from coterie.oracles.rows import Lift
from coterie.oracles.shuffled_histogram import ShuffledHistogram
from coterie.plan import Plan
from coterie.plan.codeword import ID_BYTES

MOST_BUCKETS: Final = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class PaperResult:
    """Centers of the unit ball, and what a person sent."""

    centers: NDArray[np.float64]  # (k, d)
    weights: NDArray[np.float64]  # (k,)
    epsilon: float
    delta: float
    messages: float  # a person, on average
    sent: bool  # whether the shares were really sent


def play_paper_shuffle(
    points: NDArray[Any],
    clusters: int,
    epsilon: float,
    delta: float,
    coins: Coins,
    *,
    layout: str = "cells",
    cells: int | None = None,
    seed: int = 0,
    send: bool = False,
) -> PaperResult:
    """Play the protocol for points of the unit ball.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        One row a person.
    clusters : int
        Centers to find.
    epsilon, delta : float
        The whole promise; each oracle gets half.
    coins : Coins
        Source of ids and secret coins.
    layout : {"cells", "hashed"}
        Rows of the vector sums: all cells, or the paper's 2n/β buckets (small n).
    cells : int, optional
        Cells of the partition, a power of two.
    seed : int
        Public.
    send : bool
        Send and mix every share instead of drawing the sums from their law.

    Examples
    --------
    >>> from coterie.coins import SystemCoins
    >>> points = np.repeat([[0.8, 0.0], [-0.8, 0.0]], 1000, axis=0)
    >>> play_paper_shuffle(points, 2, 2.0, 1e-6, SystemCoins(), cells=16).centers.shape
    (2, 2)
    """
    people, dimension = points.shape
    plan = Plan.design(
        dimension,
        clusters,
        epsilon / 2,
        people,
        protocol="shuffle",
        model="shuffle",
        delta=delta / 2,
        layout=layout,
        cells=cells,
        minimum_batch=people,
        seed=seed,
    )
    if send:
        ids = np.frombuffer(coins.bytes(ID_BYTES * people), dtype=np.uint8).reshape(-1, ID_BYTES)
        aggregate = sent_table(plan, VectorSumEncoder(plan).encode(points, ids, coins))
    else:
        aggregate = drawn_table(plan, points, coins)[0]
    table = aggregate.table
    if not isinstance(table, VectorSumTable):
        raise DecodeError(f"a table of vector sums was expected, got {type(table).__name__}")
    numbers = table.numbers
    all_cells = np.arange(numbers.views[0].rows)
    buckets = min(MOST_BUCKETS, 20 * people) if layout == "hashed" else 2 * len(all_cells)
    histogram = ShuffledHistogram.design(
        epsilon / 2, delta / 2, people=people, key=plan.public_key(), buckets=buckets, repeats=1
    )
    own = VectorSumEncoder(plan).cells(points)
    counts = histogram.count(histogram.encode(own, coins))
    frequencies = histogram.frequencies(counts, all_cells, people) / people

    lift = Lift(point_weight(numbers.count_weight), numbers.count_weight / SCALE, dimension)
    leaves = significant_leaves(mixed_leaf_sums(table), lift, at_least=clusters)
    solution = pooled_centers(leaves, lift, clusters, np.random.default_rng(seed), frequencies)
    return PaperResult(
        centers=solution.centers,
        weights=solution.shares,
        epsilon=epsilon,
        delta=delta,
        messages=numbers.cost.messages + 1 + float(histogram.blanket.dummies),
        sent=send,
    )
