"""Processes die at any moment, disks fill up, databases restart: what was acknowledged is there, once."""

import errno
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.collect import take_in
from coterie.store import (
    Batch,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StudyClosedError,
    open_store,
)
from coterie.store import segments as segments_module
from coterie.store.study_folder import StudyFolder
from coterie.store.study_rows import TAKING_LOCK
from coterie.wire.report_file import write_reports

from .conftest import found, rows
from .crashes import OPERATIONS, batch_bytes

ROOT = Path(__file__).parents[2]
SIZE = 500  # reports in a batch of the writers


def crashes(*words):
    """Run the script beside this file; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.crashes", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("operation", [*sorted(OPERATIONS), "create"])
def test_a_crash_between_any_two_file_operations_leaves_all_or_nothing(operation, tmp_path):
    assert crashes("steps", operation, tmp_path, "torn")["steps"] >= 1


# ---------------------------------------------------------------- killed writers


@pytest.fixture
def study(tmp_path, plan):
    """Arguments for writers, and the reports: `study(count)`."""

    def make(count):
        reports = np.random.default_rng(count).integers(0, 256, (count, 13), dtype=np.uint8)
        reports[:, 12] &= 1
        np.save(tmp_path / "reports.npy", reports)
        plan.save(tmp_path / "plan.json")
        return [tmp_path / "plan.json", tmp_path / "reports.npy"], reports

    return make


def check_table(address, plan, reports, folder):
    """The store holds each report once, and makes the table that a file of them makes, bit for bit."""
    write_reports(folder / "file.coterie", plan, reports)
    from_file, from_store = Aggregate(plan), Aggregate(plan)
    with take_in([folder / "file.coterie"], plan) as intake:
        for chunk in intake.chunks():
            from_file.add(chunk)
    with open_store(address) as store:
        for chunk in store.reports(plan.id):
            from_store.add(chunk)
        assert store.study(plan.id).counts.conflicting == 0
    assert from_store.count == len(reports)
    assert from_store.to_bytes() == from_file.to_bytes()


def killed_writers(address, plan, study, folder, *, count, kills, writers, seed=1):
    arguments, reports = study(count)
    with open_store(address) as store:
        store.put_plan(plan)
    done = crashes("writers", address, *arguments, SIZE, kills, writers, seed, "")
    assert done["killed"] >= kills
    check_table(address, plan, reports, folder)


def test_nothing_acknowledged_is_lost_or_counted_twice_when_writers_are_killed(tmp_path, plan, study):
    killed_writers(tmp_path / "store", plan, study, tmp_path, count=200_000, kills=20, writers=1)


def test_two_servers_on_one_database_are_killed(database, tmp_path, plan, study):
    killed_writers(database, plan, study, tmp_path, count=200_000, kills=20, writers=2)


@pytest.mark.nightly
def test_many_writers_are_killed(address, tmp_path, plan, study):
    writers = 1 if isinstance(address, Path) else 3
    killed_writers(address, plan, study, tmp_path, count=2_000_000, kills=150, writers=writers, seed=7)


def test_every_report_leaves_in_one_batch_though_shufflers_are_killed(address, tmp_path, plan, study):
    arguments, reports = study(40_000)
    delivered = tmp_path / "delivered"
    delivered.mkdir()
    with open_store(address) as store:
        store.put_plan(plan)
    writers = 1 if isinstance(address, Path) else 2
    crashes("writers", address, *arguments, 100, 12, writers, 3, delivered)
    released = []
    for path in delivered.iterdir():
        data = path.read_bytes() if path.name[0] != "." else b"BATCH"
        assert data.startswith(batch_bytes([]))
        released.append(np.frombuffer(data[5:], dtype=np.uint8).reshape(-1, 13))
    with open_store(address) as store:
        rest = list(store.reports(plan.id))
        assert store.study(plan.id).counts.released == sum(map(len, released))
    everything = np.concatenate([*released, *rest]).view("V13")[:, 0]
    assert sorted(everything.tolist()) == sorted(reports.view("V13")[:, 0].tolist())
    assert sum(len(batch) > 0 for batch in released) >= 3


def test_the_database_is_restarted_under_a_writer(postgres, database, tmp_path, plan, study):
    arguments, reports = study(60_000)
    with open_store(database) as store:
        store.put_plan(plan)

    def restart():
        for _ in range(4):
            time.sleep(0.7)
            postgres.stop("immediate")
            time.sleep(0.1)
            postgres.start()

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        crashes("writers", database, *arguments, 100, 0, 2, 5, "")
    finally:
        thread.join()
    check_table(database, plan, reports, tmp_path)


# ---------------------------------------------------------------- several processes


def test_a_second_process_on_a_folder_is_refused(tmp_path, plan):
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        with pytest.raises(StoreError, match="open in another process"):
            open_store(tmp_path / "store")
        code = f"from coterie.store import open_store; open_store({str(tmp_path / 'store')!r})"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
        )
        assert "open in another process" in done.stderr
    with open_store(tmp_path / "store") as store:
        assert store.plan_ids() == [plan.id]


def test_no_append_after_close_on_any_server(database, plan):
    """Reports that one server acknowledges are all there when the other has closed."""
    with open_store(database) as first, open_store(database) as second:
        first.put_plan(plan)
        taken = []

        def send():
            number = 0
            while not isinstance(first.append([(plan.id, rows((number, 1)))])[0], StudyClosedError):
                taken.append((number, 1))
                number += 1

        threads = [threading.Thread(target=send)]
        for thread in threads:
            thread.start()
        while len(taken) < 30:
            time.sleep(0.01)
        second.close(plan.id)
        reports = found(second, plan)
        for thread in threads:
            thread.join()
        assert reports == found(first, plan) == taken
        assert first.study(plan.id) == second.study(plan.id)


def test_two_servers_compact_at_once(database, plan):
    with open_store(database) as first, open_store(database) as second:
        first.put_plan(plan)
        for number in range(20):
            first.append([(plan.id, rows((number, 1), (number % 3, 0)))])
        threads = [threading.Thread(target=store.compact, args=(plan.id,)) for store in (first, second) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found(second, plan)) == 20
        counts = first.study(plan.id).counts
        assert counts.received == 40 == counts.counted + counts.duplicates + counts.conflicting


# ---------------------------------------------------------------- full and failing disks


def test_a_full_disk_takes_nothing_in_and_loses_nothing(tmp_path, plan):
    """A real limit of the operating system on the size of files."""
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        try:
            for taken in range(0, 1400, 100):
                store.append([(plan.id, rows(*((taken + n, 1) for n in range(100))))])
            with pytest.raises(StoreFullError, match="disk is full"):
                store.append([(plan.id, rows(*((n, 0) for n in range(100))))])
            taken = 1400
            segment = next((tmp_path / "store/log").iterdir())
            assert segment.stat().st_size < 20_000  # the half-written tail is gone
            store.append([(plan.id, rows((10**6, 1)))])  # a smaller one fits
            with pytest.raises(StoreFullError, match="disk is full"):
                store.append([(plan.id, rows(*((n, 2) for n in range(2000))))])
            store.compact(plan.id)
            store.append([(plan.id, rows((10**6 + 1, 1)))])
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
            with pytest.raises(StoreFullError, match="disk is full"):
                store.compact(plan.id)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert len(found(store, plan)) == taken + 2
        assert store.study(plan.id).counts.received == taken + 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_disk_that_says_full_at_any_call_takes_nothing_in(tmp_path, plan, monkeypatch, number, call):
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        store.append([(plan.id, rows((1, 1)))])
        real, calls = getattr(os, call), []

        def full(*arguments):
            calls.append(arguments)
            if len(calls) > 1:
                return real(*arguments)
            if call == "write":
                real(arguments[0], bytes(arguments[1])[:5])
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(segments_module.os, call, full)
        with pytest.raises(StoreFullError, match="disk is full"):
            store.append([(plan.id, rows((2, 2)))])
        monkeypatch.undo()
        store.append([(plan.id, rows((3, 3)))])
    with open_store(tmp_path / "store") as store:
        assert found(store, plan) == [(1, 1), (3, 3)]


def test_after_a_failed_flush_nothing_is_taken_in_until_the_store_is_opened_again(
    tmp_path, plan, monkeypatch
):
    store = open_store(tmp_path / "store")
    store.put_plan(plan)
    store.append([(plan.id, rows((1, 1)))])

    def fail(_file):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(segments_module.os, "fdatasync", fail)
    with pytest.raises(StoreUnavailableError, match="disk failed"):
        store.append([(plan.id, rows((2, 2)))])
    monkeypatch.undo()
    with pytest.raises(StoreUnavailableError, match="failed before"):
        store.append([(plan.id, rows((3, 3)))])
    store.shut()
    with open_store(tmp_path / "store") as store:
        store.append([(plan.id, rows((4, 4)))])
        assert {(1, 1), (4, 4)} <= set(found(store, plan)) <= {(1, 1), (2, 2), (4, 4)}


def test_a_full_database_says_so(database, plan):
    import psycopg

    with open_store(database) as store:
        store.put_plan(plan)
        store.append([(plan.id, rows((1, 1)))])
        with psycopg.connect(database) as connection:
            connection.execute(
                """CREATE FUNCTION coterie.full() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$"""
            )
            connection.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT ON coterie.incoming"
                " FOR EACH STATEMENT EXECUTE FUNCTION coterie.full()"
            )
        with pytest.raises(StoreFullError, match="disk is full"):
            store.append([(plan.id, rows((2, 2)))])
        with psycopg.connect(database) as connection:
            connection.execute("DROP TRIGGER full_disk ON coterie.incoming")
        store.append([(plan.id, rows((3, 3)))])
        assert found(store, plan) == [(1, 1), (3, 3)]


# ---------------------------------------------------------------- what only a loss of power would show


def test_an_answer_comes_after_the_flush(tmp_path, plan, monkeypatch):
    """Every byte of a segment, and its name, is on the disk when `append` returns."""
    flushed = {}

    def noting(real):
        def flush(handle):
            real(handle)
            found = os.fstat(handle)
            folder = Path(f"/proc/self/fd/{handle}")
            names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
            flushed[found.st_ino] = names or found.st_size

        return flush

    monkeypatch.setattr(os, "fsync", noting(os.fsync))
    monkeypatch.setattr(os, "fdatasync", noting(os.fdatasync))
    log = tmp_path / "store/log"
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        for number in range(5):
            store.append([(plan.id, rows((number, 1)))])
            (segment,) = log.iterdir()
            assert flushed[segment.stat().st_ino] == segment.stat().st_size
            assert segment.name in flushed[log.stat().st_ino]
            if number == 2:
                store.compact(plan.id)
                folder = tmp_path / "store/studies" / plan.id
                for path in (folder / "state", next(folder.glob("*.coterie"))):
                    assert flushed[path.stat().st_ino] == path.stat().st_size
                    assert path.name in flushed[folder.stat().st_ino]


def holding(database, *statements):
    """A transaction of another server that has not ended yet."""
    import psycopg

    connection = psycopg.connect(database)
    for statement in statements:
        connection.execute(statement)
    return connection


def in_thread(work):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join(0.5)
    return thread, answers


def test_a_close_waits_for_what_is_being_taken_in(database, plan):
    with open_store(database) as store:
        store.put_plan(plan)
        number = store._on(plan.id, lambda study: study.number)
        taking = holding(database, f"SELECT pg_advisory_xact_lock_shared({TAKING_LOCK}, {number})")
        thread, _ = in_thread(lambda: store.close(plan.id))
        assert thread.is_alive()
        taking.close()
        thread.join()
        assert store.study(plan.id).state == "closed"


@pytest.mark.parametrize("call", ["append", "withdraw", "put_batch"])
def test_what_is_taken_in_waits_for_a_close_and_is_refused(database, plan, call):
    with open_store(database) as store:
        store.put_plan(plan)
        number = store._on(plan.id, lambda study: study.number)
        closing = holding(
            database,
            f"SELECT pg_advisory_xact_lock({TAKING_LOCK}, {number})",
            "UPDATE coterie.studies SET state = 'closed'",
        )

        def take():
            try:
                if call == "append":
                    return store.append([(plan.id, rows((1, 1)))])[0]
                if call == "withdraw":
                    return store.withdraw(plan.id, rows((1, 1))[:, :12])
                return store.put_batch(plan.id, Batch.of(b"x").digest, b"x")
            except StudyClosedError as error:
                return error

        thread, answers = in_thread(take)
        assert thread.is_alive()
        closing.commit()
        thread.join()
        closing.close()
        assert isinstance(answers[0], StudyClosedError)
        assert found(store, plan) == []
        assert store.study(plan.id).counts.received == 0


def test_a_study_that_closes_during_a_compaction_stays_closed(tmp_path, plan, monkeypatch):
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        store.append([(plan.id, rows((1, 1)))])
        merge = StudyFolder.merged

        def closing(*arguments):
            merged = merge(*arguments)
            store.close(plan.id)
            return merged

        monkeypatch.setattr(StudyFolder, "merged", closing)
        store.compact(plan.id)
        assert store.study(plan.id).state == "closed"
    with open_store(tmp_path / "store") as store:
        assert store.study(plan.id).state == "closed"
        assert found(store, plan) == [(1, 1)]


def test_a_study_that_closes_while_a_batch_is_mixed_stays_closed(tmp_path, plan):
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        store.append([(plan.id, rows((1, 1)))])

        def closing(reports):
            store.close(plan.id)
            return batch_bytes(reports)

        batch = store.stage_batch(plan.id, closing)
    with open_store(tmp_path / "store") as store:
        assert store.study(plan.id).state == "closed"
        assert store.staged_batch(plan.id) == batch
