"""What an engine is: it plays everybody's encoder and adds the reports up, in partitions.

    points -> encode -> partitions of reports -> aggregate -> one table
    report files -> count, each id once -> one table
    shuffled files, or a collector's store -> count_batches, count_store -> one table

A table is a sum of integers, so an engine may cut the people as it likes and add the parts in any order: two
engines that are given the same reports end with the same bits. `coterie.engines.play` joins
the two halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.coins import Coins
from coterie.collect import IntakeCounts
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.store import Study

Paths = Sequence[AnyPath]
Tell = Callable[[int], None] | None  # called with how many more reports are through


class Partition(NamedTuple):
    """The reports of some of the people."""

    reports: NDArray[np.uint8]  # (m, width)
    clipped: int  # people whose point lay outside the ball; not private, it stays on the client's side


class Counted(NamedTuple):
    """A table of report files."""

    table: Aggregate
    counts: IntakeCounts


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

    def count(self, plan: Plan, files: Paths, tell: Tell = None) -> Counted:
        """Return the table of report files, each id once, and what became of the reports.

        Parameters
        ----------
        plan : Plan
            The plan that they answer; not of the shuffle model, whose reports are mixed first.
        files : sequence of str or os.PathLike
            All of them count or, if one is not whole, none.
        tell : callable, optional
            Called with a number of reports when so many more are through: for progress.

        Raises
        ------
        FileError
            If a file is truncated, foreign, of another version or corrupt.
        """

    def count_batches(self, plan: Plan, files: Paths, tell: Tell = None) -> Aggregate:
        """Return the table of shuffled files, each batch once and each id once; `tell` counts messages.

        Raises
        ------
        FileError
            If a file is truncated, foreign, of another version or corrupt.
        ReportError
            If the same batch is given twice.
        """

    def count_store(self, address: AnyPath, plan_id: str, tell: Tell = None) -> tuple[Aggregate, Study]:
        """Return the table of what counts in a collector's store, and the study as it was then.

        Of a shuffle plan, its batches are added up.
        """

    def aggregate(self, plan: Plan, partitions: Iterable[NDArray[np.uint8]]) -> Aggregate:
        """Return the table of all reports, each partition (m, width).

        Reports made of shares are mixed first: what is added up is what a shuffler would release.
        """
