"""Files cut by id: each id once, with the counts and the table that one core gives."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.collect import Deduplicator, kernels_numba, kernels_numpy, take_in
from coterie.collect.partitions import Partitions
from coterie.engines import engine
from coterie.engines.parallel import Parallel
from coterie.errors import FileError, ReportError
from coterie.plan import Plan
from coterie.wire.forms import report_form
from coterie.wire.report_file import HEADER, write_reports

PLAN = Plan.design(3, 2, 1.0, 1000)
PADDED = Plan.design(3, 2, 1.0, 1000, protocol="net-tree", levels=2)  # has bits that nobody sets
WIDTH = PLAN.report_width
KERNELS = [kernels_numpy, kernels_numba]

# Ids of few values, so that they repeat, begin alike and differ in their last bytes only.
_byte = st.sampled_from([0, 1, 255])
_reports = st.lists(st.builds(lambda *b: bytes([*b[:2], *[0] * 9, *b[2:]]), *[_byte] * 4), max_size=60)


def as_rows(reports):
    return np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(-1, WIDTH)


def sorted_bytes(rows):
    return sorted(row.tobytes() for row in rows)


def drawn(count, seed=0, repeated=0.3, conflicting=0.1):
    """Reports of which some repeat others, and some share another's id only."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(256, size=(count, WIDTH), dtype=np.uint8)
    again = rows[rng.integers(count, size=int(repeated * count))]
    odd = rows[rng.integers(count, size=int(conflicting * count))].copy()
    odd[:, -1] = rng.integers(256, size=len(odd))
    return rng.permutation(np.concatenate([rows, again, odd]))


@pytest.mark.parametrize("kernels", KERNELS)
@given(reports=_reports)
def test_each_id_is_kept_once_with_its_smallest_report(kernels, reports):
    rows = as_rows(reports)
    found = kernels.each_once(rows)
    smallest = {}
    for report in sorted(reports):
        smallest.setdefault(report[:12], report)
    assert sorted_bytes(found.rows) == sorted(smallest.values())
    assert found.duplicates == len(reports) - len(set(reports))
    assert found.conflicting == len(set(reports)) - len(smallest)


@pytest.mark.parametrize("kernels", KERNELS)
@given(reports=_reports, bits=st.integers(0, 16))
def test_parts_hold_the_ids_that_begin_alike(kernels, reports, bits):
    rows = as_rows(reports)
    out = np.empty_like(rows)
    starts = kernels.split(rows, bits, out)
    assert sorted_bytes(out) == sorted(reports)
    assert len(starts) == 2**bits + 1
    for part, (start, stop) in enumerate(itertools.pairwise(starts)):
        for row in out[start:stop]:
            assert int.from_bytes(row[:2].tobytes(), "big") >> (16 - bits) == part


def written(folder, rows, files=3, plan=PLAN):
    paths = []
    for number, piece in enumerate(np.array_split(rows, files)):
        paths.append(folder / f"{number}.coterie")
        write_reports(paths[-1], plan, np.ascontiguousarray(piece))
    return paths


@pytest.mark.parametrize("part_reports", [50, 1 << 20])
def test_parts_give_what_one_intake_gives(tmp_path, monkeypatch, part_reports):
    monkeypatch.setattr("coterie.collect.partitions.STRETCH_BYTES", 100 * WIDTH)
    paths = written(tmp_path, drawn(3000))
    with take_in(paths, PLAN) as intake:
        expected = np.concatenate([*intake.chunks()])
    with Partitions(PLAN, workers=3, part_reports=part_reports) as partitions:
        partitions.add_files(paths)
        assert (len(partitions.parts) > 1) == (part_reports == 50)
        parts = [rows for part in partitions.parts for rows in partitions.reports_of(part)]
    assert sorted_bytes(np.concatenate(parts)) == sorted_bytes(expected)
    assert partitions.counts == intake.counts
    assert intake.counts.duplicates > 0
    assert intake.counts.conflicting > 0


def test_reports_that_nobody_can_have_sent_are_left_out_and_named(tmp_path):
    rows = drawn(2000)
    rows[::9, -1] &= 0xF0
    assert PADDED.report_width == WIDTH
    paths = written(tmp_path, rows, plan=PADDED)
    inline, parallel = (engine(name).count(PADDED, paths) for name in ("inline", "parallel"))
    assert parallel.table == inline.table
    assert parallel.counts.malformed == inline.counts.malformed > 0
    assert parallel.counts.skipped[0].places == inline.counts.skipped[0].places


@pytest.mark.parametrize(
    "options",
    [{}, {"protocol": "net-tree", "levels": 2}, {"protocol": "lsh-tree"}, {"ids": "token"}],
    ids=["codeword", "net-tree", "lsh-tree", "token"],
)
def test_all_cores_give_the_same_bits_as_one(tmp_path, monkeypatch, options):
    monkeypatch.setattr("coterie.collect.partitions.PART_REPORTS", 10)
    plan = Plan.design(3, 2, 1.0, 1000, **options)
    rows = np.random.default_rng(1).integers(256, size=(4000, plan.report_width), dtype=np.uint8)
    rows = rows[~report_form(plan).foreign(rows)]
    assert len(rows) > 50
    paths = written(tmp_path, np.concatenate([rows, rows[::7]]), plan=plan)
    seen = []
    found = Parallel(workers=3).count(plan, paths, seen.append)
    assert found.table.to_bytes() == engine("inline").count(plan, paths).table.to_bytes()
    assert sum(seen) == found.table.count


def test_ids_that_begin_alike_do_not_fill_the_memory(tmp_path, monkeypatch):
    """Somebody made 6,000 ids of one part, which should have 500."""
    rows = drawn(6000)
    rows[:, :4] = 9
    paths = written(tmp_path, rows)
    held = []
    add = Deduplicator.add
    monkeypatch.setattr(Deduplicator, "add", lambda self, piece: (held.append(len(piece)), add(self, piece)))
    with Partitions(PLAN, part_reports=500) as partitions:
        partitions.add_files(paths)
        parts = [rows for part in partitions.parts for rows in partitions.reports_of(part)]
    assert max(held) <= 500
    with take_in(paths, PLAN) as intake:
        assert sorted_bytes(np.concatenate(parts)) == sorted_bytes(np.concatenate([*intake.chunks()]))
    assert partitions.counts == intake.counts


@pytest.mark.parametrize("place", [HEADER.size + 5, -1])
def test_a_damaged_file_counts_not_at_all(tmp_path, place):
    paths = written(tmp_path, drawn(2000))
    data = bytearray(paths[1].read_bytes())
    data[place] ^= 1
    paths[1].write_bytes(data)
    with Partitions(PLAN) as partitions, pytest.raises(FileError, match="SHA-256 of everything before it"):
        partitions.add_files(paths)
    with pytest.raises(FileError, match="none of it may count"):
        engine("parallel").count(PLAN, paths)


def test_files_are_added_once(tmp_path):
    paths = written(tmp_path, drawn(100))
    with Partitions(PLAN) as partitions:
        partitions.add_files(paths)
        with pytest.raises(ReportError, match="have their files already"):
            partitions.add_files(paths)


def test_a_full_disk_is_said_with_its_place(tmp_path, monkeypatch):
    paths = written(tmp_path, drawn(100))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("coterie.collect.partitions.os.pwrite", full)
    with Partitions(PLAN, folder=tmp_path) as partitions, pytest.raises(OSError, match="No space") as caught:
        partitions.add_files(paths)
    assert caught.value.filename == str(tmp_path)


def test_threads_that_share_the_cores_start_no_more(tmp_path, monkeypatch):
    paths = written(tmp_path, drawn(200_000, repeated=0, conflicting=0), files=1)
    most = []
    start = threading.Thread.start

    def started(self):
        start(self)
        most.append(threading.active_count())

    monkeypatch.setattr(threading.Thread, "start", started)
    before = threading.active_count()
    monkeypatch.setattr("coterie.collect.partitions.PART_REPORTS", 20_000)
    Parallel(workers=2).count(PLAN, paths)
    assert max(most) - before <= 4  # two that sort, then two that count; their pool may not be gone yet
