import dataclasses

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.collect import Batches, Intake, take_in
from coterie.collect import intake as intake_module
from coterie.collect.skips import Skips
from coterie.encode import Client
from coterie.errors import FileError, PlanError, ReportError
from coterie.plan import Plan
from coterie.wire.report_file import writing_reports
from coterie.wire.shuffled_file import ShuffledFile
from coterie.wire.tokens import token_mark

PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
ROWS = np.random.default_rng(0).integers(0, 256, size=(30, 13), dtype=np.uint8)


def written(path, rows, plan=PLAN):
    with writing_reports(path, plan, overwrite=True) as writer:
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


@pytest.mark.parametrize(("plan", "tail", "reason"), BAD, ids=["net", "codeword", "two bytes"])
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


@pytest.mark.parametrize("asked", ["tokens", "marks"])
def test_uploads_need_an_issued_and_unspent_token_and_its_id(asked):
    plan = dataclasses.replace(
        PLAN, ids="token", parameters=dataclasses.replace(PLAN.parameters, codewords=200)
    )
    tokens = [bytes([i]) * 16 for i in range(5)]
    client = Client(plan)
    good = [client.encode([0.1, 0.2], token=token) for token in tokens]
    chosen = good[1][:16] + bytes(12) + good[1][28:]  # an id of the sender's choice
    index = good[2][:-1] + bytes([200])
    batch = [good[0], good[0], chosen, index, good[3], good[4]]
    spent, issued = set(), tokens[:4]
    if asked == "marks":  # as a store knows them
        known = {token_mark(plan, token) for token in tokens[:4]}
        issued = lambda marks: np.array([mark.tobytes() in known for mark in marks])  # noqa: E731
    everything = b"".join(batch)
    with Intake(plan) as intake:  # in pieces that end anywhere
        intake.add_uploads([everything[:50], everything[50:51], everything[51:]], issued=issued, spent=spent)
        kept = np.concatenate(list(intake.chunks()))
    assert sorted(kept.tolist()) == sorted(list(each[16:]) for each in (good[0], good[3]))
    assert spent == {token_mark(plan, tokens[0]), token_mark(plan, tokens[3])}
    counts = intake.counts
    assert (counts.files, counts.read, counts.unique, counts.malformed) == (0, 6, 2, 4)
    assert sorted(str(each) for each in counts.skipped) == [
        "1 left out, the id is not the token's: upload 2",
        "1 left out, the index is not below 200: upload 3",
        "1 left out, the token was not issued: upload 5",
        "1 left out, the token was spent before: upload 1",
    ]
    with pytest.raises(PlanError, match="without tokens"), Intake(PLAN) as intake:
        intake.add_uploads([], issued=(), spent=set())
    with pytest.raises(PlanError, match="come as uploads"), Intake(plan) as intake:
        intake.add_stream([])


def test_a_sink_takes_what_comes_and_is_told_of_the_rest_by_number():
    """As a service's writer, whose store counts each id once."""
    rows = np.repeat(ROWS[:4], 2, axis=0)
    plan = next(plan for plan, _, reason in BAD if reason.endswith("200"))
    rows[:, 12] = [0, 255, 0, 0, 250, 0, 0, 0]  # an index below 200 is good
    left_out, came = [], []

    class Numbers(Skips):
        def note(self, reason, numbers, place):
            left_out.append((reason, numbers.tolist()))

    class Sink:
        def add(self, reports):
            came.append(reports.copy())

    intake = Intake(plan, into=Sink(), skips=Numbers())
    intake.add_stream([rows.tobytes()])
    assert left_out == [("the index is not below 200", [1, 4])]
    assert np.concatenate(came).tolist() == rows[[0, 2, 3, 5, 6, 7]].tolist()  # repetitions and all


def test_a_stream_comes_in_pieces_of_any_length(tmp_path):
    data = ROWS.tobytes()
    for cuts in ([], [1], [13, 26], [5, 6, 200]):
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        with Intake(PLAN, memory_reports=8, folder=tmp_path) as intake:
            intake.add_stream([*pieces, data[:13], data[:7]])  # one again, and one that is cut short
            kept = np.concatenate(list(intake.chunks()))
        assert sorted(kept.tolist()) == sorted(ROWS.tolist())
        assert (intake.counts.read, intake.counts.duplicates, intake.counts.unique) == (32, 1, 30)
        assert [str(each) for each in intake.counts.skipped] == ["1 left out, it was cut short: report 31"]


def test_nothing_of_an_intake_stays_on_the_disk(tmp_path):
    with Intake(PLAN, memory_reports=8, folder=tmp_path) as intake:
        intake.add_stream([ROWS.tobytes()])
        assert intake._reports._written == 22  # of 30; they have no name there
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_the_first_three_places_are_named():
    plan = BAD[1][0]
    rows = np.zeros((6, 13), dtype=np.uint8)
    rows[:, 0] = np.arange(6)
    rows[1:6, 12] = 200
    for bad, more in ((3, ""), (4, ", …")):
        with Intake(plan) as intake:
            intake.add_stream([rows[: 1 + bad].tobytes()])
            list(intake.chunks())
        assert str(intake.counts.skipped[0]) == (
            f"{bad} left out, the index is not below 200: report 1; report 2; report 3{more}"
        )


def test_files_and_streams_meet_in_one_intake(tmp_path):
    with Intake(PLAN) as intake:
        intake.add_files([written(tmp_path / "a", ROWS[:20])])
        intake.add_stream([ROWS[10:].tobytes()])
        assert sum(len(chunk) for chunk in intake.chunks()) == 30
    assert (intake.counts.files, intake.counts.read, intake.counts.duplicates) == (1, 40, 10)


def test_an_intake_is_bounded():
    assert intake_module.MOST_REPORTS == 1 << 36
    with Intake(PLAN, most_reports=30) as intake:
        intake.add_stream([ROWS.tobytes()])
        assert sum(len(chunk) for chunk in intake.chunks()) == 30
    with Intake(PLAN, most_reports=29) as intake:
        with pytest.raises(ReportError, match="more than 29 reports came in; none of them counts"):
            intake.add_stream([ROWS.tobytes()])
        with pytest.raises(ReportError, match="nothing of this intake may count"):
            intake.chunks()


def test_after_a_file_that_is_not_whole_nothing_is_handed_on(tmp_path):
    path = written(tmp_path / "a", ROWS)
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with Intake(PLAN) as intake:
        intake.add_stream([ROWS.tobytes()])
        with pytest.raises(FileError, match="SHA-256"):
            intake.add_files([path])
        with pytest.raises(ReportError, match="nothing of this intake may count"):
            intake.chunks()


def same_rows(chunks, rows):
    return [row.tobytes() for chunk in chunks for row in chunk] == sorted(row.tobytes() for row in rows)


def test_a_shuffled_batch_counts_once_and_whole(tmp_path):
    plan = Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4)
    for name, rows in (("a", ROWS[:20]), ("b", ROWS[20:]), ("again", ROWS[:20])):
        with writing_reports(tmp_path / name, plan, ShuffledFile) as writer:
            writer.append(rows)
    batches = Batches([tmp_path / "a", tmp_path / "b"], plan)
    assert (batches.files, batches.messages) == (2, 30)
    assert same_rows(batches.chunks(), ROWS)
    with writing_reports(tmp_path / "more", plan, ShuffledFile) as writer:
        writer.append(ROWS[10:])
    overlapping = Batches([tmp_path / "a", tmp_path / "more"], plan)  # ten of them in both
    assert overlapping.messages == 40
    assert same_rows(overlapping.chunks(), ROWS)
    with pytest.raises(ReportError, match="given twice"):
        Batches([tmp_path / "a", tmp_path / "again"], plan)
    with pytest.raises(FileError, match="COTERIE-SHUFFLED"):
        Batches([written(tmp_path / "unmixed", ROWS, plan)], plan)
    (tmp_path / "b").write_bytes((tmp_path / "b").read_bytes()[:-1] + b"x")
    with pytest.raises(FileError, match="SHA-256"):
        Batches([tmp_path / "a", tmp_path / "b"], plan)
