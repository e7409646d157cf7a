"""What runs on a cluster's executors: pieces of reports in, packets by id, each id once, tables added up.

Everything here takes and gives Arrow record batches and imports no cluster engine; `coterie.engines.spark`
joins the steps. Each step depends on its input alone, so one that is lost with its machine is done again,
with the same bytes out.

    split     a piece ─> packets (slot, part, reports back to back): the reports of one part of the ids
    counted   packets of whole parts, in the order of parts ─> each id once ─> (facts, table)
    summed    pieces whose reports all count ─> (facts, table)
    merged    tables ─> one table
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as arrow
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.collect.deduplicate import Deduplicator
from coterie.collect.skips import SHOWN_PLACES
from coterie.engines.pieces import Piece
from coterie.errors import CoterieError, FileError
from coterie.plan import Plan
from coterie.wire.forms import report_form
from coterie.wire.kernels import kernels_of
from coterie.wire.layout import regrouped
from coterie.wire.workers import sharing_the_cores

PACKET_BYTES: Final = 1 << 20  # of reports in one row that travels
MOST_IN_MEMORY: Final = 1 << 23  # reports of one part; a part that somebody made larger goes to disk
STRETCH_BYTES: Final = 1 << 25  # of reports cut into packets at a time
TROUBLE: Final = "coterie-trouble "  # opens what an executor's error says in JSON

PACKETS: Final = "slot int, part int, body binary"
RESULTS: Final = "slot int, facts string, body binary"

_PACKET: Final = arrow.schema({"slot": arrow.int32(), "part": arrow.int32(), "body": arrow.binary()})
_FACTS: Final = -1  # the part of a packet that holds facts
_BATCH_BYTES: Final = 1 << 24
_PACKET_REPORTS: Final = 128  # that a packet should have at least, however many parts there are
_MOST_STRETCH_BYTES: Final = 1 << 28

_Batches = Iterator[arrow.RecordBatch]
_Rows = Iterable[NDArray[np.uint8]]


@dataclass(slots=True)
class Facts:
    """What became of some of the reports; facts of parts add up to the facts of all."""

    read: int = 0
    duplicates: int = 0
    conflicting: int = 0
    malformed: int = 0
    places: list[list[int]] = field(default_factory=list)  # of the first malformed ones: piece, number in it

    def add(self, other: Facts) -> None:
        """Add the facts of other reports."""
        self.read += other.read
        self.duplicates += other.duplicates
        self.conflicting += other.conflicting
        self.malformed += other.malformed
        self.places = sorted(self.places + other.places)[:SHOWN_PLACES]

    def to_json(self) -> str:
        """Return the facts as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Facts:
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))


def split(batches: _Batches, plan: str, pieces: Sequence[Piece], bits: int, parts_per_slot: int) -> _Batches:
    """Cut pieces, named by their numbers, into packets by the first bits of the id."""
    contract = _plan(plan)
    form, width = report_form(contract), contract.report_width
    kernels = kernels_of("coterie.collect.kernels", None, sum(piece.count for piece in pieces))
    stretch = min(_MOST_STRETCH_BYTES, max(STRETCH_BYTES, (_PACKET_REPORTS * width) << bits))
    out = _Packets()
    for number in _numbers(batches):
        piece, facts = pieces[number], Facts()
        for rows in regrouped(_told(piece.chunks(contract)), max(1, stretch // width)):
            wrong = form.foreign(rows)
            if wrong.any():
                found = facts.read + np.flatnonzero(wrong)
                places = [[number, int(each)] for each in found[:SHOWN_PLACES]]
                facts.add(Facts(malformed=len(found), places=places))
            facts.read += len(rows)
            good = rows[~wrong] if wrong.any() else rows
            if not len(good):
                continue
            starts = kernels.split(good, bits, ordered := np.empty_like(good)).tolist()
            step = max(1, PACKET_BYTES // width)
            for part in np.flatnonzero(np.diff(starts)).tolist():
                for start in range(starts[part], starts[part + 1], step):
                    body = ordered[start : min(start + step, starts[part + 1])]
                    yield from out.put(part // parts_per_slot, part, body.tobytes())
        yield from out.put(0, _FACTS, facts.to_json().encode())
    yield from out.rest()


def counted(batches: _Batches, plan: str) -> _Batches:
    """Add up the packets of one slot, each id once; those of a part follow one another."""
    contract = _plan(plan)
    facts = Facts()

    def rows() -> Iterator[NDArray[np.uint8]]:
        for number, packets in itertools.groupby(_packets(batches), key=operator.itemgetter(0)):
            if number == _FACTS:
                for _, body in packets:
                    facts.add(Facts.from_json(body.decode()))
                continue
            with Deduplicator(contract.report_width, memory_reports=MOST_IN_MEMORY) as part:
                for _, body in packets:
                    part.add(body)
                yield from part.chunks()
                facts.add(Facts(duplicates=part.duplicates, conflicting=part.conflicting))

    yield from _table_of(contract, rows(), facts)


def summed(batches: _Batches, plan: str, pieces: Sequence[Piece]) -> _Batches:
    """Add up pieces, named by their numbers, all of whose reports or messages count."""
    contract = _plan(plan)
    facts = Facts()

    def rows() -> Iterator[NDArray[np.uint8]]:
        for number in _numbers(batches):
            for chunk in _told(pieces[number].chunks(contract)):
                facts.read += len(chunk)
                yield chunk

    yield from _table_of(contract, rows(), facts)


def merged(batches: _Batches, plan: str) -> _Batches:
    """Add up tables; there is one row out, or none if none came."""
    contract = _plan(plan)
    total, facts, any_came = Aggregate(contract), Facts(), False
    for batch in batches:
        for text, body in zip(batch.column(1), batch.column(2), strict=True):
            facts.add(Facts.from_json(text.as_py()))
            total.merge(Aggregate.from_bytes(body.as_buffer().to_pybytes(), contract))
            any_came = True
    if any_came:
        yield _result(facts, total.to_bytes())


# ---------------------------------------------------------------- packets and parts


class _Packets:
    """Collects packets into record batches."""

    def __init__(self) -> None:
        self._packets: list[dict[str, Any]] = []
        self._bytes = 0

    def put(self, slot: int, part: int, body: bytes) -> _Batches:
        """Take a packet; yield a batch when one is full."""
        self._packets.append({"slot": slot, "part": part, "body": body})
        self._bytes += len(body) + 8
        if self._bytes >= _BATCH_BYTES:
            yield from self.rest()

    def rest(self) -> _Batches:
        """Yield what is left."""
        if self._packets:
            yield arrow.RecordBatch.from_pylist(self._packets, schema=_PACKET)
        self._packets, self._bytes = [], 0


def _packets(batches: _Batches) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        for part, body in zip(batch.column(1).to_pylist(), batch.column(2), strict=True):
            yield part, body.as_buffer().to_pybytes()


def _table_of(plan: Plan, rows: _Rows, facts: Facts) -> _Batches:
    """Add reports up and yield facts and table or, where the table is the reports, those, as they come."""
    if not Aggregate(plan).table.keeps_reports:
        table = Aggregate(plan)
        for chunk in rows:
            with sharing_the_cores():  # other tasks run beside this one on the same machine
                table.add(chunk)
        yield _result(facts, table.to_bytes())
        return
    step = max(1, PACKET_BYTES // plan.message_width)
    for chunk in rows:
        for start in range(0, len(chunk), step):
            yield _result(Facts(), chunk[start : start + step].tobytes())
    yield _result(facts, b"")


def _result(facts: Facts, body: bytes) -> arrow.RecordBatch:
    columns = [arrow.array([0], arrow.int32()), arrow.array([facts.to_json()]), arrow.array([body])]
    return arrow.RecordBatch.from_arrays(columns, names=["slot", "facts", "body"])


# ---------------------------------------------------------------- plumbing


@functools.cache
def _plan(text: str) -> Plan:
    return Plan.from_json(text)


def _numbers(batches: _Batches) -> Iterator[int]:
    """Yield the numbers of pieces in the first column."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _told(chunks: _Rows) -> Iterator[NDArray[np.uint8]]:
    """Hand chunks on; an error on the way is worded so that `coterie.engines.spark` can raise it again."""
    with telling():
        yield from chunks


@contextlib.contextmanager
def telling() -> Iterator[None]:
    """Word the package's own errors, and those of files, so that they survive the trip to the driver."""
    try:
        yield
    except OSError as error:
        found = FileError(error.filename or "a piece", 0, "a file that executors can read", error.strerror)
        raise RuntimeError(_worded(found)) from error
    except CoterieError as error:
        raise RuntimeError(_worded(error)) from error


def _worded(error: CoterieError) -> str:
    words: list[Any] = [type(error).__name__, *error.args]
    return TROUBLE + json.dumps(words)
