"""A schema: the declared features of a record, and the ball that follows from them.

    point   = the features' coordinates, one after the other
    radius  = √(Σ squared radii of the features), times the coverage if one is declared;   center = 0

That is the smallest ball around all records: each feature's values lie in a ball around 0 and touch it at
points whose convex hull holds 0; the same then holds for the product, with the radii's squares added.
Nobody chooses a radius, and nothing is read from anybody's data. Every reader of a plan recomputes it.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.errors import PlanError, PointError
from coterie.features.category import Category
from coterie.features.columns import columns_of
from coterie.features.cycle import Cycle
from coterie.features.embedding import Embedding
from coterie.features.feature import MOST_COORDINATES, Feature
from coterie.features.flag import Flag
from coterie.features.number import Number
from coterie.features.ordinal import Ordinal
from coterie.features.reading import Block, Estimate
from coterie.features.suggest import suggested
from coterie.plain.canonical import MAX_BYTES, canonical_bytes, parse_object, shown
from coterie.plain.checks import checked_choice, checked_fields, checked_list, checked_real
from coterie.plain.files import read_bounded
from coterie.plain.record import Record

KINDS: Final[dict[str, type[Feature]]] = {
    kind.kind: kind for kind in (Number, Category, Flag, Cycle, Ordinal, Embedding)
}
DECLARED: Final = "declared"
PUBLIC_SAMPLE: Final = "public sample"
LEAST_COVERAGE: Final = 0.1

_WHAT: Final = "a declaration of features"


@dataclass(frozen=True, slots=True, repr=False)
class Schema(Record):
    """The declared features of a record.

    Attributes
    ----------
    features : tuple of Feature
        In the order of their coordinates; each name once.
    coverage : float or None
        The ball's radius as a share of the smallest that holds every record, 0.1 to 1. Records outside are
        drawn back to its surface. None is the whole.
    source : {"declared", "public sample"}
        Where bounds and values come from: public knowledge, or a sample that was declared public.

    Examples
    --------
    >>> schema = Schema([Number("age", 0, 100, unit="years"), Category("plan", ["free", "paid"], weight=2.0)])
    >>> schema.dimension, round(schema.radius, 6)
    (2, 1.118034)
    >>> schema.point({"age": 75, "plan": "free"}).tolist()
    [0.25, 1.0]
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    features: Sequence[Feature]
    coverage: float | None = None
    source: str = field(default=DECLARED, kw_only=True)

    def __post_init__(self) -> None:
        features = tuple(checked_list("features", self.features))
        for i, feature in enumerate(features):
            if not isinstance(feature, Feature):
                raise PlanError(f"features[{i}] must be a feature such as Number, got {shown(feature)}")
        names = [feature.name for feature in features]
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise PlanError(f"features must have different names; {shown(twice)} occurs twice")
        self._set(features=features)
        if not 1 <= self.dimension <= MOST_COORDINATES:
            raise PlanError(
                f"features must have 1 to {MOST_COORDINATES} coordinates in all, got {self.dimension}"
            )
        if self.coverage is not None:
            self._clean(checked_real, coverage=(LEAST_COVERAGE, 1.0))
        checked_choice("source", self.source, (DECLARED, PUBLIC_SAMPLE))

    def __repr__(self) -> str:
        """Return how it is declared, a feature a line."""
        lines = "".join(f"    {feature!r},\n" for feature in self.features)
        coverage = "" if self.coverage is None else f", coverage={self.coverage!r}"
        source = "" if self.source == DECLARED else f", source={self.source!r}"
        return f"Schema([\n{lines}]{coverage}{source})"

    # ------------------------------------------------------------ the ball

    @property
    def dimension(self) -> int:
        """How many coordinates a record's point has."""
        return sum(feature.coordinates for feature in self.features)

    @property
    def radius(self) -> float:
        """Radius of the ball, which is centered at the origin."""
        squared = 0.0
        for feature in self.features:  # in this order: sums of doubles have one
            squared += feature.radius_squared
        return math.sqrt(squared) * (1.0 if self.coverage is None else self.coverage)

    def blocks(self) -> tuple[tuple[Feature, slice], ...]:
        """Return each feature with the coordinates that it takes."""
        ends = accumulate(feature.coordinates for feature in self.features)
        told = zip(self.features, ends, strict=True)
        return tuple((feature, slice(end - feature.coordinates, end)) for feature, end in told)

    # ------------------------------------------------------------ records to points

    def point(self, record: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the point of one record, shape (d,). Every mapping has one; no value is refused.

        Parameters
        ----------
        record : mapping
            Values by the features' names. What is not there, or not of the feature's kind, is missing; other
            keys are not looked at.

        Examples
        --------
        >>> Schema([Number("age", 0, 100), Flag("member")]).point({"age": 100, "shoe": 43}).tolist()
        [0.5, 0.0]
        """
        return np.asarray(self.points([record])[0])

    def points(self, table: Any) -> NDArray[np.float64]:
        """Return the points of many records, shape (n, d).

        Parameters
        ----------
        table : DataFrame, Arrow table, mapping of columns, or sequence of records
            pandas, Polars, PyArrow and whatever else narwhals knows; or columns (lists, arrays) by name; or
            one mapping per person. A table must have a column for each feature.

        Raises
        ------
        PointError
            If it is none of these, lacks a column, or its columns differ in length.

        Examples
        --------
        >>> Schema([Number("age", 0, 100), Flag("member")]).points({"age": [50, 100], "member": [1, None]})
        array([[0. , 0.5],
               [0.5, 0. ]])
        """
        columns, count = columns_of(table, [feature.name for feature in self.features])
        points = np.empty((count, self.dimension))
        for feature, block in self.blocks():
            points[:, block] = feature.points(columns[feature.name])
        return points

    # ------------------------------------------------------------ points to words

    def record(self, point: ArrayLike) -> dict[str, Any]:
        """Return the record nearest to a point; None stands for values that are missing.

        Examples
        --------
        >>> Schema([Number("age", 0, 100), Flag("member")]).record([0.25, -0.5])
        {'age': 75.0, 'member': False}
        """
        place = self._place(point)
        return {feature.name: feature.value(place[block]) for feature, block in self.blocks()}

    def describe_point(
        self, point: ArrayLike, error: ArrayLike | None = None, *, confidence: float = 0.9
    ) -> tuple[Estimate, ...]:
        """Return what a center means: numbers in their unit, shares of values, usual times, with intervals.

        Parameters
        ----------
        point : array_like, shape (d,)
            A mean of people's points.
        error : array_like, optional
            Its error: the covariance, shape (d, d); the variances, shape (d,); or one variance for all
            coordinates. None is no error.
        confidence : float
            How likely each interval holds its figure, if the error is normal.

        Returns
        -------
        tuple of Estimate
            In the order of the features.

        Examples
        --------
        >>> schema = Schema([Number("age", 0, 100, unit="years"), Category("plan", ["free", "paid"])])
        >>> center = schema.points([{"age": 20, "plan": "free"}, {"age": 40, "plan": "free"}]).mean(axis=0)
        >>> for estimate in schema.describe_point(center, 1e-4):
        ...     print(estimate)
        age 30 [28.36, 31.64] years
        plan free 100% [98%, 100%]
        plan paid 0% [0%, 2%]
        """
        place = self._place(point)
        covariance = self._covariance(error)
        share = checked_real("confidence", confidence, 0.0, 0.999999)
        deviations = NormalDist().inv_cdf((1.0 + share) / 2.0)
        found: list[Estimate] = []
        for feature, block in self.blocks():
            found.extend(feature.estimates(Block(place[block], covariance[block, block], deviations)))
        return tuple(found)

    def _place(self, point: ArrayLike) -> NDArray[np.float64]:
        place = np.asarray(point, dtype=np.float64)
        if place.shape != (self.dimension,):
            raise PointError(f"a point of this schema has shape ({self.dimension},), got {place.shape}")
        return place

    def _covariance(self, error: ArrayLike | None) -> NDArray[np.float64]:
        given = np.zeros(()) if error is None else np.asarray(error, dtype=np.float64)
        size = self.dimension
        if given.shape not in {(), (size,), (size, size)}:
            raise PointError(f"an error has shape (), ({size},) or ({size}, {size}), got {given.shape}")
        return given if given.ndim == 2 else np.diag(np.broadcast_to(given, size))

    # ------------------------------------------------------------ files

    def to_json(self) -> str:
        """Return the canonical JSON (RFC 8785): equal schemas have equal texts."""
        return canonical_bytes(self.to_dict()).decode()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form, strictly: every field of every feature, and no other.

        Raises
        ------
        PlanError
            Which says what is wrong, where, and what was expected.
        """
        fields = checked_fields("features", data, cls.field_names())
        listed = checked_list("features.features", fields["features"])
        if len(listed) > MOST_COORDINATES:
            raise PlanError(f"features.features must hold at most {MOST_COORDINATES}, got {len(listed)}")
        features = tuple(_feature(f"features[{i}]", each) for i, each in enumerate(listed))
        return cls(features, fields["coverage"], source=fields["source"])

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the JSON form from text; see `from_dict`."""
        return cls.from_dict(parse_object(text, _WHAT))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a declaration from a file: `.toml`, else JSON. Fields with a default may be left out.

        Examples
        --------
        >>> _ = Path("features.toml").write_text('''
        ... [[features]]
        ... kind = "number"
        ... name = "age"
        ... low = 0
        ... high = 100
        ... ''')
        >>> Schema.load("features.toml").features[0].weight
        1.0
        """
        data = read_bounded(path, MAX_BYTES, _WHAT)
        toml = Path(path).suffix.lower() == ".toml"
        try:
            return cls.from_dict(_filled(_parse_toml(data) if toml else parse_object(data, _WHAT)))
        except PlanError as error:
            raise PlanError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def suggest(cls, table: Any, *, public: bool = False) -> Self:
        """Propose a schema from a sample that is public or synthetic.

        Bounds are quantiles rounded outward, never extremes; values are those that many rows share. The
        schema says that it came from a sample. Of the people who will be asked nobody may be in the table:
        bounds that were read from people's data tell about them, and no ε covers that.

        Parameters
        ----------
        table : DataFrame, Arrow table, mapping of columns, or sequence of records
            At least 100 rows.
        public : bool
            Say True: that the sample may be shown to everybody.

        Examples
        --------
        >>> rows = {"age": [18 + i % 60 for i in range(500)], "member": [i % 3 == 0 for i in range(500)]}
        >>> Schema.suggest(rows, public=True).features
        (Number('age', 15, 80), Flag('member'))
        """
        if public is not True:
            raise PlanError(
                "a schema is suggested from public or synthetic samples only: bounds read from people's "
                "data tell about them, and no epsilon covers that. Say public=True if all may see the table"
            )
        return cls(suggested(*columns_of(table, None)), source=PUBLIC_SAMPLE)


def as_schema(features: Schema | Sequence[Feature] | Mapping[str, Any] | str | os.PathLike[str]) -> Schema:
    """Return a schema as it is, made of features, from its JSON form, or from the file of that name.

    Fields with a default may be left out of the JSON form, as in a file.

    Examples
    --------
    >>> as_schema({"features": [{"kind": "flag", "name": "member"}]}) == as_schema([Flag("member")])
    True
    """
    if isinstance(features, Schema):
        return features
    if isinstance(features, str | os.PathLike):
        try:
            return Schema.load(features)
        except FileNotFoundError:
            raise PlanError(
                "features must be a schema, a list of features or a file of them, "
                f"and there is no file {features}"
            ) from None
    if isinstance(features, Mapping):
        return Schema.from_dict(_filled(features))
    return Schema(tuple(checked_list("features", features)))


def _feature(where: str, data: object) -> Feature:
    if not isinstance(data, Mapping):
        raise PlanError(f"{where} must be a JSON object, got {shown(data)}")
    if "kind" not in data:
        raise PlanError(f"{where} lacks the field 'kind'; expected one of {', '.join(KINDS)}")
    kind = checked_choice(f"{where}.kind", data["kind"], KINDS)
    try:
        return KINDS[kind].from_dict(data)
    except PlanError as error:
        raise PlanError(f"{where}: {error}") from None


def _filled(data: Mapping[str, Any]) -> dict[str, Any]:
    """Add the fields that a declaration leaves out."""
    filled = {"coverage": None, "source": DECLARED, **data}
    listed = filled.get("features")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        filled["features"] = [
            {**KINDS[each["kind"]].defaults(), **each}
            if isinstance(each, Mapping) and isinstance(each.get("kind"), str) and each["kind"] in KINDS
            else each
            for each in listed
        ]
    return filled


def _parse_toml(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise PlanError(f"{_WHAT} is UTF-8 text; byte {error.start} is not") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"not TOML: {error}") from None
    except (RecursionError, ValueError):  # nested too deep; an integer of thousands of digits
        raise PlanError("not TOML that can be read: nested too deep, or a number too long") from None
