import dataclasses

import numpy as np
import pytest

from coterie.collect import take_in
from coterie.errors import FileError
from coterie.plan import Plan
from coterie.wire.report_file import write_reports

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
