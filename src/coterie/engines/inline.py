"""The whole collection in one process, on one core or all: points in, the collector's table out.

Each person's report goes through the real encoder and the real table, byte for byte as it would over a
network; only the network and the separate devices are missing. Memory beyond the points is constant, except
where reports are made of shares: those are mixed all at once, as a shuffler mixes them.

`Parallel` counts files on all cores: repeated ids lie in one part (`coterie.collect.deduplicate`), so every
thread frees its parts of them and adds the rest to a table of its own; nothing is shared until the tables are
added. The heavy steps run without the interpreter's lock, and the bits are those of every other engine.

With `SystemCoins` each report is as private as a device's. With `SimulationCoins` whoever knows the seed
undoes the privacy: that is for simulations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.coins import Coins
from coterie.collect import Batches, take_in
from coterie.collect.shuffler import mixed
from coterie.engines.base import Counted, Partition, Paths, Tell
from coterie.errors import PointError
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.protocols import encoder_of
from coterie.store import Study, open_store
from coterie.wire.layout import regrouped
from coterie.wire.workers import default_workers, in_shares

ADDED: Final = 1 << 18  # reports that are added to a table at a time, at least: more cost less each
CHUNK: Final = 1 << 14  # people encoded at a time; part of what a seed means, so it never changes


class Inline:
    """Plays in the calling process, one partition after the other.

    Examples
    --------
    >>> from coterie.coins import SystemCoins
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> partitions = [each.reports for each in Inline().encode(plan, np.zeros((100, 2)), SystemCoins())]
    >>> [reports.shape for reports in partitions], Inline().aggregate(plan, partitions).count
    ([(100, 13)], 100)
    """

    _workers = 1
    _folder: Path | None = None

    def encode(self, plan: Plan, points: NDArray[Any], coins: Coins) -> Iterator[Partition]:
        """Yield everybody's reports; points are converted to float64 a partition at a time."""
        if points.ndim != 2:
            raise PointError(f"points must have shape (n, {plan.dimension}), got shape {points.shape}")
        encoder = encoder_of(plan)
        for start in range(0, len(points), CHUNK):
            yield Partition(*encoder.encode_counting(points[start : start + CHUNK], None, coins))

    def aggregate(self, plan: Plan, partitions: Iterable[NDArray[np.uint8]]) -> Aggregate:
        """Return the table of all reports."""
        table = Aggregate(plan)
        for messages in mixed(plan, partitions):
            table.add(messages)
        return table

    def count(self, plan: Plan, files: Paths, tell: Tell = None) -> Counted:
        """Return the table of report files, each id once, and what became of the reports."""
        with take_in(files, plan, workers=self._workers, folder=self._folder) as intake:
            reports = intake.once()

            def table_of(parts: Iterable[int]) -> Aggregate:
                chunks = (rows for part in parts for rows in reports.reports_of(part))
                return add_up(Aggregate(plan), chunks, tell)

            total, *others = in_shares(table_of, reports.parts, self._workers)
            for table in others:
                total.merge(table)
        return Counted(total, intake.counts)

    def count_batches(self, plan: Plan, files: Paths, tell: Tell = None) -> Aggregate:
        """Return the table of shuffled files, each batch once and each id once."""
        return add_up(Aggregate(plan), Batches(files, plan).chunks(), tell)

    def count_store(self, address: AnyPath, plan_id: str, tell: Tell = None) -> tuple[Aggregate, Study]:
        """Return the table of what counts in a collector's store, and the study as it was then."""
        with open_store(address, make=False) as store:
            table = add_up(Aggregate(store.study(plan_id).plan), store.messages(plan_id), tell)
            return table, store.study(plan_id)


class Parallel(Inline):
    """Counts report files on all cores; encodes as `Inline` does, whose encoders use all cores already.

    Parameters
    ----------
    workers : int, optional
        Threads; by default one for each core.
    folder : Path, optional
        Where temporary files go, as large as the reports; the system's place by default.

    Examples
    --------
    >>> from coterie.wire.report_file import write_reports
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> _ = write_reports("day.coterie", plan, [bytes(13), bytes(13)], overwrite=True)
    >>> found = Parallel().count(plan, ["day.coterie"])
    >>> found.table.count, found.counts.duplicates
    (1, 1)
    """

    def __init__(self, *, workers: int | None = None, folder: Path | None = None) -> None:
        self._workers = default_workers() if workers is None else workers
        self._folder = folder


def add_up(table: Aggregate, chunks: Iterable[NDArray[np.uint8]], tell: Tell = None) -> Aggregate:
    """Add reports, or messages, to a table, many at a time; tell when so many more are through. Return it."""
    for rows in regrouped(chunks, ADDED):
        table.add(rows)
        if tell is not None:
            tell(len(rows))
    return table
