"""Golden studies: from a record to the report, under plans with features."""

import json
from pathlib import Path

import numpy as np
import pytest

from coterie.geometry.ball import quantize
from coterie.geometry.lift import lift
from coterie.plan import Plan
from coterie.protocols.codeword.encode import CodewordEncoder

STUDIES = json.loads(Path(__file__).with_name("studies.json").read_text(encoding="utf-8"))["studies"]


class FixedCoins:
    """Coins that were drawn before."""

    def __init__(self, draws):
        self.draws = np.asarray(draws, dtype=np.int64)

    def below_many(self, bound, size):
        assert size == len(self.draws)
        assert (self.draws < bound).all()
        return self.draws


@pytest.mark.parametrize("study", STUDIES, ids=[study["name"] for study in STUDIES])
def test_from_record_to_report(study):
    plan, cases = Plan.from_json(study["plan"]), study["cases"]
    assert plan.to_json() == study["plan"]
    assert plan.id == study["plan_id"]
    assert plan.features.radius == study["radius"]
    assert plan.parameters.randomizer.total == study["draw_below"]
    points = np.array([plan.features.point(json.loads(case["record"])) for case in cases])
    assert points.tolist() == [case["point"] for case in cases]
    quantized, _ = quantize(points, plan.center, plan.radius)
    assert quantized.tolist() == [case["quantized"] for case in cases]
    assert lift(quantized, plan.parameters.count_weight).tolist() == [case["lifted"] for case in cases]
    ids = np.array([list(bytes.fromhex(case["id"])) for case in cases], dtype=np.uint8)
    reports = CodewordEncoder(plan).encode(points, ids, FixedCoins([case["draw"] for case in cases]))
    assert [report.tobytes().hex() for report in reports] == [case["report"] for case in cases]


def test_what_matters_occurs():
    kinds = {f["kind"] for study in STUDIES for f in json.loads(study["plan"])["features"]["features"]}
    assert kinds == {"number", "category", "flag", "cycle", "ordinal", "embedding"}
    cases = [case for study in STUDIES for case in study["cases"]]
    assert {case["sign"] for case in cases} == {-1, 1}
    assert {"cell", "height"} <= {key for case in cases for key in case}
    assert any(json.loads(study["plan"])["center"] for study in STUDIES)
