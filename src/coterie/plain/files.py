"""Whole files: read with a bound, replaced in one step.

A file of this package is never seen half-written. It is written under a temporary name in the same folder,
flushed to the disk, then renamed over its real name: after a crash there is the old file or the new one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from coterie.errors import FileError


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a temporary file (read and write) that takes the place of `path` when the block ends well.

    If the block raises, the temporary file is removed and `path` stays as it was. `mode` is who may read and
    write it, less the process's umask.

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
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


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


def read_bounded(path: str | os.PathLike[str], limit: int, what: str) -> bytes:
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
