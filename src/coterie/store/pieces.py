"""What counts in a store, in pieces that other processes and machines read side by side.

`Store.in_pieces` makes them. No two hold the same id, together they are what `Store.reports` yields, and they
can be read, also again, while its block lasts.

- *A folder*: its sorted report file, which has one digest and so is one piece.
- *PostgreSQL*: ranges of sorted blocks, so of ids. All readers see one exported snapshot, held by whoever
  made the pieces: what other servers take in or compact meanwhile changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.collect.intake import place_in
from coterie.errors import StoreUnavailableError, bringing
from coterie.plan import Plan
from coterie.store.base import Study
from coterie.store.study_rows import StudyRows
from coterie.wire.report_file import ReportFile
from coterie.wire.shuffled_file import ShuffledFile

BLOCKS_PER_PIECE: Final = 64  # of a mebibyte each

_SNAPSHOT: Final = re.compile(r"[0-9A-Fa-f-]{1,64}")


@dataclass(frozen=True, slots=True)
class FilePiece:
    """A report file or, with what its digest should be, a shuffled file; read by one task, in its order."""

    path: str
    count: int
    digest: str | None = None

    @property
    def kind(self) -> type[ReportFile]:
        """What the file is."""
        return ReportFile if self.digest is None else ShuffledFile

    def chunks(self, plan: Plan) -> Iterator[NDArray[np.uint8]]:
        """Yield the rows, and check the digest after the last."""
        return self.kind.open(self.path, plan).chunks()

    def place(self, number: int) -> str:
        """Return in words where a row stands."""
        return place_in(self.kind.open(self.path))(number)


@dataclass(frozen=True, slots=True)
class DatabasePiece:
    """Blocks of a study in PostgreSQL, from one number to before another, as one snapshot sees them."""

    url: str = field(repr=False)  # it may hold a password
    snapshot: str
    study: int
    kind: int
    first: int
    end: int
    count: int
    digest: None = None

    def chunks(self, plan: Plan) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports, (m, width) at a time."""
        with bringing("service"):
            import psycopg
        if not _SNAPSHOT.fullmatch(self.snapshot):
            raise ValueError("this is no name of a snapshot")
        found = 0
        try:
            with psycopg.connect(self.url, connect_timeout=10, application_name="coterie") as connection:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.execute(f"SET TRANSACTION SNAPSHOT '{self.snapshot}'".encode())
                study = StudyRows(connection, self.study, plan)
                for rows in study.blocks_of(self.kind, range(self.first, self.end)):
                    found += len(rows)
                    yield rows
        except psycopg.Error as error:
            words = f"PostgreSQL did not answer an executor ({type(error).__name__})"
            raise StoreUnavailableError(words) from None
        if found != self.count:
            raise StoreUnavailableError(f"a range of {self.count} reports had {found}: ask again")

    def place(self, number: int) -> str:
        """Return in words where a report stands."""
        return f"blocks {self.first} to {self.end} of the store, report {number}"


class StoreInPieces(NamedTuple):
    """A study, and what counts of it."""

    study: Study
    pieces: list[FilePiece] | list[DatabasePiece]
