"""Backup and restore as docs/stores.md says: what is restored makes the same table."""

import shutil
import subprocess
import threading

import numpy as np
import psycopg
import pytest

from coterie.aggregate import Aggregate
from coterie.store import Batch, open_store
from coterie.store.schema import MIGRATIONS

from .conftest import rows


def table(address, plan):
    with open_store(address) as store:
        total = Aggregate(plan)
        for chunk in store.reports(plan.id):
            total.add(chunk)
        return total.to_bytes(), store.study(plan.id), store.document(plan.id, "manifest")


@pytest.fixture
def reports():
    found = np.random.default_rng(5).integers(0, 256, (2000, 13), dtype=np.uint8)
    found[:, 12] &= 1
    return found


def fill(store, plan, reports):
    store.put_plan(plan)
    store.append([(plan.id, reports[:1500])])
    store.compact(plan.id)
    store.append([(plan.id, reports[1000:])])
    store.withdraw(plan.id, reports[:7, :12])
    batch = Batch.of(b"a batch")
    store.put_batch(plan.id, batch.digest, batch.data)
    store.put_document(plan.id, "manifest", b"kept")


def test_a_copy_of_the_folder_of_a_stopped_store_is_a_backup(tmp_path, plan, reports):
    with open_store(tmp_path / "store") as store:
        fill(store, plan, reports)
    subprocess.run(["tar", "-cf", "backup.tar", "store"], check=True, cwd=tmp_path)  # noqa: S607
    expected = table(tmp_path / "store", plan)
    shutil.rmtree(tmp_path / "store")
    subprocess.run(["tar", "-xf", "backup.tar"], check=True, cwd=tmp_path)  # noqa: S607
    assert table(tmp_path / "store", plan) == expected
    assert expected[1].counts.counted == 1993
    with open_store(tmp_path / "store") as store:
        assert store.append([(plan.id, rows((1, 1)))]) == [None]


def test_a_dump_of_a_running_database_is_a_backup(postgres, database, tmp_path, plan, reports):
    """Reports that come while it is dumped are in it or not; those acknowledged before are."""
    with open_store(database) as store:
        fill(store, plan, reports)
        stop = threading.Event()

        def go_on():
            number = 0
            while not stop.is_set():
                store.append([(plan.id, rows((number, 1)))])
                store.compact(plan.id)
                number += 1

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            dump = [postgres.programs / "pg_dump", "-Fc", "-n", "coterie", "-f", tmp_path / "dump", database]
            subprocess.run(dump, check=True)
        finally:
            stop.set()
            thread.join()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS restored")
        connection.execute("CREATE DATABASE restored")
    restored = postgres.url("restored")
    subprocess.run([postgres.programs / "pg_restore", "-d", restored, tmp_path / "dump"], check=True)
    sent = Aggregate(plan)
    sent.add(reports[7:])
    with open_store(restored) as store:
        later = sum(not row[:4].any() for chunk in store.reports(plan.id) for row in chunk)
        store.withdraw(plan.id, np.array([[*n.to_bytes(12, "big")] for n in range(later)], dtype=np.uint8))
    data, study, document = table(restored, plan)
    assert data == sent.to_bytes()
    assert (study.counts.batches, document) == (1, b"kept")
    with psycopg.connect(restored) as connection:
        assert connection.execute("SELECT version FROM coterie.version").fetchall() == [(len(MIGRATIONS),)]
