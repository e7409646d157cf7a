"""A report has everything that people who were not there ask, from a result alone or with its tables."""

import json
import re

import pytest

from coterie import Aggregate, Client, Plan, decode
from coterie.errors import FileError
from coterie.features import Flag, Number
from coterie.show.report import NOT_COVERED, report_document, report_page

SAID = {
    "title": "<Listening>",
    "purpose": "To plan the night.",
    "who": "Radio <Example>",
    "contact": "study@radio.example",
    "consent": "It is voluntary.",
}


@pytest.fixture(scope="module")
def table():
    features = [Number("age", 0, 100, unit="years", description="a <b>bold</b> one"), Flag("member")]
    plan = Plan.design(features=features, clusters=2, epsilon=4.0, expected_users=4000)
    found = Aggregate(plan)
    found.add(Client(plan).encode_many({"age": [20, 80] * 2000, "member": [False, True] * 2000}))
    return found


@pytest.fixture(scope="module")
def result(table, hardly_any_atoms):
    return decode(table, random_state=0)


def test_a_report_tells_what_was_asked_promised_and_found(table, result):
    audit = {"claim": "pure 4", "verdict": "failed", "checks": [{"name": "law <i>", "passed": False}]}
    sheet = {
        "language": "en",
        "languages": {"en": {**SAID, "questions": {"member": {"ask": "How <old>?"}}}},
        "public_key": "ab" * 32,
    }
    about = (result.to_dict(), result.guarantee, result.radius)
    made = report_document(
        *about,
        tables=[table],
        sheet=sheet,
        audit=audit,
        title="Us & them, <Listening>",
        commands=["coterie decode t"],
    )
    page = report_page(
        json.loads(json.dumps(made, default=str)), result.guarantee, result.features, result.radius
    )
    assert "<h1>Us &amp; them, &lt;Listening&gt;</h1>" in page
    assert "a &lt;b&gt;bold&lt;/b&gt; one" in page
    assert "law &lt;i&gt;" in page
    for words in (*SAID.values(), "How <old>?", "ab" * 32):
        assert words.replace("<", "&lt;").replace(">", "&gt;") in page
    assert report_document(*about, sheet=sheet)["title"] == SAID["title"]
    assert made["waves"] == [{"plan_id": table.plan.id, "people": 4000}]
    assert "FAILED" in page
    for words in (*result.guarantee.conditions, *NOT_COVERED, *made["forecast"], "coterie decode t"):
        assert words.replace("'", "&#39;") in page
    assert made["result"]["groups"]
    assert {one["test"] for one in made["honest"]} >= {"mass", "direction"}
    assert not re.search(r"""(src|href)=["']?http""", page)


def test_a_result_writes_its_own_and_replaces_nothing_unasked(result, tmp_path):
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Not tested here" in page
    assert "What was asked" not in page
    with pytest.raises(FileExistsError):
        result.report(tmp_path / "page.html")
    result.report(tmp_path / "page.html", plans=[], overwrite=True)


def test_an_audit_that_is_none_is_refused(tmp_path):
    from coterie.cli.report import _read

    (tmp_path / "audit.json").write_text('{"verdict": "splendid", "checks": []}')
    with pytest.raises(FileError):
        _read(tmp_path / "audit.json")
