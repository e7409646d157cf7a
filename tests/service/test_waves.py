"""A study of several plans on the collector: one manifest of all waves, one plan a person, labels."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from coterie import Aggregate, Client, Plan
from coterie.coins import SimulationCoins
from coterie.errors import CollectorError, ManifestError
from coterie.plain.canonical import canonical_bytes
from coterie.plan.collection import Collection
from coterie.protocols import encoder_of
from coterie.remote import RemoteCollector
from coterie.service.decoder import Decoder
from coterie.service.following import asked_in, is_asked, is_same
from coterie.service.keys import TOKEN_VARIABLE
from coterie.service.manifest import decoding_seed
from coterie.service.pages.routes import PAGES
from coterie.service.problems import Problem
from coterie.service.verify import verify
from coterie.service.waves import Part, Waves
from coterie.store import open_store
from coterie.wire.manifest import read_manifest
from coterie.wire.signing import public_key, sign
from tests.service.conftest import (
    KEY,
    OPERATOR,
    TOKEN,
    ask,
    failures,
    post,
    problem,
    reports_of,
    serving,
    small_plan,
)
from tests.service.processes import Service, running
from tests.service.test_commands import run

PEOPLE = 3000
WHY = "Others are asked about the groups that were found, as was wanted"


def people_of(plan, number, seed):
    """Reports of other people of the same two groups, whatever plan they are asked."""
    points = np.where(np.arange(number)[:, None] % 2, 0.6, -0.6) * np.array([1.0, 0.2, 0.0])
    return encoder_of(plan).encode_counting(points, None, SimulationCoins(seed))[0]


def signed(document):
    """The same manifest, signed again by whoever changed it."""
    unsigned = {name: value for name, value in document.items() if name != "signature"}
    signature = sign(KEY, "coterie/1/manifest", canonical_bytes(unsigned))
    return canonical_bytes({**unsigned, "signature": signature.hex()})


def verified(folder):
    """What `coterie verify` says of two waves, in a process of its own: nothing is made smaller there."""
    command = [sys.executable, "-c", "from coterie.cli import main; main()", "verify", "manifest.json"]
    command += ["--result", "result.json", "--table", "wave-2.table", "--table", "wave-1.table", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def study(tmp_path_factory, postgres):
    """Two waves on PostgreSQL, the collector killed between them: what they left, and their page."""
    import psycopg

    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA IF EXISTS coterie CASCADE")
    folder = tmp_path_factory.mktemp("waves")
    first = small_plan(Collection(minimum=100))
    service = Service(folder, store=postgres.url())
    asked = {"confirm": True, "collection": Collection(minimum=50)}
    with running(service):
        with service.operator() as operator:
            operator.put_plan(first)
            operator.send(first, people_of(first, PEOPLE, 0))
            operator.close(first.id)
            operator.decode(first.id)
            second = operator.next_wave(first.id, PEOPLE, **asked)
            operator.send(second, people_of(second, 40, 1))
        service.kill()
        service.start()
        with service.operator() as operator:
            assert operator.next_wave(first.id, PEOPLE, **asked) == second  # asked again, it is the same
            operator.send(second, people_of(second, PEOPLE, 1))
            operator.close(second.id)
            operator.decode(second.id)
        told = run("waves", "save", first.id, "--url", service.url, "--out", folder / "left", "--json")
        page = ask(service.url, "GET", f"/studies/{first.id}/study")[2].decode()
        yield (first, second), folder / "left", json.loads(told.stdout), page


def test_two_waves_survive_a_kill_between_them_and_are_one_manifest(study):
    (first, second), folder, told, page = study
    assert second.confirms
    assert (second.study_id, second.after) == (first.id, (first.id,))
    assert [(each["plan_id"], each["decoded"]) for each in told["plans"]] == [
        (first.id, True),
        (second.id, True),
    ]
    tables = [Aggregate.load(folder / f"wave-{number}.table") for number in (1, 2)]
    assert [table.count for table in tables] == [PEOPLE, PEOPLE]
    manifest = read_manifest((folder / "manifest.json").read_bytes())
    assert [wave["plan_id"] for wave in manifest["waves"]] == [first.id, second.id]
    result = json.loads((folder / "result.json").read_bytes())
    assert (result["count"], result["confirmed"]["people"]) == (2 * PEOPLE, PEOPLE)
    verdict = verified(folder)
    assert (verdict["count"], verdict["plan_ids"]) == (2 * PEOPLE, [first.id, second.id])
    for words in ("What changed from wave to wave", "confirm 2 published groups", "6,000 in all", WHY):
        assert words in page


def test_a_manifest_of_waves_that_do_not_follow_is_refused(study, monkeypatch):
    (_, second), folder, _, _ = study
    data = (folder / "manifest.json").read_bytes()
    manifest = {**json.loads(data), "public_key": public_key(KEY).hex()}
    one, two = ((folder / f"wave-{number}.table").read_bytes() for number in (1, 2))
    monkeypatch.setattr("coterie.service.verify.next_plan", lambda tables, asked: second)
    view = second.parameters.views[0]
    points = [[point[0] + 40_000, *point[1:]] for point in view.points]
    moved = replace(second, parameters=replace(second.parameters, views=(replace(view, points=points),)))
    table = Aggregate(moved)
    table.add(people_of(moved, PEOPLE, 2))
    forged = table.to_bytes()
    wave = {**manifest["waves"][1], "plan_id": moved.id, "table": hashlib.sha256(forged).hexdigest()}
    other = {
        "waves": [manifest["waves"][0], wave],
        "decoding": {**manifest["decoding"], "random_state": decoding_seed(moved)},
    }
    for changed, tables, words in (
        ({}, [two], "is of 2 tables, and 1 are given"),
        ({}, [one, one], "another table"),
        (other, [one, forged], "plan of wave 2 does not follow"),
        ({"study_id": second.id}, [one, two], "id of its first plan"),
        ({"waves": manifest["waves"][1:]}, [two], "two waves or more"),
    ):
        with pytest.raises(ManifestError, match=words):
            verify(signed({**manifest, **changed}), tables)
    assert not is_same(moved, second)
    assert is_same(replace(second, radius=second.radius * (1 + 1e-9)), second)
    assert is_asked(second, asked_in(second))
    assert not is_asked(second, {**asked_in(second), "confirm": False})


@pytest.mark.nightly
def test_a_wave_in_directions_follows_on_the_collector_and_is_verified(tmp_path):
    """In 13 dimensions people differ in: others report twelve of them, by version 2 of the plan."""
    first = Plan.design(13, 2, 4.0, 5000, collection=Collection(minimum=100))
    points = np.random.default_rng(0).standard_normal((5000, 13)) * np.linspace(0.4, 0.02, 13)
    with (
        serving(tmp_path, routes=PAGES) as server,
        RemoteCollector(server.url, token=TOKEN) as operator,
    ):
        operator.put_plan(first)
        operator.send(first, encoder_of(first).encode_counting(points, None, SimulationCoins(0))[0])
        ended(operator, first)
        second = operator.next_wave(first.id, 5000, collection=Collection(minimum=100))
        assert (second.version, second.coordinates, second.dimension) == (2, 12, 13)
        assert ask(server.url, "GET", f"/plans/{second.id}/participate")[0] == 200
        assert operator.send(second, Client(second).encode(points[0])).taken == 1
        operator.send(second, encoder_of(second).encode_counting(points, None, SimulationCoins(1))[0])
        ended(operator, second)
        run("waves", "save", first.id, "--url", server.url, "--out", tmp_path / "left")
    assert verified(tmp_path / "left")["count"] == 10_001


@pytest.mark.parametrize("wrong", [("--users", "-3"), ("--users", "9", "--epsilon", "0")])
def test_nothing_is_closed_for_a_next_wave_that_cannot_be(tmp_path, wrong):
    plan = Plan.design(2, 2, 4.0, 100, collection=Collection(minimum=10))
    with serving(tmp_path) as server, RemoteCollector(server.url, token=TOKEN) as operator:
        operator.put_plan(plan)
        told = run("waves", "next", plan.id, "--url", server.url, *wrong, code=1, **{TOKEN_VARIABLE: TOKEN})
        assert "must be in" in told.stderr
        assert operator.status(plan.id)["state"] == "open"


# ---------------------------------------------------------------- around the decoder


def after(plan, **changes):
    return replace(plan, study=plan.id, after=(plan.id,), **changes)


@pytest.fixture
def fast(monkeypatch):
    """Decode nothing: the next plan is the last with other fields."""
    result = b'{"count": 10, "supported": 1, "centers": [[0, 0, 0]], "explained": {"value": null}}'
    monkeypatch.setattr(Decoder, "run", lambda self, plan, chunks, timeout, before: (result, b"table"))

    def made(self, tables, asked, timeout):
        return after(made.plan, expected_users=asked["expected_users"]), "Asked is <the same>: it pays"

    monkeypatch.setattr(Decoder, "next_plan", made)
    return made


def ended(collector, plan):
    collector.close(plan.id)
    collector.decode(plan.id)


def test_an_invitation_follows_the_study_and_is_good_for_one_plan(tmp_path, fast):
    first = fast.plan = small_plan(ids="token")
    point = [0.1, 0.2, 0.3]
    with (
        serving(tmp_path, routes=PAGES) as server,
        RemoteCollector(server.url, token=TOKEN) as operator,
    ):
        operator.put_plan(first)
        used, withdrawn, kept, late = operator.invite(first.id, 4)
        sent = Client(first).encode(point, token=withdrawn)
        assert operator.send(first, Client(first).encode(point, token=used)).taken == 1
        assert operator.send(first, sent).taken == operator.withdraw(first, sent).taken == 1
        here = ask(server.url, "GET", f"/studies/{first.id}/participate")
        assert (here[0], here[1]["location"]) == (303, f"../../plans/{first.id}/participate")
        ended(operator, first)
        second = operator.next_wave(first.id, 500)
        here = ask(server.url, "GET", f"/studies/{first.id}/participate")
        assert here[1]["location"] == f"../../plans/{second.id}/participate"
        for token in (used, withdrawn, bytes(16)):  # of whoever answered, or was never invited
            upload = Client(second).encode(point, token=token)
            assert [reason for _, reason in failures(post(server.url, second, upload))] == ["token"]
        assert operator.send(second, Client(second).encode(point, token=kept)).taken == 1
        (own,) = operator.invite(second.id, 1)
        assert operator.send(second, Client(second).encode(point, token=own)).taken == 1
        operator.delete_reports(first.id)  # from then on nothing tells who answered
        assert operator.send(second, Client(second).encode(point, token=late)).taken == 0


def test_the_next_wave_waits_for_the_last_and_is_made_once(tmp_path, fast):
    first = fast.plan = small_plan()
    with open_store(tmp_path / "store") as store, serving(tmp_path, store=store) as server:
        where, wanted = f"/studies/{first.id}/next", b'{"expected_users": 500}'
        problem(ask(server.url, "POST", where, wanted, OPERATOR), 404, "unknown-plan")
        with RemoteCollector(server.url, token=TOKEN, attempts=1) as operator:
            operator.put_plan(first)
            operator.send(first, reports_of(first, 10))
            problem(ask(server.url, "POST", where, wanted), 401, "not-authorized")
            problem(ask(server.url, "POST", where, wanted, OPERATOR), 409, "open")
            for body in (b"{}", b'{"expected_users": 5, "radius": 2}', b'{"expected_users": "5"}'):
                problem(ask(server.url, "POST", where, body, OPERATOR), 400, "malformed-request")
            ended(operator, first)
            opening = ("waves", "next", first.id, "--url", server.url, "--users", 500)
            assert "Asked is <the same>: it pays" in run(*opening, **{TOKEN_VARIABLE: TOKEN}).stderr
            second = operator.next_wave(first.id, 500)
            assert operator.next_wave(first.id, 500) == second
            with pytest.raises(CollectorError, match="is open"):
                operator.next_wave(first.id, 600)
            problem(ask(server.url, "GET", f"/studies/{second.id}"), 404, "unknown-plan")
            plans = operator.study(first.id)["plans"]
            assert [each["plan_id"] for each in plans] == [first.id, second.id]
            assert [each["why"] for each in plans] == [None, "Asked is <the same>: it pays"]
            assert operator.study_manifest(first.id) == operator.manifest(first.id)
            operator.send(second, reports_of(second, 10))
            ended(operator, second)
            assert (
                operator.study_manifest(first.id)
                == operator.manifest(second.id)
                != operator.manifest(first.id)
            )
            assert [wave["plan_id"] for wave in json.loads(operator.manifest(second.id))["waves"]] == [
                first.id,
                second.id,
            ]


@pytest.mark.slow
def test_why_a_wave_asks_what_it_asks_is_decided_with_its_plan_and_kept(tmp_path):
    first = small_plan()
    with (
        serving(tmp_path, routes=PAGES) as server,
        RemoteCollector(server.url, token=TOKEN) as operator,
    ):
        operator.put_plan(first)
        operator.send(first, people_of(first, PEOPLE, 0))
        ended(operator, first)
        second = operator.next_wave(first.id, 500)
        why = operator.study(first.id)["plans"][1]["why"]
        balls = f"a radius of {second.radius:.3g}, and the one before {first.radius:.3g}"
        assert why == f"Asked about is a better ball: a ball that suits people has {balls}"
        assert why in ask(server.url, "GET", f"/studies/{first.id}/study")[2].decode()


def test_a_wave_that_a_crash_kept_from_opening_is_opened_by_who_reads_the_list(tmp_path):
    first = small_plan()
    second = after(first)
    with open_store(tmp_path) as store:
        store.put_plan(first)
        store.put_document(first.id, "step-1", canonical_bytes({"label": None, "plan": second.to_dict()}))
        assert store.plan_ids() == [first.id]
        waves = Waves(store)
        assert waves.open_one(first.id) == second
        assert second.id in store.plan_ids()
        assert waves.waves(second) == [first, second]
        assert not waves.add(first.id, Part(second))
        with pytest.raises(Problem, match="in this place"):
            waves.add(first.id, Part(after(first, seed=5)))
        with pytest.raises(Problem, match="waves, one after the other, or plans with labels"):
            waves.add_labelled(first.id, "north", replace(first, study=first.id, seed=7))


def test_plans_with_labels_are_open_at_once_and_each_has_its_table(tmp_path, fast):
    north = small_plan()
    south = replace(north, seed=1, study=north.id)
    with (
        serving(tmp_path, routes=PAGES) as server,
        RemoteCollector(server.url, token=TOKEN, attempts=1) as operator,
    ):
        operator.put_plan(north)
        assert operator.put_labelled(north.id, "north", north)
        assert operator.put_labelled(north.id, "south", south)
        assert not operator.put_labelled(north.id, "south", south)
        for label, plan, words in (
            ("south", replace(south, seed=2), "in this place"),
            ("Süd", replace(south, seed=2), "a label has"),
            ("east", small_plan(seed=3), "has study"),
            ("east", after(north, seed=3), "follows none"),
        ):
            with pytest.raises(CollectorError, match=words):
                operator.put_labelled(north.id, label, plan)
        for plan in (north, south):
            operator.send(plan, reports_of(plan, 10))
            ended(operator, plan)
        plans = operator.study(north.id)["plans"]
        assert [(each["label"], each["plan_id"]) for each in plans] == [
            ("north", north.id),
            ("south", south.id),
        ]
        assert operator.table(plans[1]["plan_id"]) == b"table"
        assert "By label" in ask(server.url, "GET", f"/studies/{north.id}/study")[2].decode()
        problem(ask(server.url, "GET", f"/studies/{north.id}/participate"), 404, "not-found")
        problem(ask(server.url, "GET", f"/studies/{north.id}/manifest"), 404, "not-found")
        with pytest.raises(CollectorError, match="compared, not followed"):
            operator.next_wave(north.id, 500)
        told = run("waves", "show", north.id, "--url", server.url)
        assert "south" in told.stdout
