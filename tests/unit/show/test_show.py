import base64
import hashlib
import html
import json
import math
import re
from dataclasses import replace

import jinja2
import numpy as np
import pytest

from coterie.centers.groups import Group
from coterie.centers.result import Choice, Interval, Population, Result
from coterie.features import Category, Cycle, Embedding, Estimate, Flag, Number, Ordinal, Schema
from coterie.privacy import Guarantee
from coterie.protocols.base import Leverage
from coterie.service.decoder import result_document
from coterie.show.choices import draw_choices
from coterie.show.pages import render
from coterie.show.results import result_page, shown
from coterie.show.told import Told
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


def result_of_two(errors, **changes):
    return replace(
        Result(
            centers=np.stack([OTHER, PHONE]),
            weights=np.array([0.6, 0.4]),
            errors=np.array(errors),
            weight_errors=np.array([0.03, 0.02]),
            clear=np.array([True, True]),
            explained=Interval(0.452, 0.391, 0.508),
            notes=(),
            count=1000,
            guarantee=Guarantee(1.0, 0.0, 1.0, "local"),
            plan_id="0" * 64,
            population=Population(np.stack([PHONE]), np.ones(1), "0" * 64, ("0" * 64,), 0.0),
            mean=(OTHER + PHONE) / 2,
            mean_error=0.01,
            coverage=0.9,
            features=SCHEMA,
            choices=tuple(Choice(k, Interval(1 - 1 / k, 0.9 - 1 / k, 1.0), k < 3) for k in (1, 2, 3)),
        ),
        **changes,
    )


def document(errors=(0.05, 0.05), **changes):
    """The document of a result of two groups, as it is written."""
    return json.loads(result_document(result_of_two(errors, **changes)))


def told(errors=(0.05, 0.05), **changes):
    return Told.of(document(errors, **changes), 1.0)


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
def test_every_kind_of_feature_has_words(apart, words):
    found = told()
    one = replace(found.told[1], apart=(apart,))
    assert WORDING.title(one) == words
    sentence = WORDING.sentence(one, found.everybody)
    assert sentence.startswith("40% (38 to 42) of people. What sets them apart: ")
    beside = not isinstance(WORDING.feature(one.estimates[0]), Cycle)
    assert ("everybody" in sentence) == (beside and apart not in ("hour", "day", "month", "angle"))
    assert "None" not in sentence
    assert "nan" not in sentence


def test_a_weekend_is_one_wherever_the_week_begins():
    first = told().told[0]
    assert WORDING.title(replace(first, apart=("day",))) == "At the weekend"  # 6.4 from Sunday
    monday = Wording(Schema((Cycle("day", 7, description="0 is Monday"),)))
    saturday = Estimate("day", "value", None, 5.0, 4.8, 5.2)
    assert monday.title(Group(0, 1.0, 1.0, 1.0, True, (saturday,), ("day",))) == "At the weekend"


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
    group = Group(0, 1.0, 1.0, 1.0, True, (estimate,), (feature.name,))
    assert evil.title(group) == "{0} {label} {name.__class__}: {figure}"
    assert phrase_of(feature).trait == "{name}: {label}"


def test_only_what_stands_clear_and_is_known_is_told():
    def names(found):
        return [group.name for group in found.told]

    assert names(told()) == ["A", "B"]
    assert names(told((0.05, math.nan))) == ["A"]
    assert names(told((0.5, 0.49))) == ["B"]  # its name is its own, whoever else is told
    assert names(told(clear=np.array([False, True]))) == ["B"]
    assert told().headline == "Two groups among 1,000 people"
    assert told((0.05, 0.6)).headline == "One of two groups told among 1,000 people"
    lost = told((0.05, 0.6), notes=("A caution.",)).shortcomings
    assert lost == [
        "Group B stands clear of the noise, but is known too roughly to be told.",
        "A caution.",
    ]
    assert told().shortcomings == []
    nobody = told((0.6, 0.7))
    assert nobody.headline == "No groups can be told apart among 1,000 people"
    assert nobody.shortcomings[0].startswith("Groups A and B stand clear of the noise, but are known")
    assert (nobody.explaining, nobody.otherwise) == ("", "")


def test_groups_that_are_much_like_everybody_have_a_title():
    found = told(centers=np.stack([PHONE + 0.001, PHONE]))
    assert found.told[1].apart == ()
    assert WORDING.title(found.told[1]) == "Much like all"
    assert WORDING.title(replace(found.told[1], share=1.0)) == "Everybody"
    assert WORDING.sentence(found.told[1], found.everybody) == "40% (38 to 42) of people."


def test_what_is_explained_is_one_sentence():
    assert told().explaining == "The groups explain 45% (39 to 51) of how people differ."
    nothing = Interval(math.nan, math.nan, math.nan)
    assert told(explained=nothing).explaining == ""
    one = told(clear=np.zeros(2, dtype=bool), explained=Interval(0.0, 0.0, 0.0))
    assert (one.explaining, one.told) == ("", ())
    assert one.headline == "No groups can be told apart among 1,000 people"


def test_a_share_that_is_hardly_known_is_no_figure_but_a_range():
    vague = told(explained=Interval(0.45, 0.0, 1.0))
    assert vague.explaining == "The groups explain between 0 and 100% of how people differ: not known."
    page = page_of(vague)
    assert vague.explaining in page
    assert "45%" not in page
    assert '<p class="big">45%</p>' in page_of(told())


UNSTATED = {
    **{"coverage": None, "explained": Interval(math.nan, math.nan, math.nan), "choices": ()},
    **{
        "weight_errors": np.full(2, math.nan),
        "clear": np.zeros(2, dtype=bool),
        "notes": ("Nothing is stated.",),
    },
}


@pytest.mark.parametrize("clear", [(False, False), (True, False)], ids=["refit", "medians"])
def test_groups_of_which_nothing_is_stated_are_told_without_errors(clear):
    found = told((math.nan, math.nan), **{**UNSTATED, "clear": np.array(clear)})
    assert found.headline == "1,000 people in two groups"
    assert [group.clear for group in found.told] == [None, None]
    page = page_of(found)
    assert page.count("<article") == 3
    assert [f"<bdi>Group {name}</bdi>" in page for name in "AB"] == [True, True]
    said = page.partition("<main")[2]
    for words in ("No groups", "One group", "stand", "uch like", "ashed ring", "its range", "nan"):
        assert words not in said
    assert said.count("Nothing is stated.") == 1
    points = page_of(told((math.nan, math.nan), **UNSTATED, features=None), None)
    assert "people have points of" in points
    assert "nan" not in points.partition("<main")[2]
    assert ">noise</th>" not in points


def test_one_group_stays_one_where_nothing_is_stated():
    alone = told((math.nan, math.nan), **UNSTATED, weights=np.array([1.0, 0.0]))
    assert (alone.told, alone.headline) == ((), "No groups can be told apart among 1,000 people")
    one = {**UNSTATED, "weight_errors": np.array([math.nan]), "clear": np.array([False])}
    single = told((math.nan,), **one, centers=PHONE[None], weights=np.ones(1))
    assert single.headline == "1,000 people in one group"


def test_more_groups_than_can_be_told_apart_are_too_many_and_not_none():
    found = told(clear=np.zeros(2, dtype=bool))
    assert found.headline == "There are groups among 1,000 people, but two are too many to tell apart"
    page = page_of(found)
    for words in ("No groups", "One group: everybody", "more people"):
        assert words not in page
    assert '<svg class="choices"' in page
    assert "number\nasked for." in page
    assert found.explaining in page
    assert "at no cost of privacy: ask for fewer." in page
    more = tuple(Choice(k, Interval(0.5, 0.4, 0.6), k < 4) for k in range(1, 9))
    eight = {
        "centers": np.tile(PHONE, (8, 1)),
        "weights": np.full(8, 0.125),
        "clear": np.zeros(8, dtype=bool),
    }
    hidden = document(clear=np.zeros(2, dtype=bool))
    assert [words[:7] for words in hidden["words"]] == ["group A", "group B"]  # not everybody as one
    asked = told((0.05,) * 8, **eight, weight_errors=np.full(8, 0.1), choices=more)
    assert asked.asking == "ask for 3"
    hidden = told(clear=np.zeros(2, dtype=bool), explained=Interval(0.4, 0.0, 0.8))
    assert hidden.headline == "No groups can be told apart among 1,000 people"
    assert '<svg class="choices"' not in page_of(hidden)


def test_curves_are_explained_where_there_are_any():
    assert "A curve is the bell" in page_of(told())
    age = Schema((Number("age", 0, 100),))
    found = told(features=age, centers=age.points([{"age": 20}, {"age": 70}]), mean=age.point({"age": 50}))
    page = page_of(found, age)
    assert page.count("<article") == 3
    assert "A curve is the bell" not in page


def test_what_forged_reports_could_make_up_is_one_sentence():
    assert told().forging == ""
    weighing = told(leverage=Leverage(10.0, 20.0))
    assert weighing.forging == "If 4% of the reports were forged, group B could be made up."
    assert "If 4% of the reports were forged, group B could be made up." in page_of(weighing)
    assert told(leverage=Leverage(math.inf, math.inf)).forging.startswith(
        "If one report was forged, every group"
    )
    assert told((0.6, 0.7), leverage=Leverage(10.0, 20.0)).forging == ""  # nothing is told


def test_other_answers_are_one_sentence():
    assert told().otherwise == ""
    both = told(alternatives=((0,), (0, 1)))
    assert both.otherwise == "k-means finds two other answers as good; they cut groups A and B otherwise."
    assert (
        told(alternatives=((1,),)).otherwise
        == "k-means finds one other answer as good; it cuts group B otherwise."
    )


def test_everybody_is_read_off_the_reports_and_not_off_the_groups():
    age = 35.0
    found = told((0.05, 0.9), mean=SCHEMA.point({"age": age}))
    assert found.everybody[0].value == pytest.approx(age)
    assert found.everybody[0].low < age < found.everybody[0].high
    page = page_of(found)
    assert "everybody 35" in WORDING.sentence(replace(found.told[0], apart=("age",)), found.everybody)
    assert f"<b>{age:.0f}</b>" in page.partition("<h3>Everybody</h3>")[2]


def page_of(found, features=SCHEMA, **more):
    promise = Guarantee(1.0, 0.0, 1.0, "local")
    return render("result.html", found=shown(found, features, **more), promise=promise, plan_id="0" * 64)


def test_cards_draw_every_kind():
    page = page_of(told())
    assert page.count("<article") == page.count("</article>") == 3
    assert "nan" not in page.partition("<main")[2]
    assert page.count('class="figure"') == 3 * 5  # cycles
    assert page.count('class="strip"') == 3 * (2 + 3 + 1 + 1 + 1)  # numbers, shares, flag, ordinal, vector
    assert "style=" not in page
    assert page_of(told((0.6, 0.6))).count("<article") == 1


def test_a_category_stands_apart_from_what_follows():
    page = page_of(told())
    kinds = page.partition('<div class="kinds">')[2].partition("</div>\n</div>")[0]
    assert [name in kinds for name in ("phone", "tablet", "member")] == [True, True, False]
    assert ".group h4.of" in page  # the one sheet has it


def test_numbers_of_groups_are_drawn_with_their_bands():
    found = told()
    picture = page_of(found).partition('<svg class="choices"')[2].partition("</svg>")[0]
    assert picture.count("<circle") == 3
    assert 'class="chosen"' in picture
    assert picture.count('class="hollow"') == 1
    assert "<title>2 groups: 50% (40 to 100)</title>" in picture
    assert "nan" not in picture
    assert draw_choices(found.choices[:1], 1) is None
    many = [Choice(k, Interval(0.5, 0.4, 0.6), True) for k in range(1, 101)]
    assert sum(labelled for *_, labelled in draw_choices(many, 7)["dots"]) < 16


def test_one_group_can_be_drawn():
    page = page_of(told((0.05, math.nan)))
    picture = page.partition("<figure>")[2].partition("</svg>")[0]
    assert "nan" not in picture
    assert picture.count("<circle") == 2


def result(**changes):
    return result_of_two((0.05, 0.05), **changes)


def test_a_result_of_ones_own_is_a_page_that_runs_nothing_and_calls_nobody():
    page = result_page(result())
    assert "<h1>Two groups among 1,000 people</h1>" in page
    assert page.count("<article") == 3
    assert "Privacy: 1-differential privacy" in page
    assert not re.search(r"https?://|<script|<link|@import|url\(|style=", page)
    policy = re.search(r'content="default-src \'none\'; style-src \'(sha256-[^"]+)\'"', page)[1]
    sheet = re.search("<style>(.*?)</style>", page, re.DOTALL)[1]
    assert policy == "sha256-" + base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    rough = result_page(result(radius=0.09))  # known within more than half of it
    assert "One group: everybody" in rough
    assert "Groups A and B stand clear of the noise, but are known too roughly to be told." in rough
    points = result_page(result(features=None))
    assert "people have points of" in points


def test_a_notebook_shows_the_page_in_a_frame_in_which_nothing_runs():
    shown = result()._repr_html_()
    frame = re.fullmatch(r'<iframe sandbox title="Result" [^>]*srcdoc="([^"]*)"></iframe>', shown)
    assert html.unescape(frame[1]) == result_page(result())


def test_a_template_that_is_given_too_little_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        render("result.html")


@pytest.mark.parametrize(
    ("value", "span", "words"),
    [(0, 0, "0"), (-3.14, 10, "-3.1"), (3.14, 30, "3"), (1e20, 1e20, "1e+20"), (1e-9, 1e-9, "1e-09")],
)
def test_numbers_are_written_to_the_thirtieth_of_their_span(value, span, words):
    assert rounded(value, span) == words
