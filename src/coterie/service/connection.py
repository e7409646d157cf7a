"""One connection, held to its limits: uvicorn's protocol on httptools, which by itself has few.

- *Headers* are bounded in bytes, a request in the time from its first byte to its last.
- *One request at a time.* uvicorn queues what comes before an answer, and reads on. Here whatever follows a
  request that is not answered yet is not read: the answer goes out, and the connection ends (RFC 9112, 9.3:
  who sends ahead must be ready to send again). Nor can the answer to it be mistaken for another's.
- *Answers* go out in pieces of `PIECE` bytes, the next one when the last was taken. Who takes none for
  `answer_seconds` is hung up on. Ending a connection politely waits for its reader, so that is timed, too.
- *Connections* are bounded. Where all are taken, the one that has been idle or unread for longest makes room
  for the one that comes; only where all are at work is that one refused.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any, Final

from starlette.types import Message, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from coterie.service.problems import MEDIA_TYPE, Problem
from coterie.service.settings import Settings

PIECE: Final = 1 << 16  # bytes of an answer that are handed to a connection at once

SWEEP_SECONDS: Final = 1.0
_IDLE_SECONDS: Final = 1.0  # after which an idle connection may have to make room


class _NotReadError(Exception):
    """Stops the parser."""


def limited_protocol(settings: Settings) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with these limits."""
    most_header = settings.most_header

    class Limited(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            self.header_bytes = self.unparsed_bytes = 0
            self.coming_since: float | None = self.loop.time()  # None: all of a request is here
            self.idle_since = self.coming_since  # since the last answer
            self.unread_since: float | None = None  # None: what was written has been taken
            self.is_deaf = False
            super().connection_made(transport)
            if len(self.connections) > settings.most_connections and not self._find_room():
                self.refuse(Problem("crowded", "connect again later", {"retry-after": "1"}))

        def _find_room(self) -> bool:
            """Hang up on the connection that has been waited for longest; False if all are at work."""
            everyone: Iterable[Any] = self.connections
            longest = min(everyone, key=lambda each: each.waited_for_since())
            if longest.waited_for_since() > self.loop.time() - _IDLE_SECONDS:
                return False
            longest.transport.abort()
            return True

        def waited_for_since(self) -> float:
            """Return since when its other side is waited for; infinity where that waits for an answer."""
            for since in (self.unread_since, self.coming_since):
                if since is not None:
                    return since
            return math.inf if self.is_answering() else self.idle_since

        # ------------------------------------------------------------ what comes

        def data_received(self, data: bytes) -> None:
            if self.is_deaf or self.transport.is_closing():
                return
            super().data_received(data)
            if self.unparsed_bytes >= 0 and self.coming_since is not None:  # a header that does not end
                self.unparsed_bytes += len(data)
                if self.unparsed_bytes > most_header:
                    self.header_bytes = self.unparsed_bytes
                    self.send_400_response("")

        def on_message_begin(self) -> None:
            if self.is_answering():
                raise _NotReadError
            super().on_message_begin()
            self.header_bytes = 0
            self.coming_since = self.loop.time()

        def on_url(self, url: bytes) -> None:
            self._more(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._more(len(name) + len(value) + 4)
            super().on_header(name, value)

        def _more(self, size: int) -> None:
            self.header_bytes += size
            if self.header_bytes > most_header:
                raise _NotReadError

        def on_headers_complete(self) -> None:
            self.unparsed_bytes = -1  # from here on it is body
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self.coming_since = None
            self.unparsed_bytes = 0
            super().on_message_complete()

        def is_answering(self) -> bool:
            """Return whether a request is being answered."""
            cycle: Any = self.cycle  # None before the first
            return cycle is not None and not cycle.response_complete

        def send_400_response(self, msg: str) -> None:
            """Refuse what cannot be read; if it came after a request that can, answer that one and end."""
            del msg
            if self.is_answering() and (self.coming_since is None or self.cycle.response_started):
                self.is_deaf = True
                self.flow.pause_reading()
                self.cycle.keep_alive = False
            elif self.header_bytes > most_header:
                self.refuse(Problem("large-header", f"send at most {most_header} bytes of headers"))
            else:
                self.refuse(Problem("malformed-request", "this is no HTTP/1.1 request"))

        def refuse(self, problem: Problem) -> None:
            """Answer without the application, and hang up."""
            body = problem.document()
            headers = {
                "content-type": MEDIA_TYPE,
                "content-length": str(len(body)),
                "connection": "close",
                **{name.decode(): value.decode() for name, value in self.server_state.default_headers},
                **problem.headers,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            head = f"HTTP/1.1 {problem.status} {problem.title}\r\n{lines}\r\n"
            self.transport.write(head.encode() + body)
            self.transport.close()

        # ------------------------------------------------------------ what goes out

        def on_response_complete(self) -> None:
            self.idle_since = self.loop.time()
            super().on_response_complete()

        def pause_writing(self) -> None:
            self.unread_since = self.loop.time()
            super().pause_writing()

        def resume_writing(self) -> None:
            self.unread_since = None
            super().resume_writing()

        def look(self, now: float) -> None:
            """Hang up if the other side has had its time."""
            if self.coming_since is not None and now - self.coming_since > settings.request_seconds:
                self.transport.close()
            if self.transport.is_closing() and self.unread_since is None:
                self.unread_since = now  # what is left to read holds the connection
            if self.unread_since is not None and now - self.unread_since > settings.answer_seconds:
                self.transport.abort()

    return Limited


async def sweep(connections: Iterable[Any]) -> None:
    """Look at all connections again and again."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        now = asyncio.get_running_loop().time()
        for each in list(connections):
            each.look(now)


async def send_in_pieces(message: Message, send: Send) -> None:
    """Send a message of an application; of a long body each piece waits until the last was taken."""
    body, start = message.get("body", b""), 0
    while len(body) - start > PIECE:
        await send({**message, "body": body[start : start + PIECE], "more_body": True})
        start += PIECE
    await send({**message, "body": body[start:]} if start else message)
