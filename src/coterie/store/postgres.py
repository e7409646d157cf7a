"""The store in PostgreSQL: any number of servers on one database.

Every method is one transaction, so a crash anywhere leaves all of it or nothing. Each may be repeated: when
the connection breaks and nobody knows whether a commit has happened, it is done again, and the sets are the
same.

- *Taking in* is one insert of packed reports (`schema`), under a shared lock of the study; *closing* takes
  that lock for itself. So no append is under way when a study closes, and every later one sees it closed.
- *Compaction* merges in this process (`study_rows.StudyRows.compact`), in bounded memory, under a lock that
  one server has at a time; readers go on with what they see.

*Times and order.* No column holds a time. What came in lies in its order until a compaction; afterwards the
database holds sorted blocks, and VACUUM frees the rest. The server's own logs (WAL, and statements with their
parameters if it is told to log them) are its administrator's matter: docs/deploy.md.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie.errors import (
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StudyClosedError,
    UnknownPlanError,
    bringing,
)
from coterie.plan import Plan
from coterie.store.base import (
    Batch,
    Chunks,
    Counts,
    Mix,
    Store,
    Study,
    checked_name,
    checked_rows,
)
from coterie.store.pieces import BLOCKS_PER_PIECE, DatabasePiece, StoreInPieces
from coterie.store.schema import migrate
from coterie.store.sets import REPORTS, WITHDRAWN
from coterie.store.study_rows import PIECE_BYTES, TAKING_LOCK, StudyRows
from coterie.wire.layout import ID_BYTES, as_rows
from coterie.wire.tokens import MARK_BYTES

if TYPE_CHECKING:
    from psycopg import Connection

CONNECTIONS: Final = 8  # to the database, at most
PATIENCE: Final = 20.0  # seconds to try again while the database does not answer
_PATIENCE_AT_START: Final = 10.0

_T = TypeVar("_T")


class PostgresStore(Store):
    """A store in a PostgreSQL database, in its schema `coterie`, made if it is not there.

    Parameters
    ----------
    url : str
        `postgresql://user:password@host/database`, as libpq reads it.
    patience : float
        Seconds to try again while the database does not answer, before StoreUnavailableError.

    Raises
    ------
    StoreUnavailableError
        If the database cannot be reached.
    StoreError
        If its schema is newer than this program, or it does not flush commits to the disk.
    """

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        with bringing("service"):
            import psycopg
            import psycopg_pool
        self._psycopg = psycopg
        self._url = url
        self._patience = patience
        self._known: dict[str, tuple[int, Plan]] = {}  # these never change
        self._begin(url, time.monotonic() + min(patience, _PATIENCE_AT_START))
        self._pool: psycopg_pool.ConnectionPool[Connection[Any]] = psycopg_pool.ConnectionPool(
            url,
            min_size=1,
            max_size=CONNECTIONS,
            configure=_insist_on_disk,
            kwargs={"application_name": "coterie"},
            open=True,
        )

    def _begin(self, url: str, end: float) -> None:
        """Bring the database to this version, once it answers."""
        while True:
            try:
                with self._psycopg.connect(url, connect_timeout=10) as connection:
                    migrate(connection)
                return
            except self._psycopg.OperationalError as error:
                if time.monotonic() > end:  # no report was near: its words say who and where
                    raise StoreUnavailableError(f"PostgreSQL cannot be reached: {error}") from None
                time.sleep(0.2)

    def shut(self) -> None:
        self._pool.close()

    def room(self) -> None:
        return None

    def probe(self) -> None:
        try:
            with self._pool.connection(timeout=1.0) as connection:
                connection.execute("SELECT 1")
        except self._psycopg.Error as error:
            raise StoreUnavailableError(f"PostgreSQL does not answer ({_reason(error)})") from None

    # ------------------------------------------------------------ transactions

    def _run(self, work: Callable[[Connection[Any]], _T], *, again: bool = True) -> _T:
        """Do work in a transaction; from its start again, if it may be, where the connection breaks."""
        if self._pool.closed:
            raise StoreError("the store was shut")
        end = time.monotonic() + self._patience
        for attempt in itertools.count():
            try:
                with self._pool.connection(timeout=max(0.1, end - time.monotonic())) as connection:
                    return work(connection)
            except self._psycopg.errors.DiskFull as error:
                raise StoreFullError("the database's disk is full; nothing was taken in") from error
            except (self._psycopg.OperationalError, self._psycopg.InterfaceError) as error:
                if time.monotonic() > end or not again:
                    raise StoreUnavailableError(f"PostgreSQL does not answer ({_reason(error)})") from None
                time.sleep(min(1.0, 0.05 * 2**attempt))
                with contextlib.suppress(self._psycopg.Error):
                    self._pool.check()  # a restart of the database broke the others, too
            except self._psycopg.Error as error:
                raise StoreError(f"PostgreSQL refused ({_reason(error)})") from None
        raise AssertionError

    def _on(self, plan_id: str, work: Callable[[StudyRows], _T], *, again: bool = True) -> _T:
        """Do work on one study in a transaction."""
        return self._run(lambda connection: work(self._rows(connection, plan_id)), again=again)

    def _rows(self, connection: Connection[Any], plan_id: str) -> StudyRows:
        """Return a study; UnknownPlanError if there is none."""
        if plan_id not in self._known:
            found = connection.execute(
                "SELECT number, plan FROM coterie.studies WHERE encode(plan_id, 'hex') = %s", [plan_id]
            ).fetchone()
            if found is None:
                raise UnknownPlanError(f"the store holds no plan {plan_id[:64]}")
            self._known[plan_id] = (found[0], Plan.from_json(found[1]))
        return StudyRows(connection, *self._known[plan_id])

    # ------------------------------------------------------------ plans

    def put_plan(self, plan: Plan) -> bool:
        query = "INSERT INTO coterie.studies (plan_id, plan) VALUES (%b, %s) ON CONFLICT DO NOTHING"
        values = [plan.id_bytes, plan.to_json()]
        return self._run(lambda connection: connection.execute(query, values).rowcount == 1)

    def plan_ids(self) -> list[str]:
        query = "SELECT encode(plan_id, 'hex') FROM coterie.studies"
        return sorted(row[0] for row in self._run(lambda connection: connection.execute(query).fetchall()))

    def study(self, plan_id: str) -> Study:
        return self._on(plan_id, StudyRows.study)

    # ------------------------------------------------------------ while a study is open

    def append(self, batches: Sequence[tuple[str, NDArray[np.uint8]]]) -> list[StoreError | None]:
        return self._run(lambda connection: self._append(connection, batches))

    def _append(
        self, connection: Connection[Any], batches: Sequence[tuple[str, NDArray[np.uint8]]]
    ) -> list[StoreError | None]:
        found: list[int | StoreError] = []  # studies by their numbers
        pieces: dict[tuple[int, int], list[bytes]] = defaultdict(list)  # by study and width
        for plan_id, reports in batches:
            try:
                study = self._rows(connection, plan_id)
            except UnknownPlanError as error:
                found.append(error)
                continue
            found.append(study.number)
            width = study.plan.report_width
            pieces[study.number, width].append(as_rows(reports, width).tobytes())
        taken = _insert(connection, REPORTS, {key: b"".join(body) for key, body in pieces.items()})

        def answer(each: int | StoreError) -> StoreError | None:
            if isinstance(each, StoreError):
                return each
            return None if each in taken else StudyClosedError("the study is closed")

        return list(map(answer, found))

    def withdraw(self, plan_id: str, ids: NDArray[np.uint8]) -> None:
        body = checked_rows("ids", ids, ID_BYTES).tobytes()

        def work(study: StudyRows) -> None:
            if not _insert(study.connection, WITHDRAWN, {(study.number, ID_BYTES): body}):
                raise StudyClosedError("the study is closed")

        self._on(plan_id, work)

    def close(self, plan_id: str) -> None:
        self._on(plan_id, StudyRows.close)

    # ------------------------------------------------------------ reading

    def compact(self, plan_id: str) -> Counts:
        if self._on(plan_id, StudyRows.compact):
            self._vacuum()
        return self.study(plan_id).counts

    def _vacuum(self) -> None:
        """Free what was deleted; if another server is at it, that one does."""
        with contextlib.suppress(self._psycopg.Error), self._pool.connection() as connection:
            connection.autocommit = True
            try:
                connection.execute("VACUUM (SKIP_LOCKED) coterie.incoming, coterie.blocks, coterie.batches")
            finally:
                connection.autocommit = False

    def reports(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        self._on(plan_id, StudyRows.existing)
        self.compact(plan_id)
        return self._read(plan_id)

    def came(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        self.compact(plan_id)
        return iter(self._on(plan_id, lambda study: study.existing().came()))

    def _read(self, plan_id: str) -> Iterator[NDArray[np.uint8]]:
        """Yield what counts, as one transaction sees it."""
        try:
            with self._at_one_moment(plan_id) as study:
                yield from study.rows(REPORTS)
        except self._psycopg.Error as error:
            raise StoreUnavailableError(f"PostgreSQL stopped answering ({_reason(error)})") from None

    @contextlib.contextmanager
    def _at_one_moment(self, plan_id: str) -> Iterator[StudyRows]:
        """Read a study in a transaction that sees one moment."""
        with self._pool.connection() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield self._rows(connection, plan_id)

    @contextlib.contextmanager
    def in_pieces(self, plan_id: str) -> Iterator[StoreInPieces]:
        self._on(plan_id, StudyRows.existing)
        self.compact(plan_id)
        with self._at_one_moment(plan_id) as study:
            snapshot, sizes = study.snapshot(REPORTS)
            width, pieces = study.plan.report_width, []
            for start in range(0, len(sizes), BLOCKS_PER_PIECE):
                few = sizes[start : start + BLOCKS_PER_PIECE]
                count, end = sum(size for _, size in few) // width, few[-1][0] + 1
                pieces.append(
                    DatabasePiece(self._url, snapshot, study.number, REPORTS, few[0][0], end, count)
                )
            yield StoreInPieces(study.study(), pieces)

    def delete_reports(self, plan_id: str) -> None:
        self._on(plan_id, StudyRows.delete)
        self._vacuum()

    # ------------------------------------------------------------ batches

    def stage_batch(
        self, plan_id: str, mix: Mix, *, reports: Chunks | None = None, instead_of: str | None = None
    ) -> Batch:
        again = reports is None  # an iterator cannot be read again
        batch = self._on(plan_id, lambda study: study.stage(mix, reports, instead_of), again=again)
        self._vacuum()
        return batch

    def was_staged(self, plan_id: str, reports: str) -> bool:
        query = "SELECT %s = ANY(handed) FROM coterie.studies WHERE number = %s"
        return bool(self._on(plan_id, lambda study: study.one(query, reports))[0])

    def staged_batch(self, plan_id: str) -> Batch | None:
        return self._on(plan_id, StudyRows.staged)

    def acknowledge_batch(self, plan_id: str, digest: str) -> None:
        self._on(plan_id, lambda study: study.acknowledge(digest))

    def put_batch(self, plan_id: str, digest: str, data: bytes) -> bool:
        batch = Batch.of(data, digest)
        return self._on(plan_id, lambda study: study.take_batch(batch))

    def batches(self, plan_id: str) -> Iterator[Batch]:
        digests = self._on(plan_id, lambda study: study.existing().digests(staged=False))
        return (self._on(plan_id, methodcaller("batch", digest)) for digest in digests)

    # ------------------------------------------------------------ documents and invitations

    def put_document(self, plan_id: str, name: str, data: bytes) -> bytes:
        query = "INSERT INTO coterie.documents (name, body, study) VALUES (%s, %b, %s) ON CONFLICT DO NOTHING"
        self._on(plan_id, lambda study: study.do(query, checked_name(name), data))
        return self.document(plan_id, name) or b""

    def document(self, plan_id: str, name: str) -> bytes | None:
        query = "SELECT body FROM coterie.documents WHERE name = %s AND study = %s"
        row = self._on(plan_id, lambda study: study.one(query, checked_name(name)))
        return None if row is None else row[0]

    def invite(self, plan_id: str, marks: NDArray[np.uint8]) -> None:
        checked_rows("marks", marks, MARK_BYTES)
        self._on(plan_id, lambda study: study.invite(marks))

    def invited(self, plan_id: str, marks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        asked = [mark.tobytes() for mark in checked_rows("marks", marks, MARK_BYTES)]
        query = "SELECT mark FROM coterie.invitations WHERE study = %s AND mark = ANY(%b::bytea[])"
        found = {row[0] for row in self._on(plan_id, lambda study: study.all(query, asked))}
        return np.array([mark in found for mark in asked], dtype=bool)


def _insert(connection: Connection[Any], kind: int, bodies: dict[tuple[int, int], bytes]) -> set[int]:
    """Insert what came in, by study and width, for studies that are open; return the numbers of those."""
    studies, counts, pieces = [], [], []
    for (study, width), body in bodies.items():
        size = width * max(1, PIECE_BYTES // width)
        for start in range(0, max(1, len(body)), size):
            piece = body[start : start + size]
            studies.append(study)
            counts.append(len(piece) // width)
            pieces.append(piece)
    if not studies:
        return set()
    with connection.pipeline():
        connection.execute(
            "SELECT pg_advisory_xact_lock_shared(%s, study)"
            " FROM (SELECT DISTINCT unnest(%s::integer[]) AS study ORDER BY study) AS locked",
            [TAKING_LOCK, studies],
        )
        done = connection.execute(  # a statement sees what was committed before it began: also a close
            """WITH opened AS (SELECT number FROM coterie.studies
                               WHERE state = 'open' AND number = ANY(%s::integer[])),
            kept AS (INSERT INTO coterie.incoming (study, kind, count, body)
                     SELECT study, %s, count, body
                     FROM unnest(%s::integer[], %s::integer[], %b::bytea[]) AS came (study, count, body)
                     WHERE count > 0 AND study IN (SELECT number FROM opened))
            SELECT number FROM opened""",
            [studies, kind, studies, counts, pieces],
        )
        return {row[0] for row in done.fetchall()}


def _insist_on_disk(connection: Connection[Any]) -> None:
    """Let a commit be on the disk when it is answered, whatever the database's default is."""
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


def _reason(error: Exception) -> str:
    """Return what may be said of an error: its kind, never the database's words, which may quote values."""
    code = getattr(error, "sqlstate", None)
    return type(error).__name__ + (f", SQLSTATE {code}" if code else "")
