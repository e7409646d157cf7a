"""One study in PostgreSQL, inside one transaction: what the methods of the store do there.

Three locks (PostgreSQL's advisory ones, held until the transaction ends): *taking*, shared by everything that
takes something in and held alone by a close; *work*, one compaction of a study at a time; and one for the
schema.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Deduplicator
from coterie.errors import StoreError, StudyClosedError
from coterie.plan import Plan
from coterie.store.base import (
    Batch,
    Chunks,
    Counts,
    Mix,
    Study,
    StudyState,
    check_deletable,
    mixed_batch,
)
from coterie.store.sets import COUNTS, RELEASED, REPORTS, WITHDRAWN, Sets
from coterie.wire.layout import ID_BYTES, as_rows, regrouped
from coterie.wire.tokens import MARK_BYTES

if TYPE_CHECKING:
    from psycopg import Connection

BLOCK_BYTES: Final = 1 << 20  # of sorted reports in one value
PIECE_BYTES: Final = 1 << 24  # of anything else in one value, at most
FETCHED_BYTES: Final = 1 << 25  # of what came in, at a time

TAKING_LOCK, WORK_LOCK = 0x636F7432, 0x636F7433


@dataclass(frozen=True, slots=True)
class StudyRows(Sets):
    """A study as one transaction sees it."""

    connection: Connection[Any]
    number: int
    plan: Plan

    def one(self, query: str, *values: object) -> Any:
        """Return the one row of a query about this study, whose number is the last value."""
        return self.connection.execute(query.encode(), [*values, self.number], binary=True).fetchone()

    def all(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query about this study, whose number is the first value."""
        return self.connection.execute(query.encode(), [self.number, *values], binary=True).fetchall()

    def do(self, query: str, *values: object) -> int:
        """Run a statement on this study, whose number is the last value; return how many rows it met."""
        return self.connection.execute(query.encode(), [*values, self.number]).rowcount

    # ------------------------------------------------------------ state

    def state(self) -> StudyState:
        """Return what the study is at."""
        return StudyState(self.one("SELECT state FROM coterie.studies WHERE number = %s")[0])

    def study(self) -> Study:
        """Return plan, state and counts."""
        state, *counts = self.one(
            """SELECT state,
            received + coalesce((SELECT sum(count) FROM coterie.incoming
                                 WHERE study = s.number AND kind = 1), 0)::bigint,
            counted, duplicates, conflicting, withdrawn, released,
            (SELECT count(*) FROM coterie.batches WHERE study = s.number AND piece = 0)
            FROM coterie.studies s WHERE number = %s"""
        )
        return Study(self.plan, StudyState(state), Counts(*counts))

    def existing(self) -> Self:
        """Return the study; StoreError if its reports were deleted."""
        if self.state() is StudyState.DELETED:
            raise StoreError("the reports of this study were deleted, as its plan says")
        return self

    def close(self) -> None:
        """Close the study once everything that is being taken in is through."""
        self.do(f"SELECT pg_advisory_xact_lock({TAKING_LOCK}, %s)")
        self.do("UPDATE coterie.studies SET state = 'closed' WHERE state = 'open' AND number = %s")

    def delete(self) -> None:
        """Delete all but plan, counts and documents."""
        self._work()
        staged = self.digests(staged=True)
        check_deletable(self.state(), staged[0] if staged else None)
        self.compact()
        for table in ("incoming", "blocks", "batches", "invitations"):
            self.do(f"DELETE FROM coterie.{table} WHERE study = %s")  # noqa: S608 - one of four words
        self.do("UPDATE coterie.studies SET state = 'deleted', handed = '{}' WHERE number = %s")

    def _work(self) -> None:
        """Wait until no other transaction compacts the study; others then wait for this one."""
        self.do(f"SELECT pg_advisory_xact_lock({WORK_LOCK}, %s)")

    # ------------------------------------------------------------ what counts

    def compact(self) -> bool:
        """Merge what came in with what counted; return whether anything had come."""
        self._work()
        rows: list[tuple[int, int, int]]
        rows = self.all("SELECT number, kind, count FROM coterie.incoming WHERE study = %s")
        if not rows:
            return False
        once = self.merge(self._incoming(rows, WITHDRAWN), self._incoming(rows, REPORTS))
        self.do(
            "DELETE FROM coterie.incoming WHERE number = ANY(%s) AND study = %s", [row[0] for row in rows]
        )
        self.do(
            """UPDATE coterie.studies SET received = received + %s, duplicates = duplicates + %s,
            conflicting = conflicting + %s WHERE number = %s""",
            *(sum(row[2] for row in rows if row[1] == REPORTS), once.duplicates, once.conflicting),
        )
        return True

    def _incoming(self, rows: list[tuple[int, int, int]], kind: int) -> Chunks:
        """Yield what came in of a kind, so many values at a time that memory is bounded."""
        rows, width = [row for row in rows if row[1] == kind], self.width(kind)
        while rows:
            sizes = itertools.accumulate(row[2] * width for row in rows)
            few = max(1, sum(1 for _ in itertools.takewhile(FETCHED_BYTES.__ge__, sizes)))
            query = "SELECT body FROM coterie.incoming WHERE study = %s AND number = ANY(%s)"
            for (body,) in self.all(query, [row[0] for row in rows[:few]]):
                yield as_rows(body, width)
            rows = rows[few:]

    def rows(self, kind: int) -> Chunks:
        """Yield the rows of a kind that are there now, sorted, a block at a time.

        They stay what they are meanwhile: whoever changes them holds the lock for work, and whoever only
        reads them has a transaction that sees one moment.
        """
        return self.blocks_of(kind, range(self._end(kind)))

    def blocks_of(self, kind: int, numbers: range) -> Chunks:
        """Yield the rows of the blocks with these numbers, a block at a time."""
        width, last, found = self.width(kind), numbers.start - 1, [(0, b"")]
        while found:
            found = self.all(
                "SELECT number, body FROM coterie.blocks"
                " WHERE study = %s AND kind = %s AND number > %s AND number < %s ORDER BY number LIMIT 4",
                *(kind, last, numbers.stop),
            )
            for last, body in found:  # noqa: B007 - the next query begins after it
                yield as_rows(body, width)

    def snapshot(self, kind: int) -> tuple[str, list[tuple[int, int]]]:
        """Export this transaction's snapshot; return its name, and number and bytes of each block."""
        (name,) = self.connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
        query = (
            "SELECT number, length(body) FROM coterie.blocks WHERE study = %s AND kind = %s ORDER BY number"
        )
        return name, self.all(query, kind)

    def rewrite(self, kind: int, chunks: Chunks) -> None:
        """Put sorted rows in the place of the blocks of a kind, which are read meanwhile, and count them."""
        total, size = 0, max(1, BLOCK_BYTES // self.width(kind))
        end = self._end(kind)
        blocks = (
            chunk[start : start + size]
            for chunk in regrouped(chunks, size)
            for start in range(0, len(chunk), size)
        )
        for number, block in enumerate(blocks, start=end):
            self.do(
                "INSERT INTO coterie.blocks (kind, number, body, study) VALUES (%s, %s, %b, %s)",
                *(kind, number, block.tobytes()),
            )
            total += len(block)
        self.do("DELETE FROM coterie.blocks WHERE kind = %s AND number < %s AND study = %s", kind, end)
        self.do(f"UPDATE coterie.studies SET {COUNTS[kind]} = %s WHERE number = %s", total)  # noqa: S608

    def _end(self, kind: int) -> int:
        """Return the number after that of the last block of a kind."""
        query = "SELECT coalesce(max(number), -1) FROM coterie.blocks WHERE kind = %s AND study = %s"
        return int(self.one(query, kind)[0]) + 1

    # ------------------------------------------------------------ batches

    def stage(self, mix: Mix, reports: Chunks | None, instead_of: str | None) -> Batch:
        """Make a batch of what counts, or of others' reports; or return the one that waits."""
        self._work()
        waiting = self.staged()
        if waiting is not None and waiting.digest != instead_of:
            return waiting
        self.existing()
        self.compact()
        if waiting is not None:
            self.acknowledge(waiting.digest)
        return self.release(mix, reports)

    def record(self, mix: Mix, chunks: Chunks) -> Batch:
        """Keep a batch of all these reports, its digest, and its ids as released."""
        with Deduplicator(ID_BYTES, kept=[self.rows(RELEASED)]) as ids:
            batch, digest = mixed_batch(self.plan, chunks, mix, ids.add)
            self.rewrite(RELEASED, ids.chunks())
        self.do("UPDATE coterie.studies SET handed = handed || %s::text WHERE number = %s", digest)
        self._keep(batch, staged=True)
        return batch

    def take_batch(self, batch: Batch) -> bool:
        """Take a batch in; return False if it is there."""
        if batch.digest in self.digests(staged=False):
            return False
        self.do(f"SELECT pg_advisory_xact_lock_shared({TAKING_LOCK}, %s)")
        if self.state() is not StudyState.OPEN:
            raise StudyClosedError("the study is closed")
        return self._keep(batch, staged=False)

    def _keep(self, batch: Batch, *, staged: bool) -> bool:
        """Keep a batch, in pieces; return False if it is there."""
        new = 0
        for piece, start in enumerate(range(0, max(1, len(batch.data)), PIECE_BYTES)):
            new += self.do(
                """INSERT INTO coterie.batches (digest, piece, staged, body, study)
                VALUES (%s, %s, %s, %b, %s) ON CONFLICT DO NOTHING""",
                *(batch.digest, piece, staged, batch.data[start : start + PIECE_BYTES]),
            )
        return new > 0

    def digests(self, *, staged: bool) -> list[str]:
        """Return the digests of batches made here, or of batches taken in, sorted."""
        query = "SELECT digest FROM coterie.batches WHERE study = %s AND staged = %s AND piece = 0"
        return sorted(row[0] for row in self.all(query, staged))

    def batch(self, digest: str) -> Batch:
        """Return a batch."""
        query = "SELECT body FROM coterie.batches WHERE study = %s AND digest = %s ORDER BY piece"
        return Batch.of(b"".join(row[0] for row in self.all(query, digest)), digest)

    def staged(self) -> Batch | None:
        """Return the batch that waits for its acknowledgement."""
        # One statement: another server may acknowledge it any moment.
        rows = self.all("SELECT body FROM coterie.batches WHERE study = %s AND staged ORDER BY piece")
        return Batch.of(b"".join(row[0] for row in rows)) if rows else None

    def acknowledge(self, digest: str) -> None:
        """Forget a batch that was made here."""
        self.do("DELETE FROM coterie.batches WHERE staged AND digest = %s AND study = %s", digest)

    # ------------------------------------------------------------ invitations

    def invite(self, marks: NDArray[np.uint8]) -> None:
        """Keep marks."""
        self.existing()
        size = PIECE_BYTES // MARK_BYTES
        for start in range(0, len(marks), size):
            self.do(
                """INSERT INTO coterie.invitations (mark, study)
                SELECT mark, study FROM unnest(%b::bytea[]) AS mark, (SELECT %s AS study) AS here
                ON CONFLICT DO NOTHING""",
                [mark.tobytes() for mark in marks[start : start + size]],
            )
