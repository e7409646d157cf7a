import dataclasses
import math

import numpy as np
import pytest

from coterie.centers.groups import Group, groups_of
from coterie.features import Category, Cycle, Embedding, Estimate, Flag, Number, Ordinal, Schema
from coterie.show.cards import cards
from coterie.show.picture import Disk, View, draw
from coterie.show.told import everybody, letter, told_groups
from coterie.show.words import Wording, is_clock, names_of, phrase_of, rounded

SCHEMA = Schema(
    (
        Number("age", 0, 100, unit="years"),
        Number("income", 100, 1e6, "log"),
        Category("device", ("phone", "tablet", 3)),
        Flag("member"),
        Ordinal("size", ("S", "M", "L", "XL")),
        Cycle("hour", 24, unit="h"),
        Cycle("day", 7, description="0 is Sunday"),
        Cycle("month", 12, description="when; 0 is January"),
        Cycle("angle", 360, unit="°"),
        Cycle("step", 5),
        Embedding("text", 3, 1.0),
    )
)
WORDING = Wording(SCHEMA)


def at(**values):
    """Where somebody with these values lies."""
    return SCHEMA.point(values)


PHONE = at(
    age=20, income=1000, device="phone", member=True, size="S", hour=7.6, day=1, month=0, angle=10, step=1
)
OTHER = at(
    age=70, income=1e5, device=3, member=False, size="XL", hour=20, day=6.4, month=6, angle=200, step=3
)


@pytest.fixture
def groups():
    centers = np.stack([PHONE, OTHER])
    return centers, groups_of(centers, np.array([0.4, 0.6]), np.array([0.05, 0.05]), 0.9, SCHEMA)


@pytest.mark.parametrize(
    ("apart", "words"),
    [
        ("age", "Age around 20 years"),
        ("income", "Income around 1,000"),
        ("device", "Device: phone"),
        ("member", "Member: mostly yes"),
        ("size", "Size around S"),
        ("hour", "Hour around 7:30"),
        ("day", "Day around Monday"),
        ("month", "Month around January"),
        ("angle", "Angle around 10"),
        ("text", "Text in a direction of its own"),
    ],
)
def test_every_kind_of_feature_has_words(groups, apart, words):
    centers, (first, _) = groups
    one = dataclasses.replace(first, apart=(apart,))
    assert WORDING.title(one) == words
    sentence = WORDING.sentence(one, everybody([one], centers, SCHEMA))
    assert sentence.startswith("About 40% of people. What sets them apart: ")
    beside = not isinstance(WORDING.feature(one.estimates[0]), Cycle)
    assert ("everybody" in sentence) == (beside and apart not in ("hour", "day", "month", "angle"))
    assert "None" not in sentence
    assert "nan" not in sentence


def test_a_weekend_is_one_wherever_the_week_begins(groups):
    _, (_, second) = groups
    assert WORDING.title(dataclasses.replace(second, apart=("day",))) == "At the weekend"  # 6.4 from Sunday
    monday = Wording(Schema((Cycle("day", 7, description="0 is Monday"),)))
    saturday = Estimate("day", "value", None, 5.0, 4.8, 5.2)
    assert monday.title(Group(0, 1.0, (saturday,), ("day",))) == "At the weekend"


def test_names_need_their_period_and_their_words():
    assert names_of(Cycle("day", 7)) is None
    assert names_of(Cycle("day", 8, description="0 is Monday")) is None
    assert names_of(Cycle("day", 7, description="0 is mondayish")) is None
    assert names_of(Flag("day", description="0 is Monday")) is None
    assert is_clock(Cycle("hour", 24, unit="h"))
    assert not is_clock(Cycle("hour", 24))
    assert not is_clock(Number("hour", 0, 24, unit="h"))


def test_names_of_features_are_no_patterns():
    evil = Wording(Schema((Category("{0} {label} {name.__class__}", ("{figure}", "%s")),)))
    feature = evil.schema.features[0]
    estimate = Estimate(feature.name, "share", "{figure}", 0.9, 0.8, 1.0)
    assert evil.title(Group(0, 1.0, (estimate,), (feature.name,))) == "{0} {label} {name.__class__}: {figure}"
    assert phrase_of(feature).trait == "{name}: {label}"


def test_only_what_can_be_told_is_told(groups):
    _, both = groups
    errors = np.array([0.05, math.nan])
    assert [group.number for group in told_groups(both, errors, 1.0)] == [0]
    assert [group.number for group in told_groups(both, np.array([0.05, 0.05]), 1.0)] == [1, 0]  # the larger
    assert told_groups(both, np.array([0.5, 0.6]), 1.0) == ()
    same = [dataclasses.replace(group, apart=()) for group in both]
    assert told_groups(same, np.array([0.05, 0.05]), 1.0) == ()
    assert len(told_groups(same, np.array([0.05, 0.05]), 1.0, apart=False)) == 2
    empty = [dataclasses.replace(group, share=0.0) for group in both]
    assert told_groups(empty, np.array([0.05, 0.05]), 1.0) == ()


def test_cards_draw_every_kind(groups):
    centers, both = groups
    told = told_groups(both, np.array([0.05, 0.05]), 1.0)
    page = cards(told, everybody(told, centers, SCHEMA), WORDING)
    assert page.count("<article") == page.count("</article>") == 3
    assert "nan" not in page
    assert page.count('class="figure"') == 3 * 5  # cycles
    assert page.count('class="strip"') == 3 * (2 + 3 + 1 + 1 + 1)  # numbers, shares, flag, ordinal, vector
    assert "style=" not in page
    assert cards((), (), WORDING) == ""


def test_one_group_can_be_drawn():
    view = View.of(np.array([[0.3, 0.1, 0.0]]), polygon=False)
    picture = draw(view, [Disk("A", np.array([0.3, 0.1, 0.0]), 0.1, 1.0, "g0")])
    assert "nan" not in picture
    assert picture.count("<circle") == 2


def test_letters_never_run_out():
    assert [letter(place) for place in (0, 25, 26, 4095)] == ["A", "Z", "AA", "FAN"]


@pytest.mark.parametrize(
    ("value", "span", "words"),
    [(0, 0, "0"), (-3.14, 10, "-3.1"), (3.14, 30, "3"), (1e20, 1e20, "1e+20"), (1e-9, 1e-9, "1e-09")],
)
def test_numbers_are_written_to_the_thirtieth_of_their_span(value, span, words):
    assert rounded(value, span) == words
