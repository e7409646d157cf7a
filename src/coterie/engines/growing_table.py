"""A table that grows: each day's reports are added, and no id counts twice, over any number of days.

It is a store (`coterie.store`) whose table is the batch that waits. Adding makes the next table, of this one
and of the reports whose ids are not in it, and keeps their ids, 12 bytes each, in one durable step: the
reports are not needed again. Interrupted anywhere, the store holds what it held before, and the same files
may be added again; added twice, they count once.

Of two reports with one id the one that was added first stays, and of those added together the smallest.
Where no client is broken or hostile the table is, bit for bit, that of all files at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coterie.aggregate import Aggregate
from coterie.collect import IntakeCounts, take_in
from coterie.engines.base import Paths, Tell
from coterie.engines.inline import add_up
from coterie.errors import AggregateError, StoreError
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.store import Batch, Store, open_store
from coterie.store.base import Chunks
from coterie.wire.workers import default_workers


@dataclass(frozen=True, slots=True)
class Added:
    """What became of the reports of one addition."""

    counts: IntakeCounts  # of the files themselves
    counted_before: int  # ids that an earlier addition had counted
    count: int  # people in the table now


class GrowingTable:
    """A store that holds a table and knows which ids are in it; made by `growing`.

    Attributes
    ----------
    plan : Plan
        The plan of all reports.
    count : int
        People in the table.
    """

    def __init__(self, store: Store, plan: Plan) -> None:
        self.plan = plan
        self._store = store

    @property
    def count(self) -> int:
        """People in the table."""
        return self._store.study(self.plan.id).counts.released

    def table(self) -> Aggregate:
        """Return the table."""
        return self._table(self._store.staged_batch(self.plan.id))

    def _table(self, held: Batch | None) -> Aggregate:
        table = Aggregate(self.plan) if held is None else Aggregate.from_bytes(held.data, self.plan)
        if table.count != self.count:
            raise StoreError(f"the store knows the ids of {self.count} reports, and its table has others")
        return table

    def add(self, files: Paths, tell: Tell = None, *, workers: int | None = None) -> Added:
        """Add report files: all of them or, if one is not whole, nothing.

        Parameters
        ----------
        files : sequence of str or os.PathLike
            Report files of the plan.
        tell : callable, optional
            Called with a number of reports when so many more are through.
        workers : int, optional
            Threads; by default one for each core.
        """
        if self.plan.mixed:
            raise AggregateError("a table of shuffled batches cannot grow by ids: messages have none")
        held = self._store.staged_batch(self.plan.id)
        total = self._table(held)
        before = total.count

        def grown(chunks: Chunks) -> bytes:
            return add_up(total, chunks, tell).to_bytes()

        with take_in(files, self.plan, workers=default_workers() if workers is None else workers) as intake:
            before_it = None if held is None else held.digest
            self._store.stage_batch(self.plan.id, grown, reports=intake.chunks(), instead_of=before_it)
        return Added(intake.counts, intake.counts.unique - (total.count - before), total.count)


@contextlib.contextmanager
def growing(folder: AnyPath, plan: Plan | None = None) -> Iterator[GrowingTable]:
    """Open a table that grows, made if need be; one process at a time holds it.

    Parameters
    ----------
    folder : str or os.PathLike
        Where it is, or is to be.
    plan : Plan, optional
        The plan that it must be of; a new one needs it.

    Examples
    --------
    >>> from coterie.wire.report_file import write_reports
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> _ = write_reports("monday.coterie", plan, [bytes(13)], overwrite=True)
    >>> with growing("study", plan) as table:
    ...     table.add(["monday.coterie"]).count, table.add(["monday.coterie"]).counted_before
    (1, 1)
    """
    path = Path(folder)
    if plan is None and not is_growing(path):
        raise AggregateError(f"{path} holds no table that grows; the first addition needs the plan")
    with open_store(path, wait=True) as store:
        known = [store.study(plan_id) for plan_id in store.plan_ids()]
        found = known[0].plan if known else plan
        if found is None or len(known) > 1 or any(study.counts.received for study in known):
            raise AggregateError(f"{path} is a collector's store: coterie aggregate --from-store reads it")
        if plan is not None and plan != found:
            raise AggregateError(f"{path} holds reports of plan {found.id}, not of {plan.id}")
        store.put_plan(found)
        yield GrowingTable(store, found)


def is_growing(folder: Path) -> bool:
    """Return whether a folder holds a table that grows."""
    return (folder / "store").is_file()
