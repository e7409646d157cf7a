"""A table that grows: each day's reports are added, and no id counts twice, over any number of days.

    FOLDER/plan.json   the plan
           state       which of the other files count (canonical JSON, its SHA-256 before it)
           table-N     the table (`Aggregate`)
           ids-N       ids that were counted (`coterie.collect.seen`)

What was counted is known by id alone, at 12 bytes each: the reports are not needed again. Adding writes the
new files first and the state last, in one step. Interrupted anywhere, the folder holds what it held before,
and the same files may be added again; added twice, they count once.

Of two reports with one id the one that was added first stays, and of those added together the smallest.
Where no client is broken or hostile the table is, bit for bit, that of all files at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.collect import IntakeCounts
from coterie.collect.partitions import Partitions
from coterie.collect.seen import IdRun, Ids, among, as_ids, merge_runs, write_run
from coterie.errors import AggregateError, FileError
from coterie.plain.canonical import canonical_bytes, parse_object
from coterie.plain.files import read_bounded, replacing
from coterie.plan import Plan
from coterie.wire.workers import default_workers

STATE: Final = "state"
PLAN: Final = "plan.json"
FORMAT: Final = "coterie-growing-table"
VERSION: Final = 1

_STATE_BYTES: Final = 1 << 20
_MERGED_FROM: Final = 2  # a file is merged with a newer one that is at least this part of it


@dataclass(frozen=True, slots=True)
class Added:
    """What became of the reports of one addition."""

    counts: IntakeCounts  # of the files themselves
    counted_before: int  # ids that an earlier addition had counted
    count: int  # people in the table now


class GrowingTable:
    """A folder that holds a table and knows which ids are in it; made by `growing`.

    Attributes
    ----------
    plan : Plan
        The plan of all reports.
    count : int
        People in the table.
    """

    def __init__(self, folder: Path, plan: Plan, state: dict[str, Any]) -> None:
        self.plan = plan
        self._folder = folder
        self._state = state

    @property
    def count(self) -> int:
        """People in the table."""
        return int(sum(run["count"] for run in self._state["runs"]))

    def table(self) -> Aggregate:
        """Return the table."""
        if self._state["table"] is None:
            return Aggregate(self.plan)
        table = Aggregate.load(self._folder / self._state["table"], self.plan)
        if table.count != self.count:
            raise FileError(
                self._folder / STATE, 0, f"a table of {self.count} reports", f"one of {table.count}"
            )
        return table

    def add(
        self,
        files: Sequence[str | os.PathLike[str]],
        tell: Callable[[int], None] | None = None,
        *,
        workers: int | None = None,
    ) -> Added:
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
        workers = default_workers() if workers is None else workers
        runs = [IdRun(self._folder / run["name"], self.plan) for run in self._state["runs"]]
        total = self.table()
        generation = int(self._state["generation"]) + 1
        before = 0
        with Partitions(self.plan, workers=workers, beside=self.count) as partitions:
            partitions.add_files(files)
            bits = len(partitions.parts).bit_length() - 1

            def fresh(part: int, seen: Sequence[Ids]) -> tuple[list[NDArray[np.uint8]], Ids, int]:
                kept, known = [], 0
                for rows in partitions.reports_of(part):
                    ids = as_ids(rows)
                    old = np.zeros(len(ids), dtype=np.bool_)
                    for each in seen:
                        old |= among(ids, each)
                    known += int(old.sum())
                    kept.append(rows[~old] if old.any() else rows)
                ids = np.sort(np.concatenate([as_ids(rows) for rows in kept])) if kept else _NO_IDS
                return kept, ids, known

            def parts() -> Iterator[Ids]:
                nonlocal before
                readers = [run.parts(bits) for run in runs]
                with ThreadPoolExecutor(workers) as pool:
                    for start in range(0, len(partitions.parts), workers):
                        window = partitions.parts[start : start + workers]
                        seen = [[next(reader) for reader in readers] for _ in window]
                        for kept, ids, known in pool.map(fresh, window, seen):
                            for rows in kept:
                                total.add(rows)
                                if tell is not None:
                                    tell(len(rows))
                            before += known
                            yield ids
                for reader in readers:
                    next(reader, None)  # checks its digest

            name = f"ids-{generation}"
            count = write_run(self._folder / name, self.plan, parts())
            counts = partitions.counts
        found = [*self._state["runs"], *([{"name": name, "count": count}] if count else [])]
        found, generation = self._merged(found, generation)
        self._publish(total, found, generation)
        return Added(counts, before, total.count)

    def _merged(self, runs: list[dict[str, Any]], generation: int) -> tuple[list[dict[str, Any]], int]:
        """Merge newer files into older ones that are not much longer."""
        while len(runs) > 1 and runs[-2]["count"] <= _MERGED_FROM * runs[-1]["count"]:
            generation += 1
            name = f"ids-{generation}"
            pair = [IdRun(self._folder / run["name"], self.plan) for run in runs[-2:]]
            runs = [*runs[:-2], {"name": name, "count": merge_runs(self._folder / name, self.plan, pair)}]
        return runs, generation

    def _publish(self, table: Aggregate, runs: list[dict[str, Any]], generation: int) -> None:
        name = f"table-{generation}"
        table.save(self._folder / name, overwrite=True)
        self._state = {**self._state, "generation": generation, "table": name, "runs": runs}
        _write_state(self._folder, self._state)
        self.tidy()

    def tidy(self) -> None:
        """Remove files that do not count: replaced ones, or left by an interruption."""
        kept = {STATE, self._state["table"], *(run["name"] for run in self._state["runs"])}
        for path in self._folder.iterdir():
            if path.name not in kept and path.name.lstrip(".").startswith(("table-", "ids-", STATE)):
                path.unlink()


_NO_IDS: Final[Ids] = np.empty(0, dtype="S12")


@contextlib.contextmanager
def growing(folder: str | os.PathLike[str], plan: Plan | None = None) -> Iterator[GrowingTable]:
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
    if plan is not None:
        path.mkdir(parents=True, exist_ok=True)
    elif not is_growing(path):
        raise AggregateError(f"{path} holds no table that grows; the first addition needs the plan")
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # let go when the handle is closed, also by a crash
        if is_growing(path):
            table = _opened(path, plan)
        else:
            if plan is None or {entry.name for entry in path.iterdir()} - {PLAN}:
                raise AggregateError(f"{path} holds other files and no table that grows; choose another one")
            plan.save(path / PLAN, overwrite=True)
            title = {"format": FORMAT, "version": VERSION, "plan_id": plan.id, "generation": 0}
            table = GrowingTable(path, plan, {**title, "table": None, "runs": []})
            _write_state(path, table._state)
        table.tidy()
        yield table
    finally:
        os.close(handle)


def is_growing(folder: Path) -> bool:
    """Tell whether a folder holds a table that grows."""
    return (folder / STATE).is_file()


def _opened(folder: Path, plan: Plan | None) -> GrowingTable:
    path = folder / STATE
    data = read_bounded(path, _STATE_BYTES, "the state of a table that grows")
    digest, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise FileError(path, 0, "the SHA-256 of what follows", "another: the file is damaged")
    state = parse_object(body, "the state of a table that grows")
    if state.get("format") != FORMAT or state.get("version") != VERSION:
        raise FileError(path, len(digest) + 1, f"{FORMAT} {VERSION}", "another format or version")
    found = Plan.load(folder / PLAN)
    if found.id != state.get("plan_id"):
        raise FileError(folder / PLAN, 0, f"plan {state.get('plan_id')}", f"plan {found.id}")
    if plan is not None and plan != found:
        raise AggregateError(f"{folder} holds reports of plan {found.id}, not of {plan.id}")
    return GrowingTable(folder, found, state)


def _write_state(folder: Path, state: dict[str, Any]) -> None:
    body = canonical_bytes(state)
    with replacing(folder / STATE) as file:
        file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
