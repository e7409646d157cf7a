"""Small files of the embedded store, each with its checksum: written whole or not at all, read whole or not.

    contents, then SHA-256 of the contents (32 bytes)

The state of a study is one of them. Whatever changes several files at once, a compaction say, writes the
others first and then the state, which names them: that one rename is the moment when it has happened.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from coterie.errors import FileError
from coterie.plain.canonical import canonical_bytes
from coterie.plain.files import read_bounded, replacing
from coterie.store.base import Counts, StudyState
from coterie.store.parquet import SortedFile
from coterie.store.segments import room_on_disk

FORMAT: Final = "coterie-store"
VERSION: Final = 1
MOST_BYTES: Final = 1 << 32  # of one such file

_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class State:
    """Where a study stands, as of its last compaction; what came later is in the segments."""

    state: StudyState = StudyState.OPEN
    through: int = 0  # what segments up to this number hold of the study is in the files below
    generation: int = 0  # compactions so far
    counts: Counts = field(default_factory=lambda: Counts(0))
    reports: SortedFile | None = None
    withdrawn: SortedFile | None = None
    released: SortedFile | None = None
    staged: str | None = None  # digest of the batch that waits for its acknowledgement
    batches: tuple[str, ...] = ()  # digests of batches that were taken in, sorted

    @property
    def files(self) -> set[str]:
        """Names of the Parquet files that belong to the study."""
        return {file.name for file in (self.reports, self.withdrawn, self.released) if file is not None}

    @property
    def digests(self) -> set[str]:
        """Digests of the batches that belong to the study."""
        return {*self.batches, *([] if self.staged is None else [self.staged])}

    def to_bytes(self) -> bytes:
        """Return the state as JSON."""
        return canonical_bytes({"format": FORMAT, "version": VERSION, **asdict(self)})

    @classmethod
    def read(cls, path: Path) -> State:
        """Read a state that `write_checked` wrote."""
        try:
            fields: dict[str, Any] = json.loads(read_checked(path))
            if (fields.pop("format"), fields.pop("version")) != (FORMAT, VERSION):
                raise ValueError
            for name in ("reports", "withdrawn", "released"):
                fields[name] = fields[name] and SortedFile(**fields[name])
            fields["state"], fields["counts"] = StudyState(fields["state"]), Counts(**fields["counts"])
            fields["batches"] = tuple(fields["batches"])
            return cls(**fields)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(path, 0, f"the state of a study, version {VERSION}", "something else") from None


def write_checked(path: Path, data: bytes) -> None:
    """Write a file and its checksum, in the place of one that is there."""
    with room_on_disk(), replacing(path, 0o600) as file:
        file.write(data)
        file.write(hashlib.sha256(data).digest())


def read_checked(path: Path) -> bytes:
    """Return the contents of a file once its checksum has matched; FileError if it does not."""
    data = read_bounded(path, MOST_BYTES, "a file of the store")
    contents, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if hashlib.sha256(contents).digest() != digest:
        raise FileError(path, len(contents), "the SHA-256 of everything before it", "another: it is damaged")
    return contents
