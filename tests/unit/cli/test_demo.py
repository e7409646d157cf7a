import contextlib
import html.parser
import re

import numpy as np
import pytest

from coterie.cli.page import render
from coterie.cli.picture import View, draw
from coterie.cli.simulation import simulate

SMALL = ("--users", 4000, "--clusters", 3, "--dimension", 6, "--epsilon", 4)


@contextlib.contextmanager
def silently(name, total):
    yield lambda amount: None


def small_study(**changes):
    facts = {"users": 4000, "clusters": 3, "dimension": 6, "epsilon": 4.0, "separation": 8.0, "seed": 1}
    return simulate(**{**facts, **changes}, stage=silently)


@pytest.fixture(scope="module")
def study():
    return small_study()


def test_the_demo_prints_a_table_and_writes_a_page(terminal):
    done = terminal.run("demo", *SMALL, "--out", "page.html")
    for words in (
        "one center for everybody",
        "coterie, one private report each",
        "recovered",
        "13, sent once",
    ):
        assert words in done.stdout
    assert "wrote page.html" in done.stderr
    terminal.run("demo", *SMALL, "--out", "page.html")  # the demo's own page is replaced


def test_the_demo_for_programs(terminal):
    first = terminal.json("demo", *SMALL, "--seed", 3)
    again = terminal.json("demo", *SMALL, "--seed", 3)
    timeless = [{name: fact for name, fact in facts.items() if name != "seconds"} for facts in (first, again)]
    assert timeless[0] == timeless[1]
    assert first["seeded_coins"]
    assert first["bytes_per_person"] == 13
    assert first["page"] == "coterie-demo.html"
    expected = (first["objective_one_center"] - first["objective_private"]) / (
        first["objective_one_center"] - first["objective_non_private"]
    )
    assert first["recovered"] == pytest.approx(expected)
    assert set(first["seconds"]) == {"make the data", "encode", "aggregate", "decode", "compare"}
    fresh = terminal.json("demo", *SMALL)
    assert not fresh["seeded_coins"]


def test_groups_are_found(study):
    # 4,000 people at ε = 4 in 6 dimensions: far above what can be found
    assert study.recovered > 0.8
    assert study.groups_found() == 3
    assert sorted(found for _, found in study.pairs()) == [0, 1, 2]


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in ("meta", "path", "circle") or (
            tag == "circle" and dict(attributes)["class"] == "error"
        ):
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
    assert not re.search(r"https?://|<script|<link|@import|url\(", page)
    assert not [tag for tag, attributes in reader.seen if {"src", "href"} & set(attributes)]
    assert "$" not in page
    assert "prefers-color-scheme: dark" in page


def test_the_page_tells_promise_reports_and_truth(study):
    reader = Reader()
    reader.feed(render(study))
    for line in str(study.plan.guarantee).splitlines():
        assert line.removeprefix("- ") in reader.text
    assert bytes(study.some_reports[0]).hex(" ")[:35] in reader.text
    assert study.plan.id in reader.text
    assert "--seed 1" in reader.text
    assert "a simulation, not a release" in reader.text
    marks = [attributes.get("class") for tag, attributes in reader.seen if tag == "circle"]
    assert [marks.count(kind) for kind in ("true", "found", "error")] == [4, 4, 4]  # 3 and the legend's


def test_the_page_says_when_coins_were_the_systems():
    page = render(small_study(seed=None))
    assert "The coins came from the operating system." in page
    assert "--seed" not in page


def test_cautions_reach_the_page():
    study = small_study(users=60, epsilon=0.5)
    assert study.result.notes
    assert 'class="note"' in render(study)


@pytest.mark.parametrize(
    ("clusters", "dimension", "polygon"),
    [(3, 1, False), (3, 2, False), (5, 4, False), (1, 9, False), (4, 9, True)],
)
def test_every_shape_can_be_drawn(clusters, dimension, polygon):
    study = small_study(users=500, clusters=clusters, dimension=dimension)
    view = View.of(study.true_centers)
    assert view.polygon == polygon
    assert "nan" not in draw(study, view)
    assert "nan" not in render(study)
    if polygon:
        shown = view.show(study.true_centers)
        np.testing.assert_allclose(np.linalg.norm(shown, axis=1), 1)


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("--epsilon", 0), 1, "epsilon must be in"),
        (("--clusters", 4001), 1, "must not exceed"),
        (("--clusters", 0), 2, "Invalid value"),
        (("--separation", 0.5), 2, "Invalid value"),
        (("--seed", -1), 2, "Invalid value"),
        (("--out", "no/page.html"), 1, "no is no folder"),
    ],
)
def test_demos_that_cannot_be(terminal, change, code, message):
    assert message in terminal.run("demo", *SMALL, *change, code=code).stderr
    assert list(terminal.folder.iterdir()) == []
