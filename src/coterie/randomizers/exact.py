"""Exact random variables from integer coins: Bernoulli(e^-γ), geometric runs, Poisson.

Everything is decided by comparing uniform integers, so each law is exact: no float, no rounding, no table
that ends too early. The constructions are vectorized: a batch of trials advances together, and those that
are decided drop out.

Bernoulli(e^-γ) for 0 ≤ γ ≤ 1 (von Neumann; Canonne, Kamath, Steinke 2020): flip coins of probability γ/1,
γ/2, γ/3, … until the first fails; e^-γ = Pr[it fails at an odd place]. Where γ is a product of ratios, a
coin of probability γ/k is the *and* of one coin a ratio and one of probability 1/k: numbers are never
multiplied, so everything fits 64 bits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError

Ratio = tuple[NDArray[np.int64], int]  # numerators (n,), all in [0, denominator], and the denominator

MOST_POISSON_ROUNDS: Final = 1 << 12  # a rate beyond this wants another algorithm


def bernoulli_exp(ratios: tuple[Ratio, ...], coins: Coins) -> NDArray[np.bool_]:
    """Return one trial of probability exp(-Π numerators/denominator) an element: n trials.

    Parameters
    ----------
    ratios : tuple of (ndarray of int64 of shape (n,), int)
        Each ratio in [0, 1]; γ is their product.
    coins : Coins
        Secret; outside simulation the system's.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> never = (np.zeros(3, dtype=np.int64), 1)  # γ = 0
    >>> bernoulli_exp((never,), SimulationCoins(0)).tolist()
    [True, True, True]
    """
    size = len(ratios[0][0])
    result = np.zeros(size, dtype=np.bool_)
    running = np.arange(size)
    place = 1
    while running.size:
        for numerators, denominator in ratios:
            running, failed = _flip(running, numerators, denominator, coins)
            result[failed] = place % 2 == 1
        if place > 1 and running.size:
            passed = coins.below_many(place, running.size) == 0
            result[running[~passed]] = place % 2 == 1
            running = running[passed]
        place += 1
    return result


def _flip(
    running: NDArray[np.int64], numerators: NDArray[np.int64], denominator: int, coins: Coins
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Flip each running trial's coin of probability numerator/denominator; return who passed, who failed."""
    if not running.size:
        return running, running
    passed = coins.below_many(denominator, running.size) < numerators[running]
    return running[passed], running[~passed]


def bernoulli_inverse_e(size: int, coins: Coins) -> NDArray[np.bool_]:
    """Return `size` trials of probability 1/e."""
    return bernoulli_exp(((np.ones(size, dtype=np.int64), 1),), coins)


def bernoulli_exp_times(
    ratio: Ratio, times: NDArray[np.int64], alive: NDArray[np.bool_], coins: Coins
) -> NDArray[np.bool_]:
    """Return `alive` and-ed with trials of probability exp(-times·ratio), (n,) each."""
    alive = alive.copy()
    numerators, denominator = ratio
    waiting = np.flatnonzero(alive & (times > 0))
    done = 0
    while waiting.size:
        passed = bernoulli_exp(((numerators[waiting], denominator),), coins)
        alive[waiting[~passed]] = False
        done += 1
        waiting = waiting[passed]
        waiting = waiting[times[waiting] > done]
    return alive


def geometric_inverse_e(size: int, coins: Coins) -> NDArray[np.int64]:
    """Return `size` lengths of runs of successes of probability 1/e: Pr[v] = e^-v·(1 - 1/e)."""
    runs = np.zeros(size, dtype=np.int64)
    running = np.arange(size)
    while running.size:
        running = running[bernoulli_inverse_e(running.size, coins)]
        runs[running] += 1
    return runs


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
