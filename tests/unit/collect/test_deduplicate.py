"""What memory and disk a `Deduplicator` takes; which reports it keeps: tests/laws/test_each_id_once.py."""

import tracemalloc

import numpy as np
import pytest

from coterie.collect import Deduplicator, deduplicate
from coterie.errors import ReportError


def reports(*pairs):
    """Make rows from (id, contents) pairs; ids are the given bytes, filled up with zeros."""
    return np.frombuffer(
        b"".join(identity.ljust(12, b"\0") + bytes([contents]) for identity, contents in pairs),
        dtype=np.uint8,
    ).reshape(-1, 13)


def unique(rows, **options):
    with Deduplicator(13, **options) as deduplicator:
        deduplicator.add(rows)
        chunks = list(deduplicator.chunks())
    kept = np.concatenate(chunks) if chunks else np.zeros((0, 13), dtype=np.uint8)
    return kept, deduplicator.duplicates, deduplicator.conflicting


MIXED = reports((b"b", 7), (b"a", 1), (b"b", 7), (b"c", 9), (b"c", 3), (b"a", 1), (b"c", 9), (b"\xff", 0))


@pytest.mark.parametrize("memory_reports", [1, 2, 3, 8, 1000])
def test_each_id_once_and_the_smaller_contents(memory_reports, tmp_path):
    kept, duplicates, conflicting = unique(MIXED, memory_reports=memory_reports, folder=tmp_path)
    assert (kept == reports((b"a", 1), (b"b", 7), (b"c", 3), (b"\xff", 0))).all()
    assert (duplicates, conflicting) == (3, 1)  # b, a and c 9 came twice; c 9 against c 3
    assert list(tmp_path.iterdir()) == []


def test_one_report_many_times_stays_within_memory(tmp_path):
    rows = np.tile(reports((b"hostile", 5)), (1000, 1))
    kept, duplicates, conflicting = unique(rows, memory_reports=4, folder=tmp_path)
    assert (len(kept), duplicates, conflicting) == (1, 999, 0)


def test_no_reports_and_wider_reports():
    assert len(unique(np.zeros((0, 13), dtype=np.uint8))[0]) == 0
    wide = np.random.default_rng(0).integers(0, 256, size=(20, 40), dtype=np.uint8)
    with Deduplicator(40, memory_reports=5) as deduplicator:
        deduplicator.add(np.concatenate([wide, wide]).tobytes())
        kept = np.concatenate(list(deduplicator.chunks()))
    assert (kept == np.array(sorted(wide.tolist()))).all()
    assert deduplicator.duplicates == 20


@pytest.mark.parametrize("width", [13, 15, 16, 17, 24, 26])
def test_reports_of_any_width_come_in_the_order_of_their_bytes(width):
    rows = np.random.default_rng(width).integers(0, 2, size=(300, width), dtype=np.uint8)
    rows[:, :4] = 0  # they agree in much
    with Deduplicator(width) as deduplicator:
        deduplicator.add(rows)
        kept = np.concatenate(list(deduplicator.chunks()))
    smallest = {}
    for row in sorted(bytes(row) for row in rows.tolist()):
        smallest.setdefault(row[:12], row)
    assert [bytes(row) for row in kept.tolist()] == list(smallest.values())


def test_the_first_report_is_kept_whatever_its_bytes():
    for byte in (0, 255):
        kept, duplicates, conflicting = unique(np.full((1, 13), byte, dtype=np.uint8))
        assert (len(kept), duplicates, conflicting) == (1, 0, 0)


def test_memory_is_128_mib_unless_told_otherwise():
    assert deduplicate.MEMORY_BYTES == 128 << 20
    assert Deduplicator(13)._memory_reports == (128 << 20) // (8 * 13)
    assert Deduplicator(1 << 30)._memory_reports == 1  # at least one, whatever its width


def test_the_callers_buffer_may_be_reused():
    buffer = bytearray(MIXED.tobytes())
    with Deduplicator(13) as deduplicator:
        deduplicator.add(buffer)
        buffer[:] = bytes(len(buffer))
        assert sum(len(chunk) for chunk in deduplicator.chunks()) == 4


@pytest.mark.slow
def test_ids_that_begin_alike_do_not_fill_the_memory(tmp_path):
    """Somebody made 60,000 ids of one part: they are sorted in pieces, and these are merged."""
    rows = np.random.default_rng(2).integers(0, 256, size=(60_000, 13), dtype=np.uint8)
    rows[:, :6] = 9
    rows = np.concatenate([rows, rows[::3]])
    tracemalloc.start()
    try:
        with Deduplicator(13, memory_reports=2000, folder=tmp_path) as deduplicator:
            for piece in np.array_split(rows, 40):
                deduplicator.add(piece)
            sizes = [len(chunk) for chunk in deduplicator.chunks()]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (sum(sizes), deduplicator.duplicates) == (60_000, 20_000)
    assert peak < 1 << 20  # of 1 MB of reports, which took 8 MB to sort at once


def test_the_temporary_file_has_no_name_and_goes_when_something_fails(tmp_path):
    deduplicator = Deduplicator(13, memory_reports=2, folder=tmp_path)
    deduplicator.add(MIXED)
    assert list(tmp_path.iterdir()) == []
    file = deduplicator._file
    with pytest.raises(ReportError, match="no whole number"), deduplicator:
        deduplicator.add(bytes(1))
    assert file.closed


@pytest.mark.parametrize("call", ["pwrite", "preadv"])
def test_a_failing_disk_is_said_with_its_place(tmp_path, monkeypatch, call):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"coterie.collect.deduplicate.os.{call}", full)
    with pytest.raises(OSError, match="No space") as caught:
        unique(MIXED, memory_reports=2, folder=tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_memory_for_at_least_one_report():
    with pytest.raises(ValueError, match="at least 1"):
        Deduplicator(13, memory_reports=0)


@pytest.mark.slow
def test_memory_is_bounded_in_bytes_whatever_the_width(monkeypatch, tmp_path):
    """0.44 GB of reports of 11 kB took 2.4 GB when only their number was bounded."""
    budget = 4 << 20
    monkeypatch.setattr("coterie.collect.deduplicate.MEMORY_BYTES", budget)
    rows = np.random.default_rng(3).integers(0, 256, size=(200, 11_000), dtype=np.uint8)
    tracemalloc.start()
    try:
        with Deduplicator(11_000, folder=tmp_path) as deduplicator:
            for start in range(0, 2000, 20):
                deduplicator.add(rows[start % 200 :][:20])
            kept = sum(len(chunk) for chunk in deduplicator.chunks())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (kept, deduplicator.duplicates) == (200, 1800)
    assert peak < 2 * budget  # of 22 MB
