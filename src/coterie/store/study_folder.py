"""One study of the embedded store: a folder of whole files, and a state that names those that count.

    plan            canonical JSON
    state           open or closed, counts, and which of the files below count (`state`)
    *.coterie       what counts, withdrawn ids: sorted (`sorted_file`)
    *.released      released ids, one file a batch, named by the digest of its reports
    batches/        named by their digests
    documents/
    invitations     marks of tokens, sorted

Nothing here is for several threads at once; the store has the locks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Deduplicator, without
from coterie.errors import FileError
from coterie.plain.files import sync_folder, write_whole
from coterie.plan import Plan
from coterie.store.base import Batch, Chunks, Mix, StudyState, mixed_batch
from coterie.store.segments import REPORTS, Entry, room_on_disk
from coterie.store.sorted_file import RELEASED, IdFile, ReleasedFile, SortedFile, read_sorted, write_sorted
from coterie.store.state import State, read_checked, write_checked
from coterie.wire.layout import ID_BYTES, as_keys
from coterie.wire.report_file import ReportFile, writing_reports
from coterie.wire.tokens import MARK_BYTES

MOST_FILES: Final = 32  # of one set of ids; more become one, so that few are read at a time


@dataclass(slots=True)
class StudyFolder:
    """A study, and where it stands."""

    plan: Plan
    folder: Path
    state: State = field(default_factory=State)
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
        """Read a study, and tidy up what a crash left; None if its making was never completed."""
        for path in (folder, folder / "batches", folder / "documents"):
            sweep(path)
        study = cls.read(folder)
        if study is not None:
            study.tidy()
        return study

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Read a study as it is; None if its making was never completed."""
        if not (folder / "state").exists():
            if any(path.is_file() and path.name != "plan" for path in folder.rglob("*")):
                raise FileError(folder / "state", 0, "the state of a study", "none: restore it")
            return None
        plan = Plan.from_json(read_checked(folder / "plan"))
        if plan.id != folder.name:
            raise FileError(folder / "plan", 0, f"plan {folder.name}", f"plan {plan.id}")
        return cls(plan, folder, State.read(folder / "state"))

    def pieces(self) -> Iterator[tuple[Path, Callable[[], object]]]:
        """Yield every file that belongs to the study, and what reads it to its last byte."""
        state, documents = self.state, self.folder / "documents"
        for file in (*([state.reports] if state.reports else []), *state.withdrawn, *state.released):
            yield self.folder / file.name, lambda file=file: deque(self._sorted(file), 0)  # type: ignore[misc]
        for digest in sorted(state.digests):
            yield self.folder / "batches" / digest, partial(self.read_batch, digest)
        for path in sorted(documents.iterdir()):
            yield path, partial(read_checked, path)
        yield self.folder / "invitations", self._issued

    def publish(self, state: State) -> None:
        """Make a state the one that holds."""
        write_checked(self.folder / "state", state.to_bytes())
        self.state = state

    def tidy(self) -> None:
        """Remove files that do not count: replaced ones, or left by a crash."""
        for path in self.folder.glob("*.*"):
            if path.suffix in (".coterie", RELEASED) and path.name not in self.state.files:
                path.unlink()
        for path in (self.folder / "batches").iterdir():
            if path.name not in self.state.digests:
                path.unlink()
        if self.state.state is StudyState.DELETED:
            (self.folder / "invitations").unlink(missing_ok=True)
            self._marks = None
        sync_folder(self.folder)

    def width_of(self, kind: int) -> int:
        """Return the bytes of one row of an entry of the log."""
        return self.plan.report_width if kind == REPORTS else ID_BYTES

    # ------------------------------------------------------------ what counts

    def reports(self) -> Chunks:
        """Yield what counts, sorted."""
        return self._sorted(self.state.reports)

    def _sorted(self, file: SortedFile | None) -> Chunks:
        return read_sorted(self.folder, file, self.plan)

    def ids(self, *sets: tuple[SortedFile, ...]) -> list[Chunks]:
        """Return the ids of sets of files, each set sorted."""
        found = ([self._sorted(file) for file in files] for files in sets if files)
        return [Deduplicator(ID_BYTES, kept=each).chunks() if len(each) > 1 else each[0] for each in found]

    def merged(self, withdrawals: Chunks, reports: Chunks, work: Path) -> State:
        """Write what counts with these withdrawals and reports; return the state that says so.

        Temporary files lie in the folder `work`.
        """
        before = self.state
        with Deduplicator(ID_BYTES, without=self.ids(before.withdrawn), folder=work) as fresh:
            for ids in withdrawals:
                fresh.add(ids)
            new = write_sorted(self.folder, self._name("withdrawn"), self.plan, IdFile, fresh.chunks())
        withdrawn = self._with("withdrawn", new)
        left_out = self.ids(withdrawn, before.released)
        width = self.plan.report_width
        with Deduplicator(width, kept=[self.reports()], without=left_out, folder=work) as all_:
            for rows in reports:
                all_.add(rows)
            file = write_sorted(self.folder, self._name("reports"), self.plan, ReportFile, all_.chunks())
        counts = replace(
            before.counts,
            counted=file.rows if file else 0,
            duplicates=before.counts.duplicates + all_.duplicates,
            conflicting=before.counts.conflicting + all_.conflicting,
            withdrawn=sum(each.rows for each in withdrawn),
        )
        generation = before.generation + 1
        return replace(before, generation=generation, counts=counts, reports=file, withdrawn=withdrawn)

    def _name(self, what: str) -> str:
        """Return the name of a new sorted file."""
        return f"{what}-{self.state.generation + 1}.coterie"

    def _with(self, what: str, new: SortedFile | None) -> tuple[SortedFile, ...]:
        """Return the files of a set of ids, `withdrawn` or `released`, with a new one; many become one."""
        files: tuple[SortedFile, ...] = (*getattr(self.state, what), *([] if new is None else [new]))
        if len(files) <= MOST_FILES:
            return files
        (ids,) = self.ids(files)
        whole = write_sorted(self.folder, f"all-{self._name(what)}", self.plan, IdFile, ids)
        return () if whole is None else (whole,)

    # ------------------------------------------------------------ batches

    def stage(self, mix: Mix, reports: Chunks | None) -> tuple[Batch, State]:
        """Write a batch of what counts, or of others' reports; return it, and the state that says so."""
        before, chunks = self.state, self.reports() if reports is None else reports
        if reports is not None:
            for ids in self.ids(before.withdrawn, before.released):
                chunks = without(chunks, ids)
        path = self.folder / self._name("released")
        with writing_reports(path, self.plan, ReleasedFile, overwrite=True, private=True) as writer:
            batch, digest = mixed_batch(self.plan, chunks, mix, writer.append)
        self.write_batch(batch)
        released, handed = before.released, before.handed
        if writer.count:
            file = SortedFile(digest + RELEASED, writer.count, writer.digest.hex())
            path.replace(self.folder / file.name)
            sync_folder(self.folder)
            released, handed = self._with("released", file), (*handed, digest)
        left = None
        if reports is not None and before.reports is not None:  # some may have been taken in, too
            rest = self.reports()
            for ids in self.ids(released):
                rest = without(rest, ids)
            left = write_sorted(self.folder, self._name("reports"), self.plan, ReportFile, rest)
        counts = replace(
            before.counts,
            counted=left.rows if left else 0,
            released=sum(each.rows for each in released),
        )
        return batch, replace(
            before,
            generation=before.generation + 1,
            counts=counts,
            reports=left,
            released=released,
            handed=handed,
            staged=batch.digest,
        )

    def write_batch(self, batch: Batch) -> None:
        """Write the file of a batch; it counts once the state names it."""
        with room_on_disk():
            write_whole(self.folder / "batches" / batch.digest, batch.data, 0o600)

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
        total = np.unique(np.concatenate([self._issued(), as_keys(marks)]))
        write_checked(self.folder / "invitations", total.tobytes())
        self._marks = total

    def invited(self, marks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which marks, (n, 32), are kept: (n,)."""
        asked, issued = as_keys(marks), self._issued()
        if not len(issued):
            return np.zeros(len(asked), dtype=bool)
        places = np.minimum(np.searchsorted(issued, asked), len(issued) - 1)
        return np.asarray(issued[places] == asked)

    def _issued(self) -> NDArray[np.bytes_]:
        if self._marks is None:
            path = self.folder / "invitations"
            data = read_checked(path) if path.exists() else b""
            if len(data) % MARK_BYTES:
                raise FileError(path, len(data), f"marks of {MARK_BYTES} bytes each", "a part of one")
            self._marks = np.frombuffer(data, dtype=f"S{MARK_BYTES}")
        return self._marks


def through_of(studies: Mapping[str, StudyFolder]) -> dict[str, int]:
    """Return up to which segment the files of each study hold it; deleted ones have nothing in any."""
    return {
        plan_id: study.state.through
        for plan_id, study in studies.items()
        if study.state.state is not StudyState.DELETED
    }


def reports_in(studies: Mapping[str, StudyFolder], entry: Entry) -> int:
    """Return how many reports an entry of the log holds; FileError if it is none of these studies'."""
    study = studies.get(entry.plan_id.hex())
    if study is None:
        raise FileError("log", 0, "entries of plans that are here", f"plan {entry.plan_id.hex()}")
    count, rest = divmod(len(entry.body), study.width_of(entry.kind))
    if rest:
        raise FileError("log", 0, "whole reports", f"others, of plan {study.plan.id}")
    return count if entry.kind == REPORTS else 0


def sweep(folder: Path) -> None:
    """Remove files that were being written when a process was killed (`plain.files.replacing`)."""
    for path in folder.glob(".*.tmp"):
        path.unlink()
