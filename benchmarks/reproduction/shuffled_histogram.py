"""The shuffled histogram of the paper's kind (Theorems 32 and 34), for one level; no protocol uses it.

`Blanket`: everyone sends one message that names their bin, and K ~ Poisson(bins·λ/n) dummies, each in a
uniform bin. Over n people every bin then has its true count and Poisson(λ) dummies, independently; shuffled,
nothing else is seen. Replacing a person moves one message from bin i to bin j: the counts are (X_i+1, X_j)
or (X_i, X_j+1) with X_i, X_j independent Poisson(λ), and their likelihood ratio is a/b. Given a + b = c + 1,
a - 1 ~ Bin(c, ½), and c ~ Poisson(2λ): that is `coterie.privacy.clones` with a bit that is always true (p =
1). The result is exact up to outward rounding, and does not depend on the number of people or bins. The
estimate count - λ has variance λ, whatever n: as in the central model. With fewer people there are fewer
dummies: plan for the fewest (`people`).

`ShuffledHistogram`: frequencies of any cells, which may be many more than people (nodes of a net tree, say).
Each of r public pairwise-independent hashes puts them into s buckets, with a blanket at (ε/r, δ/r). The
estimate of a cell is the median over the hashes of its bucket's estimate. With s = 2n/β a cell shares its
bucket with somebody else with chance at most β/2 a hash.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr, pdtrc

from coterie.coins import Coins
from coterie.errors import PlanError, ReportError
from coterie.geometry.hashing import PairwiseHash
from coterie.privacy.clones import mean_delta, window

MAX_RATE: Final = 1 << 30
MOST_POISSON_ROUNDS: Final = 1 << 12  # a rate beyond this wants another algorithm


def poisson(rate: Fraction, size: int, coins: Coins) -> NDArray[np.int64]:
    """Return `size` exact Poisson variables of a rational rate.

    A sum of ⌈rate⌉ Poisson(1) variables, each event kept with probability rate/⌈rate⌉. Poisson(1) by
    rejection: propose 0 with probability 1/3, else N with Pr[N ≥ j] = 1/j!, which is a run of coins of
    probability 1/2, 1/3, 1/4, …; keep N = j with probability (j+1)/(2j). What is kept has law ∝ 1/j!.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> poisson(Fraction(0), 2, SimulationCoins(0)).tolist()
    [0, 0]
    """
    if rate < 0:
        raise PlanError(f"a Poisson rate must not be negative, got {rate}")
    rounds = -(-rate.numerator // rate.denominator)
    if rounds > MOST_POISSON_ROUNDS:
        raise PlanError(f"a Poisson rate must be at most {MOST_POISSON_ROUNDS}, got {float(rate):g}")
    total = np.zeros(size, dtype=np.int64)
    for _ in range(rounds):
        total += _poisson_one(size, coins)
    keep = rate / rounds if rounds else Fraction(1)
    if keep == 1:
        return total
    owner = np.repeat(np.arange(size), total)
    kept = coins.below_many(keep.denominator, owner.size) < keep.numerator
    return np.bincount(owner[kept], minlength=size)


def _poisson_one(size: int, coins: Coins) -> NDArray[np.int64]:
    drawn = np.zeros(size, dtype=np.int64)
    waiting = np.arange(size)
    while waiting.size:
        proposed = (coins.below_many(3, waiting.size) > 0).astype(np.int64)
        running = np.flatnonzero(proposed)
        length = 1
        while running.size:
            running = running[coins.below_many(length + 1, running.size) == 0]
            proposed[running] += 1
            length += 1
        # Keep j ≥ 1 with probability (j+1)/(2j), in a draw below 2j that differs by element: j is small,
        # so one value of j at a time.
        kept = proposed == 0
        for j in range(1, length + 1):
            of_length = np.flatnonzero(proposed == j)
            kept[of_length] = coins.below_many(2 * j, of_length.size) < j + 1
        drawn[waiting[kept]] = proposed[kept]
        waiting = waiting[~kept]
    return drawn


def blanket_delta(epsilon: float, rate: float, *, target: float = 1e-9) -> float:
    """Return an upper bound of the δ of a histogram with Poisson(`rate`) dummies a bin.

    Examples
    --------
    >>> blanket_delta(1.0, 44.0) < 1e-6 < blanket_delta(1.0, 41.0)
    True
    """
    if not 0 < rate <= MAX_RATE:
        raise PlanError(f"the rate of dummies must be in (0, 2^30], got {rate!r}")
    mean = 2 * rate * (1 - 1e-15)  # fewer dummies hide less

    def below(count: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(count < 0, 0.0, pdtr(np.maximum(count, 0), mean))

    def above(count: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(count < 0, 1.0, pdtrc(np.maximum(count, 0), mean))

    low, high = window(mean, mean, math.inf, target, below, above)
    return mean_delta(epsilon, 1.0, low=low, high=high, below=below, above=above)


def least_blanket(epsilon: float, delta: float) -> Fraction:
    """Return the smallest rate of dummies a bin, in 64ths and rounded up, that is (ε, δ)-private.

    Examples
    --------
    >>> float(least_blanket(1.0, 1e-6)).__round__()
    43
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise PlanError(f"need epsilon > 0 and delta in (0, 1), got {epsilon!r} and {delta!r}")
    low, high = 0, 64
    while blanket_delta(epsilon, high / 64, target=delta) > delta:
        low, high = high, 2 * high
        if high > 64 * MAX_RATE:
            raise PlanError(f"({epsilon:g}, {delta:g}) needs more than 2^30 dummies a bin")
    while high - low > 1:
        middle = (low + high) // 2
        if blanket_delta(epsilon, middle / 64, target=delta) <= delta:
            high = middle
        else:
            low = middle
    return Fraction(high, 64)


@dataclass(frozen=True, slots=True)
class Blanket:
    """Messages of a shuffled histogram.

    Attributes
    ----------
    bins : int
        B.
    rate : Fraction
        λ, dummies a bin when `people` take part.
    people : int
        n, the fewest people that the promise is made for.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> blanket = Blanket.for_epsilon(1.0, 1e-6, bins=4, people=100)
    >>> messages = blanket.encode(np.zeros(100, dtype=np.int64), SimulationCoins(0))
    >>> blanket.estimate(np.bincount(messages, minlength=4), 100).round(-1).tolist()
    [100.0, 0.0, -10.0, 10.0]
    """

    bins: int
    rate: Fraction
    people: int

    def __post_init__(self) -> None:
        if self.bins < 2 or self.people < 1 or self.rate <= 0:
            raise PlanError(f"need at least 2 bins, somebody in them and a positive rate, got {self}")

    @classmethod
    def for_epsilon(cls, epsilon: float, delta: float, *, bins: int, people: int) -> Self:
        """Return the blanket with the fewest dummies that are (ε, δ)-private."""
        return cls(bins, least_blanket(epsilon, delta), people)

    @property
    def dummies(self) -> Fraction:
        """Expected dummies a person."""
        return self.rate * self.bins / self.people

    def encode(self, bins: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
        """Return everybody's messages, unmixed: bins (n,) -> (k,), k ≥ n. Each person's by themselves."""
        if bins.size and (bins.min() < 0 or bins.max() >= self.bins):
            raise ReportError(f"a bin lies outside [0, {self.bins})")  # never print whose or which
        dummies = int(poisson(self.dummies, len(bins), coins).sum())
        return np.concatenate([bins, coins.below_many(self.bins, dummies)])

    def estimate(self, counts: NDArray[np.int64], people: int) -> NDArray[np.float64]:
        """Return the unbiased count of every bin, for so many people: (B,) -> (B,)."""
        return counts.astype(np.float64) - float(self.rate) * people / self.people

    def variance(self, people: int) -> float:
        """Return the variance of an estimate: the expected dummies of a bin."""
        return float(self.rate) * people / self.people


@dataclass(frozen=True, slots=True)
class ShuffledHistogram:
    """A histogram oracle in the shuffle model.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> oracle = ShuffledHistogram.design(1.0, 1e-6, people=1000, key=bytes(16))
    >>> cells = np.full(1000, 123_456_789)
    >>> counts = oracle.count(oracle.encode(cells, SimulationCoins(0)))
    >>> oracle.frequencies(counts, np.array([123_456_789, 5]), 1000).round(-2).tolist()
    [1000.0, 0.0]
    """

    hashes: tuple[PairwiseHash, ...]
    blanket: Blanket

    @classmethod
    def design(
        cls,
        epsilon: float,
        delta: float,
        *,
        people: int,
        key: bytes,
        failure: float = 0.1,
        repeats: int = 1,
        buckets: int | None = None,
    ) -> Self:
        """Choose buckets and dummies.

        Parameters
        ----------
        epsilon, delta : float
            The promise over all hashes together.
        people : int
            n, the fewest people that the promise is made for.
        key : bytes
            Public; the hashes come from it.
        failure : float
            β: chance that an estimate is spoiled by a shared bucket.
        repeats : int
            r, hashes.
        buckets : int, optional
            s; ⌈2n/β⌉ by default.
        """
        if not 0 < failure < 1 or repeats < 1:
            raise PlanError(f"need failure in (0, 1) and repeats >= 1, got {failure!r} and {repeats!r}")
        size = buckets or math.ceil(2 * people / failure)
        blanket = Blanket.for_epsilon(epsilon / repeats, delta / repeats, bins=size, people=people)
        return cls(tuple(PairwiseHash.from_key(key, size, label) for label in range(repeats)), blanket)

    def encode(self, cells: NDArray[np.int64], coins: Coins) -> tuple[NDArray[np.int64], ...]:
        """Return everybody's messages for each hash, unmixed: cells (n,) -> r arrays (k,)."""
        return tuple(self.blanket.encode(each.of(cells), coins) for each in self.hashes)

    def count(self, messages: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
        """Return the table of mixed messages: r arrays (k,) -> (r, s)."""
        return np.stack([np.bincount(each, minlength=self.blanket.bins) for each in messages])

    def frequencies(
        self, counts: NDArray[np.int64], cells: NDArray[np.int64], people: int
    ) -> NDArray[np.float64]:
        """Return the estimated number of people in each cell: (r, s), (m,) -> (m,)."""
        rows = [
            self.blanket.estimate(row, people)[each.of(cells)]
            for row, each in zip(counts, self.hashes, strict=True)
        ]
        return np.asarray(np.median(np.stack(rows), axis=0))
