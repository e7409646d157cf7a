"""Damaged files of the embedded store are refused; only a tail that was never acknowledged is dropped."""

import shutil

import numpy as np
import pytest

from coterie.errors import CoterieError, FileError
from coterie.store import StoreError, open_store
from coterie.store.segments import Entry, SegmentWriter, read_segment, recover

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
    paths = [path.relative_to(folder) for path in files(folder)]
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
    assert refused > 0.95 * FLIPS  # the rest hit the mark that ends the last segment


def test_a_file_that_is_cut_lengthened_or_gone_is_refused(whole, tmp_path):
    folder, _ = whole
    for path in files(folder):
        for damage in ("cut", "longer", "gone"):
            copy = tmp_path / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            victim = copy / path.relative_to(folder)
            if damage == "gone":
                if path.suffix == ".segment" or path.name in ("invitations", "table"):
                    continue  # what nothing else names
                victim.unlink()
            else:
                data = path.read_bytes()
                victim.write_bytes(data[:-1] if damage == "cut" else data + b"\0")
            if damage == "cut" and path == max(folder.glob("log/*")):
                seen(copy)  # as after a crash: the mark of its end was being written
                continue
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


def test_a_store_of_another_version_is_refused(tmp_path):
    open_store(tmp_path / "store").shut()
    from coterie.store.state import write_checked

    write_checked(tmp_path / "store/store", b"coterie-store 3\n")
    with pytest.raises(FileError, match="another version"):
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


def test_a_torn_tail_is_cut_off_at_every_byte(tmp_path, plan):
    killed, sizes = copy_of_running_store(tmp_path, plan)
    segment = next((killed / "log").iterdir())
    data = segment.read_bytes()
    for size in range(sizes[1], sizes[2]):
        for tail in (b"", b"\0" * 7, b"\xff" * (sizes[2] - size)):
            segment.write_bytes(data[:size] + tail)
            with open_store(killed) as store:
                assert store.study(plan.id).counts.received == 4
                assert segment.stat().st_size == sizes[1]
            segment.write_bytes(data)
    with open_store(killed) as store:
        assert store.study(plan.id).counts.received == 6


def test_damage_before_a_whole_frame_is_no_torn_tail(tmp_path, plan):
    killed, sizes = copy_of_running_store(tmp_path, plan)
    segment = next((killed / "log").iterdir())
    data = segment.read_bytes()
    generator = np.random.default_rng(8)
    for place in generator.integers(0, sizes[1], 60):
        damaged = bytearray(data)
        damaged[place] ^= 1 << generator.integers(8)
        segment.write_bytes(damaged)
        with pytest.raises(FileError, match=r"damage|header"):
            open_store(killed)
    hole = data[: sizes[0]] + bytes(sizes[1] - sizes[0]) + data[sizes[1] :]
    segment.write_bytes(hole)
    with pytest.raises(FileError, match="damage: a whole one is at byte"):
        open_store(killed)
    segment.write_bytes(data)
    with open_store(killed) as store:
        assert len(found(store, plan)) == 6


def test_a_segment_that_was_never_begun_is_removed(tmp_path, plan):
    killed, _ = copy_of_running_store(tmp_path, plan)
    segment = next((killed / "log").iterdir())
    header = segment.read_bytes()[:44]
    for start in (b"", header[:20], bytes(44)):
        segment.write_bytes(start)
        with open_store(killed) as store:
            assert store.study(plan.id).counts.received == 0
        assert not any((killed / "log").iterdir())


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
        assert recover(tmp_path / str(number), number) is None
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
