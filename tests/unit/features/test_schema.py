"""The schema: its ball, its files, tables of every make, reading back, suggestions from public samples."""

import json
import math

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from coterie.errors import FileError, MissingExtraError, PlanError, PointError
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema, columns
from coterie.plain.canonical import MAX_BYTES

SCHEMA = Schema(
    [
        Number("age", 0, 100, unit="years", weight=2),
        Category("plan", ("free", "paid", "team"), unknown="own", weight=1.5),
        Flag("member"),
        Cycle("hour", 24, unit="h"),
        Ordinal("size", ("S", "M", "L"), description="of shirts"),
        Number("spend", 1, 1000, "log", unit="€"),
        Embedding("text", 3, norm=2, weight=1.25),
    ]
)
PEOPLE = {
    "age": [34, 17, None, 250],
    "plan": ["paid", "gold", None, "free"],
    "member": [True, None, False, True],
    "hour": [8.5, 23.0, 30.0, None],
    "size": ["M", "S", "XL", None],
    "spend": [49.5, 0.0, 1e9, None],
    "text": [[1.0, 0.0, 0.0], [0.0, 3.0, 4.0], None, [0.0, 0.0, 0.0]],
}
RECORDS = [{name: column[i] for name, column in PEOPLE.items()} for i in range(4)]


# ------------------------------------------------------------ the ball


def test_the_ball_is_the_smallest_that_holds_every_record():
    # Extreme records touch the ball, and its center is a mean of theirs: no smaller ball holds them all.
    schema = Schema([*SCHEMA.features[:6], Embedding("text", 1, norm=2)])
    points = schema.points(
        [
            {
                "age": age,
                "plan": plan,
                "member": member,
                "hour": hour,
                "size": size,
                "spend": spend,
                "text": [text],
            }
            for age in (0, 100)
            for plan in ("free", "paid", "team", "?")
            for member in (False, True)
            for hour in (0, 8, 16)
            for size in "SL"
            for spend in (1, 1000)
            for text in (-2, 2)
        ]
    )
    assert np.linalg.norm(points, axis=1) == pytest.approx(schema.radius, rel=1e-12)
    assert points.mean(axis=0) == pytest.approx(
        0, abs=1e-7
    )  # a turn has 2^24 steps, and 3 does not divide them


def test_coverage_shrinks_the_ball_alone():
    smaller = Schema(SCHEMA.features, coverage=0.5)
    assert smaller.radius == SCHEMA.radius / 2
    assert smaller.points(RECORDS).tolist() == SCHEMA.points(RECORDS).tolist()


# ------------------------------------------------------------ files


def test_equal_schemas_have_equal_texts():
    same = Schema(list(SCHEMA.features), source="declared")
    assert same == SCHEMA
    assert hash(same) == hash(SCHEMA)
    assert same.to_json() == SCHEMA.to_json() == Schema.from_json(SCHEMA.to_json()).to_json()
    assert Schema(SCHEMA.features[::-1]).to_json() != SCHEMA.to_json()


def test_a_declaration_may_leave_out_what_has_a_default(tmp_path):
    (tmp_path / "f.toml").write_text(
        """
        [[features]]
        kind = "number"
        name = "age"
        low = 0
        high = 100.0
        unit = "years"

        [[features]]
        kind = "category"
        name = "plan"
        values = ["free", "paid"]
        unknown = "own"
        """
    )
    wanted = Schema([Number("age", 0, 100, unit="years"), Category("plan", ("free", "paid"), unknown="own")])
    assert Schema.load(tmp_path / "f.toml") == wanted
    short = {"features": [{"kind": "number", "name": "age", "low": 0, "high": 1e2}], "coverage": 0.5}
    (tmp_path / "f.json").write_text(json.dumps(short))
    assert Schema.load(tmp_path / "f.json") == Schema([Number("age", 0, 100)], 0.5)
    (tmp_path / "whole.json").write_text(SCHEMA.to_json())
    assert Schema.load(tmp_path / "whole.json") == SCHEMA


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.toml", b"features = [", "not TOML"),
        ("f.toml", b"features = 3", "features.features must be a list"),
        ("f.toml", b"\xff", "UTF-8"),
        ("f.toml", b"x = " + b"[" * 5000 + b"]" * 5000, "TOML|unknown field"),
        ("f.toml", b"x = " + b"1" * 5000, "TOML"),
        ("f.toml", b"[[features]]\nkind = 'number'\nname = 'a'\nlow = nan\nhigh = 1", "low must be in"),
        (
            "f.toml",
            b"[[features]]\nkind = 'number'\nname = 'a'\nlow = 2020-01-01\nhigh = 1",
            "low must be a number",
        ),
        ("f.toml", b"[[features]]\nname = 'a'", "lacks the field 'kind'"),
        ("f.toml", b"[[features]]\nkind = 'number'\nname = 'a'\nlow = 1", "lacks the field 'high'"),
        ("f.json", b'{"features": [{"kind": "number", "kind": "flag"}]}', "more than once"),
        ("f.json", b'{"features": "ab"}', "must be a list"),
        ("f.json", b'{"features": [["a"]]}', r"features\[0\] must be a JSON object"),
    ],
)
def test_bad_declarations_say_what_is_wrong(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(PlanError, match=rf"{name}: .*({message})"):
        Schema.load(tmp_path / name)


def test_a_declaration_is_bounded(tmp_path):
    (tmp_path / "f.toml").write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(FileError, match="a declaration of features"):
        Schema.load(tmp_path / "f.toml")


# ------------------------------------------------------------ tables


def frames():
    table = pyarrow.table(PEOPLE)
    rows = polars.DataFrame(PEOPLE)
    return {
        "columns": PEOPLE,
        "records": RECORDS,
        "arrow": table,
        "pandas": pandas.DataFrame(PEOPLE),
        "pandas with pyarrow": table.to_pandas(types_mapper=pandas.ArrowDtype),
        "pandas with NA": pandas.DataFrame({k: v for k, v in PEOPLE.items()}).convert_dtypes(),
        "polars": rows,
        "lazy": rows.lazy(),
        "polars with categories": rows.with_columns(
            polars.col("plan").cast(polars.Categorical),
            polars.col("size").cast(polars.Enum(["S", "M", "XL"])),
        ),
        "columns of series": {name: rows[name] for name in PEOPLE},
        "more columns": {**PEOPLE, "secret": [1, 2, 3, 4]},
        "tuples": {name: tuple(column) for name, column in PEOPLE.items()},
        "arrays of objects": {
            name: np.array([*column, None], dtype=object)[:-1] for name, column in PEOPLE.items()
        },
    }


@pytest.mark.parametrize("make", list(frames()))
def test_tables_of_every_make_give_the_same_points(make):
    one_by_one = np.array([SCHEMA.point(record) for record in RECORDS])
    assert SCHEMA.points(frames()[make]).tolist() == one_by_one.tolist()


def test_arrays_of_numbers_are_columns_too():
    schema = Schema([Number("x", 0, 10), Flag("f"), Category("c", (1, 2))])
    table = np.array([(5, True, 1), (10, False, 3)], dtype=[("x", "u1"), ("f", "?"), ("c", "i8")])
    wanted = schema.points([{"x": 5, "f": True, "c": 1}, {"x": 10, "f": False}])
    assert schema.points(table).tolist() == wanted.tolist()
    masked = np.ma.masked_array([5.0, 10.0], mask=[False, True])
    assert Schema([Number("x", 0, 10, missing="low")]).points({"x": masked}).tolist() == [[0], [-0.5]]


def test_no_rows_are_no_points():
    assert SCHEMA.points([]).shape == (0, SCHEMA.dimension)
    assert SCHEMA.points({name: [] for name in PEOPLE}).shape == (0, SCHEMA.dimension)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"age": [1]}, "no column 'plan'"),
        (pandas.DataFrame({"age": [1]}), "no column 'plan'"),
        ({**PEOPLE, "age": [1]}, "one length, got 1, 4"),
        ({**PEOPLE, "age": 7}, "a column must be a list or an array of values, got int"),
        ({**PEOPLE, "age": "7777"}, "a column must be a list or an array of values, got str"),
        ([RECORDS[0], [3]], "a record must be a mapping of names to values, got list"),
        (np.zeros((3, 2)), "records come as a data frame.*got ndarray"),
        (7, "records come as a data frame.*got int"),
    ],
)
def test_what_is_no_table(table, message):
    with pytest.raises(PointError, match=message):
        SCHEMA.points(table)


def test_frames_need_narwhals(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(MissingExtraError, match=r"coterie\[frames\]"):
        columns.columns_of(pandas.DataFrame(PEOPLE), ["age"])


# ------------------------------------------------------------ reading back


def test_a_mean_of_people_is_read_back_as_their_figures():
    people = {
        "age": [20, 40] * 50,
        "plan": ["free"] * 70 + ["paid"] * 20 + ["gold"] * 10,
        "member": [True] * 25 + [False] * 75,
        "hour": [23, 1] * 50,
        "size": ["S", "S", "S", "M"] * 25,
        "spend": [1, 100] * 50,
        "text": [[1.0, 0, 0], [0, 1.0, 0]] * 50,
    }
    center = SCHEMA.points(people).mean(axis=0)
    found = {(each.feature, each.what, each.label): each for each in SCHEMA.describe_point(center)}
    assert found["age", "value", None].value == pytest.approx(30)
    assert found["age", "value", None].unit == "years"
    shares = {label: found["plan", "share", label].value for label in ("free", "paid", "team", "(unknown)")}
    assert shares == pytest.approx({"free": 0.7, "paid": 0.2, "team": 0, "(unknown)": 0.1}, abs=1e-9)
    assert found["member", "share", None].value == pytest.approx(0.25)
    hour = found["hour", "value", None].value
    assert min(hour, 24 - hour) == pytest.approx(0, abs=1e-5)
    assert found["hour", "concentration", None].value == pytest.approx(math.cos(math.pi / 12), abs=1e-6)
    assert found["size", "value", "S"].value == pytest.approx(1.25)
    assert found["spend", "value", None].value == pytest.approx(10)
    assert found["text", "concentration", None].value == pytest.approx(math.sqrt(0.5) / 2, abs=1e-6)
    assert all(each.low <= each.value <= each.high for each in found.values() if each.feature != "hour")


NORMAL_90 = 1.6448536  # deviations to either side that hold 90 %


def test_intervals_follow_the_error():
    schema = Schema(
        [Number("x", 0, 10, weight=2), Category("c", ("a", "b"), weight=4), Flag("f"), Cycle("h", 24)]
    )
    center = schema.points([{"x": 5, "h": 6}] * 3 + [{"x": 5, "h": 6}]).mean(axis=0)
    variances = np.array([0.01, 0.04, 0.0025, 1e-4, 4e-4])
    number, a, b, flag, hour, together = schema.describe_point(center, variances)
    assert (number.high - number.value) == pytest.approx(NORMAL_90 * 0.1 / 2 * 10, rel=1e-6)
    assert (a.high - a.value) == pytest.approx(NORMAL_90 * 0.2 / 4, rel=1e-6)
    assert (b.value - b.low) == pytest.approx(NORMAL_90 * 0.2 / 4, rel=1e-6)
    assert (flag.high - flag.low) == pytest.approx(2 * NORMAL_90 * 0.05, rel=1e-6)
    assert (hour.high - hour.value) == pytest.approx(
        math.asin(NORMAL_90 * 0.01 / 0.5) / math.pi * 12, rel=1e-6
    )
    assert (together.value, together.high) == (1, 1)
    assert (1 - together.low) == pytest.approx(NORMAL_90 * 0.02 / 0.5, rel=1e-6)
    whole = schema.describe_point(center, np.diag(variances))
    assert whole == (number, a, b, flag, hour, together)
    wider = schema.describe_point(center, variances, confidence=0.99)[0]
    assert wider.high - wider.value == pytest.approx(
        2.5758293 / NORMAL_90 * (number.high - number.value), rel=1e-6
    )


def test_intervals_hold_the_truth_as_often_as_they_say():
    generator = np.random.default_rng(3)
    schema = Schema([Number("x", 0, 10), Category("c", ("a", "b", "d"), weight=2)])
    center = schema.points({"x": [5, 4, 3], "c": ["a", "b", "d"]}).mean(axis=0)
    root = generator.normal(size=(3, 3)) * 0.02
    held = np.zeros(4)
    repeats = 4000
    truth = np.array([4, 1 / 3, 1 / 3, 1 / 3])
    for _ in range(repeats):
        seen = schema.describe_point(center + root @ generator.normal(size=3), root @ root.T)
        held += [each.low <= true <= each.high for each, true in zip(seen, truth, strict=True)]
    slack = 5.2 * math.sqrt(0.9 * 0.1 / repeats)  # a false alarm in 10^-6
    assert np.abs(held / repeats - 0.9).max() < slack


def test_vectors_of_one_length_are_read_as_an_array():
    rows = [[0.5, -0.25], None, [3.0, 4.0]]
    schema = Schema([Embedding("text", 2, 1)])
    wanted = schema.points({"text": rows})
    fixed = polars.DataFrame({"text": polars.Series(rows, dtype=polars.Array(polars.Float32, 2))})
    assert isinstance(columns.columns_of(fixed, ["text"])[0]["text"], np.ndarray)
    for table in (fixed, fixed.to_arrow(), fixed.to_pandas(), polars.DataFrame({"text": rows})):
        assert (schema.points(table) == wanted).all()
    assert not Schema([Number("text", 0, 1)]).points(fixed).any()  # no numbers: the middle


ENDS = Schema(
    [
        Number("x", 0, 10),
        Number("price", 1, 100, "log", weight=2),
        Category("c", ("a", "b", "d"), weight=2),
        Flag("f"),
        Ordinal("size", ("S", "M", "L")),
        Embedding("text", 1, 2),
    ]
)


def test_an_interval_beyond_the_end_of_a_range_is_as_wide_as_one_side_of_it():
    """However far noise carried the center: the figures at the end are no more certain than any others."""
    deviation = 0.05
    reach = NORMAL_90 * deviation
    for far in (0.5, 0.6, 5.0):  # the last corner of the category lies opposite to its first coordinates
        away = np.array([-far, -2 * far, -2 * far, -2 * far, -far, -far, far])
        x, price, a, b, d, flag, size, text = ENDS.describe_point(away, deviation**2)
        assert (x.value, x.low, x.high) == pytest.approx((0, 0, 10 * reach), rel=1e-6)
        assert (price.value, price.low) == (1, 1)
        assert price.high == pytest.approx(100 ** (reach / 2), rel=1e-6)
        assert (flag.value, flag.low, flag.high) == pytest.approx((0, 0, reach), rel=1e-6)
        assert size.label == "S"
        assert (size.value, size.low, size.high) == pytest.approx((1, 1, 1 + 2 * reach), rel=1e-6)
        assert (text.value, text.high, text.low) == pytest.approx((1, 1, 1 - 2 * reach), rel=1e-6)
        assert all(each.high - each.low > 0.9 * reach / math.sqrt(3) for each in (a, b, d))


def test_agreement_at_the_very_middle_is_not_certain_either():
    """People all over the circle, vectors of all directions: the mean's length is 0, give or take."""
    schema = Schema([Cycle("hour", 24), Embedding("text", 3, 2, weight=4)])
    hour, together, text = schema.describe_point(np.zeros(5), 0.01)
    assert (hour.low, hour.high) == (0, 24)
    assert (together.value, together.high) == pytest.approx((0, NORMAL_90 * 0.1 / 0.5), rel=1e-6)
    assert (text.value, text.high) == pytest.approx((0, NORMAL_90 * 0.1 / 2), rel=1e-6)


@pytest.mark.parametrize("truth", [0.0, 0.02, 0.1])
def test_intervals_near_the_end_of_a_range_hold_the_truth(truth):
    """At least as often as they say, and no oftener than one side of them can be spared."""
    generator, repeats, deviation = np.random.default_rng(5), 4000, 0.05
    schema = Schema([Number("x", 0, 1), Flag("f")])
    held = np.zeros(2)
    for _ in range(repeats):
        seen = schema.describe_point(truth - 0.5 + deviation * generator.normal(size=2), deviation**2)
        held += [each.low <= truth <= each.high for each in seen]
    slack = 5.2 * math.sqrt(0.9 * 0.1 / repeats)  # a false alarm in 10^-6
    assert (held / repeats > 0.9 - slack).all()
    assert (held / repeats < 0.95 + slack).all()


def test_a_cycle_nobody_agrees_on_may_be_at_any_time():
    hour = Schema([Cycle("hour", 24)])
    value, together = hour.describe_point([1e-4, 0.0], 1e-4)
    assert (value.low, value.high) == (0, 24)
    assert together.low == 0
    late, _ = hour.describe_point(hour.point({"hour": 23.9}), 1e-4)
    assert late.low > late.high  # over midnight


def test_figures_stay_where_they_can_be():
    far = np.full(SCHEMA.dimension, 9.0)
    for each in SCHEMA.describe_point(far, 1.0):
        if each.what != "value":
            assert 0 <= each.low <= each.value <= each.high <= 1
    age = SCHEMA.describe_point(far)[0]
    assert (age.value, age.low, age.high) == (100, 100, 100)


def test_words():
    words = [str(each) for each in SCHEMA.describe_point(SCHEMA.point(RECORDS[0]))]
    assert words[0] == "age 34 [34, 34] years"
    assert "plan paid 100% [100%, 100%]" in words
    assert "hour concentration 100% [100%, 100%]" in words
    assert "size (M) 2 [2, 2]" in words


@pytest.mark.parametrize(
    ("point", "error", "message"),
    [([1.0], None, "shape"), (np.zeros(SCHEMA.dimension), [1.0, 2.0], "an error has shape")],
)
def test_points_and_errors_of_other_schemas_are_refused(point, error, message):
    with pytest.raises(PointError, match=message):
        SCHEMA.describe_point(point, error)


def test_a_column_may_be_whatever_has_a_length():
    schema = Schema([Number("age", 0, 100)])
    assert (schema.points({"age": range(3)}) == schema.points({"age": [0, 1, 2]})).all()


# ------------------------------------------------------------ suggestions


def sample(rows=2000):
    generator = np.random.default_rng(5)
    return {
        "age": (18 + 60 * generator.beta(2, 3, rows)).tolist(),
        "income": np.exp(generator.normal(10, 1.5, rows)),
        "plan": generator.choice(["free", "paid", "team"], rows, p=[0.7, 0.25, 0.05]).tolist(),
        "member": (generator.random(rows) < 0.3).tolist(),
        "code": [None if i % 10 == 0 else ("A", "B")[i % 2] for i in range(rows)],
    }


def test_a_suggestion_needs_the_word_public():
    for said in (False, None, 1, "yes"):
        with pytest.raises(PlanError, match="public=True"):
            Schema.suggest(sample(), public=said)
    with pytest.raises(PlanError, match="public=True"):
        Schema.suggest(sample())


def test_a_suggestion_is_rounded_outward_and_says_where_it_came_from():
    found = Schema.suggest(sample(), public=True)
    age, income, plan, member, code = found.features
    assert (age.low, age.high, age.scale) == (20, 70, "linear")
    assert (income.low, income.high, income.scale) == (500, 1e6, "log")
    assert np.quantile(sample()["age"], 0.01) >= age.low
    assert np.quantile(sample()["age"], 0.99) <= age.high
    assert plan == Category("plan", ("free", "paid", "team"), unknown="own")
    assert member == Flag("member")
    assert code.values == ("A", "B")
    assert found.source == "public sample"
    assert json.loads(found.to_json())["source"] == "public sample"
    assert Schema.suggest(pandas.DataFrame(sample()), public=True) == found
    (mixed,) = Schema.suggest({"code": [7, "b", 3, "a"] * 100}, public=True).features
    assert mixed.values == (3, 7, "a", "b")  # in an order that is not the sample's


@pytest.mark.parametrize(("ratio", "scale"), [(99.9, "linear"), (100.1, "log")])
def test_a_logarithmic_scale_is_suggested_where_values_span_two_powers_of_ten(ratio, scale):
    (found,) = Schema.suggest({"income": [2.0] * 100 + [2.0 * ratio] * 100}, public=True).features
    assert found.scale == scale


def test_bounds_that_stand_on_the_ladder_stay():
    (found,) = Schema.suggest({"income": [0.5] * 100 + [200.0] * 100}, public=True).features
    assert (found.low, found.high, found.scale) == (0.5, 200.0, "log")


def test_the_words_of_a_schema_beside_its_features_are_said_by_name():
    with pytest.raises(TypeError, match="positional"):
        Schema([Flag("member")], None, "declared")


def test_a_suggestion_copies_no_extreme_and_no_rare_value():
    plain, odd = sample(), sample()
    odd["age"][:3] = [123.456, -77.7, 1e9]
    odd["plan"][:15] = ["4711-secret"] * 15
    found = Schema.suggest(odd, public=True)
    assert found.to_json() == Schema.suggest(plain, public=True).to_json()
    assert {found.features[0].low, found.features[0].high}.isdisjoint(plain["age"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": [1.0] * 99}, "at least 100 rows"),
        ({"a": [f"person-{i}" for i in range(500)]}, "column 'a' has 0 values"),
        ({"a": [f"v{i % 60}" for i in range(6000)]}, "column 'a' has 60 values"),
        ({"a": [None] * 200}, "column 'a' has 0 values"),
    ],
)
def test_what_nothing_is_suggested_for(table, message):
    with pytest.raises(PlanError, match=message) as caught:
        Schema.suggest(table, public=True)
    assert "person-" not in str(caught.value)


def test_constant_columns_have_bounds_too():
    found = Schema.suggest({"a": [7] * 200, "b": [0.0] * 200}, public=True)
    for feature in found.features:
        assert feature.low <= 7 * (feature.name == "a") <= feature.high
