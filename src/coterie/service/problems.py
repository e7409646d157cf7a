"""Problems as documents (RFC 9457): what is wrong with a request as a whole, and what to do.

    {"type": "urn:coterie:problem:unknown-plan", "title": …, "status": 404, "detail": …}

A type never changes its meaning. Nothing in a document comes from a report.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Final

from coterie.errors import CoterieError, PlanError, RequestError

MEDIA_TYPE: Final = "application/problem+json"
URN: Final = "urn:coterie:problem:"

# type: status and title
KINDS: Final[dict[str, tuple[int, str]]] = {
    "malformed-request": (400, "The request is not well formed"),
    "malformed-batch": (400, "This is no batch of the plan"),
    "malformed-plan": (400, "This is no plan, or one that breaks its promise"),
    "not-authorized": (401, "The operator's token is needed"),
    "not-a-shuffler": (403, "Batches come from shufflers that this collector knows"),
    "direct-report": (403, "Reports of this plan come through a shuffler"),
    "not-found": (404, "There is nothing here"),
    "unknown-plan": (404, "There is no plan of this id here"),
    "not-decoded": (404, "The study was not decoded"),
    "wrong-method": (405, "This cannot be done here"),
    "open": (409, "The study is open"),
    "closed": (409, "The study is closed"),
    "deleted": (410, "The reports of this study were deleted"),
    "incomplete": (409, "Reports that were acknowledged are lost"),
    "too-few": (409, "Too few people answered"),
    "undelivered": (409, "A batch waits for its collector"),
    "another-plan": (409, "The plan does not have this id"),
    "another-sheet": (409, "The study has another sheet"),
    "too-large": (413, "The request is too large"),
    "wrong-type": (415, "The body is of another type"),
    "unfit-plan": (422, "This service does not take such plans"),
    "undecodable": (422, "The table cannot be decoded"),
    "busy": (429, "Too much is waiting"),
    "large-header": (431, "The header is too large"),
    "internal": (500, "Something went wrong here"),
    "crowded": (503, "Too many connections"),
    "unavailable": (503, "The store cannot be reached"),
    "full": (507, "The disk is full"),
}


class Problem(RequestError):  # noqa: N818  # RFC 9457's word
    """What is wrong with a request, for its sender.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    detail : str
        What to do, or what was expected. Never anything of a report.
    headers : dict, optional
        Headers that go with it.

    Examples
    --------
    >>> Problem("busy", "ask again later").status
    429
    """

    def __init__(self, kind: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.status, self.title = KINDS[kind]
        self.headers = headers or {}

    def document(self) -> bytes:
        """Return the document."""
        return json.dumps(
            {"type": URN + self.kind, "title": self.title, "status": self.status, "detail": self.detail},
            ensure_ascii=False,
        ).encode()


@contextlib.contextmanager
def refusing(kind: str, errors: tuple[type[CoterieError], ...] = (PlanError,)) -> Iterator[None]:
    """Let one of these errors in the block be a problem of this kind."""
    try:
        yield
    except errors as error:
        raise Problem(kind, str(error)) from None


def not_decoded() -> Problem:
    """Return the problem of who asks too early for what a study leaves."""
    return Problem("not-decoded", "the operator closes and decodes a study; ask again later")


def busy(seconds: int) -> Problem:
    """Return the problem of a server that has enough to do."""
    return Problem(
        "busy", "nothing of this request was taken in; send it again", {"retry-after": str(seconds)}
    )
