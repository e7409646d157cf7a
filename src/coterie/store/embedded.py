"""The embedded store: a folder, and one process that writes it.

    FOLDER/store                      format and version
           log/00000001.segment       what came in since the last compaction, of all plans (`segments`)
           studies/PLAN/plan          canonical JSON
                        state         open or closed, counts, and which of the files below count (`state`)
                        *.parquet     what counts, withdrawn ids, released ids: sorted (`parquet`)
                        batches/      named by their digests
                        documents/
                        invitations   marks of tokens, sorted
           work/                      temporary files of a compaction

A commit is one write and one `fdatasync`, however many requests it serves. A compaction completes the
segment that grows, merges what the segments hold of a plan with what counted before (`merge`), writes the
state, then takes the plan's entries out of the segments. A crash anywhere leaves the old state or the new
one, and opening the store finishes what was left to do.

*Times.* Until a compaction the newest segment tells, as every file does, when it was written last, and its
frames tell an order. A complete segment has its time of writing set to 1970, so that copies do not carry it.
Afterwards there are only files from the time of the compaction. Blocks that were freed are the disk's matter.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError
from coterie.plain.files import replacing, sync_folder
from coterie.plan import Plan
from coterie.store.base import (
    MARK_BYTES,
    Batch,
    Counts,
    Store,
    StoreError,
    Study,
    StudyClosedError,
    StudyState,
    UnknownPlanError,
    check_deletable,
    check_digest,
    checked_ids,
    checked_marks,
    checked_name,
    joined,
)
from coterie.store.merge import Merged, merged
from coterie.store.parquet import SortedFile, read_sorted, write_sorted
from coterie.store.pieces import FolderPiece, StoreInPieces
from coterie.store.segments import (
    REPORTS,
    WITHDRAWN,
    Entry,
    SegmentWriter,
    read_segment,
    recover,
    room_on_disk,
    write_segment,
)
from coterie.store.state import FORMAT, VERSION, State, read_checked, write_checked
from coterie.wire.layout import ID_BYTES, as_rows

SEGMENT_BYTES: Final = 1 << 28  # a segment that is larger is completed

_SEGMENT: Final = re.compile(r"([0-9]{8,18})\.segment")
_PLAN_ID: Final = re.compile(r"[0-9a-f]{64}")
_TITLE: Final = f"{FORMAT} {VERSION}\n".encode()


class _Bounds(TypedDict):
    """What a merge may take."""

    folder: Path
    memory_reports: int | None


@dataclass(slots=True)
class _Open:
    """A study in memory."""

    plan: Plan
    folder: Path
    state: State
    pending: dict[int, int] = field(
        default_factory=lambda: defaultdict(int)
    )  # reports in a segment not merged
    marks: NDArray[np.bytes_] | None = None  # sorted; None until they are asked for


class EmbeddedStore(Store):
    """A store in a folder; one process at a time has it open.

    Parameters
    ----------
    folder : str or os.PathLike
        Where it is, or is to be.
    memory_reports : int, optional
        Reports that a compaction holds in memory; as for `coterie.collect.Deduplicator`.

    Raises
    ------
    StoreError
        If another process has it open.
    FileError
        If it is damaged, or of another version.
    """

    def __init__(self, folder: str | os.PathLike[str], *, memory_reports: int | None = None) -> None:
        self._folder = Path(folder).absolute()
        self._log, self._studies_folder = self._folder / "log", self._folder / "studies"
        self._bounds = _Bounds(folder=self._folder / "work", memory_reports=memory_reports)
        self._lock = threading.Lock()  # the growing segment and the states
        self._work = threading.Lock()  # compactions and all else that replaces files; taken before _lock
        self._segments: dict[int, set[str]] = {}  # complete ones and whose entries they hold
        self._writer: SegmentWriter | None = None
        self._writer_plans: set[str] = set()
        self._last = 0  # the highest number of a segment so far
        self._studies: dict[str, _Open] = {}
        self._folder.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _lock_folder(self._handle, self._folder)
            self._prepare()
            self._load()
        except BaseException:
            self._let_go()
            raise

    # ------------------------------------------------------------ opening

    def _prepare(self) -> None:
        """Make what is missing of a new store, check the version of an old one."""
        title = self._folder / "store"
        if not title.exists():
            if others := sorted(path.name for path in self._folder.iterdir() if path.name[0] != "."):
                if others not in (["log"], ["log", "studies"]):
                    raise StoreError(f"{self._folder} is no store and not empty; choose another folder")
                if any(self._log.iterdir()):
                    raise FileError(title, 0, "the file that says which version the store has", "none")
            for path in (self._log, self._studies_folder):
                path.mkdir(mode=0o700, exist_ok=True)
            write_checked(title, _TITLE)
            sync_folder(self._folder.parent)
        if (found := read_checked(title)) != _TITLE:
            raise FileError(title, 0, repr(_TITLE), f"{found[:40]!r}: a store of another version")
        _sweep(self._folder)
        _sweep(self._log)
        shutil.rmtree(self._folder / "work", ignore_errors=True)
        (self._folder / "work").mkdir(mode=0o700)

    def _load(self) -> None:
        """Read the studies, then all segments to their last byte, and finish what a crash left to do."""
        for folder in sorted(self._studies_folder.iterdir()):
            if not _PLAN_ID.fullmatch(folder.name):
                raise FileError(folder, 0, "a study, named by the id of its plan", "something else")
            if (study := _load_study(folder)) is not None:
                self._studies[folder.name] = study
        numbers = []
        for path in self._log.iterdir():
            if not (match := _SEGMENT.fullmatch(path.name)):
                raise FileError(path, 0, "a segment", "something else")
            numbers.append(int(match[1]))
        through = max((study.state.through for study in self._studies.values()), default=0)
        self._last = max([*numbers, through])
        for number in sorted(numbers):
            size = recover(self._path(number), number) if number == max(numbers) else None
            if size == 0:
                continue
            found = self._read_in(number, size)
            if size is None:
                self._segments[number] = found
            else:
                self._writer = SegmentWriter(self._path(number), number, size=size)
                self._writer_plans = found
        for plan_id, study in self._studies.items():
            with contextlib.suppress(StoreError):  # a full disk hinders nobody from reading
                self._scrub(plan_id, study.state.through)

    def _read_in(self, number: int, size: int | None) -> set[str]:
        """Count what a segment holds; return the plans whose entries it has."""
        found = set()
        for kind, plan, body in read_segment(self._path(number), number, size):
            plan_id = plan.hex()
            if (study := self._studies.get(plan_id)) is None:
                raise FileError(self._path(number), 0, "entries of plans that are here", f"plan {plan_id}")
            if len(body) % (study.plan.report_width if kind == REPORTS else ID_BYTES):
                raise FileError(self._path(number), 0, "whole reports", f"others, of plan {plan_id}")
            found.add(plan_id)
            if number > study.state.through:
                study.pending[number] += len(body) // study.plan.report_width if kind == REPORTS else 0
        return found

    def shut(self) -> None:
        with self._work, self._lock:
            if self._writer is not None:
                with contextlib.suppress(StoreError):  # then it is recovered as after a crash
                    self._writer.seal()
            self._let_go()

    def _let_go(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._handle >= 0:
            os.close(self._handle)  # and with it the lock
            self._handle = -1
        self._studies = {}

    # ------------------------------------------------------------ plans

    def put_plan(self, plan: Plan) -> bool:
        with self._work, self._lock:
            self._check_open()
            if plan.id in self._studies:
                return False
            folder = self._studies_folder / plan.id
            with room_on_disk():
                for path in (folder, folder / "batches", folder / "documents"):
                    path.mkdir(mode=0o700, exist_ok=True)
                sync_folder(self._studies_folder)
            write_checked(folder / "plan", plan.to_json().encode())
            study = _Open(plan, folder, State())
            write_checked(folder / "state", study.state.to_bytes())
            self._studies[plan.id] = study
            return True

    def plan_ids(self) -> list[str]:
        return sorted(self._studies)

    def study(self, plan_id: str) -> Study:
        study = self._study(plan_id)
        with self._lock:
            state, pending = study.state, sum(study.pending.values())
        counts = replace(state.counts, received=state.counts.received + pending, batches=len(state.digests))
        return Study(study.plan, state.state, counts)

    def _study(self, plan_id: str) -> _Open:
        self._check_open()
        study = self._studies.get(plan_id)
        if study is None:
            raise UnknownPlanError(f"the store holds no plan {plan_id[:64]}")
        return study

    def _check_open(self) -> None:
        if self._handle < 0:
            raise StoreError("the store was shut")

    # ------------------------------------------------------------ while a study is open

    def append(self, batches: Sequence[tuple[str, NDArray[np.uint8]]]) -> list[StoreError | None]:
        answers: list[StoreError | None] = []
        bodies: dict[str, list[bytes]] = defaultdict(list)
        with self._lock:
            for plan_id, reports in batches:
                try:
                    study = self._taking(plan_id)
                except StoreError as error:
                    answers.append(error)
                    continue
                bodies[plan_id].append(as_rows(reports, study.plan.report_width).tobytes())
                answers.append(None)
            self._commit(REPORTS, {plan_id: b"".join(body) for plan_id, body in bodies.items()})
        return answers

    def withdraw(self, plan_id: str, ids: NDArray[np.uint8]) -> None:
        with self._lock:
            self._taking(plan_id)
            self._commit(WITHDRAWN, {plan_id: checked_ids(ids).tobytes()})

    def _taking(self, plan_id: str) -> _Open:
        """Return a study that is open."""
        study = self._study(plan_id)
        if study.state.state is not StudyState.OPEN:
            raise StudyClosedError("the study is closed")
        return study

    def _commit(self, kind: int, bodies: dict[str, bytes]) -> None:
        """Write one frame and flush it; the caller holds the lock."""
        entries = [Entry(kind, bytes.fromhex(plan_id), body) for plan_id, body in bodies.items() if body]
        if not entries:
            return
        if self._writer is not None and self._writer.size >= SEGMENT_BYTES:
            self._complete()
        if self._writer is None:
            self._writer = SegmentWriter(self._path(self._last + 1), self._last + 1)
            self._last += 1
        self._writer.append(entries)
        for plan_id, body in bodies.items():
            study = self._studies[plan_id]
            study.pending[self._writer.number] += (
                len(body) // study.plan.report_width if kind == REPORTS else 0
            )
            self._writer_plans.add(plan_id)

    def _complete(self) -> None:
        """Seal the growing segment; the caller holds the lock."""
        if self._writer is None:
            return
        self._writer.seal()
        self._segments[self._writer.number] = self._writer_plans
        self._writer, self._writer_plans = None, set()

    def close(self, plan_id: str) -> None:
        with self._lock:
            study = self._study(plan_id)
            if study.state.state is StudyState.OPEN:
                self._publish(study, replace(study.state, state=StudyState.CLOSED))

    def _publish(self, study: _Open, state: State) -> None:
        """Make a state the one that holds; the caller holds the lock."""
        write_checked(study.folder / "state", state.to_bytes())
        study.state = state

    # ------------------------------------------------------------ reading

    def compact(self, plan_id: str) -> Counts:
        with self._work, room_on_disk():
            self._compact(plan_id)
        return self.study(plan_id).counts

    def _compact(self, plan_id: str) -> None:
        """Merge and publish; the caller holds the right to work."""
        with self._lock:
            study = self._study(plan_id)
            if study.pending:
                self._complete()
            before = study.state
            numbers = sorted(study.pending)
        if numbers:
            withdrawn = self._grown(study, "withdrawn", self._rows(study, numbers, WITHDRAWN))
            left_out = [read_sorted(study.folder, ids, ID_BYTES) for ids in (withdrawn, before.released)]
            totals, width = Merged(), study.plan.report_width
            kept = read_sorted(study.folder, before.reports, width)
            new = self._rows(study, numbers, REPORTS)
            chunks = merged(itertools.chain(kept, new), width, left_out, totals=totals, **self._bounds)
            name = f"reports-{before.generation + 1}.parquet"
            reports = write_sorted(study.folder, name, "report", width, chunks)
            with self._lock:
                received = sum(study.pending[number] for number in numbers)
                counts = replace(
                    before.counts,
                    received=before.counts.received + received,
                    counted=totals.counted,
                    duplicates=before.counts.duplicates + totals.duplicates,
                    conflicting=before.counts.conflicting + totals.conflicting,
                    withdrawn=withdrawn.rows if withdrawn else 0,
                )
                state = replace(  # of now: the study may have been closed meanwhile
                    study.state,
                    generation=before.generation + 1,
                    through=numbers[-1],
                    counts=counts,
                    reports=reports,
                    withdrawn=withdrawn,
                )
                self._publish(study, state)
                for number in numbers:
                    del study.pending[number]
        _tidy(study)
        self._scrub(plan_id, study.state.through)

    def _rows(self, study: _Open, numbers: list[int], kind: int) -> Iterator[NDArray[np.uint8]]:
        """Yield what segments hold of a study."""
        width = study.plan.report_width if kind == REPORTS else ID_BYTES
        for number in numbers:
            for found, plan_id, body in read_segment(self._path(number), number):
                if found == kind and plan_id == study.plan.id_bytes:
                    yield as_rows(body, width)

    def _grown(self, study: _Open, name: str, pieces: Iterator[NDArray[np.uint8]]) -> SortedFile | None:
        """Return the file of a set of ids, `withdrawn` or `released`, once more have come to it."""
        before: SortedFile | None = getattr(study.state, name)
        first = next(pieces, None)
        if first is None:
            return before
        kept = read_sorted(study.folder, before, ID_BYTES)
        chunks = merged(itertools.chain(kept, [first], pieces), ID_BYTES, **self._bounds)
        name = f"{name}-{study.state.generation + 1}.parquet"
        return write_sorted(study.folder, name, "id", ID_BYTES, chunks)

    def _scrub(self, plan_id: str, through: int) -> None:
        """Take a plan's entries, which its files hold, out of the segments up to a number."""
        with self._lock:
            found = [
                number for number, plans in self._segments.items() if number <= through and plan_id in plans
            ]
        for number in found:
            path, others = self._path(number), self._segments[number] - {plan_id}
            others = {other for other in others if self._studies[other].state.through < number}
            if others:
                kept = (entry for entry in read_segment(path, number) if entry.plan_id.hex() in others)
                write_segment(path, number, kept)
                self._segments[number] = others
            else:
                path.unlink()
                sync_folder(self._log)
                with self._lock:
                    del self._segments[number]

    def reports(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        with self._work, room_on_disk():
            study = self._existing(plan_id)
            self._compact(plan_id)
            chunks = read_sorted(study.folder, study.state.reports, study.plan.report_width)
            first = [*itertools.islice(chunks, 1)]  # it is open now, and stays so if it is replaced
        return itertools.chain(first, chunks)

    @contextlib.contextmanager
    def in_pieces(self, plan_id: str) -> Iterator[StoreInPieces]:
        with self._work:  # nothing is compacted, so no file is replaced
            study = self._existing(plan_id)
            with room_on_disk():
                self._compact(plan_id)
            found = study.state.reports
            pieces = [] if found is None else [FolderPiece(str(study.folder.resolve()), found)]
            yield StoreInPieces(self.study(plan_id), pieces)

    def _existing(self, plan_id: str) -> _Open:
        """Return a study whose reports were not deleted."""
        study = self._study(plan_id)
        if study.state.state is StudyState.DELETED:
            raise StoreError("the reports of this study were deleted, as its plan says")
        return study

    def delete_reports(self, plan_id: str) -> None:
        with self._work, room_on_disk():
            study = self._study(plan_id)
            check_deletable(study.state.state, study.state.staged)
            self._compact(plan_id)
            with self._lock:
                nothing = replace(study.state, reports=None, withdrawn=None, released=None, batches=())
                self._publish(study, replace(nothing, state=StudyState.DELETED))
            _tidy(study)

    # ------------------------------------------------------------ batches

    def stage_batch(self, plan_id: str, mix: Callable[[NDArray[np.uint8]], bytes]) -> Batch:
        with self._work, room_on_disk():
            if (waiting := self.staged_batch(plan_id)) is not None:
                return waiting
            study = self._existing(plan_id)
            self._compact(plan_id)
            width = study.plan.report_width
            rows = joined(read_sorted(study.folder, study.state.reports, width), width)
            batch = Batch.of(mix(rows))
            self._write_batch(study, batch)
            released = self._grown(study, "released", iter([rows[:, :ID_BYTES]]))
            with self._lock:
                state = study.state
                counts = replace(state.counts, counted=0, released=released.rows if released else 0)
                self._publish(
                    study,
                    replace(
                        state,
                        generation=state.generation + 1,
                        counts=counts,
                        reports=None,
                        released=released,
                        staged=batch.digest,
                    ),
                )
            _tidy(study)
            return batch

    def staged_batch(self, plan_id: str) -> Batch | None:
        study = self._study(plan_id)
        with self._lock:
            digest = study.state.staged
            return None if digest is None else _read_batch(study, digest)

    def acknowledge_batch(self, plan_id: str, digest: str) -> None:
        with self._work:
            study = self._study(plan_id)
            with self._lock:
                if study.state.staged == digest:
                    self._publish(study, replace(study.state, staged=None))
            _tidy(study)

    def put_batch(self, plan_id: str, digest: str, data: bytes) -> bool:
        batch = Batch.of(data)
        check_digest(batch, digest)
        with self._work:
            study = self._study(plan_id)
            if digest in study.state.batches:
                return False
            self._taking(plan_id)
            self._write_batch(study, batch)
            with self._lock:
                self._taking(plan_id)  # it may have been closed meanwhile
                batches = tuple(sorted([*study.state.batches, digest]))
                self._publish(study, replace(study.state, batches=batches))
            return True

    def _write_batch(self, study: _Open, batch: Batch) -> None:
        with room_on_disk(), replacing(study.folder / "batches" / batch.digest, 0o600) as file:
            file.write(batch.data)

    def batches(self, plan_id: str) -> Iterator[Batch]:
        study = self._existing(plan_id)
        return (_read_batch(study, digest) for digest in study.state.batches)

    # ------------------------------------------------------------ documents and invitations

    def put_document(self, plan_id: str, name: str, data: bytes) -> bytes:
        study, name = self._study(plan_id), checked_name(name)
        with self._lock:
            path = study.folder / "documents" / name
            if not path.exists():
                write_checked(path, data)
            return read_checked(path)

    def document(self, plan_id: str, name: str) -> bytes | None:
        path = self._study(plan_id).folder / "documents" / checked_name(name)
        return read_checked(path) if path.exists() else None

    def invite(self, plan_id: str, marks: NDArray[np.uint8]) -> None:
        new = _as_marks(checked_marks(marks))
        with self._work:
            study = self._existing(plan_id)
            total = np.unique(np.concatenate([self._marks(study), new]))
            write_checked(study.folder / "invitations", total.tobytes())
            study.marks = total

    def invited(self, plan_id: str, marks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        asked, issued = _as_marks(checked_marks(marks)), self._marks(self._study(plan_id))
        if not len(issued):
            return np.zeros(len(asked), dtype=bool)
        places = np.minimum(np.searchsorted(issued, asked), len(issued) - 1)
        return np.asarray(issued[places] == asked)

    def _marks(self, study: _Open) -> NDArray[np.bytes_]:
        if study.marks is None:
            path = study.folder / "invitations"
            data = read_checked(path) if path.exists() else b""
            study.marks = np.frombuffer(data, dtype=f"S{MARK_BYTES}")
        return study.marks

    def _path(self, number: int) -> Path:
        return self._log / f"{number:08}.segment"


def _lock_folder(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(
            handle, fcntl.LOCK_EX | fcntl.LOCK_NB
        )  # let go when the handle is closed, also by a crash
    except BlockingIOError:
        raise StoreError(
            f"{folder} is open in another process; an embedded store has one writer. Stop that one first, or "
            "keep the store in PostgreSQL"
        ) from None


def _load_study(folder: Path) -> _Open | None:
    """Read a study; None if it was never completed."""
    _sweep(folder)
    _sweep(folder / "documents")
    if not (folder / "state").exists():
        if any(path.is_file() and path.name != "plan" for path in folder.rglob("*")):
            raise FileError(folder / "state", 0, "the state of a study", "none: restore it")
        return None
    plan = Plan.from_json(read_checked(folder / "plan").decode())
    if plan.id != folder.name:
        raise FileError(folder / "plan", 0, f"plan {folder.name}", f"plan {plan.id}")
    study = _Open(plan, folder, State.read(folder / "state"))
    _tidy(study)
    return study


def _tidy(study: _Open) -> None:
    """Remove files of a study that do not count: replaced ones, or left by a crash."""
    for path in study.folder.glob("*.parquet"):
        if path.name not in study.state.files:
            path.unlink()
    for path in (study.folder / "batches").iterdir():
        if path.name not in study.state.digests:
            path.unlink()
    if study.state.state is StudyState.DELETED:
        (study.folder / "invitations").unlink(missing_ok=True)
        study.marks = None
    sync_folder(study.folder)


def _sweep(folder: Path) -> None:
    """Remove files that were being written when a process was killed (`plain.files.replacing`)."""
    for path in folder.glob(".*.tmp"):
        path.unlink()


def _read_batch(study: _Open, digest: str) -> Batch:
    path = study.folder / "batches" / digest
    batch = Batch.of(path.read_bytes())
    if batch.digest != digest:
        raise FileError(path, 0, "the batch that its name says", "another: it is damaged")
    return batch


def _as_marks(marks: NDArray[np.uint8]) -> NDArray[np.bytes_]:
    return np.ascontiguousarray(marks).view(f"S{MARK_BYTES}")[:, 0]
