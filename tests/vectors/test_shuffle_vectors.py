"""Golden vectors of the shuffle model: batches, shares, shuffled files, tables, and what must be refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.collect.batches import Batches
from coterie.collect.shuffler import mixed
from coterie.errors import FileError, PlanError, ReportError
from coterie.plan import Plan
from coterie.protocols.vector_sums.encode import VectorSumEncoder
from coterie.randomizers.discrete_gaussian import DiscreteGaussian
from coterie.randomizers.vector_sums import from_big_endian
from coterie.store.shuffle_files import shuffle_files
from coterie.wire.report_file import writing_reports
from coterie.wire.shuffled_file import ShuffledFile

VECTORS = json.loads(Path(__file__).with_name("shuffle.json").read_text(encoding="utf-8"))


def named(kind):
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=[vector["name"] for vector in VECTORS[kind]])


class FixedShares:
    """The free shares of one person, drawn before."""

    def __init__(self, shares):
        self.shares = np.array(shares, dtype=np.int64)

    def below_many(self, bound, size):
        assert size == len(self.shares)
        assert (self.shares < bound).all()
        return self.shares


def test_a_batch_of_reports(tmp_path):
    (vector,) = VECTORS["codeword"]
    plan, paths = Plan.from_json(vector["plan"]), []
    assert plan.id == vector["plan_id"]
    for number, content in enumerate(vector["report_files"]):
        paths.append(tmp_path / f"{number}")
        paths[-1].write_bytes(bytes.fromhex(content))
    shuffle_files(paths, plan, tmp_path / "out", tmp_path / "memory")
    assert (tmp_path / "out").read_bytes().hex() == vector["shuffled_file"]
    record = tmp_path / "memory/studies" / plan.id / vector["released_name"]
    assert record.read_bytes().hex() == vector["released_file"]
    table = Aggregate(plan)
    for rows in Batches([tmp_path / "out"], plan).chunks():
        table.add(rows)
    assert table.count == 3


@named("bad_shuffled_files")
def test_bad_shuffled_files(vector, tmp_path):
    (tmp_path / "batch").write_bytes(bytes.fromhex(vector["file"]))
    with pytest.raises(FileError, match="batch"):
        Batches([tmp_path / "batch"], Plan.from_json(vector["plan"]))


@named("vector_sums")
def test_shares(vector, tmp_path, monkeypatch):
    plan = Plan.from_json(vector["plan"])
    assert plan.to_json() == vector["plan"]
    assert plan.id == vector["plan_id"]
    encoder, sums, reports, messages = VectorSumEncoder(plan), plan.parameters.sums(), [], []
    for case in vector["cases"]:
        point = np.array([case["point"]], dtype=np.float64)
        ids = np.frombuffer(bytes.fromhex(case["id"]), dtype=np.uint8)[None]
        rows, vectors, _ = encoder.contributions(point, ids)
        assert (rows.tolist(), vectors.tolist()) == ([case["row"]], [case["vector"]])
        noise = np.array(case["noise"])
        monkeypatch.setattr(
            DiscreteGaussian, "sample", lambda _, size, coins, noise=noise: noise.reshape(size)
        )
        report = encoder.encode(point, ids, FixedShares(case["free"]))
        assert report.tobytes().hex() == case["report"]
        reports.append(report)
        shares = from_big_endian(report[0, 12:].reshape(-1, sums.mixer.share_bytes))
        served = rows if plan.parameters.by_column else np.arange(plan.parameters.rows)
        messages.append(sums.messages(served, shares.reshape(len(served), sums.width, -1)))
    if plan.parameters.by_column:  # a shuffler wants 64 people in each row: theirs by hand
        batch = np.concatenate(messages)
        batch = batch[np.lexsort(batch.T[::-1])]
    else:
        batch = np.concatenate([*mixed(plan, reports)])
    with writing_reports(tmp_path / "batch", plan, ShuffledFile) as writer:
        writer.append(batch)
    assert (tmp_path / "batch").read_bytes().hex() == vector["shuffled_file"]
    table = Aggregate(plan)
    for chunk in Batches([tmp_path / "batch"], plan).chunks():
        table.add(chunk)
    assert table.table.arrays()["sums"].ravel().tolist() == vector["sums"]
    assert table.table.arrays()["messages"].ravel().tolist() == vector["messages"]
    assert table.to_bytes().hex() == vector["table_file"]


@named("bad_messages")
def test_bad_messages_and_nothing_counts(vector):
    table = Aggregate(Plan.from_json(vector["plan"]))
    with pytest.raises(ReportError, match=r"."):
        table.add(bytes.fromhex(vector["messages"]))
    assert not table.table.arrays()["messages"].any()


@named("bad_plans")
def test_bad_plans(vector):
    with pytest.raises(PlanError, match=r"."):
        Plan.from_json(vector["plan"])


def test_the_plan_that_was_made_worse_is_good():
    """Each bad plan of the shuffle model is bad for the reason that it names."""
    import runpy

    make = runpy.run_path(str(Path(__file__).parents[1] / "reference" / "make_shuffle_vectors.py"))
    assert Plan.from_json(make["canonical"](make["amplified"]())).model == "shuffle"
