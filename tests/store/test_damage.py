"""Damaged files of the embedded store are refused; only a tail that was never acknowledged is dropped."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import CoterieError, FileError
from coterie.plain.canonical import canonical_bytes
from coterie.store import StoreError, open_store
from coterie.store.check import check_store
from coterie.store.log import Log, _sealed_tail
from coterie.store.segments import REPORTS, Entry, SegmentWriter, extent, read_segment, write_segment
from coterie.store.state import write_checked

from .conftest import found, rows
from .crashes import MARKS, OTHER, PLAN, batch_bytes, numbered, seen

FLIPS = 150  # files damaged in one place


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with every kind of file, shut in order, and what it shows."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    with open_store(folder) as store:
        for plan in (PLAN, OTHER):
            store.put_plan(plan)
        store.append([(PLAN.id, numbered(9, 1, 2)), (OTHER.id, numbered(5))])
        store.withdraw(PLAN.id, numbered(2)[:, :12])
        store.stage_batch(OTHER.id, batch_bytes)
        store.compact(PLAN.id)
        store.invite(PLAN.id, MARKS[:1])
        store.put_document(PLAN.id, "table", b"contents")
    for number in (20, 30):
        with open_store(folder) as store:
            store.append([(PLAN.id, numbered(number)), (OTHER.id, numbered(number + 1))])
            store.append([(PLAN.id, numbered(number + 2))])
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    return folder, seen(copy)


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_one_wrong_bit_anywhere_is_refused_or_changes_nothing(whole, tmp_path):
    folder, shown = whole
    generator = np.random.default_rng(4)
    refused = 0
    paths = [path.relative_to(folder) for path in files(folder) if path.name != "tail"]  # nothing grows
    assert {path.suffix for path in paths} == {"", ".segment", ".coterie", ".released"}
    for number in range(FLIPS):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        path = copy / paths[number % len(paths)]
        data = bytearray(path.read_bytes())
        data[generator.integers(len(data))] ^= 1 << generator.integers(8)
        path.write_bytes(data)
        try:
            assert seen(copy) == shown
        except CoterieError:
            refused += 1
    assert refused == FLIPS


def test_a_file_that_is_cut_lengthened_or_gone_is_refused(whole, tmp_path):
    folder, _ = whole
    for path in files(folder):
        if path.name == "tail":
            continue
        for damage in ("cut", "longer", "gone"):
            copy = tmp_path / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            victim = copy / path.relative_to(folder)
            if damage == "gone":
                if path.name in ("invitations", "table"):
                    continue  # what nothing else names
                victim.unlink()
            else:
                data = path.read_bytes()
                victim.write_bytes(data[:-1] if damage == "cut" else data + b"\0")
            with pytest.raises((CoterieError, FileNotFoundError)):
                seen(copy)


def test_foreign_files_are_refused(whole, tmp_path):
    folder, _ = whole
    for name in ("log/notes.txt", "studies/notes.txt"):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        (copy / name).write_text("hello")
        with pytest.raises(FileError, match="something else"):
            open_store(copy)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.txt").write_text("hello")
    with pytest.raises(StoreError, match="no store and not empty"):
        open_store(tmp_path / "home")


def test_a_whole_segment_with_other_reports_than_the_list_says_is_refused(tmp_path, plan):
    folder = tmp_path / "store"
    with open_store(folder) as store:
        store.put_plan(plan)
        for number in range(2):
            store.append([(plan.id, rows((number, 1)))])
    (path,) = (folder / "log").iterdir()
    first, *_ = [Entry(*entry[:2], bytes(entry.body)) for entry in read_segment(path, 1)]
    write_segment(path, 1, [first])
    with pytest.raises(FileError, match="another number of reports"):
        open_store(folder)
    assert "another number of reports" in check_store(folder).findings[0].words


@pytest.mark.parametrize("wrong", [[], [1], "all", 7, {"a plan": 1}, {PLAN.id: -1}])
def test_a_list_of_segments_with_another_form_is_refused_by_name(tmp_path, wrong):
    open_store(tmp_path / "store").shut()
    listed = {"format": "coterie-segments", "version": 1, "cut": 0}
    segments = [{"number": 1, "reports": wrong}]
    write_checked(tmp_path / "store/segments", canonical_bytes({**listed, "segments": segments}))
    with pytest.raises(FileError, match="expected the list of segments, version 1"):
        open_store(tmp_path / "store")


def test_a_store_of_another_version_is_refused(tmp_path):
    open_store(tmp_path / "store").shut()
    write_checked(tmp_path / "store/store", b"coterie-store 3\n")
    with pytest.raises(StoreError, match="version 3 of the store, this program reads 2"):
        open_store(tmp_path / "store")


def copy_of_running_store(folder, plan):
    """A store that is killed after three commits; return the folder as it lies there, and the sizes."""
    store = open_store(folder / "running")
    store.put_plan(plan)
    sizes = []
    for number in range(3):
        store.append([(plan.id, rows((number, 1), (10 + number, 1)))])
        sizes.append(next((folder / "running/log").iterdir()).stat().st_size)
    shutil.copytree(folder / "running", folder / "killed")
    store.shut()
    return folder / "killed", sizes


def acknowledged(folder, size):
    """Let the log be acknowledged up to a byte only: what came later was being written, or power was lost."""
    (folder / "tail").write_bytes(_sealed_tail(1, size))


@pytest.fixture
def killed(tmp_path, plan):
    """A store as it lay when it was killed: `killed()` is a fresh copy, `sizes` those of three commits."""
    folder, sizes = copy_of_running_store(tmp_path, plan)

    def fresh():
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return Path(shutil.copytree(folder, tmp_path / "copy"))

    fresh.sizes = sizes
    return fresh


def segment_of(folder):
    (path,) = (folder / "log").iterdir()
    return path


def test_a_torn_tail_is_cut_off_at_every_byte_counted_and_said(killed, plan, caplog):
    data, (_, whole, end) = segment_of(killed()).read_bytes(), killed.sizes
    for size in range(whole, end, 9):
        for more in (b"", b"\0" * 7, b"\xff" * (end - size)):
            folder = killed()
            segment_of(folder).write_bytes(data[:size] + more)
            acknowledged(folder, whole)
            torn = size + len(more) - whole
            assert check_store(folder).findings == []
            caplog.clear()
            with open_store(folder) as store:
                assert segment_of(folder).stat().st_size == whole
                assert store.study(plan.id).counts.received == 4
                assert len(found(store, plan)) == 4
            assert check_store(folder).cut == torn
            assert (f"cut {torn} bytes off its end" in caplog.text) == (torn > 0)


def test_after_a_loss_of_power_whole_frames_beyond_an_old_tail_count(killed, plan):
    for size in (0, killed.sizes[0], killed.sizes[1]):
        folder = killed()
        acknowledged(folder, size)
        with open_store(folder) as store:
            assert store.study(plan.id).counts.received == 6


def test_what_was_acknowledged_is_never_cut_off(killed, plan):
    """Every byte of the last frame flipped, or the end cut anywhere: refused, and found by a check."""
    data, (_, whole, end) = segment_of(killed()).read_bytes(), killed.sizes
    generator = np.random.default_rng(3)
    folder = killed()
    for place in range(whole, end):
        bad = bytearray(data)
        bad[place] ^= 1 << generator.integers(8)
        for damaged in (bytes(bad), data[:place]):
            segment_of(folder).write_bytes(damaged)
            with pytest.raises(FileError, match=f"acknowledged to byte {end}"):
                open_store(folder)
    (finding,) = check_store(folder).findings
    assert (finding.plan_id, finding.reports) == (plan.id, None)
    segment_of(folder).write_bytes(data)
    with open_store(folder) as store:
        assert store.study(plan.id).counts.received == 6


@pytest.mark.parametrize("damage", ["gone", "flipped", "short"])
def test_without_its_tail_a_log_that_grew_is_refused(killed, damage):
    folder = killed()
    tail = (folder / "tail").read_bytes()
    (folder / "tail").unlink()
    if damage != "gone":
        (folder / "tail").write_bytes(tail[:-1] if damage == "short" else tail[:-1] + bytes([tail[-1] ^ 1]))
    with pytest.raises(FileError, match="up to where the log was acknowledged"):
        open_store(folder)
    assert check_store(folder).findings


def test_damage_before_a_whole_frame_is_no_torn_tail(killed, plan):
    data, (first, whole, _) = segment_of(killed()).read_bytes(), killed.sizes
    generator = np.random.default_rng(8)
    folder = killed()
    acknowledged(folder, 0)
    for place in generator.integers(0, whole, 60):
        damaged = bytearray(data)
        damaged[place] ^= 1 << generator.integers(8)
        segment_of(folder).write_bytes(damaged)
        with pytest.raises(FileError, match=r"damage|header"):
            open_store(folder)
    segment_of(folder).write_bytes(data[:first] + bytes(whole - first) + data[whole:])
    with pytest.raises(FileError, match="damage: a whole one is at byte"):
        open_store(folder)
    segment_of(folder).write_bytes(data)
    with open_store(folder) as store:
        assert len(found(store, plan)) == 6


def test_a_segment_that_is_gone_is_noticed_and_so_is_one_too_many(whole, tmp_path):
    folder, shown = whole
    for path in sorted((folder / "log").iterdir()):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        (copy / "log" / path.name).unlink()
        with pytest.raises(FileError, match=r"a segment with .* reports of plan .*found no file: restore"):
            open_store(copy)
        lost = {finding.plan_id: finding.reports for finding in check_store(copy).findings}
        assert lost == {PLAN.id: 2, OTHER.id: 1}
        shutil.copy(path, copy / "log")
        shutil.copy(path, copy / "log" / "00000099.segment")
        with pytest.raises(FileError, match="segment 99, as its name says"):
            open_store(copy)
        write_segment(copy / "log" / "00000099.segment", 99, read_segment(path, int(path.stem)))
        with pytest.raises(FileError, match="one too many"):
            open_store(copy)
        assert "one too many" in check_store(copy).findings[0].words
        (copy / "log" / "00000099.segment").unlink()
        assert seen(copy) == shown


def test_a_segment_that_was_never_begun_is_removed(killed, plan):
    """It was made, and the list was not written yet: nothing can have been taken in with it."""
    header = segment_of(killed()).read_bytes()[:44]
    for start in (b"", header[:20], bytes(44)):
        folder = killed()
        (folder / "log" / "00000002.segment").write_bytes(start)
        with open_store(folder) as store:
            assert store.study(plan.id).counts.received == 6
            assert len(list((folder / "log").iterdir())) == 1


def test_reports_that_look_like_a_frame_are_reports(tmp_path):
    """Whoever knew the marker could make a torn tail look like damage; it is drawn for every segment."""
    markers = set()
    for number in range(3):
        writer = SegmentWriter(tmp_path / str(number), number)
        body = bytes(range(256)) * 3
        writer.append([Entry(1, bytes(32), body)])
        writer.seal()
        markers.add((tmp_path / str(number)).read_bytes()[32:40])
        (entry,) = read_segment(tmp_path / str(number), number)
        assert bytes(entry.body) == body
        size = (tmp_path / str(number)).stat().st_size
        assert extent(tmp_path / str(number), number, size) == (size, True)
        assert (tmp_path / str(number)).stat().st_mtime == 0
    assert len(markers) == 3


def test_nothing_of_a_plan_is_left_in_the_segments_once_it_is_compacted(tmp_path, plan, other_plan):
    secret = bytes.fromhex("5ec2e7" * 4) + b"\1"
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        store.put_plan(other_plan)
        report = np.frombuffer(secret, dtype=np.uint8).reshape(1, 13)
        store.append([(other_plan.id, rows((1, 1))), (plan.id, report), (other_plan.id, rows((2, 1)))])
        log = tmp_path / "store/log"
        assert any(secret in path.read_bytes() for path in log.iterdir())
        store.compact(plan.id)
        assert not any(secret in path.read_bytes() for path in log.iterdir())
        assert len(found(store, other_plan)) == 2
        assert not any(log.iterdir())
        assert not any((tmp_path / "store/work").iterdir())


def test_a_completed_segment_that_the_list_forgot_is_removed_if_nothing_needs_it(tmp_path):
    plan_id = bytes(32)
    path = tmp_path / "00000005.segment"
    write_segment(path, 5, [Entry(REPORTS, plan_id, b"a report")])
    with pytest.raises(FileError, match="one too many"):
        Log._remove_stray(path, 5, {plan_id.hex(): 4}, looking=False)
    Log._remove_stray(path, 5, {plan_id.hex(): 5}, looking=False)
    assert not path.exists()
