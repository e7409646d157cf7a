"""Compare: the same groups under several labels, say months, versions or countries (docs/compare.md).

Groups are found on the tables of all labels together; then each label's tables are read by themselves
(`labels`), so that what is compared is the same under all: the people nearest to the common centers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from coterie.aggregate import Aggregate
from coterie.centers.comparison import Comparison, Difference, holm, two_sided
from coterie.centers.decode import check_alike, checked_clusters, decode, usable
from coterie.centers.dress import dress
from coterie.centers.explain import as_long
from coterie.centers.labels import Reading, read_confirmed, read_labels
from coterie.centers.result import Result
from coterie.centers.solution import COVERAGE, Solution, squared_distances
from coterie.errors import DecodeError
from coterie.features import Cycle, Estimate, Feature, Schema
from coterie.features.reading import Block
from coterie.plain.canonical import shown
from coterie.plain.words import listed
from coterie.plan import Plan
from coterie.plan.forecast import HELD, seen_shift
from coterie.protocols import PROTOCOLS
from coterie.protocols.codeword.decode import codeword_table, not_explained, rows_of_all

LEVEL: Final = 0.05  # of a family of tests
LONGEST_LABEL: Final = 64
MOST_LABELS: Final = 64
# Feature (None for a share of people), kind, value, both figures, their difference, its deviation, unit.
_Apart = tuple[str | None, str, str | int | None, tuple[float, float], float, float, str]
_ANYWHERE: Final = 4.0  # radii: a deviation that says nothing of a place in the ball


def compare(
    tables: Sequence[Aggregate],
    labels: Sequence[str] | None = None,
    *,
    clusters: int | str | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Comparison:
    """Say what differs between people who answered under several labels.

    Post-processing: it costs no privacy and may be repeated at will. Different people should have answered
    under different labels. Whoever answered under several has spent each plan's epsilon, which their ledger
    keeps; differences are then known better than stated.

    Parameters
    ----------
    tables : sequence of Aggregate
        One or more a label, of protocol "codeword": of one study, or of several whose plans ask the same, in
        balls of their own.
    labels : sequence of str, optional
        One a table; tables of the same label are read together. "table 1", "table 2" and so on by default.
        All labels are compared with the first.
    clusters : int, "auto" or None
        How many groups to find on all tables together; as for `decode`. None is the number of the last plan.
    random_state : int, Generator or None
        Seed of the analyst's random choices.

    Returns
    -------
    Comparison
        Shares and means of the same groups under each label, differences with intervals, and which of them
        are more than chance.

    Raises
    ------
    DecodeError
        If there are fewer than two labels, a table is empty, or the tables cannot be compared: other
        features, dimensions, protocol or model of trust, directions, balls that do not meet.

    Examples
    --------
    >>> from coterie import simulate
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=20_000)
    >>> points = np.repeat([[0.8, 0.0], [-0.8, 0.0]], [50, 50], axis=0)
    >>> later = np.repeat([[0.8, 0.0], [-0.8, 0.0]], [70, 30], axis=0)
    >>> tables = [simulate(plan, points, 20_000), simulate(plan, later, 20_000, random_state=1)]
    >>> found = compare(tables, labels=("May", "June"), random_state=0)
    >>> [round(100 * each.value) for each in found.differences]
    [20, -20]
    """
    names, by_label = _checked(tables, labels)
    last = _frame([table for own in by_label for table in own])
    wanted = checked_clusters(clusters, last.clusters)
    if (published := _published(by_label)) is not None:
        if clusters not in (None, published):
            raise DecodeError(f"the plans ask about their {published} published groups, not {clusters}")
        return _confirmed(names, by_label)
    rng = np.random.default_rng(random_state)
    ordered = _ordered(by_label)
    kinds = PROTOCOLS["codeword"]
    chosen = kinds.decoders["population" if not_explained(ordered) is None else "cells"]
    options: dict[str, Any] = {"choose": True} if wanted is None and chosen.chooses else {}
    with threadpool_limits(limits=1):
        solution = kinds.load(chosen.find)(ordered, wanted or last.clusters, rng, **options)
        return compared(names, by_label, solution, rng)


def compared(
    names: Sequence[str],
    by_label: Sequence[Sequence[Aggregate]],
    solution: Solution,
    rng: np.random.Generator,
) -> Comparison:
    """Return what differs between labels in groups that all tables together gave, in the frame's ball."""
    ordered = _ordered(by_label)
    frame = ordered[-1].plan
    result = dress(solution, ordered)
    people = as_long((solution.points, solution.weights), rows_of_all(ordered), rng)
    nearest = squared_distances(people[0], solution.centers).argmin(axis=1)
    held = np.bincount(nearest, people[1], minlength=len(solution.centers)) > 0
    centers = solution.centers[:1] if solution.one_group else solution.centers[held]
    if len(centers) < len(solution.centers):
        kept = np.flatnonzero(held)[: len(centers)] if not solution.one_group else np.zeros(1, dtype=int)
        result = _of_groups(result, kept)
    read = read_labels([[codeword_table(each) for each in own] for own in by_label], frame, people, centers)
    return _told(names, by_label, result, read, frame)


def _confirmed(names: Sequence[str], by_label: Sequence[Sequence[Aggregate]]) -> Comparison:
    """Compare what plans that confirm say of the groups that all of them published."""
    tables = [own[0] for own in by_label]
    read = [read_confirmed(codeword_table(table)) for table in tables]
    trust = np.array([each.people for each in read]) / sum(each.people for each in read)
    result = replace(
        decode(tables[-1]),
        count=sum(table.count for table in tables),
        weights=trust @ np.array([np.clip(each.shares, 0, 1) for each in read]),
        weight_errors=HELD * np.sqrt(trust**2 @ np.array([each.share_variances for each in read])),
        confirmed=None,
    )
    return _told(names, by_label, result, read, tables[-1].plan, exact=True)


def _told(
    names: Sequence[str],
    by_label: Sequence[Sequence[Aggregate]],
    result: Result,
    read: Sequence[Reading],
    frame: Plan,
    *,
    exact: bool = False,
) -> Comparison:
    number = len(result.centers)
    places = [[_Place.of(each, group, frame) for group in range(number)] for each in read]
    differences: list[Difference] = []
    figures: list[Difference] = []
    for label, other in enumerate(read[1:], start=1):
        pair = (names[label], names[0])
        if number > 1:
            deviations = np.sqrt(read[0].share_variances + other.share_variances)
            differences += [
                _difference(pair, group, (None, "share", None, (a, b), b - a, deviation, ""))
                for group, (a, b, deviation) in enumerate(
                    zip(read[0].shares, other.shares, deviations, strict=True)
                )
            ]
        for group in range(number):
            gaps = _apart(frame.features, places[0][group], places[label][group])
            figures.extend(_difference(pair, group, found) for found in gaps)
    shares = np.array([each.shares for each in read])
    own = HELD * np.sqrt(np.array([each.share_variances for each in read]))
    pooled = 0.0 if exact or np.isnan(result.weight_errors).any() else result.weight_errors
    tests = number * (len(read) - 1)
    visible = [
        seen_shift(float(np.median(np.sqrt(read[0].share_variances + each.share_variances))), tests, LEVEL)
        for each in read[1:]
    ]
    return Comparison(
        result=result,
        labels=tuple(names),
        counts=tuple(each.people for each in read),
        shares=np.clip(shares, 0.0, 1.0),
        share_errors=np.hypot(own, pooled),
        estimates=tuple(tuple(_estimates(frame.features, place) for place in each) for each in places),
        differences=_marked(differences),
        figures=_marked(figures),
        visible=tuple(visible),
        coverage=COVERAGE,
        level=LEVEL,
        exact=exact,
        notes=(*_notes(names, by_label), *result.notes),
    )


def _marked(found: Sequence[Difference]) -> tuple[Difference, ...]:
    moved = holm([each.p for each in found], LEVEL)
    return tuple(replace(each, moved=mark) for each, mark in zip(found, moved, strict=True))


def _difference(pair: tuple[str, str], group: int, apart: _Apart) -> Difference:
    (label, against), (feature, what, of, figures, value, deviation, unit) = pair, apart
    reach, chance = HELD * deviation, two_sided(value / deviation) if deviation > 0 else 1.0
    before, after = (min(max(float(each), 0.0), 1.0) if feature is None else float(each) for each in figures)
    low, high = float(value - reach), float(value + reach)
    if what == "share":
        low, high = max(low, -1.0), min(high, 1.0)
    return Difference(
        group, label, against, feature, what, of, before, after, float(value), low, high, chance, False, unit
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a group's people are under one label, in the original units."""

    place: NDArray[np.float64]  # (d,)
    covariance: NDArray[np.float64]  # (d, d)

    @classmethod
    def of(cls, reading: Reading, group: int, frame: Plan) -> _Place:
        middle = 0.0 if frame.center is None else np.array(frame.center)
        covariance = reading.covariances[group]
        if not np.isfinite(covariance).all():
            covariance = np.eye(len(covariance)) * _ANYWHERE**2
        return cls(reading.means[group] * frame.radius + middle, covariance * frame.radius**2)


def _estimates(schema: Schema | None, place: _Place) -> tuple[Estimate, ...]:
    if schema is not None:
        return schema.describe_point(place.place, place.covariance, confidence=COVERAGE)
    reach = HELD * np.sqrt(np.diagonal(place.covariance))
    return tuple(
        Estimate(f"x{i}", "value", None, value, value - half, value + half)
        for i, (value, half) in enumerate(zip(place.place.tolist(), reach.tolist(), strict=True))
    )


def _apart(schema: Schema | None, first: _Place, second: _Place) -> list[_Apart]:
    """Return feature, kind, value, both figures, difference, its deviation and unit, figure by figure."""
    both = first.covariance + second.covariance
    if schema is None:
        deviations = np.sqrt(np.diagonal(both))
        return [
            (f"x{i}", "value", None, (float(a), float(b)), float(b - a), float(deviation), "")
            for i, (a, b, deviation) in enumerate(zip(first.place, second.place, deviations, strict=True))
        ]
    found: list[_Apart] = []
    for feature, block in schema.blocks():
        here, there = first.place[block], second.place[block]
        nothing = np.zeros((len(here), len(here)))
        between = Block((here + there) / 2, both[block, block], 1.0)
        for a, b, middle in zip(
            feature.estimates(Block(here, nothing, 1.0)),
            feature.estimates(Block(there, nothing, 1.0)),
            feature.estimates(between),
            strict=True,
        ):
            if a.what != "concentration":
                of = a.label if a.what == "share" else None
                value, deviation = _measured(feature, a, b, middle)
                found.append((a.feature, a.what, of, (a.value, b.value), value, deviation, a.unit))
    return found


def _measured(feature: Feature, first: Estimate, second: Estimate, middle: Estimate) -> tuple[float, float]:
    """Return how two figures differ, and the deviation of that, read off between them.

    An interval that is cut at an end has its whole length on the other side.
    """
    value = second.value - first.value
    if not isinstance(feature, Cycle):
        return value, max(middle.high - middle.value, middle.value - middle.low)
    period = feature.period
    value = (value + period / 2) % period - period / 2
    anywhere = middle.high - middle.low == period
    return value, period if anywhere else (middle.high - middle.value) % period


# ---------------------------------------------------------------- what can be compared


def _checked(
    tables: object, labels: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[tuple[Aggregate, ...], ...]]:
    """Return the labels and the tables of each, merged where they are of one plan."""
    given = usable(tables)
    names = [f"table {i + 1}" for i in range(len(given))] if labels is None else list(labels)
    if len(names) != len(given):
        raise DecodeError(f"{len(given)} tables need as many labels, got {len(names)}")
    for name in names:
        if not 0 < len(name) <= LONGEST_LABEL or not name.isprintable():
            raise DecodeError(f"a label is a text of 1 to {LONGEST_LABEL} letters, got {shown(name)}")
    order = tuple(dict.fromkeys(names))
    if not 2 <= len(order) <= MOST_LABELS:
        raise DecodeError(
            f"a comparison needs 2 to {MOST_LABELS} labels, got {len(order)}: tables of one label are one"
        )
    check_alike(given)
    plans = [table.plan for table in given]
    if any(plan.directions is not None for plan in plans):
        raise DecodeError("plans with directions ask about those alone; compare tables of whole points")
    _check_balls(plans)
    by_label = []
    for name in order:
        own: dict[str, Aggregate] = {}
        for table in (table for table, of in zip(given, names, strict=True) if of == name):
            if table.plan.id in own:
                merged = Aggregate(table.plan)
                merged.merge(own[table.plan.id])
                merged.merge(table)
                own[table.plan.id] = merged
            else:
                own[table.plan.id] = table
        by_label.append(tuple(own.values()))
    return order, tuple(by_label)


def _check_balls(plans: Sequence[Plan]) -> None:
    """Refuse plans that ask about people in different places."""
    for one in plans:
        for other in plans:
            zero = np.zeros(one.dimension)
            here, there = (zero if each.center is None else np.array(each.center) for each in (one, other))
            if math.dist(here, there) >= max(one.radius, other.radius):
                raise DecodeError(
                    "the plans ask about balls that hardly meet, so the same people would lie elsewhere; "
                    "compare plans whose balls hold each other's centers"
                )


def _frame(tables: Sequence[Aggregate]) -> Plan:
    """Return the plan of the largest ball, the last of equals."""
    return max(reversed([table.plan for table in tables]), key=lambda plan: plan.radius)


def _ordered(by_label: Sequence[Sequence[Aggregate]]) -> list[Aggregate]:
    """Return all tables, the frame's last: in its ball they are decoded."""
    tables = [table for own in by_label for table in own]
    frame = _frame(tables)
    return sorted(tables, key=lambda table: table.plan is frame)


def _published(by_label: Sequence[Sequence[Aggregate]]) -> int | None:
    """Return how many published groups all plans ask about, if each label has one table of such a plan."""
    plans = [table.plan for own in by_label for table in own]
    if len(plans) > len(by_label) or not all(plan.confirms for plan in plans):
        return None
    asked = {
        (plan.parameters.groups(plan.clusters), plan.center, plan.radius, plan.clusters) for plan in plans
    }
    return plans[0].clusters if len(asked) == 1 else None


def _of_groups(result: Result, kept: NDArray[np.int64]) -> Result:
    """Return a result without groups that nobody is nearest to."""
    parts = {
        name: getattr(result, name)[kept]
        for name in ("centers", "weights", "errors", "weight_errors", "clear")
    }
    return replace(result, alternatives=(), **parts)


def _notes(names: Sequence[str], by_label: Sequence[Sequence[Aggregate]]) -> list[str]:
    plans = [table.plan for own in by_label for table in own]
    studies = {plan.study_id: plan.epsilon for plan in plans}
    notes = []
    if len(studies) > 1:
        notes.append(
            f"The tables are of {len(studies)} studies: whoever answered in all of them has spent an epsilon "
            f"of {sum(studies.values()):g}, which their device's ledger keeps."
        )
    if len({(plan.center, plan.radius) for plan in plans}) > 1:
        notes.append(
            "The plans' balls differ: whoever lies outside one of them is seen at its surface there, which "
            "can look like a change."
        )
    few = [name for name, own in zip(names, by_label, strict=True) if sum(each.count for each in own) < 1000]
    if few:
        notes.append(f"Fewer than 1,000 people answered under {listed(few)}.")
    return notes
