"""What cells can prove: places that cost at most a constant times the optimum, and an answer that costs more.

*Places.* Of the net's own places (`net_costs`) take k greedily, then exchange one for another as long as that
lowers the estimated D. Signs of the shares do not matter: what is estimated of an exchange is true within E',
so at the end no exchange gains more than E' in truth, and the proof of local search (`paper.local_search`),
which adds k exchanges up, ends with

    D(places) ≤ (2 + √10)²·min D + (1 + 2/√10)·k·E'

*The answer is kept* unless it is proved to cost more than the places do: where it costs no more, the root of
its D is the larger by 2r at most, and noise adds e to each (docs/theory/guarantees.md). So nothing better is
replaced, and whatever is returned is within that of a constant times the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.centers.answer import Answer
from coterie.centers.repeats import Found
from coterie.centers.solution import squared_distances
from coterie.protocols.codeword.approximation import EARLY
from coterie.protocols.codeword.oracles.net_costs import NetCosts, net_costs
from coterie.protocols.codeword.oracles.rows import ViewRows


def proved_worse(views: Sequence[ViewRows], centers: NDArray[np.float64], clusters: int) -> bool:
    """Return whether centers, k of them or one, are proved to cost more than k places of the net do."""
    costs = net_costs(views)
    if costs is None or (slack := costs.slack(clusters)) >= 4:
        return False  # no centers of the ball cost a person more
    best = costs.of(costs.places[exchanged(costs, clusters)])
    reached = math.sqrt(max(best, 0.0) + slack) + 2 * costs.reach
    return costs.of(centers) > reached**2 + slack


def find_in_net(
    views: Sequence[ViewRows], clusters: int, rng: np.random.Generator, members: int
) -> Found | None:
    """Find groups by places of the net alone; None if nobody served one."""
    del rng, members
    costs = net_costs(views)
    if costs is None:
        return None
    centers = costs.places[exchanged(costs, clusters)]
    weights = np.maximum(costs.shares, 1e-12)
    weights /= weights.sum()
    nearest = squared_distances(costs.places, centers).argmin(axis=1)
    shares = np.bincount(nearest, weights=weights, minlength=len(centers)).astype(np.float64)
    answer = Answer(centers, shares, costs.places, weights)
    return Found(answer, (costs.places, weights), np.eye(centers.shape[1]), 0.0, costs.reach**2)


def exchanged(costs: NetCosts, clusters: int) -> NDArray[np.int64]:
    """Return which places no exchange of one for another makes cheaper, (k,) or all there are.

    Examples
    --------
    >>> places = np.array([[-0.9], [-0.8], [0.5], [0.6]])
    >>> costs = NetCosts(places, np.array([0.2, 0.4, 0.5, -0.1]), deviation=0.01, reach=0.1)
    >>> places[exchanged(costs, 2), 0].tolist()
    [-0.8, 0.5]
    """
    apart = squared_distances(costs.places, costs.places)  # (M, M)
    clusters = min(clusters, len(apart))
    early = EARLY * costs.slack(clusters) / clusters
    chosen: list[int] = []
    for _ in range(clusters):
        chosen.append(_cheapest(costs, apart, chosen)[1])
    while True:
        now = float(costs.shares @ apart[:, chosen].min(axis=1))
        offers = [
            (*_cheapest(costs, apart, chosen[:number] + chosen[number + 1 :]), number)
            for number in range(clusters)
        ]
        cost, place, number = min(offers)
        if cost >= now - early:
            return np.sort(np.array(chosen))
        chosen[number] = place


def _cheapest(costs: NetCosts, apart: NDArray[np.float64], beside: list[int]) -> tuple[float, int]:
    """Return the place that costs least beside others, and that cost."""
    near = apart[:, beside].min(axis=1, initial=np.inf)
    each = costs.shares @ np.minimum(apart, near[:, None])
    each[beside] = np.inf
    place = int(each.argmin())
    return float(each[place]), place
