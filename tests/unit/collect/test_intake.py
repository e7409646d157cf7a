import dataclasses

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.collect import take_in, take_uploads
from coterie.encode import Client
from coterie.errors import FileError, PlanError, ReportError
from coterie.plan import Plan
from coterie.wire.report_file import write_reports
from coterie.wire.tokens import token_mark

PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
ROWS = np.random.default_rng(0).integers(0, 256, size=(30, 13), dtype=np.uint8)


def written(path, rows, plan=PLAN):
    with write_reports(path, plan) as writer:
        writer.append(rows)
    return path


def test_several_files_each_id_once(tmp_path):
    conflict = ROWS[5].copy()
    conflict[12] ^= 1
    paths = [
        written(tmp_path / "a", ROWS[:20]),
        written(tmp_path / "b", ROWS[15:]),
        written(tmp_path / "c", conflict[None]),
    ]
    kept = []
    for order in (paths, paths[::-1]):
        with take_in(order, PLAN, memory_reports=8, folder=tmp_path) as intake:
            kept.append(np.concatenate(list(intake.chunks())))
        counts = intake.counts
        assert (counts.files, counts.read, counts.unique) == (3, 36, 30)
        assert (counts.duplicates, counts.conflicting) == (5, 1)
    assert (kept[0] == kept[1]).all()
    expected = ROWS.copy()
    expected[5, 12] = min(ROWS[5, 12], conflict[12])
    assert sorted(kept[0].tolist()) == sorted(expected.tolist())


def test_no_files(tmp_path):
    with take_in([], PLAN) as intake:
        assert list(intake.chunks()) == []
    assert intake.counts.unique == 0


def test_one_bad_file_and_nothing_is_handed_on(tmp_path):
    good = written(tmp_path / "good", ROWS)
    bad = written(tmp_path / "bad", ROWS)
    foreign = written(tmp_path / "foreign", ROWS, dataclasses.replace(PLAN, seed=1))
    data = bytearray(bad.read_bytes())
    data[100] ^= 1
    bad.write_bytes(data)
    entered = False
    for paths in ([good, bad], [bad, good], [good, foreign]):
        with pytest.raises(FileError, match="expected"), take_in(paths, PLAN, folder=tmp_path):
            entered = True
    assert not entered


BAD = [  # plan, a report of its form spoilt, the reason
    (Plan.design(2, 2, 1.0, 100, protocol="net-tree", levels=3), "01", "a bit is set after the last answer"),
    (Plan.design(2, 2, 1.0, 100, protocol="lsh-tree"), "ff", "a bit is set after the last answer"),
    (
        dataclasses.replace(PLAN, parameters=dataclasses.replace(PLAN.parameters, codewords=200)),
        "c8",
        "the index is not below 200",
    ),
    (
        dataclasses.replace(PLAN, parameters=dataclasses.replace(PLAN.parameters, codewords=300)),
        "012c",
        "the index is not below 300",
    ),
]


@pytest.mark.parametrize(("plan", "tail", "reason"), BAD, ids=["net", "lsh", "codeword", "two bytes"])
def test_one_bad_report_stops_nobody(plan, tail, reason, tmp_path):
    rows = np.zeros((10, plan.report_width), dtype=np.uint8)
    rows[:, 0] = np.arange(10)
    bad = rows[4].copy()
    bad[12:] = np.frombuffer(bytes.fromhex(tail), dtype=np.uint8)
    path = written(tmp_path / "a", np.concatenate([rows[:7], [bad], rows[7:]]), plan)
    table = Aggregate(plan)
    with take_in([path], plan) as intake:
        for chunk in intake.chunks():
            table.add(chunk)
    assert table.count == 10
    counts = intake.counts
    assert (counts.read, counts.unique, counts.malformed) == (11, 10, 1)
    byte = 64 + 7 * plan.report_width
    assert [str(each) for each in counts.skipped] == [f"1 left out, {reason}: {path}, report 7 (byte {byte})"]
    with pytest.raises(ReportError, match="none of these reports was added"):  # the table takes all or none
        Aggregate(plan).add(bad.tobytes())


def test_uploads_need_an_issued_and_unspent_token_and_its_id():
    plan = dataclasses.replace(
        PLAN, ids="token", parameters=dataclasses.replace(PLAN.parameters, codewords=200)
    )
    tokens = [bytes([i]) * 16 for i in range(5)]
    client = Client(plan)
    good = [client.encode([0.1, 0.2], token=token) for token in tokens]
    chosen = good[1][:16] + bytes(12) + good[1][28:]  # an id of the sender's choice
    index = good[2][:-1] + bytes([200])
    batch = [good[0], good[0], chosen, index, good[3], good[4]]
    spent = set()
    accepted = take_uploads(plan, b"".join(batch), issued=set(tokens[:4]), spent=spent)
    assert accepted.reports.tobytes() == good[0][16:] + good[3][16:]
    assert spent == {token_mark(plan, tokens[0]), token_mark(plan, tokens[3])}
    assert [str(each) for each in accepted.skipped] == [
        "1 left out, the token was spent before: upload 1",
        "1 left out, the id is not the token's: upload 2",
        "1 left out, the index is not below 200: upload 3",
        "1 left out, the token was not issued: upload 5",
    ]
    with pytest.raises(PlanError, match="without tokens"):
        take_uploads(PLAN, b"", issued=(), spent=set())
