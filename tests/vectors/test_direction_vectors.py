"""Golden vectors of plans with directions, version 2 of the plan."""

import json
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.geometry.ball import project, quantize
from coterie.plan import Plan
from coterie.protocols.codeword.encode import CodewordEncoder
from tests.reference.coins import FixedCoins

VECTORS = json.loads(Path(__file__).with_name("directions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS["good"], ids=[vector["name"] for vector in VECTORS["good"]])
@pytest.mark.parametrize("kernels", ["numpy", "numba"])
def test_from_point_to_report(vector, kernels):
    plan, cases = Plan.from_json(vector["plan"]), vector["cases"]
    assert (plan.to_json(), plan.id) == (vector["plan"], vector["plan_id"])
    points = np.array([case["point"] for case in cases], dtype=np.float64)
    quantized, _ = quantize(points, plan.center, plan.radius)
    assert quantized.tolist() == [case["quantized"] for case in cases]
    projected, _ = project(quantized, np.array(plan.directions, dtype=np.float64))
    assert projected.tolist() == [case["projected"] for case in cases]
    ids = np.array([list(bytes.fromhex(case["id"])) for case in cases], dtype=np.uint8)
    coins = FixedCoins([case["draw"] for case in cases])
    reports = CodewordEncoder(plan, kernels=kernels).encode(points, ids, coins)
    assert [report.tobytes().hex() for report in reports] == [case["report"] for case in cases]


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=[vector["name"] for vector in VECTORS["bad"]])
def test_refused_plans(vector):
    with pytest.raises(PlanError):
        Plan.from_json(vector["plan"])
