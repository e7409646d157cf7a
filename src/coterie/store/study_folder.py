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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Deduplicator
from coterie.errors import FileError
from coterie.plain.files import sync_folder, write_whole
from coterie.plan import Plan
from coterie.store.base import Batch, Chunks, Mix, StudyState, mixed_batch
from coterie.store.segments import Entry, room_on_disk
from coterie.store.sets import NAMES, RELEASED, REPORTS, Sets
from coterie.store.sorted_file import RECORD, ReleasedFile, SortedFile, read_sorted, write_sorted
from coterie.store.state import State, read_checked, write_checked
from coterie.wire.layout import ID_BYTES, as_keys
from coterie.wire.report_file import writing_reports
from coterie.wire.tokens import MARK_BYTES

MOST_FILES: Final = 32  # of one set of ids; more become one, so that few are read at a time


@dataclass(slots=True)
class StudyFolder(Sets):
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
        for file in (*state.reports, *state.withdrawn, *state.released):
            yield self.folder / file.name, lambda file=file: deque(self._together([file]), 0)  # type: ignore[misc]
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
            if path.suffix in (".coterie", RECORD) and path.name not in self.state.files:
                path.unlink()
        for path in (self.folder / "batches").iterdir():
            if path.name not in self.state.digests:
                path.unlink()
        if self.state.state is StudyState.DELETED:
            (self.folder / "invitations").unlink(missing_ok=True)
            self._marks = None
        sync_folder(self.folder)

    # ------------------------------------------------------------ what counts

    def rows(self, kind: int) -> Chunks:
        """Yield a set, sorted."""
        return self._together(self.state.files_of(kind))

    def _together(self, files: Iterable[SortedFile]) -> Chunks:
        """Yield the rows of sorted files, none in two of them, sorted."""
        found = [read_sorted(self.folder, file, self.plan) for file in files]
        return found[0] if len(found) == 1 else Deduplicator(ID_BYTES, kept=found).chunks()

    def merged(self, withdrawals: Chunks, reports: Chunks, work: Path) -> State:
        """Write what counts with these withdrawals and reports; return the state that says so.

        Temporary files lie in the folder `work`.
        """
        draft = self._draft()
        once, counts = draft.merge(withdrawals, reports, work), self.state.counts
        repeats = (counts.duplicates + once.duplicates, counts.conflicting + once.conflicting)
        return draft.state.counting(duplicates=repeats[0], conflicting=repeats[1])

    def stage(self, mix: Mix, reports: Chunks | None) -> tuple[Batch, State]:
        """Write a batch of what counts, or of others' reports; return it, and the state that says so."""
        draft = self._draft()
        return draft.release(mix, reports), draft.state

    def _draft(self) -> Self:
        """Return the study with a state that is not published yet."""
        return replace(self, state=replace(self.state, generation=self.state.generation + 1))

    def rewrite(self, kind: int, chunks: Chunks) -> None:
        """Write a set into a new file, and let the draft's state name it."""
        name = f"{NAMES[kind]}-{self.state.generation}.coterie"
        files = write_sorted(self.folder, name, self.plan, chunks)
        self.state = self.state.holding(kind, files)

    def record(self, mix: Mix, chunks: Chunks) -> Batch:
        """Write a batch of all these reports, and its ids into a file of their own."""
        path = self.folder / f"released-{self.state.generation}.coterie"
        with writing_reports(path, self.plan, ReleasedFile, overwrite=True, private=True) as writer:
            batch, digest = mixed_batch(self.plan, chunks, mix, writer.append)
        self.write_batch(batch)
        self.state = replace(self.state, staged=batch.digest)
        if writer.count:
            file = SortedFile(digest + RECORD, writer.count, writer.digest.hex())
            path.replace(self.folder / file.name)
            sync_folder(self.folder)
            files = (*self.state.released, file)
            if len(files) > MOST_FILES:
                files = write_sorted(self.folder, f"all-{path.name}", self.plan, self._together(files))
            self.state = replace(self.state.holding(RELEASED, files), handed=(*self.state.handed, digest))
        return batch

    # ------------------------------------------------------------ batches

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
    count, rest = divmod(len(entry.body), study.width(entry.kind))
    if rest:
        raise FileError("log", 0, "whole reports", f"others, of plan {study.plan.id}")
    return count if entry.kind == REPORTS else 0


def sweep(folder: Path) -> None:
    """Remove files that were being written when a process was killed (`plain.files.replacing`)."""
    for path in folder.glob(".*.tmp"):
        path.unlink()
