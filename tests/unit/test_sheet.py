"""The sheet of a study: strict, bounded, signed, and in nobody's words but its own."""

import copy
import json

import pytest

from coterie.errors import SheetError
from coterie.features import Category, Cycle, Embedding, Flag, Number, Schema
from coterie.plan import Plan
from coterie.sheet import MOST_BYTES, checked_sheet, draft_sheet, read_sheet, sign_sheet
from coterie.wire.signing import public_key

KEY = bytes(range(32))
SCHEMA = Schema(
    [
        Number("age", 17, 90),
        Category("plan", ["free", 7], unknown="own"),
        Flag("member"),
        Cycle("weekday", 7),
        Embedding("text", 3, 1.0),
    ]
)
PLAN = Plan.design(features=SCHEMA, clusters=2, epsilon=1.0, expected_users=100)
SAID = {"title": "T", "purpose": "P\n\nQ", "who": "W", "contact": "C", "consent": "A"}
DAYS = {str(day): f"day {day}" for day in range(7)}
QUESTIONS = {
    "plan": {"ask": "How?", "answers": {"free": "Free", "7": "Seven"}},
    "member": {"ask": "Are you?", "help": "h", "answers": {"true": "Sure", "false": "No"}},
    "weekday": {"ask": "When?", "answers": DAYS},
}


def drafted(tmp_path, **changes):
    draft = {"languages": {"en": {**SAID, "questions": QUESTIONS}}, **changes}
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(draft), encoding="utf-8")
    return draft_sheet(path, PLAN)


@pytest.fixture
def sheet(tmp_path):
    return drafted(tmp_path)


def test_a_draft_gets_what_it_leaves_out(sheet, tmp_path):
    assert sheet["pages"] == [["age", "plan", "member", "weekday"]]  # a form cannot ask for an embedding
    assert sheet["language"] == "en"
    assert sheet["languages"]["en"]["questions"]["plan"]["help"] == ""
    pages = [["weekday", "age"], ["member", "plan"]]
    assert drafted(tmp_path, pages=pages)["pages"] == pages


def test_what_is_signed_is_read_back_and_no_byte_can_change(sheet):
    signed = sign_sheet(sheet, KEY)
    key = public_key(KEY).hex()
    assert read_sheet(signed, PLAN, key.upper())["languages"] == sheet["languages"]
    for wrong in (
        signed.replace(b'"T"', b'"U"'),
        signed.replace(b"day 3", b"day 4"),
        signed[:-1],
        b"",
        b"[]",
    ):
        with pytest.raises(SheetError):
            read_sheet(wrong, PLAN)
    with pytest.raises(SheetError, match="signed by"):
        read_sheet(signed, PLAN, "0" * 64)
    other = Plan.design(features=SCHEMA, clusters=3, epsilon=1.0, expected_users=100)
    with pytest.raises(SheetError, match="plan_id"):
        read_sheet(signed, other)
    forged = sign_sheet({**sheet, "pages": []}, KEY)  # a good signature does not make a good sheet
    with pytest.raises(SheetError, match="pages"):
        read_sheet(forged, PLAN)


def into(sheet, *path, value):
    changed = copy.deepcopy(sheet)
    at = changed
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return changed


EN = ("languages", "en")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "coterie-plan"),
        (("version",), 2),
        (("version",), True),
        (("language",), "fr"),
        (("extra",), 1),
        (("pages",), [["age", "plan", "member"]]),
        (("pages",), [["age", "plan", "member", "weekday", "age"]]),
        (("pages",), [["age", "plan", "member", "weekday"], []]),
        (("pages",), [["age", "plan", "member", {}]]),
        (("languages",), {}),
        (("languages", "english please"), {}),
        ((*EN, "title"), ""),
        ((*EN, "title"), "x" * 201),
        ((*EN, "title"), "two\nlines"),
        ((*EN, "consent"), "x" * 20_001),
        ((*EN, "consent"), "\u0007"),
        ((*EN, "consent"), "\ud800"),
        ((*EN, "who"), None),
        ((*EN, "pages"), ["one", "two"]),
        ((*EN, "questions", "shoe"), {"ask": "?", "help": "", "answers": {}}),
        ((*EN, "questions", "age"), {"ask": "?", "help": "", "answers": {"17": "few"}}),
        ((*EN, "questions", "age"), {"ask": "", "help": "", "answers": {}}),
        ((*EN, "questions", "plan", "answers"), {"free": "Free"}),
        ((*EN, "questions", "plan", "answers"), {"free": "Free", "8": "Eight"}),
        ((*EN, "questions"), []),
    ],
)
def test_whatever_is_no_sheet_is_one_kind_of_error(sheet, path, value):
    with pytest.raises(SheetError):
        checked_sheet(into(sheet, *path, value=value), PLAN)


def test_what_one_language_words_all_must(tmp_path):
    german = {**SAID, "questions": QUESTIONS}
    assert len(drafted(tmp_path, languages={"en": german, "de": german})["languages"]) == 2
    with pytest.raises(SheetError, match="all must"):
        drafted(tmp_path, languages={"en": german, "de": SAID})


def test_drafts_that_cannot_be_read(tmp_path):
    path = tmp_path / "draft.toml"
    for text in (b"\xff", b"= 3", b"[" * 5000, b"languages = 3", b"x" * (MOST_BYTES + 1)):
        path.write_bytes(text)
        with pytest.raises(SheetError):
            draft_sheet(path, PLAN)
