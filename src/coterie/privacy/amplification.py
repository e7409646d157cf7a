"""Privacy amplification by shuffling (after Feldman, McMillan, Talwar 2022 and 2023), numeric and closed.

n people send one report each of an ε₀-private randomizer R; a shuffler hides who sent which. Whoever sees the
shuffled reports learns about one person only (ε, δ), with a far smaller ε. The bound, derived here (in full
in docs/theory/shuffle.md):

1. *Labels.* Compare values x₀, x₁ of one person, with output densities R₀, R₁. Let q₀ = (R₀-R₁)⁺/(e^ε₀-1),
   q₁ = (R₁-R₀)⁺/(e^ε₀-1), both of mass w ≤ 1/(e^ε₀+1). Then R₀ = e^ε₀·q₀ + q₁ + c and R₁ = q₀ + e^ε₀·q₁ + c
   with one c ≥ 0, and for any value of another person R_x ≥ e^-ε₀·max(R₀,R₁) ≥ q₀ + q₁ + e^-ε₀·c. Give away
   all reports that come from what R_x has beyond that. The person and the C others who remain carry labels
   0, 1 or 2 (for q₀, q₁, c).
2. *Sum.* Then δ(ε) = E[(Σ_j l_j/n)⁺] over n independent people, where l is e^ε₀-e^ε at label 0, 1-e^(ε+ε₀)
   at label 1 (chance w each), e^ε₀(1-e^ε) at label 2 (chance e^-ε₀·(1-(e^ε₀+1)w)) and 0 for those given away.
3. *Worst case.* The law of l is a mixture of its laws at w = 0 and w = 1/(e^ε₀+1), which have the same mean;
   the first is below the second in convex order, and δ is the mean of a convex function. So w = 1/(e^ε₀+1) is
   the worst: no label 2, a bit that is true with probability p = e^ε₀/(e^ε₀+1), hidden among
   C ~ Bin(n-1, 2/(e^ε₀+1)) fair bits. `coterie.privacy.clones` sums that up exactly. ∎

What it needs: all n people answer honestly and once, with the same randomizer; ids and reports carry nothing
that tells who sent them; each report enters one batch. People who collude with the reader do not count in n.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError, bringing
from coterie.plain.checks import MOST_PEOPLE
from coterie.privacy.clones import MARGIN, Tail, least_epsilon, mean_delta, window
from coterie.privacy.odds import MAX_EPSILON


def amplified_delta(epsilon: float, local_epsilon: float, users: int, *, target: float = 1e-9) -> float:
    """Return an upper bound of the δ for which n shuffled ε₀-private reports are (ε, δ)-private.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, after shuffling.
    local_epsilon : float
        ε₀, of one report by itself.
    users : int
        n, honest reports in the batch.
    target : float
        The δ one cares about: events below 10⁻⁵ of it are not looked at and count in full.

    Examples
    --------
    >>> amplified_delta(0.12, 4.0, 100_000) < 1e-6 < amplified_delta(0.11, 4.0, 100_000)
    True
    """
    _check(local_epsilon, users)
    if epsilon >= local_epsilon:
        return 0.0
    # Round ε₀ up: a larger one is a weaker promise, and the exponential errs by 10⁻¹⁶.
    grown = math.exp(local_epsilon) * (1 + MARGIN)
    truth, chance = grown / (grown + 1), 2 / (grown + 1)
    below, above = _binomial_tails(users - 1, chance)
    mean = (users - 1) * chance
    low, high = window(mean, mean * (1 - chance), users - 1, target, below, above)
    return mean_delta(epsilon, truth, low=low, high=high, below=below, above=above)


def amplified_epsilon(local_epsilon: float, delta: float, users: int) -> float:
    """Return the smallest ε that the bound proves for (ε₀, δ, n), rounded up; never above ε₀.

    Examples
    --------
    >>> round(amplified_epsilon(4.0, 1e-6, 100_000), 3)
    0.118
    """
    _check(local_epsilon, users)
    _check_delta(delta)
    return least_epsilon(
        lambda epsilon: amplified_delta(epsilon, local_epsilon, users, target=delta),
        delta,
        most=local_epsilon,
    )


def largest_local_epsilon(epsilon: float, delta: float, users: int, *, cap: float = MAX_EPSILON) -> float:
    """Return the largest ε₀ ≤ `cap` whose n shuffled reports are (ε, δ)-private, rounded down.

    At least ε: shuffling never costs privacy.

    Examples
    --------
    >>> round(largest_local_epsilon(1.0, 1e-6, 100_000), 2)
    7.76
    """
    _check(min(epsilon, cap), users)
    _check_delta(delta)
    if cap <= epsilon or amplified_delta(epsilon, cap, users, target=delta) <= delta:
        return cap
    low, high = epsilon, cap
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        kept = amplified_delta(epsilon, middle, users, target=delta) <= delta
        low, high = (middle, high) if kept else (low, middle)
    return low


def _binomial_tails(trials: int, chance: float) -> tuple[Tail, Tail]:
    """Return Pr[C ≤ c] and Pr[C > c] of C ~ Bin(trials, chance), as incomplete beta functions."""
    with bringing("analyst"):
        from scipy.special import betainc, betaincc

    def tail(incomplete_beta: Any, before: float, after: float) -> Tail:
        def of(count: NDArray[np.float64]) -> NDArray[np.float64]:
            inside = np.clip(count, 0, max(trials - 1, 0))
            value = incomplete_beta(inside + 1, np.maximum(trials - inside, 1), chance)
            return np.where(count < 0, before, np.where(count >= trials, after, value))

        return of

    return tail(betaincc, 0.0, 1.0), tail(betainc, 1.0, 0.0)


def _check(local_epsilon: float, users: int) -> None:
    if not 0 < local_epsilon <= MAX_EPSILON:
        raise PlanError(f"local epsilon must be in (0, {MAX_EPSILON:g}], got {local_epsilon!r}")
    if not 1 <= users <= MOST_PEOPLE:
        raise PlanError(f"a batch has 1 to 2^40 reports, got {users}")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise PlanError(f"delta must be in (0, 1), got {delta!r}: shuffling needs some")
