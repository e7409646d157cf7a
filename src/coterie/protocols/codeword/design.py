"""The design of a codeword plan: parameters chosen from dimension, clusters, ε and expected users alone.

*Cap.* The m with the largest gain κ, hence the smallest variance (`coterie.randomizers.codeword`).

*Embedding.* A power of two P ≥ max(128, 1.25·D), D = d+2: what the server's second moment needs. A larger P
costs no accuracy; above ε = 6 the cap is so small that P ≥ 4·D is wanted against directional bias.

*Views.* Fifteen people in sixteen serve halfspaces, which see broad and tight groups alike; the
sixteenth serves a few cells, whose rows take no part in finding the groups and so can judge what was found
(`coterie.centers.explain`). Half of the halfspaces pass through the middle of the ball, where they see
directions best; the others pass beside it, and see lengths.

What a plan can know of the study is its noise: a group of n/k people has its center wrong by about
k·√(D/n)/κ, in units of the radius. Where that is large, groups can only be found if they are tight, and by
cells, because those are few places to look in: that is `shape="tight"`, a belief to be declared before
collecting.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.halfspaces import turn_size
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.geometry.spread import spread_points
from coterie.plain.checks import checked_choice
from coterie.plan.forecast import Channel
from coterie.plan.views import CrossPolytope, Halfspaces, Net, View
from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.protocols.base import Facts
from coterie.protocols.codeword.parameters import MAX_EMBEDDING, MIN_EMBEDDING, CodewordParameters
from coterie.randomizers.codeword import CODEWORDS, CodewordRandomizer, best_cap

SHAPES: Final = ("broad", "tight")
NET_DIMENSION: Final = 12  # up to here cells are nearest points of a net, above it a rotation's corners
CELLS: Final = 64  # of the view that judges
MANY_CELLS: Final = 1024  # where there is little noise, above `NET_DIMENSION`
HALFSPACE_SHARE: Final = 15  # people in sixteen who serve halfspaces
TURNS: Final = 8  # rotations whose rows are the halfspaces, above `NET_DIMENSION`
FLAT_ROWS: Final = 1024  # halfspaces up to `NET_DIMENSION`
WHOLE: Final = 32  # one row in so many holds the whole ball: its vector is everybody's mean
OFFSET_SPREAD: Final = 0.5  # of the offsets, in deviations of a random point of the unit sphere
QUIET: Final = 0.3  # relative noise of a center up to which tight groups need no design of their own
LOUD: Final = 0.5  # relative noise above which a second view of cells costs more than it tells

_WIDE_EMBEDDING_EPSILON: Final = 6.0
_STEEPEST_ODDS: Final = largest_odds(12.0)
_COUNT_SHARE: Final = 0.3  # b
_MOST_ENTRIES: Final = 1 << 22  # of the halfspaces' table: 32 MB


def design(facts: Facts, *, shape: str = "broad") -> CodewordParameters:
    """Choose the parameters of a codeword plan.

    Parameters
    ----------
    facts : Facts
        Of the study.
    shape : {"broad", "tight"}
        What the analyst believes of the groups. "broad" serves data of any shape; "tight" finds more where
        groups are small compared with their distances and noise is large: many groups or few people.

    Examples
    --------
    >>> parameters = design(Facts(dimension=100, clusters=8, epsilon=1.0, expected_users=10**6))
    >>> parameters.codewords, parameters.cap, parameters.embedding
    (256, 89, 128)
    """
    checked_choice("shape", shape, SHAPES)
    odds = largest_odds(facts.epsilon)
    if odds <= BASE_ODDS:
        raise PlanError(
            f"epsilon {facts.epsilon!r} is too small: below 6e-8 the odds of all codewords are the same"
        )
    # The search tries large caps too, whose odds must fit 2^53; from ε = 8 on the best cap is 1 anyway.
    cap = best_cap(CODEWORDS, min(odds, _STEEPEST_ODDS))
    noise = relative_noise(facts, CodewordRandomizer(CODEWORDS, cap, odds))
    return CodewordParameters(
        codewords=CODEWORDS,
        cap=cap,
        odds=odds,
        embedding=choose_embedding(facts.dimension, facts.epsilon),
        count_weight=int(_COUNT_SHARE * SCALE),
        views=choose_views(facts.dimension, facts.clusters, noise, facts.seed, shape),
    )


def choose_embedding(dimension: int, epsilon: float) -> int:
    """Return the codeword length P."""
    lifted = dimension + EXTRA_COORDINATES  # D
    wanted = max(MIN_EMBEDDING, -(-5 * lifted // 4))
    if epsilon > _WIDE_EMBEDDING_EPSILON:
        wanted = max(wanted, min(4 * lifted, MAX_EMBEDDING))
    return power_of_two_at_least(wanted)


def choose_views(
    dimension: int, clusters: int, noise: float, seed: int, shape: str = "broad"
) -> tuple[View, ...]:
    """Return the views, for a relative noise of the centers as `relative_noise` says it.

    Examples
    --------
    >>> [(type(view).__name__, view.rows, view.weight) for view in choose_views(100, 8, noise=0.2, seed=0)]
    [('Halfspaces', 1024, 15), ('CrossPolytope', 64, 1)]
    >>> [(view.rows, view.weight) for view in choose_views(100, 32, noise=0.8, seed=0, shape="tight")]
    [(512, 1)]
    """
    if shape == "tight" and noise > QUIET and dimension > NET_DIMENSION:
        return _tight_views(dimension, clusters, noise)
    turn = turn_size(dimension)  # S
    flat = dimension <= NET_DIMENSION
    rows = FLAT_ROWS if flat else min(TURNS * turn, _MOST_ENTRIES // choose_embedding(dimension, 1.0))
    halfspaces = Halfspaces(rows, spread_offsets(rows, turn), HALFSPACE_SHARE)
    cells = Net(spread_points(CELLS, dimension, seed)) if flat else CrossPolytope(CELLS // 2)
    return halfspaces, cells


def _tight_views(dimension: int, clusters: int, noise: float) -> tuple[View, ...]:
    """Return views of cells alone: a group must stand above the noise of each view it is looked for in."""
    if noise > LOUD:
        return (CrossPolytope(_cells(256, 2 * dimension, 16 * clusters) // 2),)
    coarse = _cells(256, 2 * dimension)
    return CrossPolytope(coarse // 2), CrossPolytope(_cells(2 * coarse) // 2)


def spread_offsets(rows: int, turn: int) -> tuple[int, ...]:
    """Return one offset per halfspace: 0 for every other one, quantiles of a normal law for the rest.

    A row of a rotation of size S has the height 2^20·√S·N(0, 1) over random points of the unit sphere. One
    row in `WHOLE` lies so low that it holds everybody.

    Examples
    --------
    >>> offsets = spread_offsets(64, 128)
    >>> offsets[:4:2], offsets[30] == -128 * 2**20, offsets.count(0)
    ((0, 0), True, 30)
    """
    scale = OFFSET_SPREAD * SCALE * math.sqrt(turn)
    normal = NormalDist()
    half = rows // 2
    bits = max(half.bit_length() - 1, 0)
    offsets = [0] * rows
    for place in range(half):
        mixed = int(f"{place:0{bits}b}"[::-1], 2) if bits else 0  # neighbours get distant quantiles
        offsets[2 * place + 1] = round(scale * normal.inv_cdf((mixed + 0.5) / half))
    offsets[WHOLE - 2 :: WHOLE] = [-turn * SCALE] * (rows // WHOLE)  # instead of some zeros
    return tuple(offsets)


def relative_noise(facts: Facts, randomizer: CodewordRandomizer) -> float:
    """Return k·√(D/n)/κ: the error that noise alone gives the center of a cluster of n/k people."""
    lifted = facts.dimension + EXTRA_COORDINATES  # D
    return facts.clusters * math.sqrt(lifted / facts.expected_users) / randomizer.gain()


def _cells(*wanted: int) -> int:
    return min(power_of_two_at_least(max(wanted)), MANY_CELLS)


def power_of_two_at_least(number: int) -> int:
    """Return the smallest power of two that is no smaller."""
    return 1 << (number - 1).bit_length()


def channel(parameters: CodewordParameters, facts: Facts, people: int) -> Channel:
    """Return the noise of a table of so many people, as the forecast needs it: by the halfspaces, if any."""
    lifted = facts.dimension + EXTRA_COORDINATES
    law, views = parameters.randomizer, parameters.views
    gain, second = law.gain(parameters.embedding), law.second_gain(parameters.embedding)
    halfspaces = [view for view in views if isinstance(view, Halfspaces)]
    share = sum(view.weight for view in halfspaces or views) / sum(view.weight for view in views)
    variance = people * (1 + second / lifted) / (gain**2 * share)
    rows = sum(view.rows for view in halfspaces)
    return Channel.of(variance, parameters.count_weight, facts, people, rows)
