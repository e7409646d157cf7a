"""The embedded store: a folder, and one process that writes it.

    FOLDER/store                      format and version
           log/, segments, tail       what came in since the last compaction, of all plans (`log`)
           studies/PLAN/              a plan, its state and what counts (`study_folder`)
           work/                      temporary files of a compaction

A commit is one write and one `fdatasync`, however many requests it serves. A compaction completes the
segment that grows, merges what the segments hold of a plan with what counted before
(`study_folder.StudyFolder.merged`), writes the state, then takes the plan's entries out of the segments. A
crash anywhere leaves the old state or the new one, and opening the store finishes what was left to do.

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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError, StoreError, StudyClosedError, StudyIncompleteError, UnknownPlanError
from coterie.plain.checks import SHA256_HEX
from coterie.plain.files import AnyPath, sync_folder
from coterie.plan import Plan
from coterie.store.base import (
    Batch,
    Chunks,
    Counts,
    Mix,
    Store,
    Study,
    StudyState,
    check_deletable,
    checked_name,
    checked_rows,
)
from coterie.store.log import Log, segments_in
from coterie.store.pieces import FilePiece, StoreInPieces
from coterie.store.segments import Entry, room_on_disk
from coterie.store.sets import REPORTS, WITHDRAWN
from coterie.store.state import FORMAT, VERSION, read_checked, write_checked
from coterie.store.study_folder import StudyFolder, reports_in, sweep, through_of
from coterie.wire.layout import ID_BYTES, as_rows
from coterie.wire.tokens import MARK_BYTES

_TITLE: Final = f"{FORMAT} {VERSION}\n".encode()


class EmbeddedStore(Store):
    """A store in a folder; one process at a time has it open.

    Parameters
    ----------
    folder : str or os.PathLike
        Where it is, or is to be.
    wait : bool
        Whether to wait while another process has it open.

    Raises
    ------
    StoreError
        If another process has it open.
    FileError
        If it is damaged, or of another version.
    """

    def __init__(self, folder: AnyPath, *, wait: bool = False) -> None:
        self._folder = Path(folder).absolute()
        self._lock = threading.Lock()  # the growing segment and the states
        self._work = threading.Lock()  # compactions and all else that replaces files; taken before _lock
        self._studies: dict[str, StudyFolder] = {}
        self._log = Log(self._folder, partial(reports_in, self._studies))
        if self._folder.is_file():
            raise StoreError(f"{self._folder} is a file: a store is a folder of its own")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            held.enter_context(locked(self._folder, wait=wait))
            held.callback(self._log.close)
            self._prepare()
            self._load()
            self._held = held.pop_all()
        self._is_open = True

    # ------------------------------------------------------------ opening

    def _prepare(self) -> None:
        """Make what is missing of a new store, check the version of an old one."""
        title = self._folder / "store"
        if not title.exists():
            others = {path.name for path in self._folder.iterdir() if path.name[0] != "."}
            if others - {"log", "studies", "segments", "tail"}:
                raise StoreError(f"{self._folder} is no store and not empty; choose another folder")
            (self._folder / "studies").mkdir(mode=0o700, exist_ok=True)
            if "log" in others and segments_in(self._folder):
                raise FileError(title, 0, "the file that says which version the store has", "none")
            self._log.create()
            write_checked(title, _TITLE)
            sync_folder(self._folder.parent)
        check_title(self._folder)
        sweep(self._folder)
        sweep(self._folder / "log")
        shutil.rmtree(self._folder / "work", ignore_errors=True)
        (self._folder / "work").mkdir(mode=0o700)

    def _load(self) -> None:
        """Read the studies, then all segments to their last byte, and finish what a crash left to do."""
        for folder in sorted((self._folder / "studies").iterdir()):
            if not SHA256_HEX.fullmatch(folder.name):
                raise FileError(folder, 0, "a study, named by the id of its plan", "something else")
            if (study := StudyFolder.load(folder)) is not None:
                self._studies[folder.name] = study
        self._log.load(through_of(self._studies))
        for study in self._studies.values():
            with contextlib.suppress(StoreError):  # a full disk hinders nobody from reading
                self._scrub(study)

    def shut(self) -> None:
        with self._work, self._lock:
            with contextlib.suppress(StoreError):  # then it is recovered as after a crash
                self._log.complete()
            self._held.close()
            self._is_open = False

    def room(self) -> int:
        return shutil.disk_usage(self._folder).free

    def probe(self) -> int:
        self._check_open()
        return self.room()

    # ------------------------------------------------------------ plans

    def put_plan(self, plan: Plan) -> bool:
        with self._work, self._lock:
            self._check_open()
            if plan.id in self._studies:
                return False
            self._studies[plan.id] = StudyFolder.create(plan, self._folder / "studies" / plan.id)
            return True

    def plan_ids(self) -> list[str]:
        self._check_open()
        return sorted(self._studies)

    def study(self, plan_id: str) -> Study:
        study = self._study(plan_id)
        with self._lock:
            state, pending = study.state, self._pending(study)
        received = state.counts.received + sum(pending.values())
        counts = replace(state.counts, received=received, batches=len(state.digests))
        return Study(study.plan, state.state, counts, state.lost)

    def _pending(self, study: StudyFolder) -> dict[int, int]:
        """Return how many reports of a study each segment holds that are not in its files yet."""
        plan_id, through = study.plan.id, study.state.through
        return {
            number: reports[plan_id]
            for number, reports in self._log.held.items()
            if number > through and plan_id in reports
        }

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreError("the store was shut")

    def _study(self, plan_id: str) -> StudyFolder:
        self._check_open()
        study = self._studies.get(plan_id)
        if study is None:
            raise UnknownPlanError(f"the store holds no plan {plan_id[:64]}")
        return study

    def _taking(self, plan_id: str) -> StudyFolder:
        """Return a study that is open."""
        study = self._study(plan_id)
        if study.state.state is not StudyState.OPEN:
            raise StudyClosedError("the study is closed")
        return study

    def _existing(self, plan_id: str) -> StudyFolder:
        """Return a study whose reports were not deleted."""
        study = self._study(plan_id)
        if study.state.state is StudyState.DELETED:
            raise StoreError("the reports of this study were deleted, as its plan says")
        return study

    def _whole(self, plan_id: str) -> StudyFolder:
        """Return a study of which nothing is lost, or nothing that was not accepted."""
        study = self._existing(plan_id)
        if (lost := study.state.lost) is not None and not lost.accepted:
            raise StudyIncompleteError(
                f"{lost.reports:,} or more reports of this study, which were acknowledged, were lost with "
                f"{lost.files} damaged or missing files: restore a backup, or let it go on without them "
                f"(coterie store check {self._folder} --accept {plan_id})"
            )
        return study

    def accept_loss(self, plan_id: str) -> None:
        with self._work, self._lock:
            study = self._study(plan_id)
            if study.state.lost is not None:
                study.publish(replace(study.state, lost=replace(study.state.lost, accepted=True)))

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
                bodies[plan_id].append(as_rows(reports, study.width(REPORTS)).tobytes())
                answers.append(None)
            self._commit(REPORTS, {plan_id: b"".join(body) for plan_id, body in bodies.items()})
        return answers

    def withdraw(self, plan_id: str, ids: NDArray[np.uint8]) -> None:
        with self._lock:
            self._taking(plan_id)
            self._commit(WITHDRAWN, {plan_id: checked_rows("ids", ids, ID_BYTES).tobytes()})

    def _commit(self, kind: int, bodies: dict[str, bytes]) -> None:
        """Write one frame and flush it; the caller holds the lock."""
        if entries := [Entry(kind, bytes.fromhex(plan), body) for plan, body in bodies.items() if body]:
            self._log.commit(entries)

    def close(self, plan_id: str) -> None:
        with self._lock:
            study = self._study(plan_id)
            if study.state.state is StudyState.OPEN:
                study.publish(replace(study.state, state=StudyState.CLOSED))

    # ------------------------------------------------------------ reading

    def compact(self, plan_id: str) -> Counts:
        with self._work, room_on_disk():
            self._compact(self._study(plan_id))
        return self.study(plan_id).counts

    def _compact(self, study: StudyFolder) -> None:
        """Merge, publish, and take the entries out of the log; the caller holds the right to work."""
        with self._lock:
            pending = self._pending(study)
            if self._log.growing in pending:
                self._log.complete()
        if numbers := sorted(pending):
            withdrawals, reports = (self._rows(study, numbers, kind) for kind in (WITHDRAWN, REPORTS))
            merged = study.merged(withdrawals, reports, self._folder / "work")
            with self._lock:
                now = study.state.state  # it may have been closed meanwhile
                state = merged.counting(received=merged.counts.received + sum(pending.values()))
                study.publish(replace(state, state=now, through=numbers[-1]))
        study.tidy()
        self._scrub(study)

    def _rows(self, study: StudyFolder, numbers: list[int], kind: int) -> Iterator[NDArray[np.uint8]]:
        """Yield what segments hold of a study."""
        for number in numbers:
            for found, plan_id, body in self._log.entries(number):
                if found == kind and plan_id == study.plan.id_bytes:
                    yield as_rows(body, study.width(kind))

    def _scrub(self, study: StudyFolder) -> None:
        """Take entries that a study's files hold out of the segments, and others that are there by now."""
        plan_id, through = study.plan.id, study.state.through
        with self._lock:
            held, known = self._log.held.items(), through_of(self._studies)
            needed = {
                number: {plan for plan in reports if known.get(plan, number) < number}
                for number, reports in held
                if number <= through and plan_id in reports and number != self._log.growing
            }
        self._log.forget(needed, self._lock)

    def reports(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        with self._work, room_on_disk():
            study = self._whole(plan_id)
            self._compact(study)
            chunks = study.rows(REPORTS)
            first = [*itertools.islice(chunks, 1)]  # it is open now, and stays so if it is replaced
        return itertools.chain(first, chunks)

    def came(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        with self._work, room_on_disk():  # all of it at once: the files may be replaced afterwards
            study = self._existing(plan_id)
            self._compact(study)
            return iter(study.came())

    @contextlib.contextmanager
    def in_pieces(self, plan_id: str) -> Iterator[StoreInPieces]:
        with self._work:  # nothing is compacted, so no file is replaced
            study = self._whole(plan_id)
            with room_on_disk():
                self._compact(study)
            folder = study.folder.resolve()
            pieces = [FilePiece(str(folder / file.name), file.rows) for file in study.state.reports]
            yield StoreInPieces(self.study(plan_id), pieces)

    def delete_reports(self, plan_id: str) -> None:
        with self._work, room_on_disk():
            study = self._study(plan_id)
            check_deletable(study.state.state, study.state.staged)
            self._compact(study)
            with self._lock:
                nothing = replace(study.state, reports=(), withdrawn=(), released=(), handed=(), batches=())
                study.publish(replace(nothing, state=StudyState.DELETED))
            study.tidy()

    # ------------------------------------------------------------ batches

    def stage_batch(
        self, plan_id: str, mix: Mix, *, reports: Chunks | None = None, instead_of: str | None = None
    ) -> Batch:
        with self._work, room_on_disk():
            waiting = self.staged_batch(plan_id)
            if waiting is not None and waiting.digest != instead_of:
                return waiting
            study = self._whole(plan_id)
            self._compact(study)
            batch, state = study.stage(mix, reports)
            with self._lock:
                study.publish(replace(state, state=study.state.state))  # as of now
            study.tidy()
            return batch

    def was_staged(self, plan_id: str, reports: str) -> bool:
        return reports in self._study(plan_id).state.handed

    def staged_batch(self, plan_id: str) -> Batch | None:
        with self._lock:
            study = self._study(plan_id)
            return None if study.state.staged is None else study.read_batch(study.state.staged)

    def acknowledge_batch(self, plan_id: str, digest: str) -> None:
        with self._work:
            study = self._study(plan_id)
            with self._lock:
                if study.state.staged == digest:
                    study.publish(replace(study.state, staged=None))
                study.tidy()

    def put_batch(self, plan_id: str, digest: str, data: bytes) -> bool:
        batch = Batch.of(data, digest)
        with self._work:
            if digest in self._study(plan_id).state.batches:
                return False
            study = self._taking(plan_id)
            study.write_batch(batch)
            with self._lock:
                self._taking(plan_id)  # it may have been closed meanwhile
                study.publish(replace(study.state, batches=tuple(sorted([*study.state.batches, digest]))))
            return True

    def batches(self, plan_id: str) -> Iterator[Batch]:
        study = self._existing(plan_id)
        return map(study.read_batch, study.state.batches)

    # ------------------------------------------------------------ documents and invitations

    def put_document(self, plan_id: str, name: str, data: bytes) -> bytes:
        study, name = self._study(plan_id), checked_name(name)
        with self._lock:
            return study.put_document(name, data)

    def document(self, plan_id: str, name: str) -> bytes | None:
        return self._study(plan_id).document(checked_name(name))

    def invite(self, plan_id: str, marks: NDArray[np.uint8]) -> None:
        with self._work:
            self._existing(plan_id).invite(checked_rows("marks", marks, MARK_BYTES))

    def invited(self, plan_id: str, marks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return self._study(plan_id).invited(checked_rows("marks", marks, MARK_BYTES))


def check_title(folder: Path) -> None:
    """Raise StoreError unless a folder holds a store of this version, FileError if it does not say so."""
    found = read_checked(folder / "store")
    title = re.fullmatch(rf"{FORMAT} ([1-9][0-9]{{0,8}})\n".encode(), found)
    if title is None:
        raise FileError(folder / "store", 0, repr(_TITLE), f"{found[:40]!r}: something else")
    if (version := int(title[1])) != VERSION:
        raise StoreError(f"{folder} has version {version} of the store, this program reads {VERSION}")


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Keep other processes out of a store's folder; StoreError if one has it open, or wait for it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise StoreError(
                f"{folder} is open in another process; an embedded store has one writer. Stop that one "
                "first, or keep the store in PostgreSQL"
            ) from None
        yield
    finally:
        os.close(handle)  # and with it the lock, also after a crash
