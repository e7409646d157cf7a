"""All cores of one machine: report files cut by id, each part counted apart, the tables added up.

Repeated ids lie in one part (`coterie.collect.partitions`), so every thread frees its parts of them and adds
the rest to a table of its own; nothing is shared until the tables are added. The heavy steps run without the
interpreter's lock. The bits are those of every other engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from coterie.aggregate import Aggregate
from coterie.collect.partitions import Partitions
from coterie.engines.base import Counted
from coterie.engines.inline import Inline
from coterie.plan import Plan
from coterie.wire.workers import default_workers, in_shares


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

    def count(
        self, plan: Plan, files: Sequence[str | os.PathLike[str]], tell: Callable[[int], None] | None = None
    ) -> Counted:
        """Return the table of report files, each id once, and what became of the reports."""
        with Partitions(plan, workers=self._workers, folder=self._folder) as partitions:
            partitions.add_files(files)

            def table_of(parts: Iterable[int]) -> Aggregate:
                table = Aggregate(plan)
                for part in parts:
                    for rows in partitions.reports_of(part):
                        table.add(rows)
                        if tell is not None:
                            tell(len(rows))
                return table

            total, *others = in_shares(table_of, partitions.parts, self._workers)
            for table in others:
                total.merge(table)
            return Counted(total, partitions.counts)
