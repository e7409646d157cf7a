"""The interface of a store, and what every implementation promises.

A store keeps, for each plan, a set of reports and a set of withdrawn ids. Both only grow while the study is
open, so the order in which requests arrive, are repeated or are cut into pieces decides nothing:

    counted = { the smallest report of each id } without the withdrawn and the released ids

- **Durable**: when a method that changes something returns, its effect survives SIGKILL of every process and
  loss of power. Before that it has happened wholly or not at all, for each pair of an `append` by itself.
- **Once**: an id counts once, however often it is sent, over batches, restarts and servers.
- **Closed is closed**: once `close` has returned, on any server, no `append` or `withdraw` takes effect.
- **No order of arrival**: after `compact` nothing tells in which order or when reports came.
- **Released once**: a shuffler's store hands reports on in batches (`stage_batch`). A report enters one
  batch, ever; from then on the store holds its id alone. A batch is kept until it is acknowledged.

Methods block; a service calls them from threads. One store object may be used by several threads at once.
Reports given to a store have the plan's form already (`coterie.wire.forms`).
"""

from __future__ import annotations

import abc
import enum
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.collect.batches import counted_once
from coterie.errors import StoreError
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES, in_pieces
from coterie.wire.shuffled_file import ShuffledFile

if TYPE_CHECKING:
    from coterie.store.pieces import StoreInPieces


Chunks = Iterator[NDArray[np.uint8]]  # rows, (m, width) at a time
Mix = Callable[[Chunks], bytes]

_REPORTS: Final = b"coterie/1/batch"  # opens what the reports of a batch are named by
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class StudyState(enum.StrEnum):
    """What a study is at."""

    OPEN = "open"
    CLOSED = "closed"  # its reports are final
    DELETED = "deleted"  # its reports are gone, as the plan's retention says; its documents are not


@dataclass(frozen=True, slots=True)
class Counts:
    """How many reports a store holds of a plan.

    `received` counts every accepted report, repetitions included, and is all that an open study tells
    cheaply. The others are as of the last `compact` and 0 before it. What is removed is not kept, so whether
    a repetition is noticed as duplicate or conflicting can depend on when it came; the others depend on the
    sets alone.
    """

    received: int
    counted: int = 0  # ids that count
    duplicates: int = 0  # exact repetitions
    conflicting: int = 0  # same id, other contents
    withdrawn: int = 0  # ids withdrawn
    released: int = 0  # ids that left in batches
    batches: int = 0  # batches held: made here and not acknowledged, or taken in


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that a shuffler's store keeps until it is acknowledged."""

    digest: str  # SHA-256 of the data, 64 hex digits
    data: bytes

    @classmethod
    def of(cls, data: bytes, digest: str | None = None) -> Self:
        """Name a batch by its bytes; StoreError if its sender says another digest."""
        batch = cls(hashlib.sha256(data).hexdigest(), data)
        if digest not in (None, batch.digest):
            raise StoreError(f"the batch does not have the digest it was sent under: it has {batch.digest}")
        return batch


@dataclass(frozen=True, slots=True)
class Lost:
    """Reports that were acknowledged and are lost: files of the store were damaged or gone."""

    reports: int  # at least: of some files it is not known how many they held
    files: int
    accepted: bool  # whether somebody said that the study is to go on without them


@dataclass(frozen=True, slots=True)
class Study:
    """A plan and where it stands."""

    plan: Plan
    state: StudyState
    counts: Counts
    lost: Lost | None = None


class Store(AbstractContextManager["Store"], abc.ABC):
    """Reports of any number of plans, kept durably. See the module for what is promised."""

    def __exit__(self, *_: object) -> None:
        self.shut()

    @abc.abstractmethod
    def shut(self) -> None:
        """Let go of files and connections. What was promised stays."""

    @abc.abstractmethod
    def room(self) -> int | None:
        """Return how many bytes the disk of the store has left; None where this process cannot know."""

    @abc.abstractmethod
    def probe(self) -> int | None:
        """Return its room once it has answered.

        Raises
        ------
        StoreUnavailableError
            If it does not, at once and without patience.
        """

    # ------------------------------------------------------------ plans

    @abc.abstractmethod
    def put_plan(self, plan: Plan) -> bool:
        """Keep a plan and open its study; return False if it is there already."""

    @abc.abstractmethod
    def plan_ids(self) -> list[str]:
        """Return the ids of all plans, sorted."""

    @abc.abstractmethod
    def study(self, plan_id: str) -> Study:
        """Return a plan, its state and its counts.

        Raises
        ------
        UnknownPlanError
            If there is no such plan.
        """

    # ------------------------------------------------------------ while a study is open

    @abc.abstractmethod
    def append(self, batches: Sequence[tuple[str, NDArray[np.uint8]]]) -> list[StoreError | None]:
        """Take reports in: pairs of a plan's id and rows (n, width), all in one durable commit.

        Returns
        -------
        list
            For each pair None, or why none of its reports was taken in (unknown plan, closed study). Whoever
            gets None may tell the sender that the reports are safe.

        Raises
        ------
        StoreFullError
            If the disk is full: nothing of this call was taken in.
        """

    @abc.abstractmethod
    def withdraw(self, plan_id: str, ids: NDArray[np.uint8]) -> None:
        """Withdraw ids, (n, 12), whether or not they have come in: they never count, whatever comes later.

        Raises
        ------
        StudyClosedError
            If the study is closed.
        """

    @abc.abstractmethod
    def close(self, plan_id: str) -> None:
        """Close a study for good. Closing twice is closing once."""

    # ------------------------------------------------------------ reading

    @abc.abstractmethod
    def compact(self, plan_id: str) -> Counts:
        """Resolve repetitions and withdrawals, forget the order of arrival; also while the study is open."""

    @abc.abstractmethod
    def reports(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        """Yield what counts, sorted by id, (m, width) at a time, in bounded memory; compacts first.

        Raises
        ------
        StudyIncompleteError
            If acknowledged reports were lost, and nobody accepted it; as for all that follows.
        """

    @abc.abstractmethod
    def came(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        """Yield the ids, (m, 12) at a time, of all that came in or was withdrawn; compacts first.

        Raises
        ------
        StoreError
            If the reports of the study were deleted: then nothing tells any more.
        """

    def messages(self, plan_id: str) -> Chunks:
        """Yield what the plan's table adds up: what counts, or the messages of batches that do."""
        plan = self.study(plan_id).plan
        if not plan.mixed:
            return self.reports(plan_id)
        messages = (
            rows
            for batch in self.batches(plan_id)
            for rows in in_pieces(ShuffledFile.rows_of(batch.data, plan, "a batch of the store"))
        )
        return counted_once(plan, messages)

    @abc.abstractmethod
    def in_pieces(self, plan_id: str) -> AbstractContextManager[StoreInPieces]:
        """Compact, and hold what counts still for readers in other processes while a block lasts.

        The block gets the study and its pieces (`coterie.store.pieces`).
        """

    @abc.abstractmethod
    def delete_reports(self, plan_id: str) -> None:
        """Delete the reports of a closed study and its batches; plan, counts and documents stay.

        Raises
        ------
        StoreError
            If the study is open, or a staged batch was not acknowledged yet.
        """

    def accept_loss(self, plan_id: str) -> None:
        """Let a study go on without the reports that were lost; nothing where none were."""
        self.study(plan_id)

    # ------------------------------------------------------------ batches, made by a shuffler or taken in

    @abc.abstractmethod
    def stage_batch(
        self, plan_id: str, mix: Mix, *, reports: Chunks | None = None, instead_of: str | None = None
    ) -> Batch:
        """Make a batch of all that counts, and keep it, in one durable step; its reports are then released.

        A batch that still waits for its acknowledgement is returned instead: whoever asks again, after a
        crash or on another server, gets the same bytes.

        Parameters
        ----------
        plan_id : str
            The plan.
        mix : callable
            Gets the reports, (m, width) at a time, sorted by id, takes all of them and returns the batch's
            bytes. If it raises (too few people, say), nothing has happened.
        reports : iterator of ndarray of uint8, each of shape (m, width), optional
            Reports that the batch is made of instead of what was taken in, sorted, each id once; those that
            were released or withdrawn before are left out. They are handed on and not kept.
        instead_of : str, optional
            Digest of the batch that waits, if the new one is to take its place.

        Raises
        ------
        StoreError
            If the reports of the study were deleted.
        """

    @abc.abstractmethod
    def was_staged(self, plan_id: str, reports: str) -> bool:
        """Return whether a batch of exactly these reports was ever made, by their `reports_digest`."""

    @abc.abstractmethod
    def staged_batch(self, plan_id: str) -> Batch | None:
        """Return the batch that waits for its acknowledgement, or None."""

    @abc.abstractmethod
    def acknowledge_batch(self, plan_id: str, digest: str) -> None:
        """Forget a staged batch that its receiver keeps; of its reports the ids stay. Twice is once."""

    @abc.abstractmethod
    def put_batch(self, plan_id: str, digest: str, data: bytes) -> bool:
        """Take a batch in that a shuffler released; return False if it is there already.

        Raises
        ------
        StoreError
            If `digest` is not the SHA-256 of the data, 64 hex digits.
        StudyClosedError
            If the study is closed, and the batch is not there already.
        """

    @abc.abstractmethod
    def batches(self, plan_id: str) -> Iterator[Batch]:
        """Yield the batches that were taken in, in the order of their digests."""

    # ------------------------------------------------------------ what a study leaves, and invitations

    @abc.abstractmethod
    def put_document(self, plan_id: str, name: str, data: bytes) -> bytes:
        """Keep a document under a name, if there is none; return the one that is kept.

        Of several servers that decode at once one is first, and all of them answer with its bytes.
        """

    @abc.abstractmethod
    def document(self, plan_id: str, name: str) -> bytes | None:
        """Return a document, or None."""

    @abc.abstractmethod
    def invite(self, plan_id: str, marks: NDArray[np.uint8]) -> None:
        """Keep the marks, (n, 32), of tokens that were issued (`coterie.wire.tokens.token_mark`)."""

    @abc.abstractmethod
    def invited(self, plan_id: str, marks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which marks, (n, 32), are of tokens that were issued: (n,)."""


# ---------------------------------------------------------------- what both implementations check


def checked_rows(what: str, rows: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Return ids or marks if they are (n, width) bytes."""
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(
            f"{what} must be uint8 of shape (n, {width}), got {rows.dtype} of shape {rows.shape}"
        )
    return rows


def checked_name(name: str) -> str:
    """Return the name of a document if it is one."""
    if not _NAME.fullmatch(name):
        raise ValueError("a document's name has 1 to 64 of a-z, 0-9, '.', '_', '-', and no sign first")
    return name


def check_deletable(state: StudyState, staged: str | None) -> None:
    """Raise StoreError unless the reports of a study may be deleted."""
    if state is StudyState.OPEN:
        raise StoreError("the study is open; close it before its reports are deleted")
    if staged is not None:
        raise StoreError("a staged batch was not acknowledged yet; deliver it before its reports are deleted")


def mixed_batch(
    plan: Plan, chunks: Chunks, mix: Mix, keep: Callable[[NDArray[np.uint8]], object]
) -> tuple[Batch, str]:
    """Return what `mix` makes of all reports, whose ids are kept, (m, 12) at a time, and their digest."""
    digest = hashlib.sha256(_REPORTS + plan.id_bytes)

    def handed() -> Chunks:
        for rows in chunks:
            digest.update(np.ascontiguousarray(rows).data)
            keep(np.ascontiguousarray(rows[:, :ID_BYTES]))
            yield rows

    reports = handed()
    data = mix(reports)
    if next(reports, None) is not None:
        raise StoreError("a batch was made of some of its reports only; nothing was released")
    return Batch.of(data), digest.hexdigest()


def reports_digest(plan: Plan, rows: NDArray[np.uint8]) -> str:
    """Return the digest of reports, (n, width), sorted, that names the batch they make.

    It is SHA-256("coterie/1/batch" ‖ plan id ‖ the reports), in hex.
    """
    digest = hashlib.sha256(_REPORTS + plan.id_bytes)
    digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()
