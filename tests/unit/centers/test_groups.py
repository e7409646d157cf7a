"""Results in words and frames."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas
import polars
import pytest

from coterie.aggregate import Aggregate
from coterie.centers import decode
from coterie.centers.dress import dress
from coterie.centers.groups import groups_of
from coterie.centers.solution import Choice, Interval, Solution
from coterie.coins import SimulationCoins
from coterie.encode import Client
from coterie.engines import drawn_table, play, simulate
from coterie.errors import DecodeError, SettingError
from coterie.features import Category, Flag, Number, Schema
from coterie.plan import Plan
from coterie.show.results import result_page
from coterie.show.told import Told

SCHEMA = Schema([Number("age", 0, 100, unit="years"), Category("plan", ("free", "paid")), Flag("member")])


@pytest.fixture(scope="module")
def result():
    plan = Plan.design(features=SCHEMA, clusters=2, epsilon=4.0, expected_users=20_000)
    people = {"age": [20, 80] * 10_000, "plan": ["free", "paid"] * 10_000, "member": [True, True] * 10_000}
    return decode(play(plan, SCHEMA.points(people), SimulationCoins(1)), random_state=0)


@pytest.mark.slow
def test_groups_are_described_in_the_features_figures(result):
    young, old = sorted(result.groups, key=lambda group: group.estimates[0].value)
    assert [each.feature for each in young.estimates] == ["age", "plan", "plan", "member"]
    assert young.estimates[0].value == pytest.approx(20, abs=8)
    assert old.estimates[0].value == pytest.approx(80, abs=8)
    assert young.share == pytest.approx(0.5, abs=0.1)
    assert young.apart[:2] == ("plan", "age")  # 0.5 away from everybody, and 0.3
    words = result.describe()
    assert words.startswith("20,000 people, 2 of 2 groups")
    assert "years" in words
    assert "set apart by plan, age" in words


@pytest.mark.slow
def test_a_result_becomes_a_frame(result):
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == [
        "group", "group_share", "group_low", "group_high", "group_clear",
        "feature", "what", "label", "value", "low", "high", "unit",
    ]  # fmt: skip
    assert len(frame) == 2 * 4
    assert isinstance(result.to_frame("polars"), polars.DataFrame)
    with pytest.raises(SettingError, match="pandas, polars, pyarrow"):
        result.to_frame("dask")


def test_a_result_in_json_has_its_groups(result):
    told = json.loads(json.dumps(result.to_dict()))["groups"]
    assert [group["estimates"][0]["feature"] for group in told] == ["age", "age"]


def test_a_refit_states_no_intervals(result):
    group = result.refit(3, random_state=0).groups[0]
    assert math.isnan(group.estimates[0].low)
    assert group.apart == ()


@pytest.mark.parametrize("errors", [(math.nan, math.nan), (0.1, 0.1)])
def test_only_where_errors_are_stated_groups_are_said_to_stand_clear_or_not(result, errors):
    hidden = replace(result, errors=np.array(errors), clear=np.zeros(2, dtype=bool))
    unstated = math.isnan(errors[0])
    assert hidden.is_stated is not unstated
    assert [group.clear for group in hidden.groups] == [None if unstated else False] * 2
    refit = result.refit(2, random_state=0) if unstated else hidden
    for words in (hidden.describe(), repr(hidden), refit.describe(), repr(refit)):
        assert ("clear" not in words) == unstated or "too many to tell apart" in words
        assert "much like everybody" not in words
        assert "0 of 2" not in words or not unstated
    assert refit.describe().startswith("20,000 people, 2 groups\n") == unstated


def test_more_groups_than_can_be_told_apart_are_too_many(result):
    """Not none: what they explain together is above 0."""
    choices = tuple(Choice(k, Interval(0.5, 0.4, 0.6), k < 2) for k in range(1, 4))
    hidden = replace(
        result, clear=np.zeros(2, dtype=bool), explained=Interval(0.8, 0.7, 0.9), choices=choices
    )
    first = hidden.describe().splitlines()[0]
    assert first == (
        "20,000 people, there are groups, but two are too many to tell apart; together they explain "
        "80% [70%, 90%] of people's spread"
    )
    alone = replace(hidden, explained=Interval(0.3, 0.0, 0.9))
    assert alone.describe().splitlines()[0] == (
        "20,000 people, 0 of 2 groups stand clear of the noise; together they explain between 0% and 90% of "
        "people's spread"
    )
    assert "explained between 0% and 90%, " in repr(alone)


def test_other_answers_are_told_in_words(result):
    assert "other answer" not in replace(result, alternatives=()).describe()
    told = replace(result, alternatives=((1,), (0, 1))).describe()
    assert "k-means finds two other answers as good; they cut groups A and B otherwise." in told


def test_noise_without_a_rate_states_no_intervals_but_sets_apart():
    centers = SCHEMA.points([{"age": 60, "plan": "free", "member": True}, {"age": 40, "plan": "paid"}])

    def first(error):
        return groups_of(told(centers, error, None))[0]

    assert first(0.01).apart == ("plan", "member", "age")
    assert first(0.6).apart == ()
    assert all(math.isnan(each.low) and math.isnan(each.high) for each in first(0.01).estimates)


def test_other_protocols_speak_of_features_too():
    plan = Plan.design(
        features=SCHEMA, clusters=2, epsilon=2.0, expected_users=10_000, protocol="vector-sums",
        model="central", delta=1e-6,
    )  # fmt: skip
    people = {"age": [20, 80] * 5_000, "plan": ["free", "paid"] * 5_000, "member": [True, True] * 5_000}
    result = decode(drawn_table(plan, SCHEMA.points(people), SimulationCoins(1))[0], random_state=0)
    assert result.features == SCHEMA
    assert "set apart by plan, age" in result.describe()


def test_without_features_coordinates_are_named():
    plan = Plan.design(dimension=2, clusters=1, epsilon=4.0, expected_users=2000)
    table = Aggregate(plan)
    table.add(Client(plan).encode_many(np.full((2000, 2), 0.5)))
    result = decode(table, random_state=0)
    assert result.features is None
    assert result.to_dict()["groups"][0]["estimates"][1]["feature"] == "x1"
    assert [each.feature for each in result.groups[0].estimates] == ["x0", "x1"]


def told(centers, error, rate, mean_error=0.0):
    """A result that states this error of two equal groups."""
    found = np.full(2, 0.5)
    solution = Solution(
        centers, found, np.full(2, error), np.array([True, False]), centers, found, coverage=rate,
        mean=centers.mean(axis=0), mean_error=mean_error,
    )  # fmt: skip
    plan = Plan.design(features=SCHEMA, clusters=2, epsilon=1.0, expected_users=2)
    table = Aggregate(plan)
    table.add(bytes(2 * plan.report_width))
    return dress(solution, [table])


def test_what_sets_apart_stands_clear_of_the_noise_and_doubt_is_said_beside():
    centers = SCHEMA.points([{"age": 60, "plan": "free", "member": True}, {"age": 40, "plan": "paid"}])
    near, far = (groups_of(told(centers, error, 0.9)) for error in (0.01, 0.6))
    assert near[0].apart == ("plan", "member", "age")  # 0.5, 0.25 and 0.1 away from everybody
    assert far[0].apart == ()
    assert str(near[0]).startswith("group A: 50%")
    assert "group B: 50% of people, set apart by" in str(near[1])
    assert "does not stand clear of the noise" in str(near[1])
    assert "stand clear" not in str(replace(near[1], share=1.0))  # of everybody there is no doubt


def test_what_is_not_known_of_everybody_makes_no_group_like_everybody():
    """Groups are compared with all of them together, whose errors are theirs, not with a noisier mean."""
    centers = SCHEMA.points([{"age": 60, "plan": "free", "member": True}, {"age": 40, "plan": "paid"}])
    assert groups_of(told(centers, 0.01, 0.9, mean_error=0.6))[0].apart == ("plan", "member", "age")


def test_one_group_has_the_figures_of_everybody():
    plan, nobody = Plan.design(features=SCHEMA, clusters=2, epsilon=1.0, expected_users=2), np.zeros(2)
    drawn, mean = np.zeros((2, SCHEMA.dimension)), np.full(SCHEMA.dimension, 0.1)
    table = Aggregate(plan)
    table.add(bytes(2 * plan.report_width))
    one = Solution(
        drawn, np.array([1.0, 0.0]), np.full(2, 0.1), nobody > 0, drawn, np.full(2, 0.5), coverage=0.9,
        mean=mean, mean_error=0.05, one_group=True,
    )  # fmt: skip
    result = dress(one, [table])
    assert result.groups[0].estimates == result.everybody


def test_everybody_is_read_off_the_rows_and_not_off_the_groups(result):
    age, *_, member = result.everybody
    assert age.low <= 50 <= age.high
    assert member.low <= 1.0 <= member.high + 0.05
    assert result.mean_error > 0
    other = replace(result, centers=result.centers + 0.3)
    assert other.everybody == result.everybody


def test_intervals_follow_the_profile(result):
    """A coordinate that carries more of the error has the wider interval."""
    profile = np.zeros(len(result.profile))
    profile[0] = 1.0
    wide, narrow = (
        replace(result, profile=each).groups[0].estimates for each in (profile, profile[::-1].copy())
    )
    assert wide[0].high - wide[0].low > narrow[0].high - narrow[0].low
    assert narrow[0].high == pytest.approx(narrow[0].low)


def test_tables_of_other_features_are_not_decoded_together():
    first = Plan.design(features=SCHEMA, clusters=2, epsilon=1.0, expected_users=100)
    other = Schema([Number("age", 0, 50), *SCHEMA.features[1:]])
    second = Plan.design(
        features=other, clusters=2, epsilon=1.0, expected_users=100, study=first.id, after=(first.id,)
    )
    tables = []
    for plan in (first, second):
        table = Aggregate(plan)
        table.add(Client(plan).encode_many([{"age": 3, "plan": None, "member": None}] * 10))
        tables.append(table)
    with pytest.raises(DecodeError, match="the same features"):
        decode(tables)


def test_of_one_group_that_was_asked_for_nothing_is_said_that_needs_two():
    plan = Plan.design(features=SCHEMA, clusters=1, epsilon=1.0, expected_users=2)
    table = Aggregate(plan)
    table.add(bytes(2 * plan.report_width))
    center = np.full((1, SCHEMA.dimension), 0.1)
    one = Solution(
        center, np.ones(1), np.full(1, 0.1), np.ones(1, dtype=bool), center, np.ones(1), coverage=0.9,
        explained=Interval(0.0, 0.0, 0.0), mean=np.full(SCHEMA.dimension, 0.05), mean_error=0.2,
    )  # fmt: skip
    result = dress(one, [table])
    told = Told.of(result.to_dict(), result.radius)
    words = f"{result.describe()} {told.explaining} {told.forging}"
    for untrue in ("explain", "much like everybody", "made up"):
        assert untrue not in words
    shown = SCHEMA.describe_point(result.centers[0])  # the center that the table and the JSON state
    assert [each.value for each in result.groups[0].estimates] == [each.value for each in shown]


def test_one_center_explains_nothing_and_nothing_is_said_of_it():
    plan = Plan.design(dimension=2, clusters=1, epsilon=1.0, expected_users=20_000)
    people = 0.2 * np.random.default_rng(0).standard_normal((4000, 2))
    result = decode(simulate(plan, people, people=20_000, random_state=0), random_state=0)
    assert (tuple(result.explained), result.notes) == ((0.0, 0.0, 0.0), ())
    assert not Told.of(result.to_dict(), plan.radius).explaining
    page = result_page(result)  # everybody is group A there, not a row of other figures beside it
    assert '<span class="letter">A</span>' in page
    assert '<th scope="row">everybody</th>' not in page
