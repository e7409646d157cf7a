"""Exact random variables from integer coins: Bernoulli(e^-γ) and geometric runs.

Everything is decided by comparing uniform integers, so each law is exact: no float, no rounding, no table
that ends too early. The constructions are vectorized: a batch of trials advances together, and those that
are decided drop out.

Bernoulli(e^-γ) for 0 ≤ γ ≤ 1 (von Neumann; Canonne, Kamath, Steinke 2020): flip coins of probability γ/1,
γ/2, γ/3, … until the first fails; e^-γ = Pr[it fails at an odd place]. Where γ is a product of ratios, a
coin of probability γ/k is the *and* of one coin a ratio and one of probability 1/k: numbers are never
multiplied, so everything fits 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins

Ratio = tuple[NDArray[np.int64], int]  # numerators (n,), all in [0, denominator], and the denominator


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
    running, ones = np.arange(size), np.ones(size, dtype=np.int64)
    place = 1
    while running.size:
        for numerators, denominator in ratios if place == 1 else (*ratios, (ones, place)):
            if running.size:
                passed = coins.below_many(denominator, running.size) < numerators[running]
                result[running[~passed]] = place % 2 == 1
                running = running[passed]
        place += 1
    return result


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
        running = running[bernoulli_exp(((np.ones(running.size, dtype=np.int64), 1),), coins)]  # 1/e
        runs[running] += 1
    return runs


def filled(size: int, attempt: Callable[[int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return `size` values from attempts; each is told how many are wanted, and makes some, or more."""
    drawn, done = np.empty(size, dtype=np.int64), 0
    while done < size:
        values = attempt(size - done)[: size - done]
        drawn[done : done + len(values)] = values
        done += len(values)
    return drawn
