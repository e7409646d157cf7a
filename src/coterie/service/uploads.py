"""Reports and withdrawals over HTTP: from the body of a request to the answer.

This is the path that every person takes, so it is plain ASGI: no router, no thread of its own, no parsing
beyond the headers that matter. A body is rows back to back; their checks are the writer's.

The answer to rows says only which of them were not taken in, in order:

    {"failures": [{"id": "626d8e…", "reason": "malformed"}]}

An answer to one row is filled up with spaces to `ONE_SIZE` bytes: whoever sees its length learns nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from typing import Any, Final

import numpy as np

from coterie.service.connection import send_in_pieces
from coterie.service.metrics import Metrics
from coterie.service.problems import MEDIA_TYPE as PROBLEM_TYPE
from coterie.service.problems import Problem, busy
from coterie.service.settings import Limits
from coterie.service.studies import REASONS, Known, Studies
from coterie.service.writer import Fates, Writer, problem_of
from coterie.wire.layout import ID_BYTES, as_rows

MEDIA_TYPE: Final = "application/vnd.coterie.reports"
SMALL: Final = 1 << 14  # bytes of a body that always finds room: some thousand reports
ONE_SIZE: Final = 96  # bytes of the answer to one row, whatever became of it

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Grows = Callable[[int], bool]

_MEDIA_TYPE: Final = MEDIA_TYPE.encode()
_NOTHING: Final = b'{"failures":[]}'
_PATH: Final = "/plans/"
_ID_END: Final = len(_PATH) + 64
_REPORTS: Final = "/reports"
_WITHDRAWALS: Final = "/withdrawals"


class Uploads:
    """The ASGI application of `POST …/reports` and `POST …/withdrawals`."""

    def __init__(
        self, studies: Studies, writer: Writer, metrics: Metrics, limits: Limits, model: str
    ) -> None:
        self._studies, self._writer, self._metrics, self._model = studies, writer, metrics, model
        self._most_body = limits.most_body
        self._room = Room(limits.most_waiting)
        self._rate = Rate(limits.reports_per_second)

    @staticmethod
    def takes(scope: Scope) -> bool:
        """Return whether a request is for this application."""
        path = scope["path"]
        return (
            scope["method"] == "POST"
            and path.startswith(_PATH)
            and path[_ID_END:] in (_REPORTS, _WITHDRAWALS)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        with self._room.share() as grows_to:
            await self._answer(scope, receive, send, grows_to)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, grows_to: Grows) -> None:
        try:
            withdraws = scope["path"].endswith(_WITHDRAWALS)
            plan_id = scope["path"][len(_PATH) : _ID_END]
            known = self._studies.get(plan_id) or await self._studies.find(plan_id)
            if known.plan.model != self._model:
                raise Problem("direct-report", "send it to the plan's shuffler, which mixes it with others")
            body = await self._body(scope, receive, grows_to)
            count, rest = divmod(len(body), known.width)
            if rest or not count:
                raise Problem(
                    "malformed-request",
                    f"the body must be whole reports of {known.width} bytes, at least one; none was taken in",
                )
            if not self._rate.allows(count):
                raise busy(1)
            fates = await self._writer.put(known, body, withdraws=withdraws)
        except Exception as error:  # every failure has its document
            problem = problem_of(error)
            unread = (
                {"connection": "close"} if problem.status == 413 else {}
            )  # the rest of the body is not read
            headers = {**problem.headers, **unread}
            await self._reply(send, problem.status, problem.document(), PROBLEM_TYPE, headers)
            if problem.kind == "internal":
                raise
            return
        answer = _NOTHING if fates is None else failures(known, body, fates)
        await self._reply(send, 200, answer.ljust(ONE_SIZE) if count == 1 else answer, "application/json", {})

    async def _body(self, scope: Scope, receive: Receive, grows_to: Grows) -> bytes:
        """Read the body, bounded."""
        kind = b""
        for name, value in scope["headers"]:
            if name == b"content-type":
                kind = value
            elif name == b"content-length" and int(value) > self._most_body:
                raise self._too_large()
            elif name == b"content-encoding":
                raise Problem("wrong-type", "send the body as it is, without an encoding")
        if kind != _MEDIA_TYPE and kind.partition(b";")[0].strip().lower() != _MEDIA_TYPE:
            raise Problem("wrong-type", f"the body must be {MEDIA_TYPE}")
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise Problem("malformed-request", "the body was cut short; none was taken in")
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > self._most_body:
                raise self._too_large()
            if size > SMALL and not grows_to(size):
                raise busy(1)
            more = message.get("more_body", False)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_large(self) -> Problem:
        return Problem("too-large", f"send at most {self._most_body} bytes at a time; none was taken in")

    async def _reply(
        self, send: Send, status: int, body: bytes, media_type: str, more: Mapping[str, str]
    ) -> None:
        self._metrics.answer(status)
        head = {"content-type": media_type, "content-length": str(len(body)), "cache-control": "no-store"}
        headers = [(name.encode(), value.encode()) for name, value in {**head, **more}.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send_in_pieces({"type": "http.response.body", "body": body}, send)


def failures(known: Known, body: bytes, fates: Fates) -> bytes:
    """Return the answer that lists what was not taken in, in order."""
    rows = as_rows(body, known.width)
    wrong = np.flatnonzero(fates)
    ids = np.ascontiguousarray(rows[wrong, known.skip : known.skip + ID_BYTES]).tobytes().hex()
    size, kinds = 2 * ID_BYTES, fates[wrong]
    if (kinds == kinds[0]).all():  # a whole request that is refused must cost the others nothing
        entry = f'{{"id":"{"0" * size}","reason":"{REASONS[kinds[0] - 1]}"}},'.encode()
        entries = np.tile(np.frombuffer(entry, dtype=np.uint8), (len(wrong), 1))
        entries[:, 7 : 7 + size] = as_rows(ids.encode(), size)
        return b'{"failures":[' + entries.tobytes()[:-1] + b"]}"
    listed = ",".join(
        f'{{"id":"{ids[size * place : size * (place + 1)]}","reason":"{REASONS[fate - 1]}"}}'
        for place, fate in enumerate(kinds.tolist())
    )
    return f'{{"failures":[{listed}]}}'.encode()


class Room:
    """Bytes of large requests that may be here at a time, from their first piece until they are answered.

    Examples
    --------
    >>> room = Room(100)
    >>> with room.share() as one, room.share() as other:
    ...     one(60), other(60), one(100)
    (True, False, True)
    >>> room.left
    100
    """

    def __init__(self, left: int) -> None:
        self.left = left

    @contextlib.contextmanager
    def share(self) -> Iterator[Grows]:
        """Give one request its share: a function that takes so much in all, if there is room."""
        held = 0

        def grows_to(size: int) -> bool:
            nonlocal held
            if size - held > self.left:
                return False
            self.left -= size - held
            held = size
            return True

        try:
            yield grows_to
        finally:
            self.left += held


class Rate:
    """So many rows per second, and as many at once after a pause.

    Examples
    --------
    >>> rate = Rate(10, clock=lambda: 0.0)
    >>> rate.allows(10), rate.allows(1)
    (True, False)
    """

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._left = float(per_second)
        self._last = clock()

    def allows(self, number: int) -> bool:
        """Take so many, if they may be; a request larger than a second's rows takes all of several."""
        if not self._per_second:
            return True
        now = self._clock()
        self._left = min(self._per_second, self._left + (now - self._last) * self._per_second)
        self._last = now
        if self._left < min(number, self._per_second):
            return False
        self._left -= number
        return True
