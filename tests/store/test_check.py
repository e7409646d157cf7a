"""`coterie store check`: what is wrong is found, what was lost is said, and nothing goes on as if whole."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.collect.shuffler import gathered
from coterie.engines import engine
from coterie.errors import FileError, StoreError, StudyIncompleteError
from coterie.store import Lost, StudyState, open_store
from coterie.store.check import _check_yield, check_store
from coterie.store.state import read_checked, write_checked

from .conftest import found, ids, rows
from .crashes import MARKS
from .test_damage import copy_of_running_store, segment_of
from .test_store_laws import mix


@pytest.fixture
def folder(tmp_path, plan, other_plan):
    """Two plans; a segment with 3 and 2 reports of theirs, then one that grew: 1 and 0."""
    store = open_store(tmp_path / "running")
    for each in (plan, other_plan):
        store.put_plan(each)
    store.append([(plan.id, rows((1, 1), (2, 2)))])
    store.compact(plan.id)
    store.append([(plan.id, rows((3, 3), (4, 4)))])
    store.append([(plan.id, rows((5, 5))), (other_plan.id, rows((6, 6), (7, 7)))])
    store._log.complete()
    store.append([(plan.id, rows((8, 8)))])
    shutil.copytree(tmp_path / "running", tmp_path / "store")
    store.shut()
    return tmp_path / "store"


def command(*words):
    return CliRunner().invoke(app, ["store", "check", *map(str, words)])


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_a_whole_store_is_whole_and_unchanged(folder, plan, other_plan):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    checked = check_store(folder)
    assert (checked.findings, checked.plans, checked.cut) == ([], 2, 0)
    done = command(folder)
    assert (done.exit_code, "everything is whole" in done.stderr) == (0, True)
    assert json.loads(command(folder, "--json").stdout) == {
        "store": str(folder),
        "whole": True,
        "plans": 2,
        "files": checked.files,
        "cut_bytes": 0,
        "findings": [],
    }
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_every_damaged_file_is_found(folder, plan):
    with open_store(folder) as store:  # one of every kind
        store.withdraw(plan.id, ids(1))
        store.stage_batch(plan.id, mix)
        store.append([(plan.id, rows((9, 9)))])
        store.compact(plan.id)
        store.put_document(plan.id, "table", b"contents")
        store.invite(plan.id, MARKS[:1])
        store.append([(plan.id, rows((10, 1)))])
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "tail")
    assert len(files) >= 12
    generator = np.random.default_rng(5)
    for path in files:
        data = path.read_bytes()
        flip(path, generator.integers(len(data)))
        assert check_store(folder).findings, path
        if path.name not in ("table", "invitations"):
            path.unlink()
            assert command(folder).exit_code == 1, path
        path.write_bytes(data)
    assert check_store(folder).findings == []


def test_a_store_in_use_or_none_at_all_is_no_verdict(folder, tmp_path):
    with open_store(folder), pytest.raises(StoreError, match="open in another process"):
        check_store(folder)
    with pytest.raises(StoreError, match="holds no store"):
        check_store(tmp_path)


@pytest.mark.parametrize("damage", ["gone", "first frame", "header"])
def test_a_damaged_segment_is_mended_and_the_hole_is_in_the_study(folder, plan, other_plan, damage):
    path = sorted((folder / "log").iterdir())[0]
    if damage == "gone":
        path.unlink()
    else:
        flip(path, 70 if damage == "first frame" else 3)
    with pytest.raises(FileError, match="segment"):
        open_store(folder)
    lost = {plan.id: 3, other_plan.id: 2}
    if damage == "first frame":
        lost = {plan.id: 2}  # what is whole behind it is kept
    assert {each.plan_id: each.reports for each in check_store(folder).findings} == lost
    check_store(folder, mend=True)
    with open_store(folder) as store:
        for each in (plan, other_plan):
            study = store.study(each.id)
            if each.id not in lost:
                assert study.lost is None
                assert found(store, each) == [(6, 6), (7, 7)]
                continue
            assert study.lost == Lost(lost[each.id], 1, accepted=False)
            for call in (
                store.reports,
                store.messages,
                lambda plan_id: store.stage_batch(plan_id, mix),
                lambda plan_id: store.in_pieces(plan_id).__enter__(),
            ):
                with pytest.raises(StudyIncompleteError, match=f"{lost[each.id]} or more reports"):
                    call(each.id)
            assert store.append([(each.id, rows((11, 1)))]) == [None]  # it goes on taking reports in
            store.compact(each.id)
    with pytest.raises(StudyIncompleteError):
        engine("inline").count_store(folder, plan.id)
    assert {each.plan_id: each.reports for each in check_store(folder).findings} == lost
    done = command(folder, "--accept", plan.id)
    assert done.exit_code == (1 if other_plan.id in lost else 0)
    with open_store(folder) as store:
        assert store.study(plan.id).lost == Lost(lost[plan.id], 1, accepted=True)
        left = [(5, 5)] if damage == "first frame" else []
        assert found(store, plan) == [(1, 1), (2, 2), *left, (8, 8), (11, 1)]


def test_of_a_segment_that_grew_it_is_not_known_how_much_is_lost(tmp_path, plan):
    """Each study that can have had reports in it has a hole; one that is in its files by then has none."""
    killed, sizes = copy_of_running_store(tmp_path, plan)
    flip(segment_of(killed), sizes[1] + 30)
    assert [(each.plan_id, each.reports) for each in check_store(killed).findings] == [(plan.id, None)]
    done = command(killed, "--mend")
    assert done.exit_code == 1
    assert "does not go on until that is accepted" in done.stderr
    assert "0 reports" not in done.stderr
    with open_store(killed) as store:
        assert store.study(plan.id).lost == Lost(0, 1, accepted=False)
        assert store.study(plan.id).counts.received == 4
        store.accept_loss(plan.id)
        assert len(found(store, plan)) == 4
        store.close(plan.id)
    assert check_store(killed).findings == []


def test_a_second_hole_must_be_accepted_again(folder, plan, other_plan):
    sorted((folder / "log").iterdir())[0].unlink()
    assert command(folder, "--mend", "--accept", plan.id, "--accept", other_plan.id).exit_code == 0
    with open_store(folder) as store:
        store.append([(plan.id, rows((20, 1), (21, 1)))])
    sorted((folder / "log").iterdir())[-1].unlink()
    check_store(folder, mend=True)
    with open_store(folder) as store:
        assert store.study(plan.id).lost == Lost(5, 2, accepted=False)


def test_what_is_damaged_elsewhere_is_not_mended(folder, plan):
    (reports,) = folder.glob(f"studies/{plan.id}/reports-*")
    flip(reports, 80)
    check_store(folder, mend=True)
    assert [each.plan_id for each in check_store(folder).findings] == [plan.id]
    with open_store(folder) as store, pytest.raises(FileError, match="none of it may count"):
        found(store, plan)


def test_reports_of_a_study_that_is_gone_are_not_cut_out(folder, other_plan):
    state = folder / "studies" / other_plan.id / "state"
    data = state.read_bytes()
    state.unlink()
    assert check_store(folder, mend=True).findings[0].plan_id == other_plan.id
    state.write_bytes(data)
    with open_store(folder) as store:
        assert found(store, other_plan) == [(6, 6), (7, 7)]


def test_a_deleted_study_has_nothing_to_lose(folder, plan, other_plan):
    with open_store(folder) as store:
        store.close(plan.id)
        store.delete_reports(plan.id)
        store.append([(other_plan.id, rows((30, 1)))])
    sorted((folder / "log").iterdir())[-1].unlink()
    check_store(folder, mend=True)
    with open_store(folder) as store:
        assert store.study(plan.id).state is StudyState.DELETED
        assert store.study(plan.id).lost is None
        assert store.study(other_plan.id).lost == Lost(1, 1, accepted=False)


def test_a_database_is_checked_by_what_it_yields(database, plan):
    import psycopg

    with open_store(database) as store:
        store.put_plan(plan)
        store.append([(plan.id, rows((1, 1), (2, 2)))])
        store.compact(plan.id)
    assert (check_store(database).findings, command(database).exit_code) == ([], 0)
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE coterie.blocks SET body = substr(body, 14)")
    (finding,) = check_store(database).findings
    assert (finding.plan_id, "another number is said to count" in finding.words) == (plan.id, True)
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE coterie.blocks SET body = %s", [rows((2, 2), (1, 1)).tobytes()])
    assert "not in the order" in check_store(database).findings[0].words


def test_of_a_deleted_study_a_store_need_yield_nothing(folder, plan, other_plan):
    with open_store(folder) as store:
        store.close(plan.id)
        store.delete_reports(plan.id)
        found = _check_yield(store)
    assert (found.findings, found.plans, found.files) == ([], 2, 2)  # of the other: its reports, its batches


def test_a_mix_of_an_incomplete_study_is_not_released(folder, plan):
    sorted((folder / "log").iterdir())[0].unlink()
    check_store(folder, mend=True)
    with open_store(folder) as store, pytest.raises(StudyIncompleteError):
        store.stage_batch(plan.id, lambda chunks: gathered(plan, chunks).tobytes())


def test_a_state_older_than_its_files_is_refused(folder, plan):
    """The next compaction would write over what it reads."""
    path = folder / "studies" / plan.id / "state"
    state = json.loads(read_checked(path))
    assert state["generation"] >= 1
    assert state["reports"]
    write_checked(path, json.dumps({**state, "generation": 0}).encode())
    assert any("generation" in str(finding) for finding in check_store(folder).findings)
    with pytest.raises(FileError, match="generation"):
        open_store(folder)
