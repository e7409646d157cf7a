"""What a notebook shows of an object: short, escaped, and nothing that runs."""

import re

import numpy as np
import pytest

from coterie import Plan
from coterie.centers.result import Population
from coterie.features import Number, Schema

PLAN = Plan.design(
    features=Schema([Number("<script>age", 0, 100)]), clusters=2, epsilon=2.0, expected_users=10_000
)
SHOWN = {
    "plan": PLAN,
    "guarantee": PLAN.guarantee,
    "forecast": PLAN.expected(),
    "population": Population(np.eye(3), np.array([0.5, 0.3, 0.2]), "ab" * 32, ("ab" * 32,)),
}


@pytest.mark.parametrize("each", SHOWN.values(), ids=SHOWN)
def test_nothing_runs_and_everything_is_escaped(each):
    page = each._repr_html_()
    assert not re.search(r"<(?!/?(div|strong|table|tbody|tr|th|td|p)[ >])", page)
    assert "<script" not in page
    assert len(repr(each)) < 260
    assert "\n" not in repr(each)


def test_each_says_what_matters():
    assert PLAN.id in SHOWN["plan"]._repr_html_()
    assert "&lt;script&gt;age" in SHOWN["plan"]._repr_html_()
    assert repr(PLAN).startswith("Plan('codeword', 'local', dimension=1, 1 features, clusters=2, epsilon=2,")
    assert "nobody: the report is private" in SHOWN["guarantee"]._repr_html_()
    assert "fresh 12-byte id" in SHOWN["guarantee"]._repr_html_()
    assert "recovered" in SHOWN["forecast"]._repr_html_()
    assert "on the 1 heaviest" in SHOWN["population"]._repr_html_()
    assert repr(SHOWN["population"]) == "Population(3 points in 3 dimensions, study abababababab…)"


def test_a_broken_promise_is_said_first():
    from dataclasses import replace

    broken = replace(PLAN.guarantee, exceptions=("The ball was taken from the rows.",))
    assert "IT DOES NOT HOLD HERE" in repr(broken)
    assert broken._repr_html_().index("IT DOES NOT HOLD") < broken._repr_html_().index("It holds when")


def test_a_hopeless_study_is_said_to_be():
    assert "hopeless" in PLAN.expected(10)._repr_html_()
