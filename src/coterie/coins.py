"""Secret coins: exact integers from random bytes, with no modulo bias.

To draw below a bound b, take a uniform 64-bit word and keep it when it is below ⌊2^64/b⌋·b, the largest
multiple of b that fits; else take another. What is kept ranges over a whole number of copies of [0, b), so
its remainder by b is exactly uniform. (The remainder of *every* word would favour small values.) A word is
refused with probability below b/2^64, and whether one is refused says nothing about the value drawn.

`SystemCoins` asks the operating system and is the only source a real client uses. `SimulationCoins` is
seeded, hence predictable: a report made with it is not private, and it exists for simulations and tests.
Public randomness (`coterie.wire.stream`) and the analyst's `random_state` are other things again; the three
are never mixed.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError

BOUND_LIMIT: Final = 1 << 63  # draws fit a signed 64-bit integer

_WORDS: Final = 1 << 64
_CHUNK: Final = 1 << 16  # words taken at a time: they stay in cache, and memory beyond the result is constant


class Coins(Protocol):
    """A source of uniform integers. Bounds and sizes are public; what is drawn is secret."""

    def bytes(self, count: int) -> builtins.bytes:
        """Return `count` uniform bytes."""
        ...

    def below(self, bound: int) -> int:
        """Return one integer, exactly uniform on [0, bound), 1 <= bound < 2^63."""
        ...

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, shape (size,), each exactly uniform on [0, bound)."""
        ...


class SystemCoins:
    """Coins of the operating system's CSPRNG. Holds no state, so a copy or a fork repeats nothing.

    Examples
    --------
    >>> coins = SystemCoins()
    >>> 0 <= coins.below(6) < 6
    True
    >>> coins.below_many(6, size=1000).shape
    (1000,)
    """

    __slots__ = ()

    def bytes(self, count: int) -> builtins.bytes:
        """Return `count` bytes of `os.urandom`."""
        return os.urandom(count)

    def below(self, bound: int) -> int:
        """Return one integer, exactly uniform on [0, bound), 1 <= bound < 2^63."""
        return int(self.below_many(bound, 1)[0])

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, shape (size,), each exactly uniform on [0, bound)."""
        return _below_many(os.urandom, bound, size)


class SimulationCoins:
    """Seeded coins, for simulations and tests only: whoever knows the seed undoes the privacy.

    The draws depend on the seed and the order of calls alone, and `below_many(bound, size)` draws what `size`
    calls of `below(bound)` would.

    Parameters
    ----------
    seed : int or sequence of int
        Anything `numpy.random.SeedSequence` takes, but never nothing: a simulation says what it repeats.

    Examples
    --------
    >>> first, second = SimulationCoins(7), SimulationCoins(7)
    >>> first.below_many(6, size=3).tolist() == [second.below(6) for _ in range(3)]
    True
    """

    __slots__ = ("_generator",)

    def __init__(self, seed: int | Sequence[int]) -> None:
        self._generator = np.random.Generator(np.random.PCG64DXSM(seed))

    def bytes(self, count: int) -> builtins.bytes:
        """Return the generator's next `count` bytes."""
        return self._generator.bytes(count)

    def below(self, bound: int) -> int:
        """Return one integer, uniform on [0, bound), 1 <= bound < 2^63."""
        return int(self.below_many(bound, 1)[0])

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return `size` integers, shape (size,), each uniform on [0, bound)."""
        return _below_many(self._generator.bytes, bound, size)


def _whole_copies(bound: int) -> int:
    """Return the largest multiple of `bound` that is at most 2^64."""
    if not 1 <= bound < BOUND_LIMIT:
        raise PlanError(f"coins are drawn below a bound in [1, 2^63), got bound {bound}")
    return _WORDS - _WORDS % bound


def _below_many(source: Callable[[int], bytes], bound: int, size: int) -> NDArray[np.int64]:
    largest = np.uint64(_whole_copies(bound) - 1)  # the limit itself may be 2^64, which no word can hold
    divisor = np.uint64(bound)
    drawn = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        words = np.frombuffer(source(8 * min(size - done, _CHUNK)), dtype="<u8")
        kept = words if (words <= largest).all() else words[words <= largest]
        # The remainder through floor division, which numpy vectorizes for one divisor and `%` it does not.
        drawn[done : done + len(kept)] = kept - kept // divisor * divisor
        done += len(kept)
    return drawn
