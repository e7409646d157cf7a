"""The codeword randomizer: PrivUnit by enumeration, one index out of N public codewords.

A person holds a vector; public randomness gives N codewords and hence N integer scores. Order the indices
by (score descending, index ascending); the first **exactly m** are the cap. Send one index, each in the cap
with odds A, each outside with odds B = 2^24, where A ≤ e^ε·B.

Why that is ε-private:
  1. Given the public codewords, a value fixes some m-subset of the N indices, its cap.
  2. Whatever the value, each index is sent with probability A/(mA+(N-m)B) or B/(mA+(N-m)B).
  3. So any two values' probabilities of any index differ by a factor of at most A/B ≤ e^ε. ∎
No float enters: scores only decide *which* m-subset is the cap, and every m-subset is as private as any
other. A cap "score ≥ threshold" has a size that depends on the value, and line 2 fails.

What the server needs is how far the sent codeword v ∈ {±1}^P leans towards the unit vector w' that was
scored:

    κ = E⟨v,w'⟩, so that E[v] = κ·w';      c₂ = E⟨v,w'⟩² - 1, so that E[v_i·v_j] = c₂·w'_i·w'_j for i ≠ j

Scores are nearly normal, and E Σ_{top m} g(Z) = N ∫ g(z) φ(z) Pr[Bin(N-1, 1-Φ(z)) < m] dz. For finite P a
score has excess kurtosis -2Σw'_j⁴ ≈ -6/(P+2), which the first Cornish-Fisher term z + (kurtosis/24)·(z³-3z)
accounts for: κ is then right within 0.1 % up to ε = 4 for P = 128 (tests/statistics).
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError, bringing
from coterie.privacy.odds import BASE_ODDS

CODEWORDS: Final = 256  # N of plans that do not say: an index is one byte
MAX_CODEWORDS: Final = 1 << 16  # an index fits two bytes
TOTAL_LIMIT: Final = 1 << 53  # the draw fits an integer of every language, floats included

_TAIL: Final = 10.0  # the normal density beyond this is below 1e-22
_GAIN_PROMISE: Final = 1e-3  # relative error of κ on average over points (tests/statistics)


@dataclass(frozen=True, slots=True)
class CodewordRandomizer:
    """Sends one of N indices; ε-LDP with ε = ln(odds / 2^24).

    Parameters
    ----------
    codewords : int
        N, how many there are.
    cap : int
        m, how many of them carry the larger odds.
    odds : int
        A, odds of each index of the cap; those of every other index are 2^24.

    Examples
    --------
    >>> randomizer = CodewordRandomizer(codewords=4, cap=1, odds=3 << 24)
    >>> ranks = randomizer.ranks(np.array([0, 3 << 24, 5 << 24]))  # of three draws below `total`
    >>> indices_at(np.array([[5, 9, 9, -2]] * 3), ranks).tolist()  # index 1 wins the tie
    [1, 2, 3]
    """

    codewords: int  # N
    cap: int  # m
    odds: int  # A

    def __post_init__(self) -> None:
        if not 2 <= self.codewords <= MAX_CODEWORDS:
            raise PlanError(f"codewords must be in 2..{MAX_CODEWORDS}, got {self.codewords}")
        if not 1 <= self.cap < self.codewords:
            raise PlanError(f"cap must be in 1..{self.codewords - 1} (below codewords), got {self.cap}")
        if self.odds <= BASE_ODDS:
            raise PlanError(f"odds must exceed the base odds {BASE_ODDS}, got {self.odds}")
        if self.total >= TOTAL_LIMIT:
            raise PlanError(f"cap·odds + (codewords - cap)·2^24 must stay below 2^53, got {self.total}")

    @property
    def total(self) -> int:
        """m·A + (N-m)·B: the draw is uniform below it."""
        return self.cap * self.odds + (self.codewords - self.cap) * BASE_ODDS

    # ------------------------------------------------------------ the mechanism

    def ranks(self, draws: NDArray[np.int64]) -> NDArray[np.int64]:
        """Turn draws, uniform on [0, total), into places in the order: (n,) -> (n,).

        The first m·A values belong to the cap, A to each of its places; the rest to the others, B to each.
        """
        beyond = draws - self.cap * self.odds
        return np.where(beyond < 0, draws // self.odds, self.cap + beyond // BASE_ODDS)

    # ------------------------------------------------------------ what the server knows of it

    def gain(self, embedding: int | None = None) -> float:
        """Return κ = E⟨v,w'⟩ for a unit vector w'; `embedding` is P, None the limit of large P.

        Examples
        --------
        >>> round(CodewordRandomizer(codewords=256, cap=89, odds=45605201).gain(embedding=128), 4)
        0.3968
        """
        _, first, _, third, _ = _cap_moments(self.codewords, self.cap)
        bend = _bend(embedding)
        return (self.odds - BASE_ODDS) / self.total * (first + bend * (third - 3 * first))

    def second_gain(self, embedding: int | None = None) -> float:
        """Return c₂ = E⟨v,w'⟩² - 1 for a unit vector w'; `embedding` as in `gain`."""
        _, _, second, _, fourth = _cap_moments(self.codewords, self.cap)
        bend = _bend(embedding)
        within = second + 2 * bend * (fourth - 3 * second)
        # All N squared scores sum to N in the mean, so the cap's surplus decides.
        return ((self.odds - BASE_ODDS) * within + self.codewords * BASE_ODDS) / self.total - 1

    def gain_error(self, embedding: int, roots: float = 1.0) -> float:
        """Return by how much E[v]/κ misses w' in any one direction: root mean square over public rotations.

        Or so many times that: what the least lucky points have under one rotation.

        A coordinate's share of the score decides its mean: with ρ = E Σ_{top m} (Z³ - 3Z) / E Σ_{top m} Z,

            E[v]/κ - w' = -ρ·[(w'^3 - w'·Σw'^4)/3 + w'·(Σw'^4 - 3/(P+2))/12] + smaller terms

        coordinate by coordinate. Over rotations this has variance at most ρ²·(2/3)/P³ in every direction
        (docs/theory/confirming.md); κ's own promise is added.

        Examples
        --------
        >>> round(CodewordRandomizer(codewords=256, cap=17, odds=916004956).gain_error(embedding=128), 4)
        0.0012
        """
        _, first, _, third, _ = _cap_moments(self.codewords, self.cap)
        turned = abs(third / first - 3) * math.sqrt(2 / (3 * embedding**3))
        return math.hypot(roots * turned, _GAIN_PROMISE)

    def fourth_moment(self) -> float:
        """Return E⟨v,w'⟩⁴ for a unit vector w', in the limit of large P; 3 for a codeword that leans nowhere.

        Examples
        --------
        >>> round(CodewordRandomizer(codewords=256, cap=89, odds=45605201).fourth_moment(), 2)
        3.49
        """
        fourth = _cap_moments(self.codewords, self.cap)[4]
        return ((self.odds - BASE_ODDS) * fourth + 3 * self.codewords * BASE_ODDS) / self.total


def best_cap(codewords: int, odds: int) -> int:
    """Return the cap size m with the largest gain κ, hence the smallest variance.

    The gain is a concave function of m over a linear one, so it has one peak and halving finds it.

    Examples
    --------
    >>> [best_cap(256, odds) for odds in (27660952, 45605201, 123967790)]  # ε = 0.5, 1, 2
    [108, 89, 55]
    """

    def gain(cap: int) -> float:
        return CodewordRandomizer(codewords, cap, odds).gain()

    return 1 + bisect_left(range(1, codewords - 1), True, key=lambda cap: gain(cap) >= gain(cap + 1))


def order_keys(scores: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64] | NDArray[np.int32]:
    """Return integers that order indices by (score descending, index ascending), the smallest first.

    (n, N) -> (n, N), of the same type; the index is their last ⌈log₂ N⌉ bits.
    """
    keys: Any = -scores
    keys <<= (scores.shape[1] - 1).bit_length()
    keys += np.arange(scores.shape[1], dtype=keys.dtype)
    return np.asarray(keys)


def indices_at(scores: NDArray[np.int64] | NDArray[np.int32], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index at the given place of the order (score descending, index ascending).

    Parameters
    ----------
    scores : ndarray of int64 or int32, shape (n, N)
        Below 2^23 in size where they are int32 and N ≤ 256: then score and index fit one 32-bit key.
    ranks : ndarray of int64, shape (n,)
        Places, 0 the highest score.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> indices_at(np.array([[5, 9, 9, -2]]), np.array([1])).tolist()
    [2]
    """
    people, codewords = scores.shape
    keys = order_keys(scores)
    keys.sort(axis=1)
    last = (1 << (codewords - 1).bit_length()) - 1
    return np.asarray(keys[np.arange(people), ranks].astype(np.int64) & last)


def _bend(embedding: int | None) -> float:
    """Return the Cornish-Fisher factor: a score's excess kurtosis over 24."""
    return 0.0 if embedding is None else -6 / (embedding + 2) / 24


@functools.lru_cache(maxsize=1024)  # of one plan there are a few, asked for again and again
def _cap_moments(codewords: int, cap: int) -> tuple[float, ...]:
    """Return E Σ_{top m} Z^p for p = 0..4 and N independent standard normals."""
    with bringing("analyst"):
        from scipy.special import bdtr, ndtr  # the server's side only

    # The binomial factor falls over a width of at least 1.25/√N; the trapezoidal rule is then exact to 1e-15.
    step = min(0.5 / math.sqrt(codewords), 0.125)
    z = np.arange(-_TAIL, _TAIL + step, step)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    weight = codewords * step * density * bdtr(cap - 1, codewords - 1, ndtr(-z))
    powers = z[None, :] ** np.arange(5)[:, None]  # (5, grid)
    return tuple(float(moment) for moment in powers @ weight)
