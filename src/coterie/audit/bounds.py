"""Tail bounds that hold for every sample size, and a list of tests that share one false alarm.

No verdict leans on a limit theorem: for an honest client each bound below holds exactly, in the far tails
where an audit lives, for cells of ten reports and of a million.

    counts     Pr[KL(k/n ‖ p) ≥ t] ≤ 2·e^(-nt)       Chernoff and Hoeffding; also where p is a mean of chances
    histogram  Pr[E ≥ 1/t] ≤ t, E = mean over s of Π_groups Dirichlet(s·p)-multinomial / multinomial(p)
    too even   Pr[E ≥ 1/t] ≤ t, E = mean over a of Π_groups b(k)^(a-1) / Σ_j b(j)^a      b binomial
    products   Pr[|Σ u_i·u_{i+l}| ≥ t] ≤ 2·e^(-24·t²/n)           u uniform on [-½, ½], independent

E bets that each group of reports has a law of its own, s reports' worth away from p. It is the product of
what each report was given by those before it in its group, over p; so its mean is 1 also where a group is
chosen by what came before (Ville; Grünwald, de Heide and Koolen 2024), and groups may be many and small.
Against counts that are too even (a quota, a deck of draws that is dealt) the bet is on a law narrower than b.

Tests come in families. A family of M tests multiplies its smallest bound by M, a battery of F families by F
again; so a small family that looks at everybody keeps its power beside one of millions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

FALSE_ALARM: Final = 1e-6  # of a whole audit
CHECKS_PER_AUDIT: Final = 40  # that share it
ALPHA: Final = FALSE_ALARM / CHECKS_PER_AUDIT
SPREADS: Final = 4.0 ** np.arange(13)  # of laws about the plan's, in reports: 1 is another law, 10⁷ the same
NARROWER: Final = 2.0 ** np.arange(1, 9)  # powers of a law: of so much less variance
_SHOWN: Final = 64  # groups that are told apart

Words = Callable[[tuple[int, ...]], str]  # of the test at this place


def log_tail(hits: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> NDArray[np.float64]:
    """Return the logarithm of a bound on how likely so unusual a count is, from above or below.

    Examples
    --------
    >>> print(f"{np.exp(log_tail(90, 100, 0.5)):.2g}")
    2.1e-16
    """
    count = np.asarray(trials, dtype=np.float64)
    share = np.divide(
        hits, count, out=np.zeros(np.broadcast_shapes(np.shape(hits), count.shape)), where=count > 0
    )
    likely = np.asarray(chance, dtype=np.float64)
    apart = special.rel_entr(share, likely) + special.rel_entr(1 - share, 1 - likely)
    return np.asarray(np.minimum(0.0, math.log(2) - count * np.maximum(apart, 0.0)))


def log_fit(
    tally: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], chances: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the logarithm of a bound for histograms by group, all together, and of each (none if many).

    The tally says which group, which cell and how often, cells that were never seen left out.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> groups, cells = np.arange(4000) // 8, generator.integers(0, 4, 4000)
    >>> log_fit(tallied(groups, cells, 4), np.full(4, 0.25))[0] > -3
    True
    >>> log_fit(tallied(groups, cells[groups], 4), np.full(4, 0.25))[0] < -1000  # one draw for eight
    True
    """
    group, cell, counts = tally
    sizes = np.bincount(group, counts, minlength=1)
    each_size, numbers = np.unique(sizes, return_counts=True)
    likely, kind = np.unique(chances, return_inverse=True)
    most = int(counts.max(initial=0)) + 1
    same, place = np.unique(kind[cell] * most + counts, return_inverse=True)  # the same to all bets
    alpha, hits = likely[same // most] * SPREADS[:, None], same % most
    gains = special.gammaln(alpha + hits) - special.gammaln(alpha) - hits * np.log(likely[same // most])

    def costs(sizes: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(special.gammaln(SPREADS)[:, None] - special.gammaln(SPREADS[:, None] + sizes))

    together = gains @ np.bincount(place, minlength=len(same)) + costs(each_size) @ numbers
    if len(sizes) > _SHOWN:
        return float(_mixed(together)), np.zeros(0)
    alone = np.stack([np.bincount(group, gain[place], minlength=1) for gain in gains]) + costs(sizes)
    return float(_mixed(together)), _mixed(alone)


def tallied(
    labels: NDArray[Any], cells: NDArray[Any], kinds: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return which pairs of label and cell there are, and how often: (n,), (n,) -> three of (pairs,)."""
    pairs, counts = np.unique(labels.astype(np.int64) * kinds + cells, return_counts=True)
    return pairs // kinds, pairs % kinds, counts


def _mixed(evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of a bound from the logarithms of bets, the mean of which is taken: (S, …)."""
    mean = special.logsumexp(evidence, axis=0) - math.log(len(evidence))
    return np.asarray(np.minimum(0.0, -mean))


def log_even(hits: NDArray[np.int64], trials: NDArray[np.int64], chance: float) -> float:
    """Return the logarithm of a bound for how near counts of groups are to what is expected, all together.

    Examples
    --------
    >>> log_even(np.full(100, 32), np.full(100, 64), 0.5) < -100
    True
    >>> log_even(np.random.default_rng(0).binomial(64, 0.5, 100), np.full(100, 64), 0.5) > -3
    True
    """
    evidence = np.zeros(len(NARROWER))
    for size in np.unique(trials):
        law = stats.binom.logpmf(np.arange(size + 1), size, chance)
        narrow = NARROWER[:, None] * law
        gains = narrow - special.logsumexp(narrow, axis=1, keepdims=True) - law
        evidence += gains @ np.bincount(hits[trials == size], minlength=size + 1)
    return float(_mixed(evidence))


def log_products(sums: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the logarithm of a bound for sums of products of neighbours."""
    return np.asarray(np.minimum(0.0, math.log(2) - 24 * sums**2 / max(count, 1)))


def clopper_pearson(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the lower and the upper limit of a probability, each wrong with probability at most alpha.

    Examples
    --------
    >>> low, high = clopper_pearson(50, 100, 1e-3)
    >>> round(low, 3), round(high, 3)
    (0.345, 0.655)
    """
    low = 0.0 if hits == 0 else float(stats.beta.ppf(alpha, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(stats.beta.isf(alpha, hits + 1, trials - hits))
    return low, high


@dataclass(slots=True)
class Battery:
    """Families of tests that share one false alarm."""

    families: int = 0
    tests: int = 0
    worst: float = 0.0  # log-bound of a family's worst test, times how many it has: of the worst family
    words: str = ""  # of that test

    def take(self, logs: NDArray[np.float64], words: Words, tests: int | None = None) -> None:
        """Add a family: logarithms of bounds, and what to say of the one at an index.

        `tests` is how many there were, where only the worst of some are given.
        """
        logs = np.asarray(logs)
        if not logs.size:
            return
        size = logs.size if tests is None else tests
        worst = tuple(int(each) for each in np.unravel_index(int(np.argmin(logs)), logs.shape))
        found = float(logs[worst]) + math.log(size)
        self.families, self.tests = self.families + 1, self.tests + size
        if found < self.worst:
            self.worst, self.words = found, words(worst) if found < math.log(ALPHA) else ""

    def counts(self, hits: NDArray[np.int64], trials: ArrayLike, chances: ArrayLike, words: Words) -> None:
        """Add a family of counts; the words get the figures behind them."""
        trials, chances = np.broadcast_to(trials, hits.shape), np.broadcast_to(chances, hits.shape)

        def told(at: tuple[int, ...]) -> str:
            return f"{words(at)}: {hits[at]:,} of {trials[at]:,}, {trials[at] * chances[at]:,.1f} expected"

        self.take(log_tail(hits, trials, chances), told)

    @property
    def log_p(self) -> float:
        """The logarithm of the bound for all families together."""
        return min(0.0, self.worst + math.log(max(self.families, 1)))

    @property
    def passed(self) -> bool:
        """Whether an honest client may well have done so."""
        return self.log_p > math.log(ALPHA)

    @property
    def told(self) -> str:
        """The verdict in words."""
        if self.passed:
            return f"{self.tests:,} tests, p-value of all at least {math.exp(self.log_p):.2g}"
        power = self.log_p / math.log(10)
        return f"p-value below 10^{power:.0f}: {self.words}"
