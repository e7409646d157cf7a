"""The audit of shares: exact laws at small parameters, and the noise in a client's shares.

*Split-and-mix.* The multiset of mixed shares is enumerated for 19 people (the fewest for which the bound is
proved) and two or three elements; inputs of equal total must be within the promised distance.

*Noise.* A report of shares holds, for every row it serves, the person's value plus a discrete Gaussian. The
shares are added up again, what the point and the public id say is taken off, and what is left must have the
plan's law for everybody (`ShareReading`, which `coterie.audit.fit` tests as it does places), and every single
share must be uniform. Sums of as many people's noise as the smallest batch has must not tell a person's
influence apart better than (ε, δ) allows (threshold test, Clopper-Pearson).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coterie.audit.bounds import ALPHA, clopper_pearson, log_tail
from coterie.audit.reading import Law
from coterie.audit.result import Check
from coterie.plan import Plan
from coterie.privacy.renyi import exact_delta
from coterie.protocols import encoder_of
from coterie.protocols.shares.encode import ShareEncoder
from coterie.protocols.shares.parameters import ShareParameters
from coterie.randomizers.split_and_mix import security_of
from coterie.randomizers.vector_sums import from_big_endian
from coterie.wire.layout import ID_BYTES

PEOPLE: Final = 19
_BINS: Final = 40
_TAILS: Final = (1e-5, 1e-4, 1e-3)  # chances of noise so far out: a table, or a clip, ends there
_SHARE_BINS: Final = 64
_COMPARED: Final = 1 << 17  # shares of a call
_WIDE: Final = 1 << 16  # noise scales from which on integers are as good as reals


def check_mixing() -> Check:
    """Enumerate split-and-mix where that can be done, and compare with its proved distance."""
    worst = 0.0
    for modulus, shares in ((2, 3), (2, 4), (3, 4)):
        zeros = [0] * PEOPLE
        promised = Fraction(2) ** -int(security_of(shares, modulus, PEOPLE))
        for few in ([1] * modulus, [1] * (PEOPLE // modulus * modulus)):
            found = _distance(zeros, [*few, *zeros[len(few) :]], modulus, shares)
            worst = max(worst, float(found / promised))
    words = f"mixed shares of equal totals are {worst:.3g} of the proved distance apart, at most"
    return Check("exact", "split-and-mix, enumerated", worst <= 1, words)


def check_noise_law(plan: Plan) -> Check:
    """Compare the promise with the exact law of one coordinate, which it must cover."""
    parameters = ShareParameters.of(plan)
    influence, adders = parameters.influence(), 1
    if parameters.noise == "everyone":
        adders = parameters.group if parameters.by_column else parameters.minimum_batch
    square = parameters.noise_scale**2 * adders
    # In units of the influence: shift 64 against a scale in the same units, rounded down (less noise).
    unit = Fraction(math.isqrt(influence.squared) + 1, 64)
    scale = Fraction(math.isqrt(int(square / unit**2 * 4096)), 64)
    found = exact_delta(scale, 64, plan.epsilon)
    words = (
        f"a person who moves one entry by all they can is told apart with delta {found:.3g} at epsilon "
        f"{plan.epsilon:g}; the claim is {plan.delta:g}"
    )
    return Check("exact", "noise of the sums", found <= plan.delta, words, {"exact_delta": found})


class ShareReading:
    """The noise in a client's shares, and single shares, as cells of their laws.

    Parameters
    ----------
    plan : Plan
        One whose people send shares.
    """

    @staticmethod
    def exact(plan: Plan) -> Iterator[Check]:
        """Check what can be enumerated."""
        yield check_noise_law(plan)
        if plan.mixed:
            yield check_mixing()

    def __init__(self, plan: Plan) -> None:
        parameters = ShareParameters.of(plan)
        self._plan, self._parameters, self._sums = plan, parameters, parameters.sums()
        self._encoder = cast("ShareEncoder", encoder_of(plan))
        entries = parameters.rows_served * parameters.coordinates
        scale = float(parameters.noise_scale)
        steps = np.concatenate([_TAILS, np.linspace(0, 1, _BINS + 1)[1:-1]])
        places = stats.norm.ppf(steps) * scale
        self._edges = np.unique(np.rint(np.concatenate([places, -places[: len(_TAILS)]]))) + 0.5
        chances = noise_chances(self._edges, scale)
        uniform = (
            np.diff(-(-np.arange(_SHARE_BINS + 1) * parameters.modulus // _SHARE_BINS)) / parameters.modulus
        )
        self.laws = (
            Law("noise", entries, chances, np.arange(len(chances)) // 4),
            Law("share", entries, uniform, np.arange(_SHARE_BINS) // 8),
        )
        self.noise: list[NDArray[np.int64]] = []
        self.repeats = np.zeros(3)  # shares that came before in a call, of how many, how many to be expected
        self._next = 0

    def read(self, points: NDArray[np.float64], rows: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
        """Return cells of noise and of shares, one share of each entry, and keep the noise."""
        parameters, people = self._parameters, len(rows)
        written = np.ascontiguousarray(rows[:, ID_BYTES:]).reshape(-1, self._sums.mixer.share_bytes)
        shares = from_big_endian(written).reshape(people, -1, parameters.coordinates, parameters.shares)
        values = self._sums.centered(shares.sum(axis=-1) % parameters.modulus)  # (n, rows served, D)
        own, vectors, _ = self._encoder.contributions(points, np.ascontiguousarray(rows[:, :ID_BYTES]))
        served = np.zeros(people, dtype=np.int64) if parameters.by_column else own
        # A person's vector is added to one row or, over a tree, to one row of each level.
        values[np.arange(people)[:, None], served.reshape(people, -1)] -= vectors[:, None]
        noise = self._sums.centered(values.reshape(people, -1) % parameters.modulus)
        self.noise.append(noise.ravel())
        entries = np.arange(noise.shape[1])
        of_entries = shares.reshape(people, -1, parameters.shares)
        chosen = of_entries[:, entries, (entries + self._next) % parameters.shares]
        self._count_repeats(np.delete(of_entries, self._next % parameters.shares, axis=2))
        self._next += 1
        return [
            np.searchsorted(self._edges, noise),
            np.minimum(chosen * _SHARE_BINS // parameters.modulus, _SHARE_BINS - 1),
        ]

    def check(self) -> Iterator[Check]:
        """Check what was read."""
        yield check_sums(self._plan, np.concatenate(self.noise))
        repeated, shares, expected = map(float, self.repeats)
        logs = float(log_tail(repeated, shares, expected / shares)) if repeated > expected else 0.0
        words = f"{repeated:,.0f} of {shares:,.0f} shares came twice, {expected:,.1f} expected"
        yield Check("empirical", "shares used once", logs > math.log(ALPHA), words)

    def bits(self) -> float:
        """Return how many bits of coins a report's shares hold, at least."""
        return self.laws[0].size * (self._parameters.shares - 1) * math.log2(self._parameters.modulus)

    def _count_repeats(self, shares: NDArray[np.int64]) -> None:
        """Count shares, independent and uniform, that are another one of these people's, or its opposite."""
        some = shares.ravel()[:_COMPARED]
        n = len(some)
        repeated = n - len(np.unique(np.minimum(some, self._parameters.modulus - some)))
        self.repeats += repeated, n, n * (n - 1) / self._parameters.modulus

    def features(self, points: NDArray[np.float64], ids: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return what is public of point and id: the first row and the first coordinate."""
        own, vectors, _ = self._encoder.contributions(points, ids)
        return np.stack([own.reshape(len(ids), -1)[:, 0], vectors[:, 0]], axis=1).astype(np.float64)


def noise_chances(edges: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return the discrete Gaussian's chances of the cells between edges that lie between integers.

    Examples
    --------
    >>> noise_chances(np.array([-0.5, 0.5]), 2.0).round(4).tolist()
    [0.4003, 0.1995, 0.4003]
    """
    if scale > _WIDE:  # then sums are integrals, to ten digits
        return np.diff(stats.norm.cdf(edges / scale), prepend=0.0, append=1.0)
    reach = math.ceil(40 * scale)
    steps = np.arange(-reach, reach + 1)
    law = np.exp(-(steps.astype(np.float64) ** 2) / (2 * scale**2))
    return np.asarray(np.bincount(np.searchsorted(edges, steps), law / law.sum(), minlength=len(edges) + 1))


def check_sums(plan: Plan, noise: NDArray[np.int64]) -> Check:
    """Compare a moved sum with an unmoved one by a threshold; the lower limit of ε must keep the claim."""
    parameters = ShareParameters.of(plan)
    adders = parameters.group if parameters.by_column else parameters.minimum_batch
    people = min(adders, max(1, len(noise) // 2000))
    total = noise[: len(noise) // people * people].reshape(-1, people).sum(axis=1)
    # Fewer people's noise is smaller by a root; a person's influence is made smaller alike, rounded down.
    shift = math.isqrt(parameters.influence().squared * people // adders)
    half = len(total) // 2
    train, test = total[:half], total[half:]
    thresholds = np.quantile(train, np.linspace(0.3, 0.98, 30)) + shift / 2
    losses = [_loss(train, shift, each, plan.delta, 0.05) for each in thresholds]
    best = float(thresholds[int(np.argmax(losses))])
    limit = _loss(test, shift, best, plan.delta, ALPHA)
    to_scale = "" if people == adders else f", a person's influence to scale with {adders:,}"
    words = (
        f"sums of {people:,} people's noise{to_scale}: epsilon is at least {max(limit, 0):.3f} at delta "
        f"{plan.delta:g}; the claim is {plan.epsilon:g}"
    )
    return Check("empirical", "noise of sums", limit <= plan.epsilon, words)


def _loss(sums: NDArray[np.int64], shift: int, threshold: float, delta: float, alpha: float) -> float:
    moved, still = int((sums + shift >= threshold).sum()), int((sums >= threshold).sum())
    low, _ = clopper_pearson(moved, len(sums), alpha)
    _, high = clopper_pearson(still, len(sums), alpha)
    return math.log(max(low - delta, 1e-300) / high)


def _distance(one: list[int], other: list[int], modulus: int, shares: int) -> Fraction:
    """Return the statistical distance of two inputs' mixed multisets, exactly."""
    ways = modulus ** ((shares - 1) * len(one))
    first, second = _law(one, modulus, shares), _law(other, modulus, shares)
    apart = sum(abs(first[key] - second[key]) for key in first.keys() | second.keys())
    return Fraction(apart, 2 * ways)


def _law(values: list[int], modulus: int, shares: int) -> Counter[tuple[int, ...]]:
    total = Counter({(0,) * (modulus - 1): 1})
    for value in values:
        new: Counter[tuple[int, ...]] = Counter()
        person = _person(value, modulus, shares)
        for (counts, ways), (more, times) in itertools.product(total.items(), person.items()):
            new[tuple(a + b for a, b in zip(counts, more, strict=True))] += ways * times
        total = new
    return total


def _person(value: int, modulus: int, shares: int) -> Counter[tuple[int, ...]]:
    ways: Counter[tuple[int, ...]] = Counter()
    for free in itertools.product(range(modulus), repeat=shares - 1):
        counts = np.bincount([*free, (value - sum(free)) % modulus], minlength=modulus)
        ways[tuple(counts[1:].tolist())] += 1  # counts sum to m: the first says nothing
    return ways
