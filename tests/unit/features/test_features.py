"""Each kind of feature: where values lie, and what is refused; and the arithmetic beneath."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema, arithmetic
from coterie.features import values as reading_values
from coterie.features.arithmetic import TURN, binary_log, on_circle
from coterie.features.reading import Block

LOG_ERROR = 2.0**-39
CIRCLE_ERROR = 2.0**-48


def test_binary_logarithms_are_right_and_increase():
    values = np.concatenate([np.geomspace(1e-300, 1e300, 4001), 1 + np.arange(1, 2000) * 2.0**-52])
    values.sort()
    found = binary_log(values)
    assert np.abs(found - np.log2(values)).max() < LOG_ERROR + 2.0**-43  # numpy's own rounding at 2^10
    assert (np.diff(found) >= 0).all()
    assert binary_log(2.0 ** np.arange(-900.0, 900.0)).tolist() == list(range(-900, 900))


def test_points_of_the_circle_are_right():
    turns = np.unique(np.concatenate([np.arange(0, TURN, 4099), TURN - np.arange(1, 50), np.arange(50)]))
    cosine, sine = on_circle(turns)
    angles = 2 * np.pi * turns / TURN
    assert np.abs(cosine - np.cos(angles)).max() < CIRCLE_ERROR
    assert np.abs(sine - np.sin(angles)).max() < CIRCLE_ERROR
    for table in (each for pair in arithmetic._tables() for each in pair):  # made once, for all
        assert not table.flags.writeable


def test_a_number_is_where_exact_arithmetic_puts_it():
    age = Number("age", -3.7, 94.25, weight=1.7)
    for x in (-3.7, 0.1, 50, 94.25, 33.333333333333336):
        exact = (
            (Fraction(x) - Fraction(-3.7)) / (Fraction(94.25) - Fraction(-3.7)) - Fraction(1, 2)
        ) * Fraction(1.7)
        assert abs(Fraction(age.points([x])[0, 0]) - exact) < Fraction(1, 10**15)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (25, -0.25), (np.float32(25), -0.25), (np.int8(25), -0.25), (Decimal(25), -0.25),
        (Fraction(25), -0.25), (-1, -0.5), (101, 0.5), (math.inf, 0.5), (-math.inf, -0.5), (10**400, 0.5),
        (-(10**400), -0.5), (None, 0),
        (math.nan, 0), ("25", 0), ("", 0), (True, 0), (np.True_, 0), ([25], 0), ({}, 0), (25j, 0),
        (Decimal("sNaN"), 0), (Decimal("NaN"), 0), (object(), 0), (b"25", 0), (np.array(25.0), 0),
    ],
)  # fmt: skip
def test_every_value_of_a_number_has_its_place(value, place):
    assert Number("age", 0, 100).points([value]).tolist() == [[place]]


@pytest.mark.parametrize(("missing", "place"), [("low", -1.5), ("middle", 0), ("high", 1.5)])
def test_what_is_outside_or_missing_goes_where_it_is_declared(missing, place):
    age = Number("age", 0, 100, weight=3, missing=missing, outside="missing")
    assert age.points([None, -1, 101, math.inf, math.nan, 100]).ravel().tolist() == [place] * 5 + [1.5]
    size = Ordinal("size", ("S", "M", "L"), weight=3, missing=missing)
    assert size.points([None, "XL", 3, "S"]).ravel().tolist() == [place] * 3 + [-1.5]


def test_equal_ratios_are_equal_distances_on_a_log_scale():
    price = Number("price", 1, 10_000, "log", weight=4)
    places = price.points([1, 10, 100, 1000, 10_000]).ravel()
    assert places == pytest.approx([-2, -1, 0, 1, 2], abs=1e-10)
    assert price.points([0, -5, 1e-320]).ravel().tolist() == [-2] * 3


@pytest.mark.parametrize("count", [2, 3, 7, 40])
def test_any_two_values_of_a_category_are_its_weight_apart(count):
    code = Category("code", tuple(range(count)), weight=2.5)
    points = code.points(list(range(count)))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    assert distances[~np.eye(count, dtype=bool)] == pytest.approx(2.5, abs=1e-12)
    assert points.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert (points**2).sum(axis=1) == pytest.approx(code.radius_squared, abs=1e-12)


def test_unknown_and_missing_values_have_a_corner_of_their_own_or_the_middle():
    both = Category("c", ("a", "b"), unknown="own", missing="own")
    points = both.points(["a", "b", "z", 7, None, "", math.nan, True])
    assert both.corners == ("a", "b", "(unknown)", "(missing)")
    assert len({tuple(point) for point in points}) == 4
    assert points[2].tolist() == points[3].tolist()
    assert (points[4:] == points[4]).all()
    assert not Category("c", ("a", "b")).points(["z", None]).any()


def test_a_place_is_the_value_of_the_nearest_corner_or_of_none():
    plan = Category("plan", ("free", "paid", "team"), missing="own", weight=1.7)
    corners = plan.place(np.arange(4))
    for corner, value in zip(corners, ("free", "paid", "team", None), strict=True):
        assert plan.value(corner) == value
        assert plan.value(0.51 * corner) == value  # nearer to the corner than to the middle
        assert plan.value(0.49 * corner) is None  # and the other way round
    assert plan.value(0.9 * corners[1] + 0.1 * corners[3]) == "paid"
    assert plan.value(np.zeros(3)) is None


@pytest.mark.parametrize(
    ("side", "value"), [(-0.5, False), (-0.26, False), (-0.24, None), (0.24, None), (0.26, True)]
)
def test_a_place_is_true_false_or_neither(side, value):
    assert Flag("member", weight=1.7).value(np.array([1.7 * side])) is value


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_place_of_a_number_is_that_number_within_its_bounds(scale):
    income = Number("income", 2.0, 200.0, scale, weight=1.7)
    for value in (2.0, 3.5, 20.0, 199.0, 200.0):
        assert income.value(income.points([value])[0]) == pytest.approx(value)
    assert (income.value(np.array([-9.0])), income.value(np.array([9.0]))) == (2.0, 200.0)


def test_values_that_say_nothing_are_counted_among_those_that_are_there():
    age, plan = Number("age", 0, 100), Category("plan", ["free", "paid"])
    assert age.unread([1, 2, 3, "four"]) == 0.25
    assert age.unread([None, float("nan"), "", "four", 5]) == 0.5
    assert plan.unread(["free", "trial", "team", "paid", None]) == 0.5
    assert age.unread([]) == age.unread([None]) == 0
    assert age.unread([object(), [1.0, 2.0], b"", 5]) == 0.75  # they are there, whatever they are
    vector = Embedding("text", 2, norm=1.0)
    assert vector.understood([[0.1, 0.2], [0.1, float("nan")], [1.0], None]).tolist() == [
        True,
        False,
        False,
        False,
    ]
    assert vector.understood(np.array([[0.1, 0.2], [0.1, np.nan]])).tolist() == [True, False]


def test_a_place_on_the_circle_is_a_time_unless_it_is_near_the_middle():
    hour = Cycle("hour", 24, weight=1.7)
    assert hour.value(np.array([0.85, -1e-20])) == 0.0  # a hair before the first hour, not the 24th
    eight = hour.points([8.0])[0]
    assert hour.value(eight) == pytest.approx(8.0)
    assert hour.value(0.51 * eight) == pytest.approx(8.0)
    assert hour.value(0.49 * eight) is None


def test_texts_are_compared_by_code_points_and_numbers_as_doubles():
    found = Category("c", ("\u00e9", 1, "1"), unknown="own")
    codes = found.codes(["\u00e9", "e\u0301", 1, 1.0, np.int64(1), "1", True, "\ud800"])
    assert codes.tolist() == [0, 3, 1, 1, 1, 2, -1, 3]
    assert found.codes(np.array([1.0, 2.0, np.nan])).tolist() == [1, 3, -1]
    assert found.codes(np.array(["1", "x"])).tolist() == [2, 3]


def test_a_cycle_comes_round():
    hour = Cycle("hour", 24, weight=2)
    places = hour.points([1, 25, -23, 1 + 24 * 10**6, 13])
    assert (places[:4] == places[0]).all()
    assert np.linalg.norm(places[0] - places[4]) == pytest.approx(2)
    assert hour.points([-1e-300]).tolist() == hour.points([0]).tolist() == [[1, 0]]


@pytest.mark.parametrize(("reach", "low", "high"), [(0.25, 22.0, 2.0), (0.5, 0.0, 24.0), (0.75, 0.0, 24.0)])
def test_a_time_whose_error_reaches_the_middle_may_be_any(reach, low, high):
    place = Block(np.array([0.5, 0.0]), np.eye(2) * reach**2, 1.0)  # half of the circle's radius from it
    (time, _) = Cycle("hour", 24, weight=2).estimates(place)
    assert (time.low, time.high) == pytest.approx((low, high))


def test_a_vector_that_is_too_long_is_shortened():
    text = Embedding("text", 2, norm=5, weight=4)
    assert text.points([[3, 4], [30, 40], [0, -5]]) == pytest.approx(
        np.array([[1.2, 1.6], [1.2, 1.6], [0, -2]]), abs=1e-5
    )
    gone = [None, [1], [1, 2, 3], [1, "2"], [1, math.nan], [1, math.inf], "ab", 3, [[1, 2]], np.ones((2, 1))]
    assert not text.points(gone).any()
    array = np.array([[3.0, 4.0], [np.nan, 1.0]])
    assert text.points(array).tolist() == text.points(array.tolist()).tolist()


def test_a_projection_keeps_distances_and_knows_the_way_back():
    """256 people on the sphere of 768 dimensions, seen from 96 of them."""
    people = np.random.default_rng(0).standard_normal((256, 768))
    people *= 0.7 / np.linalg.norm(people, axis=1)[:, None]  # inside, so that nobody is shortened
    whole, seen = Embedding("text", 768, 1, weight=2), Embedding("text", 768, 1, weight=2, projected=96)
    assert (whole.coordinates, seen.coordinates) == (768, 96)
    assert seen.radius_squared == whole.radius_squared
    apart = [
        np.linalg.norm(each.points(people)[::2] - each.points(people)[1::2], axis=1) for each in (whole, seen)
    ]
    ratio = (apart[1] / apart[0]) ** 2
    assert abs(ratio.mean() - 1) < 0.08  # its deviation is √(2/96/128) = 0.013
    assert ratio.std() < 2 * math.sqrt(2 / 96)
    center = seen.points(people[:40]).mean(axis=0)
    back = np.array(seen.value(center))
    assert back.shape == (768,)
    assert seen.points([back])[0] == pytest.approx(center, abs=4e-6)  # a few steps of the grid
    assert np.linalg.norm(back) < 0.5 * np.linalg.norm(people[:40].mean(axis=0))  # shorter than the mean


def test_nearest_centers_are_the_same_before_and_after_the_way_back():
    people = np.random.default_rng(1).standard_normal((500, 256))  # as many as the rotation has
    people *= 0.6 / np.linalg.norm(people, axis=1)[:, None]
    seen = Embedding("text", 256, 1, weight=2, projected=32)
    points = seen.points(people)
    centers = points[:5]
    lifted = np.array([seen.value(center) for center in centers])
    near = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (((people[:, None] - lifted) ** 2).sum(axis=2).argmin(axis=1) == near).all()


def test_a_projection_stands_in_the_form_only_where_it_is_declared():
    whole, seen = Embedding("text", 8, 1), Embedding("text", 8, 1, projected=3)
    assert "projected" not in whole.to_dict()
    assert seen.to_dict()["projected"] == 3
    for each in (whole, seen):
        assert Embedding.from_dict(each.to_dict()) == each
        assert Schema.from_json(Schema([each]).to_json()).features == (each,)
    with pytest.raises(PlanError, match="projected must be in"):
        Embedding("text", 8, 1, projected=9)


def test_bounds_of_features_come_from_plain_numbers_of_any_kind():
    assert Number("a", np.int64(0), np.float32(1)) == Number("a", 0.0, 1)
    assert Number("a", -0.0, 1).to_dict()["low"] == 0
    assert math.copysign(1, Number("a", -0.0, 1).low) == 1
    assert Category("c", ["a", np.int64(3)]) == Category("c", ("a", 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Number("a", 1, 0), "number 'a': high must be above low"),
        (lambda: Number("a", math.nan, 1), "low must be in"),
        (lambda: Number("a", 0, 10**400), "high must be in"),
        (lambda: Number("a", "0", 1), "low must be a number"),
        (lambda: Number("", 0, 1), "name must have 1 to 64"),
        (lambda: Number(5, 0, 1), "name must be a text, got 5"),
        (lambda: Number("a", 0, 1, weight=0), "weight must be in"),
        (lambda: Number("a", 0, 1, "log"), "low must be above 0 on a log scale"),
        (lambda: Category("a", "bc"), "values must be a list"),
        (lambda: Category("a", ("b",)), "two entries"),
        (lambda: Category("a", ("b", 0.5)), r"values\[1\] must be a text, or an integer"),
        (lambda: Ordinal("a", ("b",)), "levels must hold 2"),
        (lambda: Cycle("a", 0), "period must be in"),
        (lambda: Embedding("a", 2.0, 1), "dimension must be an integer"),
        (lambda: Embedding("a", 2, 0), "norm must be in"),
        (lambda: Schema([]), "1 to 3000 coordinates"),
        (lambda: Schema([Flag("a"), Flag("a")]), "'a' occurs twice"),
        (lambda: Schema(["age"]), r"features\[0\] must be a feature"),
        (lambda: Schema(Flag("a")), "features must be a list"),
        (lambda: Schema([Flag("a")], coverage=0.01), "coverage must be in"),
    ],
)
def test_what_cannot_be_declared(make, message):
    with pytest.raises(PlanError, match=message):
        make()


def test_a_feature_shows_how_it_is_declared():
    schema = Schema(
        [
            Number("age", 0, 100, unit="years"),
            Number("spend", 0.5, 1e300, "log"),
            Category("plan", ["free", "paid"], weight=0.4),
            Cycle("hour", 24),
            Flag("member", missing="false"),
        ],
        coverage=0.7,
    )
    assert repr(schema).splitlines() == [
        "Schema([",
        "    Number('age', 0, 100, unit='years'),",
        "    Number('spend', 0.5, 1e+300, scale='log'),",
        "    Category('plan', ['free', 'paid'], weight=0.4),",
        "    Cycle('hour', 24),",
        "    Flag('member', missing='false'),",
        "], coverage=0.7)",
    ]
    assert eval(repr(schema)) == schema  # noqa: S307


def test_the_list_that_stands_for_a_missing_vector_is_read_for_everybody(monkeypatch):
    """Else it lies farther away for those who have none, and time tells (`benchmarks timing`)."""
    read = []
    monkeypatch.setattr(
        reading_values, "numbers", lambda column: read.append(column) or np.zeros(len(column))
    )
    for value in ([0.5, 0.25], None, [1.0]):
        reading_values.as_vector(value, 2)
    other = reading_values._some(2)
    assert read == [other, [0.5, 0.25], other, other, other, other]
