"""The PostgreSQL store's schema: versions, settings that would lose reports, words that would tell values."""

import json

import psycopg
import pytest

from coterie.store import StoreError, StoreUnavailableError, open_store
from coterie.store.postgres import PostgresStore
from coterie.store.schema import MIGRATIONS
from tests.service.test_commands import run

from .conftest import found, rows


def version(database):
    with psycopg.connect(database) as connection:
        return connection.execute("SELECT version FROM coterie.version").fetchall()


def test_a_new_database_gets_the_newest_schema_once(database):
    for _ in range(2):
        open_store(database).shut()
        assert version(database) == [(len(MIGRATIONS),)]


def test_an_older_database_is_brought_forward_with_its_reports(database, plan):
    with psycopg.connect(database) as connection:
        connection.execute("CREATE SCHEMA coterie")
        connection.execute("CREATE TABLE coterie.version (version integer NOT NULL)")
        connection.execute("INSERT INTO coterie.version VALUES (1)")
        connection.execute(MIGRATIONS[0])
        values = [plan.id_bytes, plan.to_json()]
        connection.execute("INSERT INTO coterie.studies (plan_id, plan) VALUES (%s, %s)", values)
        body = rows((2, 1), (1, 1)).tobytes()
        connection.execute(
            "INSERT INTO coterie.incoming (study, kind, count, body) VALUES (1, 1, 2, %s)", [body]
        )
    assert json.loads(run("store", "check", database, "--json").stdout)["whole"]
    with open_store(database) as store:
        assert version(database) == [(len(MIGRATIONS),)]
        assert found(store, plan) == [(1, 1), (2, 1)]
        assert store.staged_batch(plan.id) is None


def test_a_newer_database_is_refused_and_not_touched(database):
    open_store(database).shut()
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE coterie.version SET version = 1000")
    with pytest.raises(StoreError, match="version 1000 of the store's schema"):
        open_store(database)
    assert "install a newer coterie" in run("store", "check", database, code=1).stderr
    assert version(database) == [(1000,)]


def test_a_database_that_does_not_flush_is_refused(postgres, database):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    try:
        for _ in range(100):  # a reload takes a moment
            with psycopg.connect(database) as connection:
                if connection.execute("SHOW fsync").fetchone() == ("off",):
                    break
        with pytest.raises(StoreError, match="fsync = off"):
            open_store(database)
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM RESET fsync")
            connection.execute("SELECT pg_reload_conf()")
        postgres.stop()
        postgres.start()


def test_commits_are_flushed_whatever_the_default_is(database, plan):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET synchronous_commit = off")
    try:
        with PostgresStore(database) as store:
            setting = store._run(lambda connection: connection.execute("SHOW synchronous_commit").fetchone())
            assert setting == ("on",)
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("ALTER DATABASE postgres RESET synchronous_commit")


def test_a_server_that_is_not_there_is_named_without_the_password():
    with pytest.raises(StoreUnavailableError, match="cannot be reached") as caught:
        PostgresStore("postgresql://somebody:secretword@127.0.0.1:1/nowhere", patience=0.1)
    assert "secretword" not in str(caught.value)


def test_an_error_of_the_database_quotes_no_value(database, plan):
    """PostgreSQL's own words on a refused row contain the row; they stay there."""
    with open_store(database) as store:
        store.put_plan(plan)
        with psycopg.connect(database) as connection:
            connection.execute("ALTER TABLE coterie.incoming ADD CHECK (count < 2)")
        with pytest.raises(StoreError, match="refused") as caught:
            store.append([(plan.id, rows((1, 1), (2, 77)))])
        assert "23514" in str(caught.value)
        assert "4d" not in str(caught.value).split("SQLSTATE")[0]
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


def test_a_compacted_database_keeps_no_order_and_no_time(database, plan):
    with open_store(database) as store:
        store.put_plan(plan)
        for number in (9, 3, 7, 1):
            store.append([(plan.id, rows((number, 1)))])
        store.compact(plan.id)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM coterie.incoming").fetchone() == (0,)
        ((body,),) = connection.execute("SELECT body FROM coterie.blocks").fetchall()
        assert body == rows((1, 1), (3, 1), (7, 1), (9, 1)).tobytes()
        types = connection.execute(
            "SELECT DISTINCT data_type FROM information_schema.columns WHERE table_schema = 'coterie'"
        ).fetchall()
        assert not any("time" in row[0] or row[0] == "date" for row in types)
