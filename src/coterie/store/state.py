"""Small files of the embedded store, each with its checksum: written whole or not at all, read whole or not.

    contents, then SHA-256 of the contents (32 bytes)

The state of a study is one of them. Whatever changes several files at once, a compaction say, writes the
others first and then the state, which names them: that one rename is the moment when it has happened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from coterie.errors import FileError, PlanError
from coterie.plain.canonical import canonical_bytes, parse_object
from coterie.plain.checks import (
    SHA256_HEX,
    checked_choice,
    checked_fields,
    checked_integer,
    checked_list,
    checked_match,
)
from coterie.plain.files import read_bounded, sealed, unsealed, write_whole
from coterie.store.base import Counts, Lost, StudyState
from coterie.store.segments import room_on_disk
from coterie.store.sets import COUNTS, NAMES
from coterie.store.sorted_file import SortedFile

FORMAT: Final = "coterie-store"
VERSION: Final = 2
MOST_BYTES: Final = 1 << 32  # of one such file

_FILE: Final = re.compile(r"(all-)?(reports|withdrawn|released)-[0-9]{1,18}\.coterie|[0-9a-f]{64}\.released")
_NUMBERED: Final = re.compile(r"-([0-9]+)\.")  # by the compaction that wrote it
MOST: Final = 1 << 48  # of anything that is counted: more can be added without leaving the exact integers


@dataclass(frozen=True, slots=True)
class State:
    """Where a study stands, as of its last compaction; what came later is in the segments."""

    state: StudyState = StudyState.OPEN
    through: int = 0  # what segments up to this number hold of the study is in the files below
    generation: int = 0  # compactions so far
    counts: Counts = field(default_factory=lambda: Counts(0))
    reports: tuple[SortedFile, ...] = ()  # one at most
    withdrawn: tuple[SortedFile, ...] = ()  # ids, none in two of the files
    released: tuple[SortedFile, ...] = ()  # ids, none in two of the files
    handed: tuple[str, ...] = ()  # digests of the reports of each batch that was made
    staged: str | None = None  # digest of the batch that waits for its acknowledgement
    batches: tuple[str, ...] = ()  # digests of batches that were taken in, sorted
    lost: Lost | None = None

    def files_of(self, kind: int) -> tuple[SortedFile, ...]:
        """Return the files that hold a set (`sets`)."""
        files: tuple[SortedFile, ...] = getattr(self, NAMES[kind])
        return files

    @property
    def files(self) -> set[str]:
        """Names of the sorted files that belong to the study."""
        return {file.name for file in (*self.reports, *self.withdrawn, *self.released)}

    def holding(self, kind: int, files: tuple[SortedFile, ...]) -> State:
        """Return the state with other files of a set, and their count."""
        changed: dict[str, Any] = {NAMES[kind]: files}
        return replace(self, **changed).counting(**{COUNTS[kind]: sum(file.rows for file in files)})

    def counting(self, **counts: int) -> State:
        """Return the state with other counts."""
        return replace(self, counts=replace(self.counts, **counts))

    @property
    def digests(self) -> set[str]:
        """Digests of the batches that belong to the study."""
        return {*self.batches, *([] if self.staged is None else [self.staged])}

    def to_bytes(self) -> bytes:
        """Return the state as JSON."""
        fields = {**asdict(self), "reports": asdict(self.reports[0]) if self.reports else None}
        return canonical_bytes({"format": FORMAT, "version": VERSION, **fields})

    @classmethod
    def read(cls, path: Path) -> State:
        """Read a state that `write_checked` wrote; FileError if it is another file."""
        try:
            return _checked_state(parse_object(read_checked(path), "the state of a study"))
        except PlanError as error:
            raise FileError(path, 0, f"the state of a study, version {VERSION}", str(error)) from None


def _checked_state(data: Mapping[str, Any]) -> State:
    checked_fields("state", data, ["format", "version", *(each.name for each in fields(State))])
    checked_choice("format", data["format"], [FORMAT])
    checked_integer("version", data["version"], VERSION, VERSION)
    counts = checked_fields("counts", data["counts"], Counts.__slots__)
    withdrawn, released, batches, handed = (
        checked_list(name, data[name]) for name in ("withdrawn", "released", "batches", "handed")
    )
    found = State(
        state=StudyState(checked_choice("state", data["state"], list(StudyState))),
        through=checked_integer("through", data["through"], 0, MOST),
        generation=checked_integer("generation", data["generation"], 0, MOST),
        counts=Counts(**{name: checked_integer(name, counts[name], 0, MOST) for name in counts}),
        reports=() if data["reports"] is None else (_checked_file(data["reports"]),),
        withdrawn=tuple(map(_checked_file, withdrawn)),
        released=tuple(map(_checked_file, released)),
        handed=tuple(checked_match("a batch", each, SHA256_HEX) for each in handed),
        staged=None if data["staged"] is None else checked_match("staged", data["staged"], SHA256_HEX),
        lost=None if data["lost"] is None else _checked_loss(data["lost"]),
        batches=tuple(checked_match("a batch", each, SHA256_HEX) for each in batches),
    )
    made = [int(number[1]) for name in found.files if (number := _NUMBERED.search(name))]
    if max(made, default=0) > found.generation:
        raise PlanError("generation must be that of the newest file: the next would take its place")
    return found


def _checked_file(data: object) -> SortedFile:
    found = checked_fields("a file", data, SortedFile.__slots__)
    return SortedFile(
        checked_match("name", found["name"], _FILE),
        checked_integer("rows", found["rows"], 1, MOST),
        checked_match("sha256", found["sha256"], SHA256_HEX),
    )


def _checked_loss(data: object) -> Lost:
    found = checked_fields("lost", data, Lost.__slots__)
    if type(found["accepted"]) is not bool:
        raise PlanError("accepted must be true or false")
    reports, files = (checked_integer(name, found[name], 0, MOST) for name in ("reports", "files"))
    return Lost(reports, files, found["accepted"])


def write_checked(path: Path, data: bytes) -> None:
    """Write a file and its checksum, in the place of one that is there."""
    with room_on_disk():
        write_whole(path, sealed(data), 0o600)


def read_checked(path: Path) -> bytes:
    """Return the contents of a file once its checksum has matched; FileError if it does not."""
    return unsealed(read_bounded(path, MOST_BYTES, "a file of the store"), path)
