"""Whom a client is asked about: fixed points that try it, many copies of each, and others never seen before.

Fixed ones are where clients break: the middle and the origin, the surface and both sides of it, far outside,
corners, ties, steps of the grid. Half of all reports are of *other* points, each drawn anew in one of seven
ways, so that what is broken in some region of space is met there. Where the plan declares features, people
have records instead: extremes, values beyond either end, unknown, missing and foreign ones (NaN, a text for a
number), each alone and all together.

What a law might hang on is labelled (`Probes.labels`): which fixed point, each coordinate's place in the
ball, its length, how many are zero, which is largest; which value a record has, and which are missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.features import Category, Cycle, Embedding, Feature, Flag, Number, Ordinal
from coterie.geometry.ball import SCALE
from coterie.plan import Plan

People = NDArray[np.float64] | list[dict[str, Any]]  # points (n, d), or n records
Points = NDArray[np.float64]
Labels = dict[str, NDArray[np.uint8]]  # by what they tell apart, one a person: (n,)

_SHOWN: Final = 12  # coordinates, or values of a record, that are labelled one by one
_EDGES: Final = np.array([-1.0, -0.5, -0.1, 0.0, 0.1, 0.5, 1.0])
_LENGTHS: Final = np.array([1e-300, 1e-6, 0.25, 0.5, 0.75, 0.9, 0.999, 1.001, 2.0, 100.0])
_POOL: Final = 4096  # records made anew at a time
_FATES: Final = (0.1, 0.13, 0.16, 0.2)  # chances up to: missing, the least, the largest, a strange value


class Probes:
    """People for the audit of one plan.

    Parameters
    ----------
    plan : Plan
        Says whether people are points or records.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._center = np.zeros(plan.dimension) if plan.center is None else np.asarray(plan.center)
        self._generator = np.random.default_rng()  # nobody knows beforehand whom an audit asks about
        schema = plan.features
        fixed = fixed_points(plan) if schema is None else _records(schema.features, self._generator)
        self.names: tuple[str, ...] = (*fixed, "other")
        self._fixed: list[Any] = list(fixed.values())

    def people(self, count: int, run: int = 1) -> tuple[People, NDArray[np.int64]]:
        """Return so many people and which fixed one each is; the last number is "other".

        Fixed ones stand in runs of `run` copies; every other run is of people who are no fixed ones.
        """
        runs = -(-count // run)
        which = self._generator.integers(0, len(self._fixed), runs)
        which[self._generator.random(runs) < 0.5] = len(self._fixed)
        numbers = np.repeat(which, run)[:count]
        others = np.flatnonzero(numbers == len(self._fixed))
        if self._plan.features is None:
            points = np.stack([*self._fixed, np.zeros(self._plan.dimension)])[numbers]
            anywhere = _anywhere(self._plan.dimension, len(others), self._generator)
            points[others] = self._center + self._plan.radius * anywhere
            return points, numbers
        features = self._plan.features.features
        pool = [_any_record(features, self._generator) for _ in range(min(_POOL, len(others)))]
        records = [*self._fixed, {}]
        people: list[dict[str, Any]] = [records[number] for number in numbers]
        for place, each in enumerate(others):
            people[each] = pool[place % len(pool)]
        return people, numbers

    def points(self, people: People) -> Points:
        """Return the points of people: (n, d)."""
        if isinstance(people, np.ndarray):
            return people
        if self._plan.features is None:
            raise TypeError("a plan without features asks for points")
        return self._plan.features.points(people)

    def labels(self, people: People, points: Points) -> Labels:
        """Return what a law might hang on, by name: numbers below 256, (n,) each."""
        with np.errstate(over="ignore"):  # then it is clipped
            unit = np.clip((points - self._center) / self._plan.radius, -1e150, 1e150)
        found = {}
        shown = range(unit.shape[1]) if unit.shape[1] <= _SHOWN else [*range(6), *range(-6, 0)]
        for i in shown:
            place = np.searchsorted(_EDGES, unit[:, i], side="right") + 1
            found[f"coordinate {i % unit.shape[1]}"] = np.where(points[:, i] == 0, 0, place)
        lengths = np.sqrt((unit**2).sum(axis=1))
        found["length"] = np.searchsorted(_LENGTHS, lengths)
        found["zeros"] = np.minimum((points == 0).sum(axis=1), 255)
        found["negative ones"] = np.minimum((unit < 0).sum(axis=1), 255)
        largest = np.abs(unit).argmax(axis=1)
        found["largest coordinate"] = np.minimum(largest, 127) * 2 + (unit[np.arange(len(unit)), largest] < 0)
        found["whole numbers"] = (points == np.rint(points)).all(axis=1)
        if not isinstance(people, np.ndarray) and self._plan.features is not None:
            features = self._plan.features.features[:_SHOWN]
            told = [(feature.name, _named(feature)) for feature in features]
            known = {id(each): each for each in people}  # most stand there often
            kinds = {
                key: [_kind(each.get(name), values) for name, values in told] for key, each in known.items()
            }
            table = np.array([kinds[id(each)] for each in people])
            found |= {f"kind of {feature.name}:": table[:, i] for i, feature in enumerate(features)}
            total = [sum(value is None for value in each.values()) for each in people]
            found["missing values"] = np.minimum(np.array(total), 255)
        return {name: label.astype(np.uint8) for name, label in found.items()}


def fixed_points(plan: Plan) -> dict[str, Points]:
    """Return the points that are asked about again and again, (d,) each, by name."""
    d = plan.dimension
    drawn = np.random.default_rng(0).normal(size=(2, d))
    generic, other = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    first, last, equal = np.eye(d)[0], np.eye(d)[-1], np.full(d, d**-0.5)
    unit = {
        "the middle": 0 * first,
        "a corner": first,
        "the opposite corner": -first,
        "the last corner": last,
        "a point of the surface": 0.999 * generic,
        "its opposite": -0.999 * generic,
        "a point inside": 0.3 * generic,
        "another point": 0.7 * other,
        "equal coordinates": equal,
        "equal negative coordinates": -equal,
        "a small point": 1e-9 * generic,
        "half a step of the grid": np.full(d, 0.5 / SCALE),
        "just outside": 1.001 * other,
        "outside": 3 * other,
        "far outside": 50 * generic,
        "the other way far outside": -50 * generic,
        "as far as numbers go": 1e150 * first,
        "one large coordinate": 40 * last + 0.1 * first,
        "half of a corner": 0.5 * first,
    }
    center = np.zeros(d) if plan.center is None else np.asarray(plan.center)
    points = {name: center + plan.radius * each for name, each in unit.items()}
    points["negative zeros"] = center + plan.radius * -0.0 * first if plan.center else -0.0 * first
    points["the largest numbers"] = np.where(np.arange(d) % 2, -1.7e308, 1.7e308)
    points["the smallest numbers"] = np.full(d, 5e-324)
    points["ones"] = np.ones(d)
    if plan.center is not None:
        points["the origin"] = np.zeros(d)
    return points


def _anywhere(d: int, count: int, generator: np.random.Generator) -> Points:
    """Return points in units of the ball, each drawn in one of seven ways: (count, d)."""
    points = generator.normal(size=(count, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    way = generator.integers(0, 7, count)
    inside = generator.random(count) ** (1 / d)
    length = np.select(
        [way == 1, way == 2, way == 3],
        [np.ones(count), 1 + 9 * generator.random(count) ** 2, 10.0 ** -(6 * generator.random(count))],
        inside,
    )
    points *= length[:, None]
    sparse, steep, rough = way == 4, way == 5, way == 6
    points[sparse] *= generator.random((int(sparse.sum()), d)) < 0.5
    chosen = generator.integers(0, d, int(steep.sum()))
    points[steep] *= 0.1
    points[np.flatnonzero(steep), chosen] = generator.choice([-1, 1], len(chosen)) * (
        0.8 + 0.2 * generator.random(len(chosen))
    )
    points[rough] = np.rint(points[rough] * 10) / 10
    return points


def _values(feature: Feature) -> tuple[Any, Any, tuple[Any, ...], Callable[[np.random.Generator], Any]]:
    """Return the least and the largest value, some that are not the feature's, and how to draw one."""
    if isinstance(feature, Number):
        low, high = float(feature.low), float(feature.high)
        width = high - low
        strange = (high + 10 * width, low - 10 * width, math.nan, "7")
        return low, high, strange, lambda g: low + width * float(g.random())
    if isinstance(feature, Flag):
        return False, True, ("neither", "true", 2), lambda g: bool(g.random() < 0.5)
    if isinstance(feature, Cycle):
        period = float(feature.period)
        strange = (-1.25 * period, period, math.nan, "7")
        return 0.0, 0.5 * period, strange, lambda g: period * float(g.random())
    if isinstance(feature, Category | Ordinal):
        own = _own(feature)
        return own[0], own[-1], ("none of them", "", True), lambda g: own[int(g.integers(len(own)))]
    if isinstance(feature, Embedding):
        size, norm = feature.dimension, float(feature.norm)
        corner = [norm] + [0.0] * (size - 1)

        def anyone(generator: np.random.Generator) -> list[float]:
            drawn = generator.normal(size=size)
            return list((drawn * norm * generator.random() / np.linalg.norm(drawn)).tolist())

        return [0.0] * size, corner, ([40 * norm] * size, [norm] * (size + 1)), anyone
    raise TypeError(f"the audit knows no values of {type(feature).__name__}")


def _own(feature: Feature) -> Sequence[Any]:
    """Return the values of a feature that has only some."""
    return feature.values if isinstance(feature, Category) else getattr(feature, "levels", ())


def _named(feature: Feature) -> tuple[Any, ...]:
    """Return the values that are told apart: missing, the least, the largest, strange ones, all of some."""
    least, largest, strange, _ = _values(feature)
    return None, least, largest, *strange, *_own(feature)


def _kind(value: Any, named: tuple[Any, ...]) -> int:
    """Return which of the named values it is, from 1; 0 if none."""
    same = (value is each or (type(value) is type(each) and value == each) for each in named)
    return next((min(number, 255) for number, each in enumerate(same, 1) if each), 0)


def _records(features: Sequence[Feature], generator: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Return the fixed records, by name."""
    told = [(feature.name, _values(feature)) for feature in features]
    usual = {name: draw(generator) for name, (_, _, _, draw) in told}
    records: dict[str, dict[str, Any]] = {
        "least values": {name: least for name, (least, _, _, _) in told},
        "largest values": {name: largest for name, (_, largest, _, _) in told},
        "strange values": {name: strange[0] for name, (_, _, strange, _) in told},
        "an empty record": {name: None for name, _ in told},
        "a usual record": usual,
        "another record": {name: draw(generator) for name, (_, _, _, draw) in told},
        "a third record": {name: draw(generator) for name, (_, _, _, draw) in told},
    }
    for name, (_, _, strange, _) in told[:_SHOWN]:
        records[f"no {name}"] = {**usual, name: None}
        records[f"strange {name}"] = {**usual, name: strange[0]}
    return records


def _any_record(features: Sequence[Feature], generator: np.random.Generator) -> dict[str, Any]:
    """Return a record of usual values, some of them missing, extreme or strange."""
    record = {}
    for feature in features:
        least, largest, strange, draw = _values(feature)
        unusual = (None, least, largest, strange[int(generator.integers(len(strange)))])
        fate = int(np.searchsorted(_FATES, generator.random(), side="right"))
        record[feature.name] = unusual[fate] if fate < len(_FATES) else draw(generator)
    return record
