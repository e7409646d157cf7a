"""Any sequence of sending, releasing, delivering and crashing, against a model of a few sets."""

import contextlib
import random
import secrets
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from coterie.plan import Plan
from coterie.remote import CollectorError
from coterie.service.batches import checked_people
from coterie.service.problems import Problem
from coterie.service.releases import Releases
from coterie.service.shuffler import Shuffler
from coterie.store import StudyClosedError, open_store
from coterie.wire.shuffled_file import ShuffledFile
from tests.service.conftest import KEY, TOKEN, finished

MINIMUM = 4
PLAN = Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4, minimum_batch=MINIMUM)

STEPS = {
    "send": 5,
    "release": 4,
    "deliver": 6,
    "withdraw": 1,
    "look": 1,
    "restart": 1,
    "compare": 1,
    "close": 0.3,
}
FATES = {"works": 4, "no connection": 1, "no answer": 2, "power cut": 2}


class PowerCutError(BaseException):
    """The shuffler's process ends here."""


class Line:
    """What lies between shuffler and collector: it may lose a request or an answer, or the power goes."""

    def __init__(self, store):
        self.store = store
        self.fate = "works"

    def put_batch(self, plan_id, digest, data, key):
        assert key == KEY
        if self.fate == "no connection":
            raise CollectorError("no connection")
        checked_people(PLAN, digest, data)
        made = self.store.put_batch(plan_id, digest, data)
        if self.fate == "no answer":
            raise CollectorError("no answer")
        if self.fate == "power cut":
            raise PowerCutError
        return made

    def disconnect(self):
        """There is nothing to hang up."""


def rows_of(pairs):
    return np.array([[*number.to_bytes(12, "big"), byte] for number, byte in pairs], dtype=np.uint8)


def pairs_of(rows):
    return {(int.from_bytes(row[:12].tobytes(), "big"), int(row[12])) for row in rows}


class Releasing:
    """The real stores, releases and upkeep on one side; sets on the other."""

    def __init__(self, address):
        self.stack = contextlib.ExitStack()
        self.addresses = [self.stack.enter_context(address()) for _ in range(2)]
        self.sent, self.withdrawn, self.released = set(), set(), set()  # pairs, ids, ids
        self.staged, self.arrived = None, []
        self.people, self.open = 0, True
        self.start()
        self.store.put_plan(PLAN)
        self.kept.put_plan(PLAN)

    def start(self):
        self.store, self.kept = (open_store(each) for each in self.addresses)
        self.line = Line(self.kept)
        self.shuffler = Shuffler(self.store, token=TOKEN, key=KEY, deliver_to="http://127.0.0.1:9")
        self.releases = Releases(self.store, KEY, self.line, ticks=lambda: 0.0)
        self.shuffler.upkeep._ending = self.releases

    def stop(self):
        self.shuffler.upkeep.stop()
        self.shuffler.threads.shutdown()
        self.store.shut()
        self.kept.shut()

    def counted(self):
        """The smallest report of each id that was neither withdrawn nor released."""
        found = dict(sorted(self.sent, reverse=True))  # of several pairs the last, so the smallest, holds
        return {pair for pair in found.items() if pair[0] not in self.withdrawn | self.released}

    def stage(self):
        self.staged = self.counted()
        self.released |= {number for number, _ in self.staged}

    def send(self, people, again):
        """New people, and some who may have sent before, the same or something else."""
        pairs = [(number, 1) for number in range(self.people, self.people + people)]
        pairs += [(number, byte) for number, byte in again if number < self.people]
        self.people += people
        (answer,) = self.store.append([(PLAN.id, rows_of(pairs))])
        assert (answer is None) == self.open
        if self.open:
            self.sent |= {pair for pair in pairs if pair[0] not in self.released}

    def withdraw(self, numbers):
        ids = rows_of((number, 0) for number in numbers)[:, :12]
        if self.open:
            self.store.withdraw(PLAN.id, ids)
            self.withdrawn |= set(numbers)
        else:
            with pytest.raises(StudyClosedError):
                self.store.withdraw(PLAN.id, ids)

    def release(self):
        counted = self.counted()
        if self.staged is None and len(counted) < MINIMUM and (counted or not self.released):
            with pytest.raises(Problem, match=f"{len(counted)} people and the plan's minimum is {MINIMUM}"):
                self.releases.release(PLAN)
            return
        self.releases.release(PLAN)
        if self.staged is None and counted:
            self.stage()

    def deliver(self, fate):
        self.line.fate = fate if self.staged is not None else "works"
        fate = self.line.fate
        self.releases._attempts.clear()  # as if the pause were over
        try:
            done = self.releases.deliver(PLAN.id)
        except PowerCutError:
            done = False
            self.restart()
        assert done == (fate == "works")
        if self.staged is not None and fate != "no connection" and self.staged not in self.arrived:
            self.arrived.append(self.staged)
        if done:
            self.staged = None

    def look(self):
        """What the shuffler does by itself."""
        finished(self.shuffler.upkeep.look())
        if not self.open and self.staged is None and len(self.counted()) >= MINIMUM:
            self.stage()

    def restart(self):
        self.stop()
        self.start()

    def close(self):
        if len(self.arrived) < 2:
            return  # too early to end
        self.store.close(PLAN.id)
        self.open = False

    def compare(self):
        waiting = self.store.staged_batch(PLAN.id)
        found = None if waiting is None else pairs_of(ShuffledFile.rows_of(waiting.data, PLAN, "staged"))
        assert found == self.staged
        batches = [
            pairs_of(ShuffledFile.rows_of(batch.data, PLAN, "batch")) for batch in self.kept.batches(PLAN.id)
        ]
        assert sorted(map(sorted, batches)) == sorted(map(sorted, self.arrived))
        assert all(len(batch) >= MINIMUM for batch in batches)
        people = [number for batch in batches for number, _ in batch]
        assert len(people) == len(set(people))
        kept = [row for chunk in self.store.reports(PLAN.id) for row in chunk]
        assert pairs_of(kept) == self.counted()
        assert self.store.study(PLAN.id).counts.released == len(self.released)


@contextlib.contextmanager
def a_folder():
    folder = tempfile.mkdtemp()
    try:
        yield Path(folder) / "store"
    finally:
        shutil.rmtree(folder)


def play(address, seed, steps):
    """Play a sequence of random steps; return how many batches arrived."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    machine = Releasing(address)
    try:
        for name in chance.choices([*STEPS], STEPS.values(), k=steps):
            values = {
                "send": lambda: (
                    chance.randint(1, 7),
                    [(chance.randint(0, 40), chance.randint(0, 1)) for _ in range(chance.randint(0, 3))],
                ),
                "deliver": lambda: chance.choices([*FATES], FATES.values()),
                "withdraw": lambda: ([chance.randint(0, machine.people + 2)],),
            }.get(name, tuple)()
            getattr(machine, name)(*values)
        machine.compare()
        return len(machine.arrived)
    finally:
        machine.stop()
        machine.stack.close()


def test_releases_in_folders():
    assert sum(play(a_folder, seed, 40) for seed in range(12)) >= 25


def test_releases_in_postgresql(postgres):
    import psycopg

    @contextlib.contextmanager
    def a_database():
        name = f"test_{secrets.token_hex(8)}"
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
            yield postgres.url(name)
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    assert sum(play(a_database, seed, 40) for seed in (3, 7)) >= 5
