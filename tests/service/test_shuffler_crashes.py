"""Shuffler and collector as processes, killed again and again: each person's messages arrive once."""

import random
import secrets
import threading
import time

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.remote import CollectorError, RemoteCollector
from coterie.service.keys import signing_key
from coterie.store import open_store
from coterie.wire.shuffled_file import ShuffledFile
from coterie.wire.signing import public_key
from tests.service.conftest import TOKEN
from tests.service.processes import Service, running
from tests.service.shuffled import AMPLIFIED, PEOPLE, SHARES, reports_of, table_from_files

PHASES = ("sending", "releasing", "delivering")
LONGEST = 120.0  # seconds that one run may take


class Study:
    """People send, an operator releases, round after round, whatever happens to the services."""

    def __init__(self, shuffler, plan, reports):
        self._plan = plan
        self._reports = reports
        self._operator = RemoteCollector(
            shuffler.url, token=TOKEN, attempts=100_000, timeout=20, sleep=lambda pause: time.sleep(0.02)
        )
        self.phase = "starting"
        self.enough = threading.Event()
        self.people = 0  # whose reports were acknowledged
        self.error = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self.enough.set()
        self._thread.join(LONGEST)
        assert not self._thread.is_alive()

    def _run(self):
        try:
            self._operator.put_plan(self._plan)
            while not self.enough.is_set():
                self._round()
            self._send()  # these are released by themselves once the study is closed
            self._operator.close(self._plan.id)
            self.phase = "delivering"
            self._delivered(self.people)
        except BaseException as error:
            self.error = error
            raise
        finally:
            self._operator.disconnect()

    def _round(self):
        self._send()
        self._enter("releasing")
        self._operator.release(self._plan.id)
        self._enter("delivering")
        self._delivered(self.people)

    def _enter(self, phase):
        self.phase = phase
        time.sleep(0.005)  # long enough to be seen by whoever waits for it, however fast the machine is

    def _send(self):
        self._enter("sending")
        fresh = self._reports[self.people : self.people + PEOPLE]
        assert len(fresh) == PEOPLE, "more reports are needed"
        again = self._reports[max(0, self.people - 20) : self.people]  # released before: they count once
        for piece in np.array_split(np.concatenate([fresh, again, fresh[:7]]), 4):
            assert self._operator.send(self._plan, piece).failures == ()
        self.people += PEOPLE

    def _delivered(self, people):
        until = time.monotonic() + LONGEST
        while True:
            state = self._operator.release_state(self._plan.id)
            if state["waiting"] is None and state["released"] == people:
                return
            assert time.monotonic() < until, state
            time.sleep(0.005)


def kill_at_random(study, services, kills, chance):
    """Kill one of the services in each phase in turn, at a random moment of it, and start it again."""
    for number in range(kills):
        until = time.monotonic() + LONGEST
        while study.phase != PHASES[number % len(PHASES)]:
            assert time.monotonic() < until
            assert study.error is None
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.02))
        victim = chance.choice(services)
        victim.kill()
        time.sleep(chance.uniform(0, 0.02))
        victim.start()


def check(tmp_path, plan, kills, stores):
    key = public_key(signing_key(tmp_path / "shuffler" / "signing-key")).hex()
    collector = Service(tmp_path / "collector", shufflers=key, **stores.get("collector", {}))
    shuffler = Service(
        tmp_path / "shuffler", role="shuffler", deliver_to=collector.url, **stores.get("shuffler", {})
    )
    reports = reports_of(plan, PEOPLE * (4 * kills + 2))
    with running(collector, shuffler), collector.operator() as analyst:
        analyst.put_plan(plan)
        with Study(shuffler, plan, reports) as study:
            kill_at_random(study, [collector, shuffler], kills, random.Random(kills))  # noqa: S311  # no secret
        assert study.error is None
        with pytest.raises(CollectorError, match="through a shuffler"):
            analyst.send(plan, reports[:1])
        analyst.close(plan.id)
    expected, mixed = table_from_files(tmp_path, plan, reports[: study.people])
    with open_store(stores.get("collector", {}).get("store", tmp_path / "collector" / "store")) as store:
        arrived = [ShuffledFile.rows_of(batch.data, plan, "batch") for batch in store.batches(plan.id)]
        table = Aggregate(plan)
        for chunk in store.messages(plan.id):
            table.add(chunk)
    assert (table.count, table.to_bytes()) == (study.people, expected)
    in_order = sorted(message.tobytes() for batch in arrived for message in batch)
    assert in_order == [message.tobytes() for message in ShuffledFile.rows_of(mixed, plan, "file")]
    with open_store(stores.get("shuffler", {}).get("store", tmp_path / "shuffler" / "store")) as store:
        counts = store.study(plan.id).counts
        assert (counts.released, counts.counted, store.staged_batch(plan.id)) == (study.people, 0, None)
    return len(arrived)


@pytest.mark.parametrize("plan", [AMPLIFIED, SHARES], ids=["codeword", "vector-sums"])
def test_whatever_is_killed_when_each_persons_messages_arrive_once(tmp_path, plan):
    assert check(tmp_path, plan, 12, {}) >= 5


def test_the_same_on_postgresql(tmp_path, postgres):
    import psycopg

    stores = {}
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        for role in ("collector", "shuffler"):
            name = f"test_{secrets.token_hex(8)}"
            connection.execute(f"CREATE DATABASE {name}")
            stores[role] = {"store": postgres.url(name)}
    assert check(tmp_path, AMPLIFIED, 6, stores) >= 3
