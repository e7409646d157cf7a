"""Golden vectors of records: the reference's doubles and integers are found, and bad schemas refused."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import PlanError
from coterie.features import Schema
from coterie.geometry.ball import quantize

HERE = Path(__file__).parent
VECTORS = json.loads((HERE / "records.json").read_text(encoding="utf-8"))


def by_name(entry):
    return entry["name"]


def read(case):
    doubles = {
        name: struct.unpack(">d", bytes.fromhex(bits))[0] for name, bits in case.get("doubles", {}).items()
    }
    return {**json.loads(case["record"]), **doubles}


@pytest.mark.parametrize("vector", VECTORS["good"], ids=by_name)
def test_records_become_the_same_doubles_and_integers(vector):
    schema = Schema.from_json(vector["schema"])
    assert schema.to_json() == vector["schema"]
    assert schema.radius == vector["radius"]
    points = np.array([schema.point(read(case)) for case in vector["cases"]])
    assert points.tolist() == [case["point"] for case in vector["cases"]]
    quantized, _ = quantize(points, None, schema.radius)
    assert quantized.astype(int).tolist() == [case["quantized"] for case in vector["cases"]]


@pytest.mark.parametrize("vector", VECTORS["good"], ids=by_name)
def test_a_whole_table_becomes_the_same_doubles(vector):
    schema = Schema.from_json(vector["schema"])
    records = [read(case) for case in vector["cases"]]
    names = [feature.name for feature in schema.features]
    table = {name: [record.get(name) for record in records] for name in names}
    assert schema.points(table).tolist() == [case["point"] for case in vector["cases"]]


@pytest.mark.parametrize("vector", VECTORS["repeated_keys"], ids=lambda each: each["record"])
def test_of_a_key_that_occurs_twice_the_last_counts(vector):
    assert Schema.from_json(vector["schema"]).point(json.loads(vector["record"])).tolist() == vector["point"]


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=by_name)
def test_bad_schemas_are_refused(vector):
    with pytest.raises(PlanError, match=rf"\b{vector['about']}\b"):
        Schema.from_json(vector["schema"])
