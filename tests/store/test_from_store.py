"""`coterie aggregate --from-store`: the table of a store is the table of files, bit for bit."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.encode import Client
from coterie.plan import Plan
from coterie.store import Batch, open_store
from coterie.store.shuffle_files import shuffle_files
from coterie.wire.report_file import write_reports


def run(*arguments, code=0):
    done = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, [str(word) for word in arguments])
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    return done


@pytest.fixture
def people():
    return np.random.default_rng(0).normal(0, 0.3, (400, 2))


def test_a_store_makes_the_table_that_its_report_file_makes(address, tmp_path, people):
    plan = Plan.design(2, 2, 1.0, 400)
    plan.save(tmp_path / "plan.json")
    reports = np.frombuffer(b"".join(Client(plan).encode(point) for point in people), dtype=np.uint8)
    reports = reports.reshape(-1, plan.report_width)
    write_reports(tmp_path / "file", plan, reports)
    run("aggregate", "--plan", tmp_path / "plan.json", tmp_path / "file", "--out", tmp_path / "table")
    with open_store(address) as store:
        store.put_plan(plan)
        for piece in (reports[200:], reports[:300]):
            store.append([(plan.id, piece)])
    done = run("aggregate", "--from-store", address, "--plan", plan.id, "--out", tmp_path / "table2")
    assert "the study is open" in done.stderr
    assert "added 400 reports of the 500 received" in done.stderr
    assert (tmp_path / "table2").read_bytes() == (tmp_path / "table").read_bytes()
    with open_store(address) as store:
        store.close(plan.id)
    facts = json.loads(
        run("aggregate", "--from-store", address, "--out", tmp_path / "table3", "--json").stdout
    )
    assert facts["state"] == "closed"
    assert (facts["count"], facts["received"], facts["duplicates"]) == (400, 500, 100)
    assert (tmp_path / "table3").read_bytes() == (tmp_path / "table").read_bytes()
    by_file = ("--plan", tmp_path / "plan.json", "--out", tmp_path / "table3")
    assert "--force replaces it" in run("aggregate", "--from-store", address, *by_file, code=1).stderr
    run("aggregate", "--from-store", address, *by_file, "--force")


def test_a_collector_of_a_shuffle_plan_adds_up_its_batches(address, tmp_path, people):
    plan = Plan.design(2, 2, 2.0, 200, model="shuffle", delta=1e-6)
    plan.save(tmp_path / "plan.json")
    with open_store(address) as store:
        store.put_plan(plan)
        for number, part in enumerate((people[:200], people[200:])):
            write_reports(tmp_path / "file", plan, [Client(plan).encode_many(part)], overwrite=True)
            out = tmp_path / f"batch{number}"
            shuffle_files([tmp_path / "file"], plan, out, tmp_path / "released")
            batch = Batch.of(out.read_bytes())
            assert store.put_batch(plan.id, batch.digest, batch.data)
    files = [tmp_path / "batch0", tmp_path / "batch1"]
    run("aggregate", "--plan", tmp_path / "plan.json", *files, "--out", tmp_path / "table")
    run("aggregate", "--from-store", address, "--out", tmp_path / "table2")
    assert (tmp_path / "table2").read_bytes() == (tmp_path / "table").read_bytes()


def test_wrong_calls_say_what_to_do(tmp_path, plan, other_plan):
    out = ("--out", tmp_path / "table")
    assert "give report files, or --from-store" in run("aggregate", *out, code=2).stderr
    both = ("aggregate", tmp_path / "file", "--from-store", tmp_path / "store", *out)
    assert "give report files, or --from-store" in run(*both, code=2).stderr
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        store.put_plan(other_plan)
        in_use = run("aggregate", "--from-store", tmp_path / "store", *out, code=1).stderr
        assert "open in another process" in in_use
    assert "2 plans" in run("aggregate", "--from-store", tmp_path / "store", *out, code=2).stderr
    unknown = run("aggregate", "--from-store", tmp_path / "store", "--plan", "0" * 64, *out, code=1).stderr
    assert "holds no plan" in unknown
    assert not (tmp_path / "table").exists()
