"""Frequencies and vector sums of every node of the SimHash tree, read off an `lsh-tree` table.

ExplicitHist and ExplicitHistVector (the paper's Appendix B) for all 2^i codes of a level by one transform:

    f̃_c = (n/n_i)·s·Σ_mask (-1)^popcount(c & mask)·counts[mask]
    ṽ_c = (n/n_i)·Σ_mask (-1)^popcount(c & mask)·sums[mask]·B/(2^15-1)

with n_i the people who answered for the level, s = (A+B)/(A-B) and B the length of a randomized vector. Both
are unbiased; the standard deviation of f̃_c is (n/n_i)·s·√n_i, that of ṽ_c is (n/n_i)·B·√(n_i/D) in every
coordinate. Where people are counted by a coordinate of the vector, that coordinate over its weight is f̃_c.
Where only the deepest level was answered for, the others are sums over their descendants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.hadamard import fwht
from coterie.geometry.lift import point_weight
from coterie.geometry.rotation import Rotation
from coterie.protocols.paper.lsh_tree.table import LENGTH, LshTreeTable
from coterie.randomizers.sphere import djw_norm


class LevelSums(NamedTuple):
    """Noisy frequencies and vector sums of the 2^i nodes of one level, scaled to all people."""

    frequencies: NDArray[np.float64]  # (2^i,), unclamped
    vectors: NDArray[np.float64]  # (2^i, d)
    count_deviation: float  # of an empty node's frequency
    vector_deviation: float  # root mean square length of an empty node's sum


def level_sums(table: LshTreeTable) -> list[LevelSums]:
    """Return the levels 1..T.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=2.0, expected_users=10**5, protocol="lsh-tree")
    >>> table = LshTreeTable.zero(plan)
    >>> table.add(np.arange(2600, dtype=np.uint32).astype(np.uint8).reshape(200, 13) & 0xC0)
    >>> [level.vectors.shape for level in level_sums(table)]
    [(2, 2), (4, 2), (8, 2), (16, 2)]
    """
    parameters = table.parameters
    if parameters.split != "deepest":
        return [_answered(table, level) for level in parameters.answered_levels]
    levels = [_answered(table, parameters.levels)]
    for _ in range(parameters.levels - 1):
        below = levels[-1]
        frequencies = below.frequencies.reshape(-1, 2).sum(axis=1)
        vectors = below.vectors.reshape(-1, 2, below.vectors.shape[1]).sum(axis=1)
        noise = (below.count_deviation * 2**0.5, below.vector_deviation * 2**0.5)
        levels.append(LevelSums(frequencies, vectors, *noise))
    return levels[::-1]


def _answered(table: LshTreeTable, level: int) -> LevelSums:
    parameters, dimension = table.parameters, table.plan.dimension
    rows = parameters.level_rows(level)
    people = max(int(table.reports[rows].sum()), 1)  # n_i
    scale = table.count / people
    size = parameters.lifted(dimension)  # D
    sums = fwht(table.sums[rows].T.astype(np.float64)).T  # (2^i, D) or (2^i, P)
    if parameters.randomizer == "privunit":
        gain = parameters.codeword_response.gain(parameters.embedding)
        rotation = Rotation.from_key(table.plan.randomness_key("embedding"), parameters.embedding)
        sums = sums @ rotation.matrix(size) / (parameters.embedding * gain)
        coordinate = 1 / gain  # standard deviation of one coordinate of one person's vector
    else:
        norm = djw_norm(size, parameters.vector_response.scale)  # B
        sums = sums * (norm / LENGTH)
        coordinate = norm / size**0.5
    noise = scale * people**0.5  # of a sum of signs
    vectors = scale * sums
    if parameters.joint:
        weight = parameters.count_weight / SCALE  # b
        frequencies, deviation = vectors[:, dimension] / weight, noise * coordinate / weight
    else:
        response = parameters.count_response.scale
        frequencies = scale * response * fwht(table.counts[rows].astype(np.float64))
        deviation = noise * response
    point = point_weight(parameters.count_weight)  # a; 1 without a counting coordinate
    return LevelSums(
        frequencies, vectors[:, :dimension] / point, deviation, noise * coordinate * dimension**0.5 / point
    )
