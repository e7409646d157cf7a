"""Golden vectors: what the wire format says, written down by the reference, read by the package."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.encode import Client
from coterie.errors import PlanError, PointError, ReportError
from coterie.geometry.ball import quantize
from coterie.geometry.lift import lift
from coterie.plan import Plan
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream
from coterie.wire.tokens import token_id, token_mark
from tests.reference.coins import FixedCoins

FILE = Path(__file__).with_name("codeword.json")
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
GOOD, BAD = VECTORS["good"], VECTORS["bad"]
ERRORS = {"plan": PlanError, "report": ReportError, "point": PointError}


def view_and_mask(rows, row):
    number = next(number for number, part in enumerate(rows.parts) if row < part.stop)
    return number, np.array([row - rows.parts[number].start])


def named(vectors, error=None):
    chosen = [vector for vector in vectors if error is None or vector["error"] == error]
    return pytest.mark.parametrize("vector", chosen, ids=[vector["name"] for vector in chosen])


def arrays(vector):
    cases = vector["cases"]
    points = np.array([case["point"] for case in cases], dtype=np.float64)
    ids = np.array([list(bytes.fromhex(case["id"])) for case in cases], dtype=np.uint8)
    reports = np.array([list(bytes.fromhex(case["report"])) for case in cases], dtype=np.uint8)
    return points, ids, reports


@named(GOOD)
def test_plans(vector):
    plan = Plan.from_json(vector["plan"])
    assert plan.to_json() == vector["plan"]
    assert plan.id == vector["plan_id"]
    assert plan.randomness_key().hex() == vector["randomness_key"]
    assert plan.parameters.randomizer.total == vector["draw_below"]


@named(GOOD)
def test_points_and_public_choices(vector):
    plan = Plan.from_json(vector["plan"])
    points, ids, _ = arrays(vector)
    quantized, _ = quantize(points, plan.center, plan.radius)
    rows, flips = PublicStream(plan.randomness_key()).choices(ids, Rows.of(plan.parameters))
    assert quantized.tolist() == [case["quantized"] for case in vector["cases"]]
    assert lift(quantized, plan.parameters.count_weight).tolist() == [
        case["lifted"] for case in vector["cases"]
    ]
    assert rows.tolist() == [case["row"] for case in vector["cases"]]
    assert flips.tolist() == [case["flip"] for case in vector["cases"]]


@named(GOOD)
def test_what_decides_the_sign(vector):
    plan = Plan.from_json(vector["plan"])
    rows = Rows.of(plan.parameters)
    for case in vector["cases"]:
        quantized = np.array([case["quantized"]], dtype=np.float64)
        number, masks = view_and_mask(rows, case["row"])
        geometry = plan.parameters.views[number].geometry(plan.randomness_key, int(number), plan.dimension)
        if "height" in case:
            assert geometry.heights(quantized, masks).tolist() == [case["height"]]
        else:
            assert geometry.of(quantized).tolist() == [case["cell"]]
        assert (-1) ** int(geometry.odd(quantized, masks)[0] + case["flip"]) == case["sign"]


@named(GOOD)
def test_reports(vector):
    plan = Plan.from_json(vector["plan"])
    points, ids, expected = arrays(vector)
    coins = FixedCoins([case["draw"] for case in vector["cases"]])
    assert (CodewordEncoder(plan).encode(points, ids, coins) == expected).all()


@named(GOOD)
def test_tables(vector):
    plan = Plan.from_json(vector["plan"])
    aggregate = Aggregate(plan)
    aggregate.add(arrays(vector)[2])
    arrays_ = aggregate.table.arrays()
    expected = vector["table"]
    assert {str(row) for row in np.flatnonzero(arrays_["counts"])} == expected["rows"].keys()
    for row, content in expected["rows"].items():
        assert arrays_["counts"][int(row)] == content["count"]
        assert arrays_["sums"][int(row)].tolist() == content["sum"]
    assert np.count_nonzero(arrays_["sums"].any(axis=1)) <= len(expected["rows"])
    assert arrays_["second"][0].tolist() == expected["second_first_row"]


@named(BAD, "plan")
def test_bad_plans(vector):
    with pytest.raises(PlanError, match=r"."):
        Plan.from_json(vector["plan"])


@named(BAD, "report")
def test_bad_reports_and_nothing_counts(vector):
    aggregate = Aggregate(Plan.from_json(vector["plan"]))
    with pytest.raises(ReportError, match=r"."):
        aggregate.add(bytes.fromhex(vector["reports"]))
    assert aggregate.count == 0


@named(BAD, "point")
def test_bad_points(vector):
    client = Client(Plan.from_json(vector["plan"]))
    with pytest.raises(PointError, match=r"."):
        client.encode([float(x) for x in vector["point"]])


@pytest.mark.parametrize("vector", VECTORS["tokens"], ids=lambda vector: vector["token"])
def test_tokens(vector):
    plan, token = Plan.from_json(vector["plan"]), bytes.fromhex(vector["token"])
    assert token_id(plan, token).hex() == vector["id"]
    assert token_mark(plan, token).hex() == vector["mark"]
    assert Client(plan).encode(np.zeros(3), token=token)[:28] == token + bytes.fromhex(vector["id"])


def test_every_kind_is_there():
    assert {vector["error"] for vector in BAD} == ERRORS.keys()
    assert any(case["flip"] for vector in GOOD for case in vector["cases"])
    assert any(case["sign"] < 0 for vector in GOOD for case in vector["cases"])
    sides = set()  # of hyperplanes: offset's sign, rotation, point above (1), on (0) or below (-1)
    for vector in GOOD:
        plan = Plan.from_json(vector["plan"])
        rows = Rows.of(plan.parameters)
        for case in (case for case in vector["cases"] if "height" in case):
            number, (mask,) = view_and_mask(rows, case["row"])
            offset = plan.parameters.views[number].offsets[mask]
            sides.add((int(np.sign(offset)), int(mask) // 128, int(np.sign(case["height"] - offset))))
    assert {offset for offset, _, _ in sides} == {-1, 0, 1}
    assert {block for _, block, _ in sides} == {0, 1}
    assert {side for _, _, side in sides} == {-1, 0, 1}
    assert {offset for offset, _, side in sides if side == 0} == {-1, 0, 1}  # ties at offsets of every sign
    ties = [
        case["scores"].count(case["scores"][case["index"]]) for vector in GOOD for case in vector["cases"]
    ]
    assert sum(tie > 2 for tie in ties) >= 3  # the order of equal scores decides these
    assert all(math.isfinite(x) for vector in GOOD for case in vector["cases"] for x in case["point"])
