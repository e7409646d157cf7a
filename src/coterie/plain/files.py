"""Whole files: read with a bound, replaced in one step, ended by a digest.

A file of this package is never seen half-written. It is written under a temporary name in the same folder,
flushed to the disk, then renamed over its real name: after a crash there is the old file or the new one.
An error of the operating system names the file that was meant, never the temporary one.

Report files, shuffled files, tables, ledgers and the files of a store have one framing: whatever they hold,
the SHA-256 of everything before it is at the end (docs/wire-format.md). A digest tells damage, not malice:
whoever can write a file can write its digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from coterie.errors import FileError

DIGEST_BYTES: Final = 32

AnyPath = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: AnyPath, mode: int = 0o666, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file (read and write) that takes the place of `path` when the block ends well.

    If the block raises, the temporary file is removed and `path` stays as it was. `mode` is who may read and
    write it, less the process's umask. Without `overwrite` a file that is there, or appears meanwhile, stays.

    Raises
    ------
    FileExistsError
        If `path` exists and must not be overwritten.
    OSError
        If the file cannot be written; `filename` is `path`. Other errors of the block stay as they are.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "note") as file:
    ...     _ = file.write(b"whole")
    >>> (folder / "note").read_bytes()
    b'whole'
    """
    target = Path(path)
    if not overwrite:
        _refuse_existing(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with naming(target):
            handle = os.open(temporary, flags, mode)
        with io.BufferedRandom(_Named(handle, target)) as buffered:
            file = cast("BinaryIO", buffered)
            yield file
            file.flush()
            with naming(target):
                os.fsync(file.fileno())
        with naming(target):
            _put(temporary, target, overwrite)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with naming(target):
        sync_folder(target.parent)


def write_whole(path: AnyPath, data: str | bytes, mode: int = 0o666, *, overwrite: bool = True) -> None:
    """Write a file of these contents, a text in UTF-8, as `replacing` does."""
    with replacing(path, mode, overwrite=overwrite) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Let an error of the operating system in the block name this file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of our own, with its own words
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


class _Named(io.FileIO):
    """A file whose errors name what is meant, here not the name under which it is being written."""

    def __init__(self, handle: int, path: Path) -> None:
        super().__init__(handle, "r+")
        self._path = path

    def write(self, data: Any) -> int:
        with naming(self._path):
            return super().write(data)


def _put(temporary: Path, target: Path, overwrite: bool) -> None:
    """Give a file its real name."""
    if overwrite:
        temporary.replace(target)
        return
    try:
        os.link(temporary, target)  # unlike a rename it never takes another file's place
    except FileExistsError:
        _refuse_existing(target)
        raise
    except OSError:  # a file system without links
        _refuse_existing(target)
        temporary.replace(target)
    else:
        temporary.unlink()


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path} exists already; overwrite=True replaces it")


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, so that a rename or a new file survives a power cut.

    Windows has no such call; a rename is still atomic there.
    """
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_bounded(path: AnyPath, limit: int, what: str) -> bytes:
    """Return the contents of a file of at most `limit` bytes.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    limit : int
        Most bytes it may have. No more than that is ever read.
    what : str
        What the file should be, for the error message.
    """
    with Path(path).open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FileError(path, limit, f"the end of {what} (at most {limit} bytes)", "more bytes")
    return data


def sealed(contents: bytes) -> bytes:
    """Return contents with their digest behind them."""
    return contents + hashlib.sha256(contents).digest()


def unsealed(data: bytes, path: AnyPath) -> bytes:
    """Return what stands before the digest, if it is that of it.

    Raises
    ------
    FileError
        If it is another; `path` is whose data they are.

    Examples
    --------
    >>> unsealed(sealed(b"contents"), "note")
    b'contents'
    """
    contents = data[:-DIGEST_BYTES]
    check_digest(hashlib.sha256(contents).digest(), data[-DIGEST_BYTES:], path, len(contents))
    return contents


def check_digest(computed: bytes, stored: bytes, path: AnyPath, place: int) -> None:
    """Raise FileError unless the digest that a file has at a place is the one that was computed."""
    if computed != stored:
        found = "another: the file was changed or damaged, and none of it may count"
        raise FileError(path, place, "the SHA-256 of everything before it", found)


class SealedReader:
    """Reads a file from its start, hashing; every error names the file and the offset.

    Attributes
    ----------
    path : str or os.PathLike
        What errors call it.
    size : int
        Bytes of the file.
    offset : int
        Bytes read so far.
    """

    def __init__(self, file: BinaryIO, path: AnyPath) -> None:
        self.path = path
        self.size = file.seek(0, os.SEEK_END)
        self.offset = file.seek(0)
        self._file = file
        self._digest = hashlib.sha256()

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes, or say that the file ends before `what`."""
        data = self._file.read(size)
        if len(data) < size:
            raise FileError(self.path, self.offset + len(data), what, "the end of the file")
        self.offset += size
        self._digest.update(data)
        return data

    def expect_size(self, size: int, what: str) -> None:
        """Raise FileError unless the file has so many bytes in all."""
        if self.size != size:
            found = f"{self.size}: the file was cut short or added to"
            raise FileError(self.path, min(size, self.size), f"{size} bytes in all {what}", found)

    def finish(self) -> None:
        """Raise FileError unless the digest of everything that was read follows."""
        computed, place = self._digest.digest(), self.offset
        check_digest(computed, self.take(DIGEST_BYTES, "a digest"), self.path, place)
