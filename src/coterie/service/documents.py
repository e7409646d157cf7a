"""What studies left, for any number of readers: a document comes from the store once, then from a file.

A table may have many megabytes, and its readers be slow. Each holds one piece of it in memory, never the
whole, and only so many read at a time, so that readers cannot take all connections.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator
from typing import Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from coterie.service.connection import PIECE
from coterie.service.problems import Problem, not_decoded
from coterie.service.results import MANIFEST
from coterie.store import Store

MOST_FILES: Final = 64  # that are kept open for the next reader


class Document:
    """A file without a name, gone with its last reader."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            self._handle = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._handle)

    def piece(self, start: int) -> bytes:
        """Return the piece that starts there."""
        return os.pread(self._handle, PIECE, start)

    def pieces(self) -> Iterator[bytes]:
        """Yield all of it."""
        return (self.piece(start) for start in range(0, self.size, PIECE))


class Documents:
    """The documents of a store, and who reads them.

    Parameters
    ----------
    store : Store
        Where they come from.
    most_readers : int
        Who may read at a time.
    """

    def __init__(self, store: Store, most_readers: int) -> None:
        self._store = store
        self._left = most_readers
        self._lock = threading.Lock()  # one document at a time is in memory as a whole
        self._kept = functools.lru_cache(MOST_FILES)(self._read)

    def find(self, plan_id: str, name: str) -> Document:
        """Return a document of a study; it never changes. Blocks.

        Raises
        ------
        Problem
            If the study was not decoded.
        """
        with self._lock:
            return self._kept(plan_id, name)

    def _read(self, plan_id: str, name: str) -> Document:
        decoded = self._store.document(plan_id, MANIFEST) is not None  # it is the last that is kept
        data = self._store.document(plan_id, name) if decoded else None
        if data is None:
            raise not_decoded()
        return Document(data)

    def answer(self, document: Document, media_type: str, headers: dict[str, str]) -> Response:
        """Return the answer that hands a document out."""
        return _Answer(self, document, media_type, headers)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Count a reader; Problem if so many read already that this one has to come again."""
        if not self._left:
            raise Problem("crowded", "too many read at the moment; come again", {"retry-after": "5"})
        self._left -= 1
        try:
            yield
        finally:
            self._left += 1


class _Answer(StreamingResponse):
    def __init__(
        self, documents: Documents, document: Document, media_type: str, headers: dict[str, str]
    ) -> None:
        size = {"content-length": str(document.size)}
        super().__init__(document.pieces(), headers={**headers, **size}, media_type=media_type)
        self._documents = documents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._documents.reading():
            await super().__call__(scope, receive, send)
