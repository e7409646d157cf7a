"""`RemoteCollector`: a collector at the other end of a network, by the standard library.

Sending is safe to repeat: a collector counts an id once, and acknowledges what is on its disk. So whatever
goes wrong on the way (no connection, no answer, 429, 502, 503, 504, 507) the same bytes are sent again, after
a pause that doubles each time, with jitter, or as long as the collector says.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import secrets
import socket
import ssl
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import CollectorError, ManifestError, ReportError
from coterie.plain.canonical import canonical_bytes, shown
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.remote.receipt import Receipt
from coterie.sheet import checked_sheet, read_sheet
from coterie.wire.admission import ADMISSION_BYTES
from coterie.wire.layout import Reports, as_rows
from coterie.wire.manifest import read_manifest, waves_of
from coterie.wire.mixing import check_mixing
from coterie.wire.shuffled_file import MEDIA_TYPE, batch_authorization

PIECE_BYTES: Final = 1 << 18  # of reports in one request
MOST_ANSWER: Final = 1 << 28  # bytes of an answer
TRY_AGAIN: Final = frozenset({429, 502, 503, 504, 507})

_REPORTS: Final = "application/vnd.coterie.reports"
_FIRST_PAUSE: Final = 0.25  # seconds
_LONGEST_PAUSE: Final = 30.0
_IN_ONE_HUNDREDTHS: Final = 100


@dataclass(frozen=True, slots=True)
class Failure:
    """A report that was not taken in."""

    id: str  # 24 hex digits
    reason: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of reports that were sent."""

    taken: int
    failures: tuple[Failure, ...] = field(default=())

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.taken + other.taken, self.failures + other.failures)

    @property
    def reasons(self) -> dict[str, int]:
        """How many were not taken in, by reason."""
        return dict(Counter(each.reason for each in self.failures))


class RemoteCollector(contextlib.AbstractContextManager["RemoteCollector"]):
    """A collector, by its address.

    Parameters
    ----------
    url : str
        Where it is, such as "https://collector.example".
    token : str, optional
        The operator's, for what only the operator may do.
    timeout : float
        Seconds to wait for an answer.
    attempts : int
        How often a request is sent before it is given up; 1 never repeats.
    shufflers : sequence of str
        Public keys of shufflers that are trusted, such as `Policy.shufflers`: then reports of the shuffle
        model are sent only if one of them signed that it mixes the plan at this address.
    key : str, optional
        The collector's public key, 64 hex digits, from where it is published besides this address: then every
        manifest, result, table and sheet must be signed by it.
    sleep : callable
        What waits.

    Examples
    --------
    >>> collector = RemoteCollector("https://collector.example/")
    >>> collector.url  # then: collector.send(plan, Client(plan).encode([0.1, 0.2, 0.3]))
    'https://collector.example'
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        attempts: int = 8,
        shufflers: Sequence[str] = (),
        key: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CollectorError(f"a collector's address starts with http:// or https://, got {shown(url)}")
        self.url = url.rstrip("/")
        self._parts = parts
        self._token = token
        self._timeout = timeout
        self._attempts = attempts
        self._shufflers = tuple(shufflers)
        self._key = key
        self._mixed_here: set[str] = set()  # ids of plans
        self._sleep = sleep
        self._connection: http.client.HTTPConnection | None = None

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """Hang up; the next request connects again."""
        if (connection := self._connection) is not None:
            self._connection = None
            if (held := connection.sock) is not None:
                with contextlib.suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)  # whoever waits for an answer in another thread wakes up
            connection.close()

    # ------------------------------------------------------------ for everybody

    def plan(self, plan_id: str) -> Plan:
        """Return a plan, checked, and that it is the one of this id.

        Raises
        ------
        CollectorError
            If the collector has none, or answers with another.
        """
        plan = Plan.from_json(self._ask("GET", f"/plans/{_part(plan_id)}")[1])
        if plan.id != plan_id:
            raise CollectorError(f"the collector answered with another plan: {plan.id}")
        return plan

    def send(
        self,
        plan: Plan,
        reports: Reports,
        *,
        admissions: NDArray[np.uint8] | None = None,
        advance: Callable[[int], None] = lambda rows: None,
    ) -> Sent:
        """Send reports and wait until they are durable.

        Parameters
        ----------
        plan : Plan
            The plan that they answer.
        reports : bytes, bytearray, memoryview, ndarray of uint8 of shape (n, width), or list of bytes
            Any number of reports; where ids follow from tokens, of uploads.
        admissions : ndarray of uint8, shape (n, 80), optional
            Where the shuffler takes invited people only: one for each report (`coterie.wire.admission`).
        advance : callable
            Told how many more are through, after each request.

        Returns
        -------
        Sent
            How many were taken in, and what was not, in order.

        Raises
        ------
        ReportError
            If shufflers are named and none of them mixes the plan here. Nothing was sent.
        """
        if plan.mixed and self._shufflers and plan.id not in self._mixed_here:
            said = self._ask("GET", f"/plans/{plan.id}/shuffler")[1]
            check_mixing(said, self._shufflers, plan.id, self.url)
            self._mixed_here.add(plan.id)
        return self._send_rows(plan, reports, "reports", advance, admissions)

    def withdraw(self, plan: Plan, reports: Reports, *, admissions: NDArray[np.uint8] | None = None) -> Sent:
        """Withdraw reports: they do not count, whether they were sent before or are yet to come."""
        return self._send_rows(plan, reports, "withdrawals", lambda rows: None, admissions)

    def withdraw_by(self, receipts: Iterable[Receipt]) -> Sent:
        """Withdraw what receipts stand for."""
        done = (self.withdraw(self.plan(receipt.plan_id), receipt.upload) for receipt in receipts)
        return sum(done, Sent(0))

    def status(self, plan_id: str) -> dict[str, Any]:
        """Return where a study is: state, coarse counts, the error to expect."""
        return self._json("GET", f"/plans/{_part(plan_id)}/status")

    def public_key(self) -> str:
        """Return the key that the collector says is its own, 64 hex digits; whom it convinces is `key`'s."""
        return str(self._json("GET", "/key").get("public_key"))

    def result(self, plan_id: str) -> dict[str, Any]:
        """Return the result of a decoded study."""
        return _parsed(self.result_bytes(plan_id))

    def result_bytes(self, plan_id: str) -> bytes:
        """Return the result of a decoded study as it was published, as `coterie verify --result` reads it."""
        return self._left(f"/plans/{_part(plan_id)}", "result", lambda: self.manifest(plan_id))

    def table(self, plan_id: str) -> bytes:
        """Return the table of a decoded study, as `Aggregate.from_bytes` reads it."""
        return self._left(f"/plans/{_part(plan_id)}", "table", lambda: self.manifest(plan_id))

    def manifest(self, plan_id: str) -> bytes:
        """Return the signed manifest of a decoded study, as `coterie verify` reads it."""
        return self._manifest(f"/plans/{_part(plan_id)}", -1, plan_id)

    def _manifest(self, where: str, wave: int, plan_id: str) -> bytes:
        """Return a manifest; where a key is pinned, one of that key, of which this wave is of this plan."""
        data = self._ask("GET", f"{where}/manifest")[1]
        if self._key is not None and waves_of(read_manifest(data, self._key))[wave]["plan_id"] != plan_id:
            raise ManifestError(
                f"the collector answered with the manifest of another {('study', 'plan')[wave]}"
            )
        return data

    def _left(self, where: str, name: str, manifest: Callable[[], bytes]) -> bytes:
        """Return what was decoded; where a key is pinned, as that key's manifest has its digest."""
        data = self._ask("GET", f"{where}/{name}")[1]
        if self._key is not None:
            signed = waves_of(read_manifest(manifest()))[-1][name]
            if hashlib.sha256(data).hexdigest() != signed:
                raise ManifestError(f"this is another {name}: its digest is not the manifest's")
        return data

    def sheet(self, plan: Plan, key: str | None = None) -> dict[str, Any]:
        """Return who asks, and why: the sheet of a study, checked; signed by the key that is given or pinned.

        Raises
        ------
        SheetError
            If it is no sheet of this plan, or not signed by that key.
        """
        return read_sheet(self._ask("GET", f"/plans/{plan.id}/sheet")[1], plan, key or self._key)

    def study(self, study_id: str) -> dict[str, Any]:
        """Return the plans of a study, in order, with their labels, and where each of them is."""
        return self._json("GET", f"/studies/{_part(study_id)}")

    def study_result(self, study_id: str) -> bytes:
        """Return the result of all waves that were decoded, as it was published."""
        where = f"/studies/{_part(study_id)}"
        return self._left(where, "result", lambda: self.study_manifest(study_id))

    def study_manifest(self, study_id: str) -> bytes:
        """Return the signed manifest of all waves that were decoded; its tables are those of the plans."""
        return self._manifest(f"/studies/{_part(study_id)}", 0, study_id)

    # ------------------------------------------------------------ for the operator

    def studies(self) -> list[dict[str, Any]]:
        """Return of every study where it is, coarsely, and what to do next; first what waits."""
        return list(self._json("GET", "/studies")["studies"])

    def put_plan(self, plan: Plan) -> bool:
        """Open a study; return False if it was there already."""
        return self._ask("PUT", f"/plans/{plan.id}", plan.to_json().encode(), "application/json")[0] == 201

    def put_sheet(self, plan: Plan, sheet: Mapping[str, Any]) -> bytes:
        """Publish the sheet of a study (`coterie.sheet.draft_sheet`), once; return it as it was signed."""
        data = canonical_bytes(checked_sheet(sheet, plan))
        return self._ask("PUT", f"/plans/{plan.id}/sheet", data, "application/json")[1]

    def close(self, plan_id: str) -> int:
        """Close a study for good; return when that was, in rounded seconds since 1970."""
        return int(self._json("POST", f"/plans/{_part(plan_id)}/close")["closed"])

    def decode(self, plan_id: str, *, timeout: float = 3600.0) -> dict[str, Any]:
        """Decode a closed study and wait for the result, for so many seconds at most."""
        return _parsed(self._waited_for(f"/plans/{_part(plan_id)}/decode", None, timeout))

    def next_wave(
        self,
        study_id: str,
        expected_users: int,
        *,
        confirm: bool = False,
        epsilon: float | None = None,
        clusters: int | None = None,
        collection: Collection | None = None,
        timeout: float = 3600.0,
    ) -> Plan:
        """Open the next wave of a study, for other people, once the last one is decoded; return its plan.

        Parameters
        ----------
        study_id : str
            The id of the study's first plan.
        expected_users : int
            How many other people will answer.
        confirm : bool
            Whether they are asked about the groups that were found, instead of finding others.
        epsilon, clusters : float, int, optional
            Where they are to be others than in the wave before.
        collection : Collection, optional
            How the wave is collected.
        timeout : float
            Seconds to wait at most.
        """
        asked = {
            "expected_users": expected_users,
            "confirm": confirm,
            "epsilon": epsilon,
            "clusters": clusters,
            "collection": None if collection is None else collection.to_dict(),
        }
        body = canonical_bytes({name: value for name, value in asked.items() if value is not None})
        plan = Plan.from_json(self._waited_for(f"/studies/{_part(study_id)}/next", body, timeout))
        if plan.study_id != study_id:
            raise CollectorError(f"the collector answered with a plan of another study: {plan.study_id}")
        return plan

    def put_labelled(self, study_id: str, label: str, plan: Plan) -> bool:
        """Open a plan of a study under a public label; return False if it was there already."""
        where = f"/studies/{_part(study_id)}/plans/{_part(label)}"
        return self._ask("PUT", where, plan.to_json().encode(), "application/json")[0] == 201

    def _waited_for(self, path: str, body: bytes | None, timeout: float) -> bytes:
        """Post until it is done, and return the answer."""
        until, kind = time.monotonic() + timeout, None if body is None else "application/json"
        while True:
            wait = {"Prefer": f"wait={max(1, int(min(self._timeout / 2, 60)))}"}
            status, answer = self._ask("POST", path, body, kind, wait)
            if status != 202:
                return answer
            if time.monotonic() > until:
                raise CollectorError(f"decoding takes more than {timeout:g} seconds; it goes on", 202)

    def delete_reports(self, plan_id: str) -> None:
        """Delete the reports of a closed study before its retention ends."""
        self._ask("DELETE", f"/plans/{_part(plan_id)}/reports")

    def invite(self, plan_id: str, count: int) -> list[bytes]:
        """Issue one-time tokens, 16 bytes each; the collector keeps their marks only."""
        body = json.dumps({"count": count}).encode()
        answer = self._ask("POST", f"/plans/{_part(plan_id)}/invitations", body, "application/json")[1]
        return [bytes.fromhex(token) for token in _parsed(answer)["tokens"]]

    # ------------------------------------------------------------ for a shuffler and its operator

    def put_batch(self, plan_id: str, digest: str, data: bytes, key: bytes) -> bool:
        """Hand a shuffled batch over, signed with the shuffler's key; return False if it was there already.

        When this returns, the collector keeps the batch durably.
        """
        given = {"Authorization": batch_authorization(key, plan_id, digest)}
        return self._ask("PUT", f"/plans/{plan_id}/batches/{digest}", data, MEDIA_TYPE, given)[0] == 201

    def release(self, plan_id: str) -> dict[str, Any]:
        """Let a shuffler release what it has gathered; return where the release is."""
        return self._json("POST", f"/plans/{_part(plan_id)}/release")

    def release_state(self, plan_id: str) -> dict[str, Any]:
        """Return where a shuffler's release is."""
        return self._json("GET", f"/plans/{_part(plan_id)}/release")

    def give_up_batch(self, plan_id: str) -> None:
        """Let a shuffler forget a batch that its collector does not take; its people do not count."""
        self._ask("DELETE", f"/plans/{_part(plan_id)}/release")

    # ------------------------------------------------------------ requests

    def _send_rows(
        self,
        plan: Plan,
        reports: Reports,
        where: str,
        advance: Callable[[int], None],
        admissions: NDArray[np.uint8] | None,
    ) -> Sent:
        rows = as_rows(reports, plan.upload_width)
        if admissions is not None:
            if admissions.shape != (len(rows), ADMISSION_BYTES):
                raise ReportError(f"{len(rows)} reports need as many admissions of {ADMISSION_BYTES} bytes")
            rows = np.concatenate([admissions, rows], axis=1)
        piece = max(1, PIECE_BYTES // rows.shape[1])
        failures: list[Failure] = []
        for start in range(0, len(rows), piece):
            part = rows[start : start + piece]
            answer = _parsed(self._ask("POST", f"/plans/{plan.id}/{where}", part.tobytes(), _REPORTS)[1])
            failures += _failures(answer)
            advance(len(part))
        return Sent(len(rows) - len(failures), tuple(failures))

    def _json(self, method: str, path: str) -> dict[str, Any]:
        return _parsed(self._ask(method, path)[1])

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Send a request until it is answered; every request here may be repeated."""
        own = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        typed = {} if media_type is None else {"Content-Type": media_type}
        given = {**own, **typed, **(headers or {})}
        pauses = pauses_between()
        for attempt in range(1, self._attempts + 1):
            told: float | None = None
            try:
                status, answer, told = self._exchange(method, path, body, given)
            except (OSError, http.client.HTTPException, ssl.SSLError) as error:
                self.disconnect()
                problem = CollectorError(f"{self.url} does not answer: {str(error) or type(error).__name__}")
            else:
                if 200 <= status < 300:
                    return status, answer
                problem = _problem(status, answer)
                if status not in TRY_AGAIN:
                    raise problem
            if attempt == self._attempts:
                raise problem
            self._sleep(next(pauses) if told is None else min(told, _LONGEST_PAUSE))
        raise CollectorError("attempts must be at least 1")

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, float | None]:
        connection, reused = self._connection, self._connection is not None
        if connection is None:
            secure = self._parts.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout)
            self._connection = connection
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, body, dict(headers))
            answer = connection.getresponse()
            data = answer.read(MOST_ANSWER + 1)
        except (http.client.RemoteDisconnected, ConnectionError):
            if not reused:
                raise
            self.disconnect()  # the collector hung up while nothing was said: connect anew
            return self._exchange(method, path, body, headers)
        if len(data) > MOST_ANSWER:
            raise http.client.HTTPException("the answer is too large")
        told = answer.headers.get("Content-Length", "")
        if told.isascii() and told.isdigit() and len(data) < int(told):  # cut short: it is asked again
            raise http.client.IncompleteRead(data, int(told) - len(data))
        after = answer.headers.get("Retry-After", "")
        return answer.status, data, float(after) if after.isascii() and after.isdigit() else None


def pauses_between(longest: float = _LONGEST_PAUSE) -> Iterator[float]:
    """Yield pauses, in seconds, that double, up to half of each by chance: clients do not come together."""
    pause = _FIRST_PAUSE
    while True:
        yield pause * (1 - secrets.randbelow(_IN_ONE_HUNDREDTHS // 2) / _IN_ONE_HUNDREDTHS)
        pause = min(2 * pause, longest)


def _part(plan_id: str) -> str:
    """Return a plan's id as a part of a path."""
    return urllib.parse.quote(plan_id, safe="")


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CollectorError("the answer is no JSON object: is this a collector?")
    return value


def _failures(answer: dict[str, Any]) -> list[Failure]:
    try:
        return [Failure(str(each["id"]), str(each["reason"])) for each in answer["failures"]]
    except (KeyError, TypeError):
        raise CollectorError("the answer lists no failures: is this a collector?") from None


def _problem(status: int, data: bytes) -> CollectorError:
    """Return what a collector's refusal says."""
    with contextlib.suppress(CollectorError):
        document = _parsed(data)
        kind = str(document.get("type", "")).rpartition(":")[2]
        words = ": ".join(str(document[name])[:500] for name in ("title", "detail") if name in document)
        return CollectorError(f"{words or 'refused'} ({status})", status, kind)
    return CollectorError(f"refused with status {status}", status)
