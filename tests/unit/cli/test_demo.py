import contextlib
import dataclasses
import html.parser
import re

import numpy as np
import pytest

from coterie.cli import words
from coterie.cli.page import render
from coterie.cli.simulation import simulate
from coterie.features import Estimate
from coterie.show.cards import bell
from coterie.show.people import HABITS, SCHEMA, draw_people
from coterie.show.picture import Disk, Open, View, draw

EASY = ("--users", 30_000, "--epsilon", 4)  # far above what can be found
FEW = ("--users", 300)


@contextlib.contextmanager
def silently(name, total):
    yield lambda amount: None


@pytest.fixture(scope="module")
def study():
    return simulate(users=30_000, epsilon=4.0, seed=1, stage=silently)


@pytest.fixture(scope="module")
def bad():
    return simulate(users=3000, epsilon=1.0, seed=5, stage=silently)


def without(study, *numbers):
    """Return the study with some centers lost in the noise."""
    clear = study.result.clear.copy()
    clear[list(numbers)] = False
    return dataclasses.replace(study, result=dataclasses.replace(study.result, clear=clear))


# ---------------------------------------------------------------- people


def test_people_have_the_habits_that_stand_there():
    people, habits = draw_people(200_000, np.random.default_rng(0))
    assert np.bincount(habits) / 200_000 == pytest.approx([habit.share for habit in HABITS], abs=0.006)
    for i, habit in enumerate(HABITS):
        mine = {name: column[habits == i] for name, column in people.items()}
        hour = np.angle(np.exp(2j * np.pi * mine["hour"] / 24).mean()) / (2 * np.pi) * 24 % 24
        assert hour == pytest.approx(habit.hour, abs=0.05)
        assert np.median(mine["minutes"]) == pytest.approx(habit.minutes, rel=0.03)
        assert [(mine["device"] == name).mean() for name in SCHEMA.features[4].values] == pytest.approx(
            habit.devices, abs=0.012
        )
        assert mine["notifications"].mean() == pytest.approx(habit.notifications, abs=0.02)
    assert people["visits"].min() >= 0
    assert set(people["weekday"]) == set(range(7))


def test_shares_add_up():
    assert sum(habit.share for habit in HABITS) == pytest.approx(1)
    for habit in HABITS:
        assert sum(habit.devices) == pytest.approx(1)


# ---------------------------------------------------------------- the command


@pytest.mark.slow
def test_the_demo_prints_groups_and_writes_a_page(terminal):
    done = terminal.run("demo", *EASY, "--seed", 1, "--out", "page.html")
    for text in ("Five groups found among 30,000 people", "13, sent once", *(habit.name for habit in HABITS)):
        assert text in done.stdout
    assert re.search(r"The groups explain \d+% \(\d+ to \d+\) of how people differ\.", done.stdout)
    assert "wrote page.html" in done.stderr
    terminal.run("demo", *FEW, "--out", "page.html")  # the demo's own page is replaced


@pytest.mark.slow
def test_the_demo_for_programs(terminal):
    first = terminal.json("demo", *FEW, "--seed", 3)
    again = terminal.json("demo", *FEW, "--seed", 3)
    timeless = [{name: fact for name, fact in facts.items() if name != "seconds"} for facts in (first, again)]
    assert timeless[0] == timeless[1]
    assert first["seeded_coins"]
    assert first["bytes_per_person"] == 13
    assert first["page"] == "coterie-demo.html"
    expected = (first["objective_one_center"] - first["objective_private"]) / (
        first["objective_one_center"] - first["objective_non_private"]
    )
    assert first["recovered"] == pytest.approx(expected)
    assert first["groups"] == []
    assert first["supported"] == 0
    assert {each["feature"] for each in first["everybody"]} == {each.name for each in SCHEMA.features}
    assert first["explained_in_truth"] == pytest.approx(
        1 - first["objective_private"] / first["objective_one_center"]
    )
    assert set(first["seconds"]) == {"make people", "encode", "aggregate", "decode", "compare"}
    fresh = terminal.json("demo", *FEW)
    assert not fresh["seeded_coins"]


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("--epsilon", 0), 1, "epsilon must be in"),
        (("--users", 99), 2, "Invalid value"),
        (("--seed", -1), 2, "Invalid value"),
        (("--out", "no/page.html"), 1, "no is no folder"),
    ],
)
def test_demos_that_cannot_be(terminal, change, code, message):
    assert message in terminal.run("demo", *FEW, *change, code=code).stderr
    assert list(terminal.folder.iterdir()) == []


# ---------------------------------------------------------------- what is called found


@pytest.mark.slow
def test_groups_are_found(study):
    assert study.recovered > 0.8
    assert sorted(study.found().values()) == [0, 1, 2, 3, 4]
    shares = [group.share for group in study.told().told]
    assert shares == sorted(shares, reverse=True)
    assert "".join(group.name for group in study.told().told) == "ABCDE"
    assert abs(study.result.explained.value - (1 - study.private / study.one_center)) < 0.1
    assert words.headline(study) == "Five groups found among 30,000 people, from 13 private bytes each"
    assert words.shortcomings(study) == list(study.result.notes)


@pytest.mark.slow
def test_lost_groups_are_said_first(study):
    lost = study.told().told[0].number
    partly = without(study, lost)
    assert len(partly.found()) == 4
    assert words.headline(partly).startswith("Only four of five groups found")
    name = HABITS[study.found()[lost]].name
    assert words.shortcomings(partly)[0] == f"Not found of the groups that were simulated: {name}."
    page = render(partly)
    assert page.index(f"were simulated: {name}.") < page.index("<figure>")
    assert f"{name}, not found" in page
    assert page.count('class="card group') == 5  # four and everybody
    assert '<span class="letter">A</span>' not in page
    assert '<span class="letter">E</span>' in page  # groups keep their names, whoever is not told


@pytest.mark.slow
def test_a_center_that_is_no_group_is_not_counted(study):
    centers = study.result.centers.copy()
    wrong = study.told().told[0].number
    centers[wrong] = -centers[wrong]
    astray = dataclasses.replace(study, result=dataclasses.replace(study.result, centers=centers))
    assert len(astray.told().told) == 5
    assert len(astray.found()) == 4
    assert "None of the groups that were simulated." in render(astray)
    assert "One of the groups told below is none of those that were simulated." in words.shortcomings(astray)


def test_too_few_people_and_the_headline_says_so(bad):
    assert bad.result.supported == 0
    assert bad.told().told == ()
    assert words.headline(bad) == "Nothing was found among 3,000 people: too few for ε = 1"
    reader = Reader()
    reader.feed(render(bad))
    assert reader.open == []
    assert "Nothing was found among 3,000 people" in reader.text
    assert "One group: everybody" in reader.text
    assert "The reports tell no groups apart" in reader.text
    assert [attributes["class"] for tag, attributes in reader.seen if tag == "article"] == ["card group gx"]
    assert "found as" not in reader.text
    assert "nan" not in reader.text
    assert "0 of 5" in reader.text
    assert "groups found" not in reader.text  # one headline, and nothing beside it that says otherwise
    classes = {attributes.get("class", "").partition(" ")[0] for _, attributes in reader.seen}
    assert "true" in classes
    assert not classes & {"found", "error"}
    assert "dashed ring" not in reader.text


# ---------------------------------------------------------------- words


def test_a_group_is_told_by_what_sets_it_apart(study):
    sofa = next(
        group for group in study.told().told if HABITS[study.found()[group.number]].name == "Sofa evenings"
    )
    assert "device" in sofa.apart
    assert "on the tablet" in words.WORDING.title(sofa).lower()
    told = words.WORDING.sentence(sofa, study.result.everybody)
    assert re.search(r"\d+% on the tablet \(\d+ to \d+%; everybody \d+%\)", told)
    assert told.startswith(f"{sofa.share:.0%} ({100 * sofa.low:.0f} to {100 * sofa.high:.0f}) of people.")


@pytest.mark.parametrize(
    ("hour", "written"), [(0.0, "0:00"), (23.9999, "0:00"), (7.49, "7:29"), (12.999, "13:00")]
)
def test_hours_are_written_as_on_a_clock(hour, written):
    assert words.WORDING.figure(Estimate("hour", "value", None, hour, hour, hour)) == written


def test_intervals_that_are_not_stated_are_left_out():
    assert words.WORDING.interval(Estimate("minutes", "value", None, 3.0, np.nan, np.nan)) == ""
    assert words.WORDING.interval(Estimate("weekday", "value", None, 2.0, 1.6, 2.4)) == ""
    assert words.WORDING.interval(Estimate("weekday", "value", None, 2.0, 0.6, 2.4)) == "Tuesday to Wednesday"
    assert words.WORDING.interval(Estimate("weekday", "value", None, 2.0, 0.0, 7.0)) == "may be any"


# ---------------------------------------------------------------- pictures


def test_a_bell_has_the_agreement_that_it_is_drawn_for():
    times = np.arange(0, 24, 0.05)
    for agreement in (0.2, 0.6, 0.9):
        usual = Estimate("hour", "value", None, 22.0, 21.0, 23.0)
        heights = bell((usual, Estimate("hour", "concentration", None, agreement, 0, 1)), times, 24)
        mean = heights @ np.exp(2j * np.pi * times / 24)
        assert abs(mean) == pytest.approx(agreement, abs=0.01)
        assert np.angle(mean) / (2 * np.pi) * 24 % 24 == pytest.approx(22)


def test_true_centers_lie_on_a_ring_where_they_can(study):
    view = View.of(study.true_centers)
    assert view.polygon
    np.testing.assert_allclose(np.linalg.norm(view.show(study.true_centers), axis=1), 1)
    flat = View.of(study.true_centers @ np.diag([1, 1, *[0] * 7]))  # five centers in a plane
    assert not flat.polygon
    disk = Disk("A", study.result.centers[0], 0.1, 0.5, "g0")
    picture = draw(flat, [disk], Open(study.some_points, study.some_habits, study.true_centers))
    assert "nan" not in str(picture)


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in ("meta", "path", "rect"):  # circles have titles, or come as the other event
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text += text


def test_the_page_is_whole_and_calls_nobody(study):
    page = render(study)
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert not re.search(r"https?://|<script|<link|@import|url\(|style=", page)
    linked = [attributes for _, attributes in reader.seen if {"src", "href"} & set(attributes)]
    assert linked == [{"class": "skip", "href": "#content"}]
    assert "{{" not in page
    assert "prefers-color-scheme: dark" in page


def test_the_page_tells_promise_reports_and_truth(study):
    reader = Reader()
    reader.feed(render(study))
    promise = study.plan.guarantee
    for line in (*promise.paragraphs, *promise.conditions):
        assert line in reader.text
    assert str(promise.spent) not in reader.text  # fifteen digits are nothing for people
    assert bytes(study.some_reports[0]).hex(" ")[:35] in reader.text
    assert study.plan.id in reader.text
    assert "--seed 1" in reader.text
    assert "a simulation, not a release" in reader.text
    marks = [attributes.get("class") for tag, attributes in reader.seen if tag == "circle"]
    kinds = [mark.split()[0] for mark in marks]
    assert kinds.count("chosen") == 1
    assert "number of groups" in reader.text
    assert f"In the simulation it is {1 - study.private / study.one_center:.0%}." in reader.text
    assert [kinds.count(kind) for kind in ("true", "found", "error")] == [6, 6, 6]  # 5 and the legend's
    people = [attributes["d"] for tag, attributes in reader.seen if "people" in attributes.get("class", "")]
    assert sum(dots.count("M") for dots in people) == len(study.some_points) + 5 * 5  # and the legend's


def test_the_page_fits_paper_and_telephones(study):
    page = render(study)
    assert "@media print" in page
    assert "@media screen and (prefers-color-scheme: dark)" in page  # paper stays light
    assert 'name="viewport" content="width=device-width' in page


def test_the_page_says_when_coins_were_the_systems():
    page = render(simulate(users=300, epsilon=1.0, seed=None, stage=silently))
    assert "The coins came from the operating system." in page
    assert "--seed" not in page
