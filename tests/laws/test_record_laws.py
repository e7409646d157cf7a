"""Laws of records: every record has a point, and goes there and back; distances are the declared ones."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import CoterieError
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema
from coterie.geometry.ball import SCALE, quantize
from tests.reference.records_reference import Reference

weights = st.floats(1e-6, 1e6)
near_weights = st.floats(0.1, 10)
texts = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)
values = st.lists(texts | st.integers(-(2**53) + 1, 2**53 - 1), min_size=2, max_size=6, unique=True)
ends = st.sampled_from(["low", "middle", "high"])
own = st.sampled_from(["middle", "own"])


@st.composite
def numbers(draw, name, weight):
    low, high = sorted(draw(st.tuples(st.floats(-9e299, 9e299), st.floats(-9e299, 9e299))))
    scale = draw(st.sampled_from(["linear", "log"]))
    if scale == "log":
        low = draw(st.floats(1e-290, 1e250))
        high = low * draw(st.floats(1.02, 1e9))
    elif high - low < 1e-300:
        high = low + max(1.0, abs(low) * 1e-3)
    outside = draw(st.sampled_from(["clip", "missing"]))
    return Number(name, low, high, scale, weight=weight, missing=draw(ends), outside=outside)


@st.composite
def features(draw, name, weights=weights):
    weight = draw(weights)
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(numbers(name, weight))
    if kind == 1:
        return Category(name, draw(values), weight=weight, unknown=draw(own), missing=draw(own))
    if kind == 2:
        return Flag(name, weight=weight, missing=draw(st.sampled_from(["false", "middle", "true"])))
    if kind == 3:
        return Cycle(name, draw(st.floats(1e-300, 1e300)), weight=weight)
    if kind == 4:
        return Ordinal(name, draw(values), weight=weight, missing=draw(ends))
    return Embedding(name, draw(st.integers(1, 4)), draw(st.floats(1e-300, 1e300)), weight=weight)


@st.composite
def schemas(draw, weights=weights):
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    coverage = draw(st.none() | st.floats(0.1, 1))
    return Schema([draw(features(name, weights)) for name in names], coverage)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)


def fitting(feature):
    """Values of a feature that are within its bounds."""
    match feature:
        case Number():
            return st.floats(feature.low, feature.high)
        case Category():
            return st.sampled_from(feature.values)
        case Flag():
            return st.booleans()
        case Cycle():
            return st.floats(-1e300, 1e300)
        case Ordinal():
            return st.sampled_from(feature.levels)
        case Embedding():
            entry = st.floats(-feature.norm, feature.norm)
            return st.lists(entry, min_size=feature.dimension, max_size=feature.dimension)


@st.composite
def tables(draw, values=None, weights=weights):
    """A schema and records: fitting values, anything else, and keys that are not there."""
    schema = draw(schemas(weights))
    records = []
    for _ in range(draw(st.integers(1, 4))):
        record = {}
        for feature in schema.features:
            value = draw(fitting(feature) if values == "fitting" else fitting(feature) | anything)
            if values == "fitting" or draw(st.integers(0, 4)):
                record[feature.name] = value
        records.append(record)
    return schema, records


@pytest.mark.slow
@given(tables())
@settings(max_examples=100)
def test_every_record_has_the_references_point_alone_and_in_a_table(made):
    schema, records = made
    reference = Reference(schema.to_json())
    points = schema.points(records)
    assert schema.radius == reference.radius
    assert points.tolist() == [reference.point(record) for record in records]
    assert points.tolist() == [schema.point(record).tolist() for record in records]
    quantized, _ = quantize(points, None, schema.radius)
    assert quantized.tolist() == [reference.integers(record) for record in records]


@given(schemas())
def test_schemas_survive_their_text(schema):
    assert Schema.from_json(schema.to_json()) == schema
    assert Schema.from_json(schema.to_json()).to_json() == schema.to_json()


@given(schemas(), schemas())
def test_schemas_are_equal_if_and_only_if_their_texts_are(one, other):
    assert (one == other) == (one.to_json() == other.to_json())


@pytest.mark.slow
@given(tables())
def test_no_record_leaves_the_ball(made):
    schema, records = made
    whole = Schema(schema.features)
    assert (np.linalg.norm(whole.points(records), axis=1) <= whole.radius * (1 + 1e-9)).all()


@given(tables("fitting", weights=near_weights))
def test_a_record_comes_back_within_a_step(made):
    schema, records = made
    schema = Schema(schema.features)  # no coverage: nothing is clipped
    points = schema.points(records)
    step = schema.radius / SCALE
    quantized, _ = quantize(points, None, schema.radius)
    # Rounding to the grid moves a coordinate by half a step; a point on the sphere is drawn in by one more.
    back = [schema.record(point) for point in quantized * step]
    again = schema.points(back)
    assert np.abs(again - points).max() <= 2.01 * step + 2.0**-22 * max(f.weight for f in schema.features)
    for record, found in zip(records, back, strict=True):
        for feature in schema.features:
            if isinstance(feature, Category | Ordinal | Flag):
                assert found[feature.name] == record[feature.name]


@pytest.mark.slow
@given(st.data(), near_weights)
def test_weights_are_distances(data, weight):
    name = "f"

    def apart(feature, one, other):
        points = feature.points([one, other])
        return float(np.linalg.norm(points[0] - points[1]))

    listed = data.draw(values)
    number = data.draw(numbers(name, weight))
    period = data.draw(st.floats(1e-3, 1e6))
    time = data.draw(st.floats(0, 1)) * period
    category = Category(name, listed, weight=weight)
    two = data.draw(st.lists(st.sampled_from(listed), min_size=2, max_size=2, unique=True))
    assert apart(number, number.low, number.high) == pytest.approx(weight)
    assert apart(Flag(name, weight=weight), False, True) == pytest.approx(weight)
    assert apart(category, *two) == pytest.approx(weight)
    levels = Ordinal(name, tuple(range(5)), weight=weight)
    assert [apart(levels, 0, i) for i in range(5)] == pytest.approx([weight * i / 4 for i in range(5)])
    assert apart(Cycle(name, period, weight=weight), time, time + period / 2) == pytest.approx(
        weight, rel=1e-6
    )
    vector = Embedding(name, 2, 3.0, weight=weight)
    assert apart(vector, [3.0, 0.0], [-3.0, 0.0]) == pytest.approx(weight)
    # Features add up as legs of a right triangle.
    both = Schema([Flag("a", weight=weight), Flag("b", weight=2 * weight)])
    ends = both.points([{"a": False, "b": False}, {"a": True, "b": True}])
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(math.sqrt(5) * weight)


MARK = "s3cret"


@st.composite
def marked(draw):
    """Values that show if any part of them reaches a message."""
    kind = draw(st.integers(0, 6))
    number = draw(st.sampled_from([4711.25, -4711.25, 471147114711, 4711e300]))
    marks = [MARK, number, [MARK], [number, MARK], {MARK: number}, Loud(), (MARK, None)]
    return marks[kind]


class Loud:
    """An object that tells of itself wherever it is looked at."""

    def __repr__(self):
        return MARK

    def __float__(self):
        raise ValueError(MARK)

    def __eq__(self, other):
        raise ValueError(MARK)

    def __hash__(self):
        raise ValueError(MARK)


@pytest.mark.slow
@given(st.data())
def test_no_value_ever_appears_in_an_error(data):
    schema = data.draw(schemas())
    names = [feature.name for feature in schema.features]
    records = [{name: data.draw(marked()) for name in names} for _ in range(2)]
    assert np.isfinite(schema.points(records)).all()
    columns = {name: [record[name] for record in records] for name in names}
    spoilt = data.draw(
        st.sampled_from(
            [
                *([*records, MARK], [records[0], [MARK]], MARK, [MARK], 4711.25),
                *({**columns, names[0]: column} for column in (MARK, [MARK] * 3 + [4711.25], 4711.25)),
            ]
        )
    )
    try:
        schema.points(spoilt)
    except CoterieError as error:
        shown = f"{error!r} {error} {error.__cause__!r} {error.__context__!r}"
        assert MARK not in shown
        assert "4711" not in shown
