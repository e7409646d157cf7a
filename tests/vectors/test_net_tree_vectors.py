"""Golden net-tree reports: what a plan, an id and a point give before any coin, byte for byte.

`net_tree.json` is what clients in other languages check themselves against. It never changes for layout 1;
to add cases, run this file as a script.
"""

import hashlib
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.errors import ReportError
from coterie.geometry.ball import quantize
from coterie.plan import Plan
from coterie.protocols.paper.answers import pack_reports
from coterie.protocols.paper.net_tree.encode import NetTreeEncoder
from coterie.randomizers.sphere import normal_table

FILE = Path(__file__).with_name("net_tree.json")
STUDIES = [
    {"dimension": 2, "clusters": 3, "epsilon": 1.0, "levels": 4},
    {
        "dimension": 5,
        "clusters": 2,
        "epsilon": 2.0,
        "levels": 2,
        "ratio": 3,
        "center": [1.0, 0, 0, 0, -2.0],
        "radius": 3.0,
    },
    {"dimension": 40, "clusters": 8, "epsilon": 4.0, "levels": 6},
]


def truthful_report(plan, point, identity):
    quantized, _ = quantize(np.array([point]), plan.center, plan.radius)
    ids = np.frombuffer(identity, dtype=np.uint8)[None]
    return pack_reports(ids, NetTreeEncoder(plan).true_answers(quantized, ids))[0].tobytes()


def make():
    studies = []
    for number, study in enumerate(STUDIES):
        plan = Plan.design(expected_users=10_000, protocol="net-tree", seed=number, **study)
        generator = np.random.default_rng(number)
        cases = []
        for case in range(6):
            point = np.round(generator.normal(0, (0.4, 1.0)[case % 2], plan.dimension), 6)
            point = (point + (0 if plan.center is None else np.array(plan.center))).tolist()
            identity = generator.bytes(12)
            report = truthful_report(plan, point, identity)
            cases.append({"point": point, "id": identity.hex(), "truthful_report": report.hex()})
        studies.append({"plan": plan.to_json(), "cases": cases})
    malformed = [
        {"report": "00" * 12 + "01", "levels": 3, "why": "a bit after the last answer"},
        {"report": "00" * 13, "levels": 5, "why": "a byte is missing"},
        {"report": "00" * 15, "levels": 5, "why": "a byte too many"},
    ]
    document = {"format": "coterie-vectors", "protocol": "net-tree", "version": 1}
    return {**document, "studies": studies, "malformed": malformed}


VECTORS = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"studies": [], "malformed": []}


@pytest.mark.parametrize("study", VECTORS["studies"])
def test_reports_are_the_golden_ones(study):
    plan = Plan.from_json(study["plan"])
    assert plan.to_json() == study["plan"]
    for case in study["cases"]:
        report = truthful_report(plan, case["point"], bytes.fromhex(case["id"]))
        assert report.hex() == case["truthful_report"]


def test_the_reference_writes_the_same_bytes():
    reference = runpy.run_path(str(FILE.parents[1] / "reference" / "net_tree_reference.py"))["NetTree"]
    for study in VECTORS["studies"]:
        tree = reference(study["plan"])
        for case in study["cases"]:
            report = tree.truthful(case["point"], bytes.fromhex(case["id"]))
            assert report.hex() == case["truthful_report"]


def test_the_table_of_deviates_is_that_of_the_page():
    page = (FILE.parents[2] / "docs" / "wire-format-trees.md").read_text(encoding="utf-8")
    assert hashlib.sha256(normal_table().astype(">i2").tobytes()).hexdigest() in page


@pytest.mark.parametrize("case", VECTORS["malformed"], ids=lambda case: case["why"])
def test_malformed_reports_are_refused(case):
    plan = Plan.design(2, 2, 2.0, 1000, protocol="net-tree", levels=case["levels"])
    with pytest.raises(ReportError, match=r"a bit is set after|no whole number"):
        Aggregate(plan).add(bytes.fromhex(case["report"]))


def test_there_are_vectors():
    assert len(VECTORS["studies"]) == len(STUDIES)
    assert VECTORS["malformed"]


if __name__ == "__main__":
    FILE.write_text(json.dumps(make(), indent=1) + "\n", encoding="utf-8")
