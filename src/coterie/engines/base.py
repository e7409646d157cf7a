"""What an engine is: it plays everybody's encoder and adds the reports up, in partitions.

    points -> encode -> partitions of reports -> aggregate -> one table

A table is a sum of integers, so an engine may cut the people as it likes and add the parts in any order: two
engines that are given the same reports end with the same bits. `coterie.engines.play` joins
the two halves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.coins import Coins
from coterie.plan import Plan


class Partition(NamedTuple):
    """The reports of some of the people."""

    reports: NDArray[np.uint8]  # (m, width)
    clipped: int  # people whose point lay outside the ball; not private, it stays on the client's side


class Engine(Protocol):
    """How a whole collection is played."""

    def encode(self, plan: Plan, points: NDArray[Any], coins: Coins) -> Iterator[Partition]:
        """Yield everybody's reports, with fresh ids, in the order of the rows: (n, d) -> (m, width) each.

        Parameters
        ----------
        plan : Plan
            The study's public contract.
        points : ndarray, shape (n, d)
            One row per person; any real type.
        coins : Coins
            Source of ids and secret coins.
        """
        ...

    def aggregate(self, plan: Plan, partitions: Iterable[NDArray[np.uint8]]) -> Aggregate:
        """Return the table of all reports, each partition (m, width).

        Reports made of shares are mixed first: what is added up is what a shuffler would release.
        """
        ...
