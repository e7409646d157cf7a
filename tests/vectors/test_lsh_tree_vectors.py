"""Golden lsh-tree reports: what a plan, an id and a point give when every coin tells the truth.

`lsh_tree.json` is what clients in other languages check themselves against. It never changes for layout 1;
to add cases, run this file as a script.
"""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.errors import ReportError
from coterie.plan import Plan
from coterie.protocols.paper.lsh_tree.encode import LshTreeEncoder

FILE = Path(__file__).with_name("lsh_tree.json")
STUDIES = [
    {"dimension": 3, "clusters": 2, "epsilon": 1.0},
    {"dimension": 40, "clusters": 8, "epsilon": 4.0, "center": [0.5] * 40, "radius": 3.0},
    {"dimension": 5, "clusters": 3, "epsilon": 2.0, "split": "budget"},
    {"dimension": 5, "clusters": 3, "epsilon": 2.0, "split": "deepest", "count": "joint"},
    {"dimension": 7, "clusters": 4, "epsilon": 1.0, "randomizer": "privunit"},
    {"dimension": 7, "clusters": 4, "epsilon": 1.0, "randomizer": "privunit", "split": "budget"},
]


class Truth:
    """Coins that never lie and always take the first place."""

    def below_many(self, bound, size):
        del bound
        return np.zeros(size, dtype=np.int64)


def truthful_report(plan, point, identity):
    ids = np.frombuffer(identity, dtype=np.uint8)[None]
    return LshTreeEncoder(plan).encode(np.array([point]), ids, Truth())[0].tobytes()


def cases():
    generator = np.random.default_rng(5)
    for study in STUDIES:
        plan = Plan.design(expected_users=1000, protocol="lsh-tree", seed=9, **study)
        for _ in range(4):
            point = generator.uniform(-0.6, 0.6, plan.dimension).round(6).tolist()
            identity = generator.bytes(12)
            yield {
                "plan": json.loads(plan.to_json()),
                "point": point,
                "id": identity.hex(),
                "report": truthful_report(plan, point, identity).hex(),
            }


GOLDEN = json.loads(FILE.read_text()) if FILE.exists() else {"good": [], "bad": []}


@pytest.mark.parametrize("case", GOLDEN["good"], ids=lambda case: case["id"][:8])
def test_reports_are_these_bytes(case):
    plan = Plan.from_json(json.dumps(case["plan"]))
    assert truthful_report(plan, case["point"], bytes.fromhex(case["id"])).hex() == case["report"]


def test_the_reference_writes_the_same_bytes():
    reference = runpy.run_path(str(FILE.parents[1] / "reference" / "lsh_tree_reference.py"))["LshTree"]
    for case in GOLDEN["good"]:
        text = Plan.from_json(json.dumps(case["plan"])).to_json()
        assert reference(text).truthful(case["point"], bytes.fromhex(case["id"])).hex() == case["report"]


@pytest.mark.parametrize("case", GOLDEN["bad"], ids=lambda case: case["why"])
def test_malformed_reports_are_refused(case):
    plan = Plan.from_json(json.dumps(case["plan"]))
    with pytest.raises(ReportError, match=r"a bit is set after|no whole number"):
        Aggregate(plan).add(bytes.fromhex(case["report"]))


def test_there_are_cases_of_both_kinds():
    assert len(GOLDEN["good"]) == 4 * len(STUDIES)
    assert len(GOLDEN["bad"]) >= 3


if __name__ == "__main__":
    good = list(cases())
    report = good[0]["report"]
    bad = [
        {"why": "too short", "plan": good[0]["plan"], "report": report[:-2]},
        {"why": "too long", "plan": good[0]["plan"], "report": report + "00"},
        {"why": "a bit after the answers", "plan": good[0]["plan"], "report": report[:-2] + "01"},
    ]
    FILE.write_text(json.dumps({"good": good, "bad": bad}, indent=1) + "\n")
