"""The interface of a store, and what every implementation promises.

A store keeps, for each plan, a set of reports and a set of withdrawn ids. Both only grow while the study is
open, so the order in which requests arrive, are repeated or are cut into pieces decides nothing:

    counted = { the smallest report of each id } without the withdrawn ids

- **Durable**: when `append`, `withdraw`, `close` or `put_document` returns, its effect survives SIGKILL of
  every process and loss of power. Before that it has happened wholly or not at all.
- **Once**: an id counts once, however often it is sent, over batches, restarts and servers.
- **Closed is closed**: once `close` has returned, on any server, no `append` or `withdraw` takes effect.
- **No order of arrival**: after `compact` nothing tells in which order or when reports came.

Methods block; a service calls them from threads. One store object may be used by several threads at once.
Reports given to a store have the plan's form already (`coterie.wire.forms`).
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import CoterieError
from coterie.plan import Plan


class StoreError(CoterieError):
    """A store cannot do what was asked of it, or is not whole."""


class UnknownPlanError(StoreError, KeyError):
    """The store holds no plan of this id."""

    __str__ = Exception.__str__


class StudyClosedError(StoreError):
    """The study is closed: nothing more is taken in or withdrawn."""


class StoreFullError(StoreError):
    """The disk is full. Nothing that was accepted before is lost, nothing of this request was taken in."""


class StudyState(enum.StrEnum):
    """What a study is at."""

    OPEN = "open"
    CLOSED = "closed"  # its reports are final
    DELETED = "deleted"  # its reports are gone, as the plan's retention says; its documents are not


@dataclass(frozen=True, slots=True)
class Counts:
    """How many reports a store holds of a plan.

    `received` counts every accepted report, repetitions included, and is all that an open study tells
    cheaply. The others are exact as of the last `compact` and 0 before it.
    """

    received: int
    counted: int = 0  # ids that count
    duplicates: int = 0  # exact repetitions
    conflicting: int = 0  # same id, other contents
    withdrawn: int = 0  # ids withdrawn


@dataclass(frozen=True, slots=True)
class Study:
    """A plan and where it stands."""

    plan: Plan
    state: StudyState
    counts: Counts


class Store(abc.ABC):
    """Reports of any number of plans, kept durably. See the module for what is promised."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shut()

    @abc.abstractmethod
    def shut(self) -> None:
        """Let go of files and connections. What was promised stays."""

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
        """Yield what counts, sorted by id, (m, width) at a time, in bounded memory; compacts first."""

    @abc.abstractmethod
    def delete_reports(self, plan_id: str) -> None:
        """Delete the reports of a closed study; plan, counts and documents stay."""

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
        """Tell which marks, (n, 32), are of tokens that were issued: (n,)."""
