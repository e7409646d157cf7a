"""The design of a codeword plan: numbers chosen from dimension, clusters, ε and expected users alone.

*Cap.* The m with the largest gain κ, hence the smallest variance (`coterie.randomizers.codeword`).

*Embedding.* A power of two P ≥ max(128, 1.25·D), D = d+2: what the server's second moment needs. A larger P
costs no accuracy; above ε = 6 the cap is so small that P ≥ 4·D is wanted against directional bias.
"""

from __future__ import annotations

from typing import Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plan.codeword import (
    EXTRA_COORDINATES,
    MAX_EMBEDDING,
    MIN_EMBEDDING,
    CodewordNumbers,
    CrossPolytope,
    Net,
    View,
)
from coterie.plan.net import spread_points
from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.randomizers.codeword import best_cap

CODEWORDS: Final = 256  # N: an index is one byte
NET_DIMENSION: Final = 8  # up to here cells are nearest points of a net, above it a rotation's corners
NET_POINTS: Final = 256
SMALLEST_ROTATION: Final = 128

_WIDE_EMBEDDING_EPSILON: Final = 6.0
_STEEPEST_ODDS: Final = largest_odds(12.0)
_COUNT_SHARE: Final = 0.4  # b


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
    return CodewordNumbers(
        codewords=CODEWORDS,
        # The search tries large caps too, whose odds must fit 2^53; from ε = 8 on the best cap is 1 anyway.
        cap=best_cap(CODEWORDS, min(odds, _STEEPEST_ODDS)),
        odds=odds,
        embedding=choose_embedding(dimension, epsilon),
        count_weight=choose_count_weight(dimension, clusters, epsilon, expected_users),
        views=choose_views(dimension, clusters, epsilon, expected_users, seed),
    )


def choose_embedding(dimension: int, epsilon: float) -> int:
    """Return the codeword length P."""
    lifted = dimension + EXTRA_COORDINATES  # D
    wanted = max(MIN_EMBEDDING, -(-5 * lifted // 4))
    if epsilon > _WIDE_EMBEDDING_EPSILON:
        wanted = max(wanted, min(4 * lifted, MAX_EMBEDDING))
    return _power_of_two_at_least(wanted)


def choose_count_weight(dimension: int, clusters: int, epsilon: float, expected_users: int) -> int:
    """Return the share of the lifted vector that counts people, times 2^20."""
    del dimension, clusters, epsilon, expected_users  # one share for all studies, for now
    return int(_COUNT_SHARE * SCALE)


def choose_views(
    dimension: int, clusters: int, epsilon: float, expected_users: int, seed: int
) -> tuple[View, ...]:
    """Return the public partitions."""
    del clusters, epsilon, expected_users
    if dimension <= NET_DIMENSION:
        return (Net(spread_points(NET_POINTS, dimension, seed)),)
    return (CrossPolytope(_power_of_two_at_least(max(dimension, SMALLEST_ROTATION))),)


def _power_of_two_at_least(number: int) -> int:
    return 1 << (number - 1).bit_length()
