"""Private sums of integer vectors by row, in shares: the paper's ShuffleBVSEncoder and Decoder, corrected.

A person holds a row (a bucket) and an integer vector u of D coordinates with ‖u‖ ≤ G (1/η grid steps). For
the coordinates of every row that the person serves, the value is u_k in the own row and 0 elsewhere, plus
noise; each value is split into shares modulo q (`split_and_mix`), and a message is (row, coordinate, share).
The shuffler mixes; the server adds up modulo q, takes the representative nearest 0 and divides by G.

Where the printed algorithm must be corrected (docs/theory/shuffle.md):
- the value is the *quantized* coordinate; rounding towards 0 keeps ‖u‖ ≤ G, where rounding down can reach G
  + √D;
- the noise lives on the same grid: its scale is a multiple of the influence in grid steps, not of 1;
- replacing a person changes two rows: the influence is taken over the whole table;
- the modulus leaves room for everybody's vectors *and* the noise; the result is centered and divided by G.

Noise: each of the people adds a discrete Gaussian of scale s to every value sent. (The paper's i = 1, one
trusted person who adds all of it, would leave exact sums behind if that person dropped out.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError
from coterie.randomizers.discrete_gaussian import DiscreteGaussian
from coterie.randomizers.split_and_mix import MAX_MODULUS, SplitAndMix, smallest_prime_above

ADDRESS_BYTES: Final = 4  # of a message: row·D + coordinate, big-endian
NOISE_REACH: Final = 12  # deviations of noise that the modulus has room for


@dataclass(frozen=True, slots=True)
class VectorSums:
    """The shares and messages of a table of `rows` × `width` sums.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> sums = VectorSums(rows=2, width=3, scale=Fraction(0), mixer=SplitAndMix(1009, 3))
    >>> shares = sums.split_all(np.array([1, 0]), np.array([[5, 0, -2], [1, 1, 1]]), SimulationCoins(0))
    >>> sums.centered(shares.sum(axis=(0, -1)) % 1009)[1].tolist()  # of all people, and all shares
    [5, 0, -2]
    """

    rows: int
    width: int  # D
    scale: Fraction  # s, of the noise that each value carries; 0 for none
    mixer: SplitAndMix

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", Fraction(self.scale))
        if self.rows < 1 or self.width < 1 or self.rows * self.width >= 1 << (8 * ADDRESS_BYTES):
            raise PlanError(f"a table has at least one entry and below 2^32, got {self.rows} × {self.width}")

    def noise(self, shape: tuple[int, ...], coins: Coins) -> NDArray[np.int64]:
        """Return noise of scale s for that many values."""
        if self.scale == 0:
            return np.zeros(shape, dtype=np.int64)
        return DiscreteGaussian(self.scale).sample(math.prod(shape), coins).reshape(shape)

    def split_all(
        self, rows: NDArray[np.int64], vectors: NDArray[np.int64], coins: Coins
    ) -> NDArray[np.int64]:
        """Return shares of every row for each person: (n,) or (n, T), (n, D) -> (n, rows, D, m).

        A person's vector is added to one row, or to each of T different ones.
        """
        people = len(rows)
        values = self.noise((people, self.rows, self.width), coins)
        values[np.arange(people)[:, None], rows.reshape(people, -1)] += vectors[:, None]
        return self.mixer.split(values, coins)

    def split_own(self, vectors: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
        """Return shares of the own row alone for each person: (n, D) -> (n, D, m)."""
        return self.mixer.split(vectors + self.noise(vectors.shape, coins), coins)

    def messages(self, rows: NDArray[np.int64], shares: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Write messages: rows (n,), any number of shares each (n, D, m) -> (n·D·m, width)."""
        addresses = rows[:, None] * self.width + np.arange(self.width)  # (n, D)
        repeated = np.repeat(addresses.ravel(), shares.shape[-1])
        written = big_endian(repeated, ADDRESS_BYTES), big_endian(shares.ravel(), self.mixer.share_bytes)
        return np.concatenate(written, axis=1)

    def read(self, messages: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read messages, (k, width) -> addresses (k,), shares (k,); nothing is checked."""
        addresses = from_big_endian(messages[:, :ADDRESS_BYTES])
        return addresses, from_big_endian(messages[:, ADDRESS_BYTES:])

    def centered(self, residues: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the integers nearest 0 of the residues: (rows, D) -> (rows, D)."""
        return self.mixer.centered(residues)


def modulus_for(people: int, grid: int, total_scale: float) -> int:
    """Return the smallest prime with room for so many vectors of G grid steps and their noise.

    Examples
    --------
    >>> modulus_for(1000, 4096, 37_000.0)
    9080021
    """
    room = 2 * (people * grid + math.ceil(NOISE_REACH * total_scale)) + 1
    if room > MAX_MODULUS // 2:
        raise PlanError(f"sums of {people} people on a grid of {grid} steps need a modulus beyond 2^61")
    return smallest_prime_above(room)


def big_endian(values: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """Write non-negative integers as `size` bytes each: (n,) -> (n, size)."""
    return values.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - size :]


def from_big_endian(written: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Read what `big_endian` wrote: (n, size) -> (n,)."""
    padded = np.zeros((len(written), 8), dtype=np.uint8)
    padded[:, 8 - written.shape[1] :] = written
    return padded.view(">u8")[:, 0].astype(np.int64)
