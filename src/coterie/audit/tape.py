"""Coins that were written down before, in place of the system's. Nothing of the package is imported here.

The file is also carried into Python processes that an audit starts: its text, and a last line that calls
`install`, are what the interpreter runs first. There, where the tape begins and where to note how much of it
was taken stand in the environment.
"""

import hashlib
import os
import random

SEED = "COTERIE_AUDIT_SEED"
OTHER = "COTERIE_AUDIT_OTHER"
KEPT = "COTERIE_AUDIT_KEPT"
NOTE = "COTERIE_AUDIT_NOTE"
_BLOCK = hashlib.sha256().digest_size

# Where the system's coins are asked for.
PLACES = [(os, "urandom"), (random, "_urandom"), *([(os, "getrandom")] if hasattr(os, "getrandom") else [])]


class Tape:
    """The blocks SHA-256(seed ‖ 0), SHA-256(seed ‖ 1), …, eight bytes each number, one after the other.

    Parameters
    ----------
    seed : int
        Below 2^64.
    other : int, optional
        Another tape's seed, from which all bytes are that do not lie in `kept`, intervals [first, last).
    note : str, optional
        A file that says how many bytes were taken.

    Examples
    --------
    >>> Tape(7).urandom(40) == Tape(7).urandom(33) + Tape(7).urandom(40)[33:]
    True
    """

    def __init__(
        self,
        seed: int,
        other: int | None = None,
        kept: tuple[tuple[int, int], ...] = (),
        note: str | None = None,
    ) -> None:
        self._seed = seed
        self._other = other
        self._kept = kept
        self._note = note
        self.drawn = 0
        self._tell()

    def urandom(self, count: int, _flags: int = 0) -> bytes:
        """Stand in for `os.urandom` and `os.getrandom`."""
        start, self.drawn = self.drawn, self.drawn + count
        self._tell()
        if self._other is None:
            return _written(self._seed, start, count)
        taken = bytearray(_written(self._other, start, count))
        own = _written(self._seed, start, count)
        for first, last in self._kept:
            low, high = max(first - start, 0), min(last - start, count)
            if low < high:
                taken[low:high] = own[low:high]
        return bytes(taken)

    def named(self) -> dict[str, str]:
        """Return the variables by which another process finds this tape; the note is its own."""
        other = "" if self._other is None else str(self._other)
        return {SEED: str(self._seed), OTHER: other, KEPT: ",".join(f"{a}-{b}" for a, b in self._kept)}

    def _tell(self) -> None:
        if self._note is not None:
            with open(self._note, "w") as file:  # noqa: PTH123 - nothing but what interpreters load anyway
                file.write(str(self.drawn))


def _written(seed: int, start: int, count: int) -> bytes:
    """Return bytes of the tape of one seed."""
    first, skip = divmod(start, _BLOCK)
    blocks = range(first, -(-(start + count) // _BLOCK))
    key = seed.to_bytes(8, "big")
    taken = b"".join(hashlib.sha256(key + each.to_bytes(8, "big")).digest() for each in blocks)
    return taken[skip : skip + count]


def install() -> None:
    """Let this process draw from the tape that its environment names."""
    pairs = [each.split("-") for each in os.environ[KEPT].split(",") if each]
    kept = tuple((int(first), int(last)) for first, last in pairs)
    other = os.environ[OTHER]
    tape = Tape(int(os.environ[SEED]), int(other) if other else None, kept, os.environ[NOTE])
    for room, name in PLACES:
        setattr(room, name, tape.urandom)
