"""The design of a codeword plan: numbers chosen from dimension, clusters, ε and expected users alone.

*Cap.* The m with the largest gain κ, hence the smallest variance (`coterie.randomizers.codeword`).

*Embedding.* A power of two P ≥ max(128, 1.25·D), D = d+2: what the server's second moment needs. A larger P
costs no accuracy; above ε = 6 the cap is so small that P ≥ 4·D is wanted against directional bias.

*Views.* What a plan can know of the study is its noise: a cluster of n/k people has its center wrong by about
k·√(D/n)/κ, in units of the radius. Where that is small, most people serve a coarse view, which cuts few broad
clusters, and the others a finer one, which tells apart tight clusters that share a cell of the first. Where
it is larger, broad clusters are out of reach and both views are finer. Where it is very large, one view has
to do: a cluster must stand above the noise of each view it is looked for in.
"""

from __future__ import annotations

import math
from typing import Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plan.codeword import (
    EXTRA_COORDINATES,
    MAX_EMBEDDING,
    MIN_EMBEDDING,
    CodewordNumbers,
)
from coterie.plan.net import spread_points
from coterie.plan.views import CrossPolytope, Net, View
from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.randomizers.codeword import CodewordRandomizer, best_cap

CODEWORDS: Final = 256  # N: an index is one byte
NET_DIMENSION: Final = 16  # up to here cells are nearest points of a net, above it a rotation's corners
NET_POINTS: Final = 256
QUIET: Final = 0.3  # relative noise of a center below which a coarse view pays: broad clusters can be found
LOUD: Final = 0.5  # relative noise above which a second view costs more than it tells

_WIDE_EMBEDDING_EPSILON: Final = 6.0
_STEEPEST_ODDS: Final = largest_odds(12.0)
_COUNT_SHARE: Final = 0.3  # b
_FLAT: Final = 3  # dimensions up to which half as many cells do
_MOST_CELLS: Final = 1024  # of a view chosen here, whatever the dimension


def design_codeword(
    *, dimension: int, clusters: int, epsilon: float, expected_users: int, seed: int
) -> CodewordNumbers:
    """Choose the numbers of a codeword plan.

    Examples
    --------
    >>> numbers = design_codeword(dimension=100, clusters=8, epsilon=1.0, expected_users=10**6, seed=0)
    >>> numbers.codewords, numbers.cap, numbers.embedding
    (256, 89, 128)
    """
    odds = largest_odds(epsilon)
    if odds <= BASE_ODDS:
        raise PlanError(
            f"epsilon {epsilon!r} is too small: below 6e-8 the odds of all codewords are the same"
        )
    # The search tries large caps too, whose odds must fit 2^53; from ε = 8 on the best cap is 1 anyway.
    cap = best_cap(CODEWORDS, min(odds, _STEEPEST_ODDS))
    noise = relative_noise(
        CodewordRandomizer(CODEWORDS, cap, odds),
        dimension=dimension,
        clusters=clusters,
        expected_users=expected_users,
    )
    return CodewordNumbers(
        codewords=CODEWORDS,
        cap=cap,
        odds=odds,
        embedding=choose_embedding(dimension, epsilon),
        count_weight=int(_COUNT_SHARE * SCALE),
        views=choose_views(dimension, clusters, noise, seed),
    )


def choose_embedding(dimension: int, epsilon: float) -> int:
    """Return the codeword length P."""
    lifted = dimension + EXTRA_COORDINATES  # D
    wanted = max(MIN_EMBEDDING, -(-5 * lifted // 4))
    if epsilon > _WIDE_EMBEDDING_EPSILON:
        wanted = max(wanted, min(4 * lifted, MAX_EMBEDDING))
    return _power_of_two_at_least(wanted)


def choose_views(dimension: int, clusters: int, noise: float, seed: int) -> tuple[View, ...]:
    """Return the public partitions, for a relative noise of the centers as `relative_noise` says it.

    Examples
    --------
    >>> [(view.cells, view.weight) for view in choose_views(100, 8, noise=0.2, seed=0)]
    [(128, 3), (256, 1)]
    >>> [(view.cells, view.weight) for view in choose_views(100, 32, noise=0.8, seed=0)]
    [(512, 1)]
    """
    if dimension <= NET_DIMENSION:
        few = NET_POINTS // 2 if dimension <= _FLAT else NET_POINTS
        return (Net(spread_points(_cells(few, 16 * clusters), dimension, seed)),)
    if noise > LOUD:
        return (_corners(_cells(256, 2 * dimension, 16 * clusters)),)
    if noise > QUIET:
        coarse = _cells(256, 2 * dimension)
        return _corners(coarse), _corners(_cells(2 * coarse))
    coarse = _cells(64, dimension, 4 * clusters)
    fine = _cells(256, 2 * coarse)
    if coarse >= 12 * clusters:
        return _corners(coarse, 3), _corners(fine, 1)
    return _corners(coarse, 5), _corners(fine, 3)


def relative_noise(
    randomizer: CodewordRandomizer, *, dimension: int, clusters: int, expected_users: int
) -> float:
    """Return k·√(D/n)/κ: the error that noise alone gives the center of a cluster of n/k people."""
    lifted = dimension + EXTRA_COORDINATES  # D
    return clusters * math.sqrt(lifted / expected_users) / randomizer.gain()


def _cells(*wanted: int) -> int:
    return min(_power_of_two_at_least(max(wanted)), _MOST_CELLS)


def _corners(cells: int, weight: int = 1) -> CrossPolytope:
    return CrossPolytope(cells // 2, weight)


def _power_of_two_at_least(number: int) -> int:
    return 1 << (number - 1).bit_length()
