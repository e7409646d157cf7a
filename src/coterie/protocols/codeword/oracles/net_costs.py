"""What the cells of a net say of the cost of any centers, without any model.

A person in cell l is within the net's reach r of its place q_l. So the root of the mean squared distance to
the nearest of any centers C is within r of the root of

    D(C) = Σ_l N_l·min_{c ∈ C} |q_l - c|²

which is linear in the shares N_l: the counting coordinate of the cells' rows estimates it without bias, for
all C at once, with noise that is known (`coterie.protocols.codeword.approximation`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.cells import NetCells
from coterie.protocols.codeword.approximation import slack_of, within
from coterie.protocols.codeword.oracles.rows import ViewRows


@dataclass(frozen=True, slots=True, eq=False)
class NetCosts:
    """Shares of the people around public places, unbiased, so that some may be negative."""

    places: NDArray[np.float64]  # (M, d): q
    shares: NDArray[np.float64]  # (M,): N
    deviation: float  # of each share
    reach: float  # r

    def of(self, centers: NDArray[np.float64]) -> float:
        """Return D of centers of the unit ball, (k, d)."""
        apart = self.places[:, None] - centers[None]
        return float(self.shares @ np.einsum("lkd,lkd->lk", apart, apart).min(axis=1))

    def slack(self, clusters: int) -> float:
        """Return e: what noise may add to D of any k centers."""
        return slack_of(self.deviation, self.places, clusters)


def net_costs(views: Sequence[ViewRows]) -> NetCosts | None:
    """Return the costs by the net that most people served in the frame's own ball; None if none did."""
    nets = [
        view
        for view in views
        if isinstance(view.geometry, NetCells)
        and view.own_ball
        and view.lift.count
        and within(view.geometry.places)
    ]
    if not nets:
        return None
    view = max(nets, key=lambda each: each.people)
    count = view.lift.count  # b
    deviation = float(view.deviations[0]) * math.sqrt(view.across + view.along * count**2) / count
    shares = view.vectors[:, view.lift.dimension] / count
    return NetCosts(view.geometry.places, shares, deviation, view.geometry.reach())
