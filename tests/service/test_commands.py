"""`coterie send`, `invite`, `withdraw`, `verify` and `serve` as a user types them."""

import io
import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import segno
from typer.testing import CliRunner

from coterie import Aggregate, Client, Plan, write_reports
from coterie.cli.app import app
from coterie.plan.collection import Collection
from coterie.remote import Receipt, RemoteCollector
from coterie.service.decoder import result_document
from coterie.service.manifest import make_manifest
from coterie.store import open_store
from coterie.wire.signing import public_key
from tests.service.conftest import KEY, TOKEN, reports_of, serving, small_plan
from tests.service.test_faults import Killed
from tests.service.test_pages import result_of


def run(*arguments, code=0, **environment):
    runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", **environment})
    done = runner.invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    return done


@pytest.fixture
def running(tmp_path):
    with serving(tmp_path / "data") as server:
        yield server


def test_sending_a_file_twice_sends_it_once(running, tmp_path):
    plan, file = small_plan(), tmp_path / "reports.coterie"
    running.store.put_plan(plan)
    write_reports(file, plan, reports_of(plan, 300))
    first = json.loads(run("send", file, "--url", running.url, "--json").stdout)
    assert (first["sent"], first["taken"], first["before"], first["failures"]) == (300, 300, 0, {})
    again = json.loads(run("send", file, "--url", running.url, "--json").stdout)
    assert (again["sent"], again["before"]) == (0, 300)
    run("send", file, "--url", running.url, "--again")
    counts = running.store.compact(plan.id)
    assert (counts.received, counts.counted) == (600, 300)
    (tmp_path / "reports.coterie.sent").write_text("nonsense")
    assert json.loads(run("send", file, "--url", running.url, "--json").stdout)["sent"] == 300


def test_an_interrupted_send_goes_on_where_it_was(running, tmp_path, monkeypatch):
    plan, file = small_plan(), tmp_path / "reports.coterie"
    running.store.put_plan(plan)
    write_reports(file, plan, reports_of(plan, 300))
    monkeypatch.setattr("coterie.cli.send.CHUNK", 100)
    sent = []
    real = RemoteCollector.send

    def interrupted(self, plan, rows, **options):
        if len(sent) == 1:
            sent.append(None)
            raise KeyboardInterrupt
        sent.append(len(rows))
        return real(self, plan, rows, **options)

    monkeypatch.setattr(RemoteCollector, "send", interrupted)
    run("send", file, "--url", running.url, code=130)
    done = json.loads(run("send", file, "--url", running.url, "--json").stdout)
    assert (done["before"], done["sent"], done["taken"]) == (100, 200, 200)
    assert running.store.compact(plan.id).received == 300


def test_sending_what_is_refused(running, tmp_path):
    plan, file = small_plan(), tmp_path / "reports.coterie"
    write_reports(file, plan, reports_of(plan, 5))
    running.store.put_plan(plan)
    running.store.close(plan.id)
    done = run("send", file, "--url", running.url, code=1)
    assert "5 reports were not taken in: closed" in done.stderr
    assert not (tmp_path / "reports.coterie.sent").exists()
    stranger = tmp_path / "stranger.coterie"
    write_reports(stranger, small_plan(seed=1), reports_of(small_plan(seed=1), 5))
    assert "no plan of this id" in run("send", stranger, "--url", running.url, code=1).stderr
    other = tmp_path / "plan.json"
    Plan.design(2, 2, 1.0, 100).save(other)
    assert (
        "the reports answer plan" in run("send", file, "--url", running.url, "--plan", other, code=1).stderr
    )


def test_inviting_and_withdrawing(running, tmp_path):
    plan = small_plan(ids="token")
    running.store.put_plan(plan)
    out = tmp_path / "tokens.txt"
    options = ("--count", 7, "--url", running.url, "--out", out)
    assert "give --token-file" in run("invite", plan.id, *options, code=1, COTERIE_OPERATOR_TOKEN="").stderr
    run("invite", plan.id, *options, "--qr", tmp_path / "codes", COTERIE_OPERATOR_TOKEN=TOKEN)
    links = out.read_text().split()
    tokens = {
        bytes.fromhex(link.removeprefix(f"{running.url}/plans/{plan.id}/participate#")) for link in links
    }
    assert {len(token) for token in tokens} == {16}
    assert len(tokens) == 7
    codes = sorted((tmp_path / "codes").iterdir())
    for file in (out, *codes):
        assert file.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in codes] == [f"invitation-{number:05d}.svg" for number in range(1, 8)]
    drawn = io.BytesIO()
    segno.make(links[2], error="m", micro=False).save(drawn, kind="svg", scale=4, light="white")
    assert codes[2].read_bytes() == drawn.getvalue()
    told = run("invite", plan.id, *options, "--force", "--bare", COTERIE_OPERATOR_TOKEN=TOKEN)
    bare = out.read_text().split()
    assert {len(bytes.fromhex(line)) for line in bare} == {16}
    assert not any(line in told.stderr + told.stdout for line in bare)
    running.store.compact(plan.id)
    some = [Client(plan).encode([0.1, 0.2, 0.3], token=token) for token in tokens]
    with RemoteCollector(running.url) as collector:
        assert collector.send(plan, some).taken == 7
    plain = small_plan()
    running.store.put_plan(plain)
    row = reports_of(plain, 1)
    with RemoteCollector(running.url) as collector:
        collector.send(plain, row)
    run("withdraw", str(Receipt.of(plain, row.tobytes())), "--url", running.url)
    assert running.store.compact(plain.id).counted == 0


def test_a_sheet_is_checked_published_and_verified(running, tmp_path):
    plan = small_plan()
    running.store.put_plan(plan)
    plan.save(tmp_path / "plan.json")
    draft, signed = tmp_path / "sheet.toml", tmp_path / "signed.json"
    draft.write_text(
        '[languages.en]\ntitle = "Night"\npurpose = "P"\nwho = "W"\ncontact = "C"\nconsent = "A"\n'
    )
    about = ("--plan", tmp_path / "plan.json")
    assert "this is a sheet of the plan" in run("sheet", draft, *about).stderr
    told = run("sheet", draft, *about, "--url", running.url, "--out", signed, COTERIE_OPERATOR_TOKEN=TOKEN)
    assert f"signed by {public_key(KEY).hex()}" in told.stderr
    assert "Night" in run("sheet", signed, *about, "--key", public_key(KEY).hex()).stderr
    assert "not by" in run("sheet", signed, *about, "--key", "0" * 64, code=1).stderr
    draft.write_text('[languages.en]\ntitle = "Night"\n')
    assert "lacks the field" in run("sheet", draft, *about, code=1).stderr


def test_a_study_is_looked_after_by_commands(running, tmp_path):
    plan = small_plan(Collection(minimum=100))
    plan.save(tmp_path / "plan.json")
    to = ("--url", running.url)

    def study(*arguments, **options):
        return run("study", *arguments, *to, COTERIE_OPERATOR_TOKEN=TOKEN, **options)

    def listed():
        (found,) = json.loads(study("list", "--json").stdout)["studies"]
        return found

    assert (
        "operator's token is needed"
        in run("study", "list", *to, code=1, COTERIE_OPERATOR_TOKEN="x" * 16).stderr
    )
    assert "open already" not in study("open", tmp_path / "plan.json").stderr
    assert "open already" in study("open", tmp_path / "plan.json").stderr
    assert (listed()["state"], listed()["actions"], listed()["reports"]) == ("open", ["close"], 0)
    with RemoteCollector(running.url) as sender:
        sender.send(plan, reports_of(plan, 1234))
    running.store.compact(plan.id)
    assert listed()["reports"] == 1200  # as everybody is told it
    assert "Enough answered" in study("list").stderr
    study("close", plan.id, code=1)  # nobody said yes
    assert running.store.study(plan.id).state == "open"
    study("close", plan.id, "--yes")
    assert (listed()["state"], listed()["actions"]) == ("closed", ["decode", "delete"])
    study("decode", plan.id)
    assert (listed()["state"], listed()["actions"]) == ("decoded", ["next", "delete"])
    study("delete", plan.id, "--yes")
    assert (listed()["state"], listed()["actions"]) == ("deleted", [])


def test_the_server_starts_and_stops_as_a_process(tmp_path):
    served = Killed(tmp_path / "data")
    served.start()
    served.wait_until_up()
    plan = small_plan()
    with RemoteCollector(served.url, token=TOKEN) as operator:
        operator.put_plan(plan)
        assert operator.send(plan, reports_of(plan, 10)).taken == 10
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(60) == 0
    with open_store(tmp_path / "data" / "store") as store:  # it was shut, and let go
        assert store.study(plan.id).counts.received == 10
    served.start()
    served.wait_until_up()
    with RemoteCollector(served.url, token=TOKEN) as operator:
        assert operator.plan(plan.id) == plan
        assert operator.status(plan.id)["state"] == "open"
    served.kill()


def test_serving_without_what_it_needs(tmp_path):
    script = (
        "import sys\nsys.modules['starlette'] = None\nfrom coterie.cli.app import app\n"
        f"app(['serve', '--data', {str(tmp_path / 'd')!r}])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 1
    assert 'pip install "coterie[service]"' in done.stderr


def test_wrong_settings_are_one_line(tmp_path):
    assert "say where reports are kept" in run("serve", code=1).stderr
    done = run("serve", "--data", tmp_path, "--set", "colour=1", code=1)
    assert "no setting 'colour'" in done.stderr
    assert "given as --port" in run("serve", "--data", tmp_path, "--set", "port=1", code=1).stderr
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run("serve", "--data", tmp_path, "--port", port, code=1)
    assert done.stderr == f"error: cannot listen on 127.0.0.1, port {port}: Address already in use\n"
    assert "no role" in run("serve", "--data", tmp_path, "--role", "king", code=1).stderr


@pytest.fixture
def decoded(tmp_path, monkeypatch):
    """What a study left, in files; decoding it again gives the same."""
    plan = small_plan()
    table = Aggregate(plan)
    table.add(reports_of(plan, 300))
    result = result_of(plan, np.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.1]]), count=300)
    monkeypatch.setattr("coterie.centers.decode", lambda table, random_state: result)
    document = result_document(result)
    manifest = make_manifest(plan, table.to_bytes(), document, {"counted": 300}, 3600, KEY)
    for name, data in (("manifest", manifest), ("table", table.to_bytes()), ("result", document)):
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_verify_says_what_it_checked(decoded):
    parts = (decoded / "manifest", "--table", decoded / "table")
    key = ("--key", public_key(KEY).hex())
    whole = run("verify", *parts, "--result", decoded / "result", *key)
    assert "300 reports decoded again, every figure agrees to 1e-06" in whole.stderr
    assert "caution" not in whole.stderr
    assert "words were not: --result checks" in run("verify", *parts, *key).stderr
    told = json.loads(run("verify", *parts, *key, "--json").stdout)
    assert (told["version"], told["difference"], told["decoded_elsewhere"]) == (2, 0.0, False)
    assert (told["words_checked"], told["key_given"], told["count"]) == (False, True, 300)
    (decoded / "result").write_bytes(b"{}")
    refused = run("verify", *parts, "--result", decoded / "result", code=1)
    assert "error: this is another result" in refused.stderr


def test_verify_says_when_the_processor_was_another(decoded, monkeypatch):
    parts = (decoded / "manifest", "--table", decoded / "table")
    monkeypatch.setattr("coterie.service.verify.environment", lambda: {"blas": "openblas Other"})
    assert json.loads(run("verify", *parts, "--json").stdout)["decoded_elsewhere"]
    (decoded / "manifest").write_text('{"format": "\\ud800"}')
    assert run("verify", *parts, code=1).stderr.startswith("error: ")
