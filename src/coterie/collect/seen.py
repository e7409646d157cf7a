"""Ids that were counted before, on disk: 12 bytes each, in a few sorted files.

    bytes 0-15 "COTERIE-ID-RUN" and two zeros    16-47 plan id    48-55 number of ids    then the ids
    then the SHA-256 of all

Each addition makes one file, and a file that is at most twice as long as the next newer one is merged with
it, so that n ids lie in about log n files and each is written about log n times. Ids are read in their order,
those of one part (`coterie.collect.partitions`) at a time, so memory is that of a part; reading all parts has
read the file whole, and its digest is checked at the end.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError
from coterie.plain.files import replacing
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES

MAGIC: Final = b"COTERIE-ID-RUN\0\0"

_HEADER: Final = struct.Struct(">16s32sQ")
_DIGEST_BYTES: Final = 32
_ID: Final = f"S{ID_BYTES}"  # compares as bytes do: all have one width, so padding with zeros tells no lie
_MERGE_BITS: Final = 10

Ids = NDArray[np.bytes_]  # (n,) of 12 bytes


def as_ids(rows: NDArray[np.uint8]) -> Ids:
    """Return ids that compare: (n, 12 or more) -> (n,)."""
    return np.ascontiguousarray(rows[:, :ID_BYTES]).view(_ID)[:, 0]


class IdRun:
    """A sorted file of ids, to be read once, part by part.

    Parameters
    ----------
    path : Path
        The file.
    plan : Plan
        The plan whose reports had these ids.

    Raises
    ------
    FileError
        If it is cut short, foreign, or of another plan.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path = path
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            size = file.seek(0, os.SEEK_END)
        if len(header) < _HEADER.size or not header.startswith(MAGIC):
            raise FileError(path, 0, f"{MAGIC!r}, the start of a file of ids")
        _, plan_id, self.count = _HEADER.unpack(header)
        if plan_id != plan.id_bytes:
            raise FileError(path, 16, f"ids of plan {plan.id}", f"plan {plan_id.hex()}")
        expected = _HEADER.size + self.count * ID_BYTES + _DIGEST_BYTES
        if size != expected:
            raise FileError(path, min(size, expected), f"{expected} bytes in all", f"{size}")
        self._digest = hashlib.sha256(header)

    def parts(self, bits: int) -> Iterator[Ids]:
        """Yield the ids of each of 2^bits parts, in order, and check the digest after the last."""
        if not self.count:
            yield from (np.empty(0, dtype=_ID) for _ in range(1 << bits))
        else:
            ids = np.memmap(self.path, dtype=_ID, mode="r", offset=_HEADER.size, shape=(self.count,))
            start = 0
            for part in range(1 << bits):
                stop = self.count
                if part + 1 < 1 << bits:
                    bound = ((part + 1) << (16 - bits)).to_bytes(2, "big")
                    stop = int(np.searchsorted(ids, np.array(bound, dtype=_ID)))
                if stop < start:
                    raise self._damaged(start)
                found = np.array(ids[start:stop])
                self._digest.update(found.data)
                yield found
                start = stop
        with self.path.open("rb") as file:
            file.seek(-_DIGEST_BYTES, os.SEEK_END)
            if file.read() != self._digest.digest():
                raise self._damaged(self.count)

    def _damaged(self, number: int) -> FileError:
        return FileError(
            self.path,
            _HEADER.size + number * ID_BYTES,
            "sorted ids and the SHA-256 of everything before it",
            "a damaged file: which reports were counted is not known. Restore it",
        )


def write_run(path: Path, plan: Plan, parts: Iterable[Ids]) -> int:
    """Write ids, sorted and part by part, to a file; return how many there are."""
    count = 0
    with replacing(path) as file:
        file.write(bytes(_HEADER.size))
        for ids in parts:
            file.write(ids.data)
            count += len(ids)
        header = _HEADER.pack(MAGIC, plan.id_bytes, count)
        file.seek(0)
        file.write(header)
        file.seek(0)
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
        file.write(digest.digest())
    return count


def merge_runs(path: Path, plan: Plan, runs: Iterable[IdRun]) -> int:
    """Write the ids of several files, no id in two of them, to one; return how many there are."""
    together = zip(*(run.parts(_MERGE_BITS) for run in runs), strict=True)
    return write_run(path, plan, (np.sort(np.concatenate(each)) for each in together))


def among(ids: Ids, sorted_ids: Ids) -> NDArray[np.bool_]:
    """Tell which ids are among sorted ones: (n,), (m,) -> (n,)."""
    if not len(sorted_ids):
        return np.zeros(len(ids), dtype=np.bool_)
    places = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.asarray(sorted_ids[places] == ids)
