"""Vector sums and amplification: exact laws at small parameters, and the noise in a client's shares.

*Split-and-mix.* The multiset of mixed shares is enumerated for 19 people (the fewest for which the bound is
proved) and two or three elements; inputs of equal total must be within the promised distance.

*Noise.* A report of shares holds, for every row it serves, the person's value plus a discrete Gaussian. The
shares are added up again, what the point and the public id say is taken off, and what is left must have the
plan's law (chi-square on bins). Sums of as many people's noise as the smallest batch has must not tell a
person's influence apart better than (ε, δ) allows (threshold test, Clopper-Pearson).

*Amplification.* Shuffled one-bit randomized response at ε₀ has a law that can be summed up; its δ at ε must
not exceed the plan's, at the plan's smallest batch.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coterie.audit.result import Check
from coterie.audit.samples import FALSE_ALARM, LIMITS_PER_AUDIT, Send, clopper_pearson
from coterie.encode.net_tree_sums import NetTreeSumEncoder
from coterie.encode.vector_sums import MOST_BYTES, VectorSumEncoder
from coterie.plan import Plan
from coterie.plan.shares import ShareParameters
from coterie.privacy.renyi import exact_delta
from coterie.randomizers.split_and_mix import security_of
from coterie.randomizers.vector_sums import from_big_endian
from coterie.wire.layout import ID_BYTES

PEOPLE: Final = 19
NOISE_DRAWS: Final = 600_000
_BINS: Final = 40


def shuffled_response_delta(epsilon: float, local_epsilon: float, people: int) -> float:
    """Return δ(ε) of one person's bit among `people` randomized responses, mixed; exact up to rounding.

    Everybody else holds 0. The number of ones is Bin(n-1, q) + Bern(p) or + Bern(q), q = 1/(e^ε₀+1).

    Examples
    --------
    >>> shuffled_response_delta(1.0, 1.0, 1) < 1e-15 < shuffled_response_delta(0.5, 1.0, 100)
    True
    """
    lie = 1 / (math.exp(local_epsilon) + 1)
    others = stats.binom(people - 1, lie)
    middle, reach = (people - 1) * lie, 12 * math.sqrt((people - 1) * lie) + 40
    ones = np.arange(max(0, math.floor(middle - reach)), math.ceil(middle + reach) + 1)
    same, fewer = others.pmf(ones), others.pmf(ones - 1)
    held = lie * same + (1 - lie) * fewer  # the person holds 1
    not_held = (1 - lie) * same + lie * fewer
    growth = math.exp(epsilon)
    gains = (np.maximum(a - growth * b, 0).sum() for a, b in ((held, not_held), (not_held, held)))
    return float(max(gains))


def check_amplification(plan: Plan, *, minimum_batch: int | None = None) -> Check:
    """Compare the promise after mixing with the exact law of shuffled randomized response."""
    people = plan.minimum_batch if minimum_batch is None else minimum_batch
    found = shuffled_response_delta(plan.epsilon, plan.local_epsilon, people)
    words = (
        f"{people:,} mixed randomized responses of local epsilon {plan.local_epsilon:.6g} have delta "
        f"{found:.3g} at epsilon {plan.epsilon:g}; the claim is {plan.delta:g} for every randomizer"
    )
    figures = {"exact_delta": found, "claimed_delta": plan.delta}
    return Check("exact", "mixing", found <= plan.delta, words, figures)


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
    parameters = _parameters(plan)
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


def check_shares(plan: Plan, send: Send, *, draws: int = NOISE_DRAWS, label: str = "") -> list[Check]:
    """Check the noise that a client's shares carry."""
    parameters = _parameters(plan)
    if parameters.noise == "curator" or parameters.report_width > MOST_BYTES:
        return []
    noise, uniform = _noise_of(plan, send, draws)
    alpha = FALSE_ALARM / LIMITS_PER_AUDIT
    scale = float(parameters.noise_scale)
    edges = np.unique(np.rint(stats.norm.ppf(np.linspace(0, 1, _BINS + 1)[1:-1]) * scale)) + 0.5
    seen = np.bincount(np.searchsorted(edges, noise), minlength=len(edges) + 1)
    reach = math.ceil(40 * scale)
    steps = np.arange(-reach, reach + 1)
    law = np.exp(-(steps.astype(np.float64) ** 2) / (2 * scale**2))
    expected = np.bincount(np.searchsorted(edges, steps), law / law.sum(), minlength=len(edges) + 1)
    p_value = float(stats.chisquare(seen, expected * len(noise)).pvalue)
    deviation = float(noise.std())
    checks = [
        Check(
            "empirical",
            f"noise in the shares{label}",
            p_value > alpha,
            f"{len(noise):,} values carry noise of deviation {deviation:.5g} (the plan: {scale:.5g}); "
            f"p-value of the plan's law {p_value:.2g}",
            {"deviation": deviation, "p_value": p_value},
        ),
        Check(
            "empirical",
            f"shares alone{label}",
            uniform > alpha,
            f"single shares are uniform with p-value {uniform:.2g}",
        ),
    ]
    return [*checks, _sum_check(plan, noise, label)]


def _sum_check(plan: Plan, noise: NDArray[np.int64], label: str) -> Check:
    """Tell a moved sum from an unmoved one by a threshold; the lower limit of ε must not exceed the claim."""
    parameters = _parameters(plan)
    adders = parameters.group if parameters.by_column else parameters.minimum_batch
    people = min(adders, max(1, len(noise) // 2000))
    total = noise[: len(noise) // people * people].reshape(-1, people).sum(axis=1)
    # Fewer people's noise is smaller by a root; a person's influence is made smaller alike, rounded down.
    shift = math.isqrt(parameters.influence().squared * people // adders)
    half = len(total) // 2
    train, test = total[:half], total[half:]
    alpha = FALSE_ALARM / LIMITS_PER_AUDIT
    thresholds = np.quantile(train, np.linspace(0.3, 0.98, 30)) + shift / 2
    losses = [_loss(train, shift, each, plan.delta, 0.05) for each in thresholds]
    best = float(thresholds[int(np.argmax(losses))])
    limit = _loss(test, shift, best, plan.delta, alpha)
    to_scale = "" if people == adders else f", a person's influence to scale with {adders:,}"
    words = (
        f"sums of {people:,} people's noise{to_scale}: epsilon is at least {max(limit, 0):.3f} at delta "
        f"{plan.delta:g}; the claim is {plan.epsilon:g}"
    )
    return Check("empirical", f"noise of sums{label}", limit <= plan.epsilon, words)


def _loss(sums: NDArray[np.int64], shift: int, threshold: float, delta: float, alpha: float) -> float:
    moved, still = int((sums + shift >= threshold).sum()), int((sums >= threshold).sum())
    low, _ = clopper_pearson(moved, len(sums), alpha)
    _, high = clopper_pearson(still, len(sums), alpha)
    return math.log(max(low - delta, 1e-300) / high)


def _noise_of(plan: Plan, send: Send, draws: int) -> tuple[NDArray[np.int64], float]:
    """Return the noise that reports carry, and the p-value of uniform single shares."""
    parameters = _parameters(plan)
    encoder = VectorSumEncoder(plan) if plan.protocol == "vector-sums" else NetTreeSumEncoder(plan)
    sums = parameters.sums()
    entries = parameters.rows_served * parameters.coordinates
    people = max(40, -(-draws // entries))
    point = np.zeros(plan.dimension) if plan.center is None else np.asarray(plan.center)
    collected, counts = [], np.zeros(64, dtype=np.int64)
    for start in range(0, people, 512):
        points = np.repeat(point[None], min(512, people - start), axis=0)
        sent = send(points)
        rows = (
            sent
            if isinstance(sent, np.ndarray)
            else np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
        )
        written = np.ascontiguousarray(rows[:, ID_BYTES:]).reshape(-1, sums.mixer.share_bytes)
        shares = from_big_endian(written).reshape(len(rows), -1, parameters.coordinates, parameters.shares)
        counts += np.bincount((shares[..., 0].ravel() * 64) // parameters.modulus, minlength=64)[:64]
        values = sums.centered(shares.sum(axis=-1) % parameters.modulus)  # (n, rows served, D)
        own, vectors, _ = encoder.contributions(points, np.ascontiguousarray(rows[:, :ID_BYTES]))
        served = np.zeros(len(rows), dtype=np.int64) if parameters.by_column else own
        # A person's vector is added to one row or, over a tree, to one row of each level.
        values[np.arange(len(rows))[:, None], served.reshape(len(rows), -1)] -= vectors[:, None]
        collected.append(values.ravel())
    return np.concatenate(collected), float(stats.chisquare(counts).pvalue)


def _parameters(plan: Plan) -> ShareParameters:
    parameters: object = plan.parameters
    if not isinstance(parameters, ShareParameters):
        raise TypeError(f"a plan of protocol {plan.protocol} has no vector sums")
    return parameters


def _distance(one: list[int], other: list[int], modulus: int, shares: int) -> Fraction:
    """Return the statistical distance of two inputs' mixed multisets, exactly."""
    ways = modulus ** ((shares - 1) * len(one))
    first, second = _law(one, modulus, shares), _law(other, modulus, shares)
    apart = sum(abs(first.get(key, 0) - second.get(key, 0)) for key in first.keys() | second.keys())
    return Fraction(apart, 2 * ways)


def _law(values: list[int], modulus: int, shares: int) -> dict[tuple[int, ...], int]:
    total = {(0,) * (modulus - 1): 1}
    for value in values:
        new: dict[tuple[int, ...], int] = {}
        person = _person(value, modulus, shares)
        for (counts, ways), (more, times) in itertools.product(total.items(), person.items()):
            key = tuple(a + b for a, b in zip(counts, more, strict=True))
            new[key] = new.get(key, 0) + ways * times
        total = new
    return total


def _person(value: int, modulus: int, shares: int) -> dict[tuple[int, ...], int]:
    ways: dict[tuple[int, ...], int] = {}
    for free in itertools.product(range(modulus), repeat=shares - 1):
        counts = np.bincount([*free, (value - sum(free)) % modulus], minlength=modulus)
        key = tuple(counts[1:].tolist())  # counts sum to m: the first says nothing
        ways[key] = ways.get(key, 0) + 1
    return ways
