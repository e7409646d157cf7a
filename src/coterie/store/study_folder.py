"""One study of the embedded store: a folder of whole files, and a state that names those that count.

    plan            canonical JSON
    state           open or closed, counts, and which of the files below count (`state`)
    *.parquet       what counts, withdrawn ids, released ids: sorted (`parquet`)
    batches/        named by their digests
    documents/
    invitations     marks of tokens, sorted

Nothing here is for several threads at once; the store has the locks.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError
from coterie.plain.files import replacing, sync_folder
from coterie.plan import Plan
from coterie.store.base import MARK_BYTES, Batch, StudyState, joined
from coterie.store.merge import Bounds, Merged, merged
from coterie.store.parquet import SortedFile, read_sorted, write_sorted
from coterie.store.segments import room_on_disk
from coterie.store.state import State, read_checked, write_checked
from coterie.wire.layout import ID_BYTES

_Chunks = Iterator[NDArray[np.uint8]]


@dataclass(slots=True)
class StudyFolder:
    """A study, and in `pending` how many reports each segment holds that were not merged yet."""

    plan: Plan
    folder: Path
    state: State = field(default_factory=State)
    pending: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _marks: NDArray[np.bytes_] | None = None  # sorted; None until they are asked for

    @classmethod
    def create(cls, plan: Plan, folder: Path) -> Self:
        """Make a study; it is there once its state is."""
        with room_on_disk():
            for path in (folder, folder / "batches", folder / "documents"):
                path.mkdir(mode=0o700, exist_ok=True)
            sync_folder(folder.parent)
        study = cls(plan, folder)
        write_checked(folder / "plan", plan.to_json().encode())
        study.publish(study.state)
        return study

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read a study; None if its making was never completed."""
        for path in (folder, folder / "batches", folder / "documents"):
            sweep(path)
        if not (folder / "state").exists():
            if any(path.is_file() and path.name != "plan" for path in folder.rglob("*")):
                raise FileError(folder / "state", 0, "the state of a study", "none: restore it")
            return None
        plan = Plan.from_json(read_checked(folder / "plan").decode())
        if plan.id != folder.name:
            raise FileError(folder / "plan", 0, f"plan {folder.name}", f"plan {plan.id}")
        study = cls(plan, folder, State.read(folder / "state"))
        study.tidy()
        return study

    def publish(self, state: State) -> None:
        """Make a state the one that holds."""
        write_checked(self.folder / "state", state.to_bytes())
        self.state = state

    def tidy(self) -> None:
        """Remove files that do not count: replaced ones, or left by a crash."""
        for path in self.folder.glob("*.parquet"):
            if path.name not in self.state.files:
                path.unlink()
        for path in (self.folder / "batches").iterdir():
            if path.name not in self.state.digests:
                path.unlink()
        if self.state.state is StudyState.DELETED:
            (self.folder / "invitations").unlink(missing_ok=True)
            self._marks = None
        sync_folder(self.folder)

    # ------------------------------------------------------------ what counts

    def reports(self) -> _Chunks:
        """Yield what counts, sorted."""
        return read_sorted(self.folder, self.state.reports, self.plan.report_width)

    def merged(self, withdrawals: _Chunks, reports: _Chunks, bounds: Bounds) -> State:
        """Write what counts with these withdrawals and reports; return the state that says so."""
        before, width = self.state, self.plan.report_width
        withdrawn = self._grown("withdrawn", withdrawals, bounds)
        left_out = [read_sorted(self.folder, ids, ID_BYTES) for ids in (withdrawn, before.released)]
        totals = Merged()
        chunks = merged(itertools.chain(self.reports(), reports), width, left_out, totals=totals, **bounds)
        name = f"reports-{before.generation + 1}.parquet"
        file = write_sorted(self.folder, name, "report", width, chunks)
        counts = replace(
            before.counts,
            counted=totals.counted,
            duplicates=before.counts.duplicates + totals.duplicates,
            conflicting=before.counts.conflicting + totals.conflicting,
            withdrawn=withdrawn.rows if withdrawn else 0,
        )
        return replace(
            before, generation=before.generation + 1, counts=counts, reports=file, withdrawn=withdrawn
        )

    def _grown(self, name: str, pieces: _Chunks, bounds: Bounds) -> SortedFile | None:
        """Return the file of a set of ids, `withdrawn` or `released`, once more have come to it."""
        before: SortedFile | None = getattr(self.state, name)
        first = next(pieces, None)
        if first is None:
            return before
        kept = read_sorted(self.folder, before, ID_BYTES)
        chunks = merged(itertools.chain(kept, [first], pieces), ID_BYTES, **bounds)
        name = f"{name}-{self.state.generation + 1}.parquet"
        return write_sorted(self.folder, name, "id", ID_BYTES, chunks)

    # ------------------------------------------------------------ batches

    def all_reports(self) -> NDArray[np.uint8]:
        """Return what counts at once, (n, width), for one batch."""
        return joined(self.reports(), self.plan.report_width)

    def released(self, ids: NDArray[np.uint8], batch: Batch, bounds: Bounds) -> State:
        """Write a batch of all that counts, and its ids, (n, 12); return the state that says so."""
        self.write_batch(batch)
        file = self._grown("released", iter([ids]), bounds)
        return replace(
            self.state,
            generation=self.state.generation + 1,
            counts=replace(self.state.counts, counted=0, released=file.rows if file else 0),
            reports=None,
            released=file,
            staged=batch.digest,
        )

    def write_batch(self, batch: Batch) -> None:
        """Write the file of a batch; it counts once the state names it."""
        with room_on_disk(), replacing(self.folder / "batches" / batch.digest, 0o600) as file:
            file.write(batch.data)

    def read_batch(self, digest: str) -> Batch:
        """Return a batch, if it is whole."""
        path = self.folder / "batches" / digest
        try:
            batch = Batch.of(path.read_bytes())
        except FileNotFoundError:
            raise FileError(path, 0, "a batch of the study", "no file: restore it") from None
        if batch.digest != digest:
            raise FileError(path, 0, "the batch that its name says", "another: it is damaged")
        return batch

    # ------------------------------------------------------------ documents and invitations

    def put_document(self, name: str, data: bytes) -> bytes:
        """Keep a document if there is none of this name; return the one that is kept."""
        path = self.folder / "documents" / name
        if not path.exists():
            write_checked(path, data)
        return read_checked(path)

    def document(self, name: str) -> bytes | None:
        """Return a document, or None."""
        path = self.folder / "documents" / name
        return read_checked(path) if path.exists() else None

    def invite(self, marks: NDArray[np.uint8]) -> None:
        """Keep marks, (n, 32)."""
        total = np.unique(np.concatenate([self._issued(), _as_keys(marks)]))
        write_checked(self.folder / "invitations", total.tobytes())
        self._marks = total

    def invited(self, marks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Tell which marks, (n, 32), are kept: (n,)."""
        asked, issued = _as_keys(marks), self._issued()
        if not len(issued):
            return np.zeros(len(asked), dtype=bool)
        places = np.minimum(np.searchsorted(issued, asked), len(issued) - 1)
        return np.asarray(issued[places] == asked)

    def _issued(self) -> NDArray[np.bytes_]:
        if self._marks is None:
            path = self.folder / "invitations"
            data = read_checked(path) if path.exists() else b""
            self._marks = np.frombuffer(data, dtype=f"S{MARK_BYTES}")
        return self._marks


def sweep(folder: Path) -> None:
    """Remove files that were being written when a process was killed (`plain.files.replacing`)."""
    for path in folder.glob(".*.tmp"):
        path.unlink()


def _as_keys(marks: NDArray[np.uint8]) -> NDArray[np.bytes_]:
    return np.ascontiguousarray(marks).view(f"S{MARK_BYTES}")[:, 0]
