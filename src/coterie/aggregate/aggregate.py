"""The aggregate: reports in, a table of integers out, mergeable in any order.

File format (docs/wire-format.md):

    "COTERIE-TABLE" and a newline (14 bytes), version (2), length of the plan (4), the plan's canonical JSON,
    the table's arrays one after the other as little-endian int64, SHA-256 of everything before it

The plan fixes the shapes, so the length of a file is known before its arrays are read.
"""

from __future__ import annotations

import hashlib
import io
import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from coterie.errors import AggregateError, FileError, PlanError
from coterie.plain.canonical import MAX_BYTES as MAX_PLAN_BYTES
from coterie.plain.files import DIGEST_BYTES, AnyPath, SealedReader, replacing
from coterie.plan import Plan
from coterie.protocols import protocol_of
from coterie.protocols.table import MAX_COUNT, Table
from coterie.wire.forms import message_form
from coterie.wire.layout import Reports, as_rows

MAGIC: Final = b"COTERIE-TABLE\n"
VERSION: Final = 1

_HEADER: Final = struct.Struct(">14sHI")
_VERSION_OFFSET: Final = 14
_LENGTH_OFFSET: Final = 16


class Aggregate:
    """All reports of a plan so far, as a table whose size does not depend on how many there are.

    Any order of adding, any split and any merge of the same reports gives the same bits.

    Parameters
    ----------
    plan : Plan
        The plan that the reports answer.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> first, second = Aggregate(plan), Aggregate(plan)
    >>> first.add(bytes(2 * plan.report_width))
    >>> second.add(bytes(plan.report_width))
    >>> first.merge(second)
    >>> first.count
    3
    """

    __slots__ = ("_form", "plan", "table")

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise PlanError(f"an aggregate needs a Plan, got {type(plan).__name__}; Plan.load reads one")
        self.plan = plan
        self._form = message_form(plan)
        self.table: Table = _table_class(plan).zero(plan)

    @property
    def count(self) -> int:
        """Number of reports added."""
        return self.table.count

    def add(self, reports: Reports) -> None:
        """Add reports: all of them or, if something is wrong with one, none.

        Repeated ids are not looked for here; `coterie.collect` removes them.

        Parameters
        ----------
        reports : bytes, bytearray, memoryview, ndarray of uint8 of shape (n, width), or list of bytes
            Any number of reports, back to back; of a list, each item holds whole reports.

        Raises
        ------
        ReportError
            If the bytes are no whole number of reports, or a report does not fit the plan.
        """
        rows = as_rows(reports, self.plan.message_width)
        self._check_room(len(rows))
        self._form.check(rows)
        self.table.add(rows)

    def merge(self, other: Aggregate) -> None:
        """Add all reports of another aggregate of the same plan; `other` stays as it is."""
        if not isinstance(other, Aggregate):
            raise AggregateError(f"an aggregate merges with an Aggregate, got {type(other).__name__}")
        if other.plan != self.plan:
            raise AggregateError(
                f"aggregates of different plans cannot be merged: {self.plan.id} and {other.plan.id}; "
                "keep them apart and decode each"
            )
        self._check_room(other.count)
        self.table.merge(other.table)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregate):
            return NotImplemented
        mine, theirs = self.table.arrays(), other.table.arrays()
        return self.plan == other.plan and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __repr__(self) -> str:
        return f"<Aggregate of {self.count} reports, plan {self.plan.id[:12]}…>"

    # ------------------------------------------------------------ files

    def __reduce__(self) -> tuple[Callable[[bytes], Aggregate], tuple[bytes]]:
        return Aggregate.from_bytes, (self.to_bytes(),)  # pickled as its file, and checked as one

    def to_bytes(self) -> bytes:
        """Return the file format's bytes; equal aggregates have equal bytes."""
        return b"".join(self._pieces())

    def save(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Write the aggregate to a file, whole or not at all; one that exists is replaced only if told."""
        with replacing(path, overwrite=overwrite) as file:
            for piece in self._pieces():
                file.write(piece)

    @classmethod
    def load(cls, path: AnyPath, plan: Plan | None = None) -> Self:
        """Read an aggregate from a file.

        Parameters
        ----------
        path : str or os.PathLike
            The file.
        plan : Plan, optional
            The plan that it must be of.

        Raises
        ------
        FileError
            If the file is truncated, foreign, of another version or corrupt.
        """
        with Path(path).open("rb") as file:
            return cls._read(SealedReader(file, path), plan)

    @classmethod
    def from_bytes(cls, data: bytes, plan: Plan | None = None) -> Self:
        """Read what `to_bytes` wrote; errors as for `load`."""
        return cls._read(SealedReader(io.BytesIO(data), "<bytes>"), plan)

    def _pieces(self) -> Iterator[bytes]:
        plan = self.plan.to_json().encode("utf-8")
        digest = hashlib.sha256()
        for piece in (
            _HEADER.pack(MAGIC, VERSION, len(plan)) + plan,
            *(array.astype("<i8", copy=False).tobytes() for array in self.table.arrays().values()),
        ):
            digest.update(piece)
            yield piece
        yield digest.digest()

    @classmethod
    def _read(cls, reader: SealedReader, plan: Plan | None) -> Self:
        aggregate = cls(_read_plan(reader, plan))
        shapes = aggregate.table.shapes(aggregate.plan, reader.size - reader.offset - DIGEST_BYTES)
        words = sum(math.prod(shape) for shape in shapes.values())
        reader.expect_size(reader.offset + 8 * words + DIGEST_BYTES, "for this plan")
        start = reader.offset
        arrays = {name: _integers(reader, shape) for name, shape in shapes.items()}
        reader.finish()
        try:
            aggregate.table = _table_class(aggregate.plan).from_arrays(aggregate.plan, arrays)
            if aggregate.count > MAX_COUNT:
                raise AggregateError("it holds more than 2^46 reports")
        except AggregateError as error:
            raise FileError(reader.path, start, "a table that reports can make", str(error)) from None
        return aggregate

    def _check_room(self, more: int) -> None:
        if self.count + more > MAX_COUNT:
            raise AggregateError(
                f"an aggregate holds at most 2^46 reports; it has {self.count}, {more} more came"
            )


def _table_class(plan: Plan) -> type[Table]:
    protocol = protocol_of(plan)
    return cast("type[Table]", protocol.load(protocol.table))


def is_table(path: AnyPath) -> bool:
    """Return whether a file says by its first bytes that it is an aggregate."""
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _integers(reader: SealedReader, shape: tuple[int, ...]) -> NDArray[np.int64]:
    data = reader.take(8 * math.prod(shape), f"an array of shape {shape}")
    return np.frombuffer(data, dtype="<i8").reshape(shape).astype(np.int64, copy=False)


def _read_plan(reader: SealedReader, expected: Plan | None) -> Plan:
    start = reader.take(len(MAGIC), "the start of an aggregate") if reader.size >= len(MAGIC) else b""
    if start != MAGIC:
        raise FileError(reader.path, 0, f"{MAGIC!r}, the start of an aggregate")
    rest = reader.take(_HEADER.size - len(MAGIC), "version and length of the plan")
    _, version, length = _HEADER.unpack(MAGIC + rest)
    if version != VERSION:
        raise FileError(reader.path, _VERSION_OFFSET, f"version {VERSION}", f"version {version}")
    if length > MAX_PLAN_BYTES:
        raise FileError(reader.path, _LENGTH_OFFSET, f"a plan of at most {MAX_PLAN_BYTES} bytes", str(length))
    text = reader.take(length, f"a plan of {length} bytes")
    try:
        plan = Plan.from_json(text)
    except PlanError as error:
        raise FileError(reader.path, _HEADER.size, "a valid plan", str(error)) from None
    if plan.to_json().encode("utf-8") != text:
        raise FileError(reader.path, _HEADER.size, "a plan in canonical JSON", "another spelling of it")
    if expected is not None and plan != expected:
        raise FileError(reader.path, _HEADER.size, f"plan {expected.id}", f"plan {plan.id}")
    return plan
