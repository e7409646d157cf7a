"""Golden spellings of plans: all are read as the one plan, and what is no plan is refused."""

import json
from pathlib import Path

import pytest

from coterie.errors import PlanError
from coterie.plan import Plan

VECTORS = json.loads(Path(__file__).with_name("plan_json.json").read_text(encoding="utf-8"))


def named(kind):
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=[vector["name"] for vector in VECTORS[kind]])


def spellings(vector):
    """Return what is read, as bytes and as text."""
    if "hex" in vector:
        return [bytes.fromhex(vector["hex"])]
    text = vector["text"].replace("…", " " * vector["spaces"]) if "spaces" in vector else vector["text"]
    return [text, text.encode("utf-8")]


@named("same")
def test_spellings_of_a_plan(vector):
    for text in spellings(vector):
        plan = Plan.from_json(text)
        assert plan.to_json() == vector["canonical"]
        assert plan.id == vector["plan_id"]
    assert Plan.from_json(vector["canonical"]) == plan


@named("bad")
def test_what_is_no_plan(vector):
    for text in spellings(vector):
        with pytest.raises(PlanError, match=r"."):
            Plan.from_json(text)


def test_bytes_are_counted_whatever_the_text_is_made_of():
    """A text of fewer characters than bytes is as long as its bytes."""
    (vector,) = (each for each in VECTORS["bad"] if each["name"] == "a byte more than 4 MiB")
    text = vector["text"].replace("…", " " * (vector["spaces"] - 7) + ',"ü":0')
    assert len(text) == len(text.encode()) - 1 == 1 << 22
    with pytest.raises(PlanError, match="bytes"):
        Plan.from_json(text)
