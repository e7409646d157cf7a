"""The decoder of a plan that confirms: what other people say of published groups, without a model.

Shares, means and features of the people nearest to each published center come from the confirming table
alone, with their intervals and tests (`confirmed`, docs/theory/confirming.md). The centers of the result are
better: both waves' word on where those people's mean is. The first one's is the published center c, the
other's a mean m with noise of known variance V a coordinate, and

    c + max(τ²/(τ² + V), 1 - (d - 2)·V/|m - c|²)·(m - c)

with τ² what the published centers are off by, as all groups show it together; a group that is off by more
than the others keeps more of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers.agreement import disagreement
from coterie.centers.confirmed import Confirmed, ConfirmedGroup, Pair, counted, sidak
from coterie.centers.doubts import families, may_be_fewer
from coterie.centers.repeats import normal
from coterie.centers.solution import COVERAGE, Interval, Solution, into_ball
from coterie.errors import DecodeError
from coterie.features import Estimate
from coterie.features.reading import Block
from coterie.geometry.ball import SCALE
from coterie.plan import Plan
from coterie.protocols.codeword.decode import codeword_table, decoded, explained, not_explained
from coterie.protocols.codeword.oracles.group_sums import GroupSums
from coterie.protocols.codeword.oracles.rows import ball_in, everybody, rows_of

_SURE_SHARE: Final = 4.0  # deviations above 0 from which on the error of a gap is nearly linear
_ANYWHERE: Final = 4.0  # radii: an error that says nothing of a place in the ball


def decode_confirmed(tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator) -> Solution:
    """Return what the last table confirms of the groups that its plan published; others give the population.

    The groups keep the order in which they were published.
    """
    table = codeword_table(tables[-1])
    plan, sums = table.plan, GroupSums.of(table)
    published = np.array(plan.parameters.groups(plan.clusters), dtype=np.float64) / SCALE
    if clusters != len(published):
        raise DecodeError(f"the plan asks about its {len(published)} published groups, not {clusters}")
    confirmed = confirm(plan, sums, published)
    centers, errors = _together(sums, published)
    shares = np.clip(sums.shares, 0.0, None)
    shares /= shares.sum()
    whole = [each for each in tables if each.plan.directions is None]
    waves = [rows_of(codeword_table(each), plan) for each in whole]
    mean, mean_error = everybody([view for views in waves for view in views])
    first = _population(tables[:-1], clusters, rng, plan)
    apart = () if first is None else disagreement(waves, (first.points, first.weights), published)
    level = confirmed.level / len(published)
    solution = Solution(
        centers=centers,
        shares=shares,
        errors=errors,
        supported=np.array([group.empty < level for group in confirmed.groups]),
        points=centers if first is None else first.points,
        weights=shares if first is None else first.weights,
        notes=(*apart, *(may_be_fewer(family) for family in families(list(confirmed.perhaps_one)))),
        coverage=COVERAGE,
        scatter=0.0 if first is None else first.scatter,
        share_errors=normal(COVERAGE) * np.sqrt(sums.share_variances),
        mean=mean,
        mean_error=mean_error,
        confirmed=confirmed,
    )
    return decoded(tables, solution)


def confirm(plan: Plan, sums: GroupSums, published: NDArray[np.float64]) -> Confirmed:
    """Return what a table says of published centers of the unit ball, (k, d), in the plan's units."""
    number = len(published)
    single = [_estimates(plan, sums, group, published[group], COVERAGE) for group in range(number)]
    rate = sidak(COVERAGE, counted(single))
    deviations = np.sqrt(sums.share_variances)
    middle = np.zeros(plan.dimension) if plan.center is None else np.array(plan.center)
    groups = tuple(
        ConfirmedGroup(
            number=group,
            center=published[group] * plan.radius + middle,
            share=_share(sums.shares[group], normal(COVERAGE) * deviations[group]),
            share_together=_share(sums.shares[group], normal(rate) * deviations[group]),
            estimates=single[group],
            together=_estimates(plan, sums, group, published[group], rate),
            mean=_mean(sums, group, published[group]) * plan.radius + middle,
            deviations=_deviations(sums, group) * plan.radius,
            empty=_above(sums.emptiness(group, published[group])),
        )
        for group in range(number)
    )
    pairs = tuple(_pair(sums, published, pair, plan.radius) for pair in combinations(range(number), 2))
    return Confirmed(plan.id, sums.people, COVERAGE, groups, pairs)


def _population(
    tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, plan: Plan
) -> Solution | None:
    """Return what explains earlier tables, in the unit ball of a plan; None if nothing can."""
    if not tables or not_explained(tables) is not None:
        return None
    found, ball = explained(tables, clusters, rng, repeats=0), ball_in(tables[-1].plan, plan)
    return replace(
        found, points=found.points * ball.scale + ball.shift, scatter=found.scatter * ball.scale**2
    )


def _estimates(
    plan: Plan, sums: GroupSums, group: int, center: NDArray[np.float64], rate: float
) -> tuple[Estimate, ...]:
    """Return the figures of a group's mean, each with an interval that holds it at a rate."""
    middle = np.zeros(plan.dimension) if plan.center is None else np.array(plan.center)
    if plan.features is None:
        place, covariance = _reached(sums, group, normal(rate))
        place, reach = place * plan.radius, normal(rate) * np.sqrt(np.diagonal(covariance)) * plan.radius
        low, high = np.maximum(place - reach, -plan.radius), np.minimum(place + reach, plan.radius)
        low, high = np.minimum(low, plan.radius), np.maximum(high, -plan.radius)
        value = np.clip(_mean(sums, group, center) * plan.radius, low, high)
        ends = (each + middle for each in (value, low, high))
        return tuple(
            Estimate(f"x{i}", "value", None, *figures)
            for i, figures in enumerate(zip(*(each.tolist() for each in ends), strict=True))
        )
    found: list[Estimate] = []
    for feature, block in plan.features.blocks():
        # What is no linear function of the mean is read off all places that may be the mean at once.
        reach_of = normal(rate) if feature.linear else _joint(rate, feature.coordinates)
        place, covariance = _reached(sums, group, reach_of)
        spot, errors = place[block] * plan.radius + middle[block], covariance[block, block] * plan.radius**2
        found.extend(feature.estimates(Block(spot, errors, reach_of)))
    return tuple(found)


def _mean(sums: GroupSums, group: int, center: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of a group's people, (d,); its published center where nobody is seen."""
    share = sums.shares[group]
    seen = share > normal(COVERAGE) * math.sqrt(sums.share_variances[group])
    return into_ball((sums.sums[group] / share)[None])[0] if seen else center


def _reached(
    sums: GroupSums, group: int, deviations: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return place and covariance whose shadows are the intervals: (d,), (d, d); anywhere if none is."""
    shadow = sums.shadow(group, deviations)
    if shadow is None:
        size = sums.lift.dimension
        return np.zeros(size), np.eye(size) * (_ANYWHERE / deviations) ** 2
    return shadow.place, shadow.covariance


def mean_covariance(sums: GroupSums, group: int) -> NDArray[np.float64] | None:
    """Return that of a group's mean, by the error's linear part: (d, d); None where nobody is seen."""
    share = float(sums.shares[group])
    if share <= normal(COVERAGE) * math.sqrt(sums.share_variances[group]):
        return None
    covariance, across, variance = sums.joint(group)
    mean = sums.sums[group] / share
    crossed = np.outer(mean, across)
    found: NDArray[np.float64] = (
        covariance - crossed - crossed.T + variance * np.outer(mean, mean)
    ) / share**2
    return found


def _deviations(sums: GroupSums, group: int) -> NDArray[np.float64]:
    covariance = mean_covariance(sums, group)
    if covariance is None:
        return np.full(sums.lift.dimension, math.inf)
    found: NDArray[np.float64] = np.sqrt(np.diagonal(covariance))
    return found


def _pair(sums: GroupSums, published: NDArray[np.float64], pair: tuple[int, int], radius: float) -> Pair:
    """Return what is said of two groups; one where nothing speaks against it."""
    first, second = pair
    line = published[first] - published[second]
    apart = float(np.linalg.norm(line))
    if apart == 0:
        return Pair(first, second, 0.0, math.nan, 1.0)
    gap, deviation = sums.gap(first, second, line / apart)
    sure = sums.shares[list(pair)] > _SURE_SHARE * np.sqrt(sums.share_variances[list(pair)])
    one = _above((gap - apart / 2) / deviation) if sure.all() else 1.0
    return Pair(first, second, apart * radius, gap * radius, one)


def _together(
    sums: GroupSums, published: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where both waves see the groups' means, and the radius that holds each: (k, d), (k,)."""
    size = sums.lift.dimension
    centers = published.copy()
    radii = 1 + np.linalg.norm(published, axis=1)  # holds the ball
    seen = {
        group: covariance
        for group in range(len(published))
        if (covariance := mean_covariance(sums, group)) is not None
    }
    if not seen:
        return centers, radii
    order = list(seen)
    away = sums.sums[order] / sums.shares[order][:, None] - published[order]
    squares = (away**2).sum(axis=1)
    noise = np.array([float(np.trace(seen[group])) / size for group in order])  # V
    trust = 1 / noise**2
    off = max(float(trust @ (squares / size - noise) / trust.sum()), 0.0)  # τ²
    kept = np.maximum(off / (off + noise), 1 - (size - 2) * noise / np.maximum(squares, 1e-300))
    centers[order] += np.clip(kept, 0.0, 1.0)[:, None] * away
    radii[order] = [min(_holding(seen[group]), radii[group]) for group in order]
    return into_ball(centers), radii


def _holding(covariance: NDArray[np.float64]) -> float:
    """Return the radius that holds a normal vector at `COVERAGE`, by Wilson and Hilferty: (d, d) -> r."""
    total, squared = float(np.trace(covariance)), float((covariance**2).sum())
    spread = 2 * squared / (9 * total**2)  # v, of a chi-square with the same mean and variance
    return math.sqrt(total * (1 - spread + normal(2 * COVERAGE - 1) * math.sqrt(spread)) ** 3)


def _share(value: float, reach: float) -> Interval:
    middle = min(max(float(value), 0.0), 1.0)
    return Interval(middle, min(max(value - reach, 0.0), middle), max(min(value + reach, 1.0), middle))


def _joint(rate: float, size: int) -> float:
    """Return the radius, in deviations, of the ball that holds a normal vector of so many coordinates."""
    from scipy.special import chdtri

    return math.sqrt(float(chdtri(size, 1 - rate)))


def _above(deviations: float) -> float:
    """Return the chance that a normal error is as far above."""
    from scipy.special import ndtr

    return float(ndtr(-deviations))
