import hashlib
import os
import struct

import numpy as np
import pytest

from coterie import Client, write_reports
from coterie.errors import FileError, PlanError, ReportError
from coterie.plan import Plan
from coterie.wire.report_file import CHUNK_BYTES, HEADER, MAGIC, ReportFile, writing_reports

PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
OTHER = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=101)
ROWS = np.random.default_rng(0).integers(0, 256, size=(10, 13), dtype=np.uint8)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "reports.coterie"
    with writing_reports(path, PLAN) as writer:
        writer.append(ROWS[:4])
        writer.append(ROWS[4:].tobytes())
    return path


def signed(body):
    return body + hashlib.sha256(body).digest()


def test_the_bytes_are_those_of_the_wire_format(path):
    header = b"COTERIE-REPORTS\n" + struct.pack(">HHIQ", 1, 13, 0, 10) + PLAN.id_bytes
    assert path.read_bytes() == signed(header + ROWS.tobytes())


def test_numpy_reads_the_reports_in_place(path):
    in_place = np.frombuffer(path.read_bytes(), dtype=np.uint8, offset=64, count=130).reshape(10, 13)
    assert (in_place == ROWS).all()


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_chunks_hold_every_report_once_in_order(path, size):
    chunks = list(ReportFile.open(path, PLAN).chunks(size))
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    assert (np.concatenate(chunks) == ROWS).all()


def test_read_all(path):
    file = ReportFile.open(path)
    assert (file.count, file.width, file.plan_id) == (10, 13, PLAN.id_bytes)
    assert (file.read_all() == ROWS).all()
    file.verify()


def test_an_empty_file_of_reports(tmp_path):
    with writing_reports(tmp_path / "none", PLAN):
        pass
    file = ReportFile.open(tmp_path / "none", PLAN)
    assert (file.count, list(file.chunks()), file.read_all().shape) == (0, [], (0, 13))


def test_nothing_appears_before_the_end_or_after_an_error(tmp_path):
    target = tmp_path / "reports"
    with writing_reports(target, PLAN) as writer:
        writer.append(ROWS)
        assert not target.exists()
    before = target.read_bytes()
    again = writing_reports(target, PLAN, overwrite=True)
    with pytest.raises(ReportError, match="no whole number"), again as writer:
        writer.append(bytes(13) + bytes(14))
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(("overwrite", "step"), [(False, "link"), (True, "replace")])
def test_the_file_is_flushed_before_it_gets_its_name(tmp_path, monkeypatch, overwrite, step):
    events = []
    flush, link, replace = os.fsync, os.link, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (events.append("fsync"), flush(handle)))
    monkeypatch.setattr(os, "link", lambda *names: (events.append("link"), link(*names)))
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("replace"), replace(*names)))
    with writing_reports(tmp_path / "reports", PLAN, overwrite=overwrite) as writer:
        writer.append(ROWS)
    assert events == ["fsync", step, "fsync"]


def changed(data, offset, new):
    return data[:offset] + new + data[offset + len(new) :]


@pytest.mark.parametrize(
    ("change", "offset", "expected"),
    [
        (lambda data: b"", 0, "a header of 64 bytes"),
        (lambda data: data[:10], 10, "a header of 64 bytes"),
        (lambda data: data[:63], 63, "a header of 64 bytes"),
        (lambda data: b"PK" + data, 0, "the start of a report file"),
        (lambda data: changed(data, 16, b"\0\2"), 16, "version 1, found version 2"),
        (lambda data: changed(data, 18, b"\0\0"), 18, "report width of 13, found 0"),
        (lambda data: changed(data, 18, b"\0\16"), 18, "report width of 13, found 14"),
        (lambda data: changed(data, 20, b"\0\0\0\1"), 20, "four zero bytes"),
        (lambda data: changed(data, 24, b"\xff" * 8), 226, "bytes in all"),
        (lambda data: data[:-1], 225, "226 bytes in all .10 reports of 13 bytes., found 225"),
        (lambda data: data[:64], 64, "226 bytes in all"),
        (lambda data: data + b"\0", 226, "226 bytes in all"),
        (lambda data: changed(data, 32, OTHER.id_bytes), 32, f"reports of plan {PLAN.id}"),
    ],
)
def test_a_wrong_header_or_length_is_refused_at_once(path, change, offset, expected):
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FileError, match=expected) as caught:
        ReportFile.open(path, PLAN)
    assert (caught.value.path, caught.value.offset) == (str(path), offset)


def test_without_a_plan_any_plan_will_do(path):
    assert ReportFile.open(path).plan_id == PLAN.id_bytes
    path.write_bytes(changed(path.read_bytes(), 18, b"\0\0"))
    with pytest.raises(FileError, match="report width of 1 or more"):
        ReportFile.open(path)


def test_every_flipped_bit_is_noticed(path):
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(changed(good, place, bytes([good[place] ^ (1 << place % 8)])))
        with pytest.raises(FileError, match="expected"):
            ReportFile.open(path, PLAN).verify()
        with pytest.raises(FileError, match="expected"):
            ReportFile.open(path, PLAN).read_all()


def test_a_changed_report_names_the_digest(path):
    path.write_bytes(changed(path.read_bytes(), 64, b"\1\2\3"))
    with pytest.raises(FileError, match="byte 194: expected the SHA-256 of everything before it"):
        ReportFile.open(path, PLAN).read_all()


def test_a_file_exchanged_after_opening_is_refused(path):
    file = ReportFile.open(path, PLAN)
    good = path.read_bytes()
    path.write_bytes(signed(changed(good[:-32], 32, OTHER.id_bytes)))
    with pytest.raises(FileError, match="another file in its place"):
        next(file.chunks())
    path.write_bytes(good[:70])
    with pytest.raises(FileError, match="byte 70: expected 124 more bytes, found the end of the file"):
        file.read_all()


def test_chunks_are_small_however_wide_a_foreign_file_says_its_reports_are(tmp_path):
    wide, count = 65_535, 100
    header = HEADER.pack(MAGIC, 1, wide, 0, count, bytes(32))
    (tmp_path / "wide").write_bytes(signed(header + bytes(wide * count)))
    sizes = [chunk.nbytes for chunk in ReportFile.open(tmp_path / "wide").chunks()]
    assert sum(sizes) == wide * count
    assert max(sizes) <= CHUNK_BYTES


def test_a_chunk_has_at_least_one_report(path):
    with pytest.raises(ValueError, match="at least 1"):
        next(ReportFile.open(path).chunks(0))


def test_reports_of_devices_are_written_as_they_came(tmp_path):
    received = [Client(PLAN).encode(np.zeros(PLAN.dimension)) for _ in range(3)]
    for number, given in enumerate((received, iter(received), b"".join(received), tuple(received))):
        path = tmp_path / str(number)
        assert write_reports(path, PLAN, given) == 3
        assert ReportFile.open(path, PLAN).read_all().tobytes() == b"".join(received)


def test_one_wrong_report_of_many_leaves_no_file(tmp_path):
    good = bytes(PLAN.report_width)
    with pytest.raises(ReportError, match="item 1 of the reports: reports of this plan have"):
        write_reports(tmp_path / "reports", PLAN, [good, good[1:], good + b"1"])  # 3 whole ones when joined
    with pytest.raises(ReportError, match=r"item 0 of the reports: .*got str"):
        write_reports(tmp_path / "reports", PLAN, "a text of thirteen")
    with pytest.raises(PlanError, match="needs a Plan, got str"):
        write_reports(tmp_path / "reports", "plan.json", [good])
    assert list(tmp_path.iterdir()) == []
