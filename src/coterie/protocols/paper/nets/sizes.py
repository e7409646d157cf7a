"""How many points the nets of a tree have, and how many of them one center may serve.

The nets' lattice A*_d has packing radius over covering radius γ = √(3/(d+2)). A ball of radius r meets about
as many points of a net as the volume of a ball larger by the covering radius holds cells of the lattice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def packing_ratio(dimension: int) -> float:
    """Return γ, packing over covering radius of the nets' lattice.

    Examples
    --------
    >>> packing_ratio(1), round(packing_ratio(2), 4)
    (1.0, 0.866)
    """
    return math.sqrt(3 / (dimension + 2))


def covering_radius(dimension: int) -> float:
    """Return the largest distance of any place from the nets' lattice, unscaled."""
    return math.sqrt(dimension * (dimension + 2) / (12 * (dimension + 1)))


def net_points(dimension: int, radius: float, covering: float) -> float:
    """Return about how many points of a net with this covering radius serve a ball.

    The volume of a ball larger by the covering radius, over the volume of one cell of the scaled lattice.
    """
    log_ball = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1)
    log_cells = log_ball + 0.5 * math.log(dimension + 1)
    log_cells += dimension * math.log(covering_radius(dimension) * (radius + covering) / covering)
    return math.exp(min(log_cells, 600.0))


def predicted_nodes(dimension: int, levels: int, ratio: int, most_expanded: float) -> float:
    """Return about how many nodes a tree has that expands at most so many nodes a level."""
    by_level = [net_points(dimension, 1.0, float(ratio) ** -level) for level in range(1, levels + 1)]
    return most_nodes(by_level, most_expanded * math.exp(min(dimension * math.log(ratio), 600.0)))


def most_nodes(by_level: Sequence[float], children: float) -> float:
    """Return at most how many nodes a tree has where a level but the first has so many new children.

    `by_level` is how many nodes each level of the complete tree has, levels 1 to T.
    """
    return 1 + by_level[0] + sum(min(each, children) for each in by_level[1:])


def reach(alpha: float) -> float:
    """Return θ = 8·√((1+2/ξ)/ξ), ξ = α/10: how far a center reaches, in covering radii."""
    xi = 0.1 * alpha
    return 8 * math.sqrt((1 + 2 / xi) / xi)


def expansion_for(dimension: int, alpha: float) -> int:
    """Return a = ⌈(1+(2+θ)/γ)^d⌉, the nodes of a level that one center may serve; at most 10^300.

    Examples
    --------
    >>> expansion_for(2, alpha=0.5)
    71736
    """
    base = 1 + (2 + reach(alpha)) / packing_ratio(dimension)
    digits = dimension * math.log10(base)
    return math.ceil(base**dimension) if digits < 15 else int(10.0 ** min(digits, 300.0))
