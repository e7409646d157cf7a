"""Coins that were written down before, in place of the system's. Nothing of the package is imported here.

The file is also carried into Python processes that an audit starts: its text, and a last line that calls
`install`, are what the interpreter runs first. There, where the tape begins and where to note how much of it
was taken stand in the environment.
"""

import hashlib
import os
import random

SEED = "COTERIE_AUDIT_SEED"
NOTE = "COTERIE_AUDIT_NOTE"
_BLOCK = hashlib.sha256().digest_size


class Tape:
    """The blocks SHA-256(seed ‖ 0), SHA-256(seed ‖ 1), …, eight bytes each number, one after the other.

    Parameters
    ----------
    seed : int
        Below 2^64.
    note : str, optional
        A file that says how many bytes were taken.

    Examples
    --------
    >>> Tape(7).urandom(40) == Tape(7).urandom(33) + Tape(7).urandom(40)[33:]
    True
    """

    def __init__(self, seed: int, note: str | None = None) -> None:
        self._seed = seed.to_bytes(8, "big")
        self._note = note
        self.drawn = 0
        self._tell()

    def urandom(self, count: int, _flags: int = 0) -> bytes:
        """Stand in for `os.urandom` and `os.getrandom`."""
        first, skip = divmod(self.drawn, _BLOCK)
        blocks = range(first, -(-(self.drawn + count) // _BLOCK))
        taken = b"".join(hashlib.sha256(self._seed + each.to_bytes(8, "big")).digest() for each in blocks)
        self.drawn += count
        self._tell()
        return taken[skip : skip + count]

    def _tell(self) -> None:
        if self._note is not None:
            with open(self._note, "w") as file:  # noqa: PTH123 - nothing but what interpreters load anyway
                file.write(str(self.drawn))


def install() -> None:
    """Let this process draw from the tape that its environment names."""
    tape = Tape(int(os.environ[SEED]), os.environ[NOTE])
    for room, name in ((os, "urandom"), (os, "getrandom"), (random, "_urandom")):
        if hasattr(room, name):
            setattr(room, name, tape.urandom)
