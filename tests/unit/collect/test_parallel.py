"""Files read by several threads: the counts and the table that one core gives."""

import threading

import numpy as np
import pytest

from coterie.collect import intake, take_in
from coterie.engines import Parallel, engine
from coterie.errors import FileError
from coterie.plan import Plan
from coterie.wire.forms import report_form
from coterie.wire.report_file import HEADER, write_reports

PLAN = Plan.design(3, 2, 1.0, 1000)
PADDED = Plan.design(3, 2, 1.0, 1000, protocol="net-tree", levels=2)  # has bits that nobody sets
WIDTH = PLAN.report_width


def drawn(count, seed=0, repeated=0.3, conflicting=0.1):
    """Reports of which some repeat others, and some share another's id only."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(256, size=(count, WIDTH), dtype=np.uint8)
    again = rows[rng.integers(count, size=int(repeated * count))]
    odd = rows[rng.integers(count, size=int(conflicting * count))].copy()
    odd[:, -1] = rng.integers(256, size=len(odd))
    return rng.permutation(np.concatenate([rows, again, odd]))


def written(folder, rows, files=3, plan=PLAN):
    paths = []
    for number, piece in enumerate(np.array_split(rows, files)):
        paths.append(folder / f"{number}.coterie")
        write_reports(paths[-1], plan, np.ascontiguousarray(piece))
    return paths


@pytest.fixture
def small_parts(monkeypatch):
    """Stretches of 100 reports, parts of 10."""
    monkeypatch.setattr(intake, "STRETCH_BYTES", 100 * WIDTH)
    monkeypatch.setattr("coterie.collect.deduplicate.PART_REPORTS", 10)


def test_threads_give_what_one_gives(tmp_path, small_parts):
    paths = written(tmp_path, drawn(3000))
    kept, counts = [], []
    for workers in (1, 3):
        with take_in(paths, PLAN, workers=workers) as taken:
            reports = taken.once()
            kept.append(np.concatenate([rows for part in reports.parts for rows in reports.reports_of(part)]))
        counts.append(taken.counts)
    assert (kept[0] == kept[1]).all()
    assert counts[0] == counts[1]
    assert counts[0].duplicates > 0
    assert counts[0].conflicting > 0


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
    [{}, {"protocol": "net-tree", "levels": 2}, {"ids": "token"}],
    ids=["codeword", "net-tree", "token"],
)
def test_all_cores_give_the_same_bits_as_one(tmp_path, small_parts, options):
    plan = Plan.design(3, 2, 1.0, 1000, **options)
    rows = np.random.default_rng(1).integers(256, size=(4000, plan.report_width), dtype=np.uint8)
    rows = rows[~report_form(plan).foreign(rows)]
    assert len(rows) > 50
    paths = written(tmp_path, np.concatenate([rows, rows[::7]]), plan=plan)
    seen = []
    found = Parallel(workers=3).count(plan, paths, seen.append)
    assert found.table.to_bytes() == engine("inline").count(plan, paths).table.to_bytes()
    assert sum(seen) == found.table.count


@pytest.mark.parametrize("place", [HEADER.size + 5, -1])
def test_a_damaged_file_counts_not_at_all(tmp_path, place):
    paths = written(tmp_path, drawn(2000))
    data = bytearray(paths[1].read_bytes())
    data[place] ^= 1
    paths[1].write_bytes(data)
    with pytest.raises(FileError, match="none of it may count"):
        engine("parallel").count(PLAN, paths)


def test_a_file_of_no_reports_is_read_to_its_end(tmp_path):
    paths = written(tmp_path, drawn(0), files=1)
    assert engine("parallel").count(PLAN, paths).table.count == 0
    paths[0].write_bytes(paths[0].read_bytes()[:-1] + b"x")
    with pytest.raises(FileError, match="none of it may count"):
        engine("parallel").count(PLAN, paths)


def test_threads_that_share_the_cores_start_no_more(tmp_path, monkeypatch):
    paths = written(tmp_path, drawn(200_000, repeated=0, conflicting=0), files=1)
    most = []
    start = threading.Thread.start

    def started(self):
        start(self)
        most.append(threading.active_count())

    monkeypatch.setattr(threading.Thread, "start", started)
    before = threading.active_count()
    monkeypatch.setattr("coterie.collect.deduplicate.PART_REPORTS", 20_000)
    Parallel(workers=2).count(PLAN, paths)
    assert max(most) - before <= 4  # two that sort, then two that count; their pool may not be gone yet
