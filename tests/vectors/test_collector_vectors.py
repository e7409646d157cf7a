"""Golden vectors of what a collector signs and which batches it takes; and the page names every problem."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from coterie.aggregate import Aggregate
from coterie.collect.batches import Batches
from coterie.plan import Plan
from coterie.service.batches import checked_people
from coterie.service.manifest import decoding_seed
from coterie.service.problems import KINDS, Problem
from coterie.service.studies import REASONS
from coterie.wire.manifest import ManifestError, read_manifest
from coterie.wire.shuffled_file import batch_authorization, is_put_by
from coterie.wire.signing import public_key, sign

HERE = Path(__file__).parent
VECTORS = json.loads((HERE / "collector.json").read_text(encoding="utf-8"))
PAGE = (HERE.parents[1] / "docs" / "wire-format.md").read_text(encoding="utf-8")


def named(kind):
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=[vector["name"] for vector in VECTORS[kind]])


@named("manifests")
def test_manifests(vector):
    document = read_manifest(vector["manifest"].encode(), vector["public_key"])
    key, data = bytes.fromhex(vector["key"]), bytes.fromhex(vector["signed"])
    label, _, unsigned = data.partition(b"\0")
    assert public_key(key).hex() == vector["public_key"]
    assert sign(key, label.decode(), unsigned).hex() == document["signature"]


@named("bad_manifests")
def test_bad_manifests(vector):
    with pytest.raises(ManifestError):
        read_manifest(vector["manifest"].encode())


def test_a_batch_as_a_shuffler_puts_it():
    (vector,) = VECTORS["batches"]
    plan, key = Plan.from_json(vector["plan"]), bytes.fromhex(vector["key"])
    assert batch_authorization(key, plan.id, vector["digest"]) == vector["authorization"]
    assert is_put_by([public_key(key)], vector["authorization"], plan.id, vector["digest"])
    assert checked_people(plan, vector["digest"], bytes.fromhex(vector["file"])) == vector["people"]


@named("bad_batches")
def test_batches_that_a_collector_refuses_and_a_table_counts(vector, tmp_path):
    plan, data = Plan.from_json(vector["plan"]), bytes.fromhex(vector["file"])
    with pytest.raises(Problem):
        checked_people(plan, hashlib.sha256(data).hexdigest(), data)
    (tmp_path / "batch").write_bytes(data)
    table = Aggregate(plan)
    for rows in Batches([tmp_path / "batch"], plan).chunks():
        table.add(rows)
    assert table.count == vector["counts"]


def test_the_seed_of_a_decoding_is_that_of_the_page():
    plan = Plan.from_json(VECTORS["batches"][0]["plan"])
    digest = hashlib.sha256(b"coterie/1/decoding" + plan.id_bytes).digest()
    assert decoding_seed(plan) == int.from_bytes(digest[:4], "big")


def test_the_page_has_every_problem_and_every_reason():
    listed = {
        kind: int(status)
        for status, kinds in re.findall(r"^- \*\*(\d{3})\*\*: (.+?)(?=^-|\n\n)", PAGE, re.M | re.S)
        for kind in re.findall(r"`([a-z-]+)`", kinds)
    }
    assert listed == {kind: status for kind, (status, _) in KINDS.items()}
    assert [reason for reason in REASONS if f"`{reason}`" not in PAGE] == []
