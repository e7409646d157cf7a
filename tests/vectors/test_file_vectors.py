"""Golden files: report files, tables and ledgers are written and read byte for byte, bad ones refused."""

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.collect.intake import take_in
from coterie.encode.ledger import Ledger
from coterie.errors import FileError, LedgerError
from coterie.plan import Plan
from coterie.wire.report_file import ReportFile, write_reports

VECTORS = json.loads(Path(__file__).with_name("files.json").read_text(encoding="utf-8"))


def named(kind):
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=[vector["name"] for vector in VECTORS[kind]])


def bytes_of(pieces):
    """Put a file together: hex digits, int64 numbers, numbers of zero bytes."""
    written = []
    for piece in pieces:
        if isinstance(piece, str):
            written.append(bytes.fromhex(piece))
        elif isinstance(piece, int):
            written.append(bytes(piece))
        else:
            written.append(np.array(piece, dtype="<i8").tobytes())
    return b"".join(written)


@named("report_files")
def test_report_files(vector, tmp_path):
    plan, reports = Plan.from_json(vector["plan"]), [bytes.fromhex(report) for report in vector["reports"]]
    write_reports(tmp_path / "reports", plan, reports)
    assert (tmp_path / "reports").read_bytes().hex() == vector["file"]
    (tmp_path / "foreign").write_bytes(bytes.fromhex(vector["file"]))
    assert [row.tobytes() for row in ReportFile.open(tmp_path / "foreign", plan).read_all()] == reports


@named("bad_report_files")
def test_bad_report_files(vector, tmp_path):
    (tmp_path / "reports").write_bytes(bytes.fromhex(vector["file"]))
    plan = Plan.from_json(vector["plan"])
    with pytest.raises(FileError, match="reports"), take_in([tmp_path / "reports"], plan):
        pass


@named("repeated_ids")
def test_repeated_ids(vector, tmp_path):
    plan, paths = Plan.from_json(vector["plan"]), []
    for number, content in enumerate(vector["files"]):
        paths.append(tmp_path / f"{number}")
        paths[-1].write_bytes(bytes.fromhex(content))
    for order in itertools.permutations(paths):
        with take_in(order, plan) as intake:
            kept = [row.tobytes().hex() for chunk in intake.chunks() for row in chunk]
        counts = intake.counts
        assert kept == vector["kept"]
        assert (counts.read, counts.malformed) == (vector["read"], vector["invalid"])
        assert (counts.duplicates, counts.conflicting) == (vector["duplicates"], vector["conflicting"])


@named("table_files")
def test_table_files(vector):
    plan = Plan.from_json(vector["plan"])
    table = Aggregate(plan)
    table.add([bytes.fromhex(report) for report in vector["reports"]])
    data = bytes_of(vector["pieces"])
    assert table.to_bytes() == data
    assert (len(data), hashlib.sha256(data).hexdigest()) == (vector["length"], vector["sha256"])
    assert Aggregate.from_bytes(data, plan) == table


@named("bad_table_files")
def test_bad_table_files(vector):
    good = next(each for each in VECTORS["table_files"] if each["name"] == "one report")
    data = bytes_of(good["pieces"])[: vector.get("length")]
    if "at" in vector:
        at, new = vector["at"], bytes.fromhex(vector["bytes"])
        data = data[:at] + new + data[at + vector.get("remove", len(new)) :]
    if vector.get("sealed"):
        data = data[:-32] + hashlib.sha256(data[:-32]).digest()
    assert data != bytes_of(good["pieces"])
    with pytest.raises(FileError, match="expected"):
        Aggregate.from_bytes(data)


def read_ledger(folder, content):
    (folder / "ledger").write_bytes(bytes.fromhex(content))
    return Ledger(folder / "ledger").spent().answers


@named("ledger_files")
def test_ledger_files(vector, tmp_path):
    answers = read_ledger(tmp_path, vector["file"])
    found = [
        {
            "plan_id": one.plan_id.hex(),
            "study_id": one.study_id.hex(),
            "day": one.day,
            "figures": " ".join(
                "inf" if part is None else str(part)
                for part in (one.spending.epsilon, one.spending.delta, one.spending.local_epsilon)
            ),
            "answer": one.sent.hex(),
        }
        for one in answers
    ]
    assert found == vector["answers"]


@pytest.mark.parametrize("vector", VECTORS["loose_ledger_files"], ids=lambda each: each["written"])
def test_fractions_that_are_not_in_lowest_terms_are_read(vector, tmp_path):
    (one,) = read_ledger(tmp_path, vector["file"])
    parts = (one.spending.epsilon, one.spending.delta, one.spending.local_epsilon)
    assert " ".join("inf" if part is None else str(part) for part in parts) == vector["figures"]


def test_a_ledger_is_written_so(tmp_path, monkeypatch):
    """The ledger of one answer is what a device writes that gave it on that day."""
    vector = next(each for each in VECTORS["ledger_files"] if each["name"] == "one answer")
    (answer,) = vector["answers"]
    plan = Plan.from_json(VECTORS["report_files"][0]["plan"])
    assert plan.id == answer["plan_id"]
    monkeypatch.setattr("time.time", lambda: answer["day"] * 86400.0 + 3600)
    Ledger(tmp_path / "ledger").answer(plan, lambda: bytes.fromhex(answer["answer"]))
    assert (tmp_path / "ledger").read_bytes().hex() == vector["file"]


@named("bad_ledger_files")
def test_bad_ledger_files(vector, tmp_path):
    with pytest.raises(LedgerError, match="damaged"):
        read_ledger(tmp_path, vector["file"])
