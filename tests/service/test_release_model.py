"""Any sequence of sending, releasing, delivering and crashing, against a model of a few sets."""

import asyncio
import contextlib
import secrets
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from coterie.plan import Plan
from coterie.remote import CollectorError
from coterie.service.batches import checked_people
from coterie.service.problems import Problem
from coterie.service.releases import Releases
from coterie.service.shuffler import Shuffler
from coterie.store import StudyClosedError, open_store
from coterie.wire.shuffled_file import ShuffledFile
from tests.service.conftest import KEY, TOKEN

MINIMUM = 4
PLAN = Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4, minimum_batch=MINIMUM)
REPORTS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 1)), min_size=1, max_size=8)


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


class Releasing(RuleBasedStateMachine):
    """The real stores, releases and upkeep on one side; sets on the other."""

    def __init__(self, address):
        super().__init__()
        self.stack = contextlib.ExitStack()
        self.addresses = [self.stack.enter_context(address()) for _ in range(2)]
        self.sent, self.withdrawn, self.released = set(), set(), set()  # pairs, ids, ids
        self.staged, self.arrived = None, []
        self.open = True
        self.start()
        self.store.put_plan(PLAN)
        self.kept.put_plan(PLAN)

    def start(self):
        self.store, self.kept = (open_store(each) for each in self.addresses)
        self.line = Line(self.kept)
        self.shuffler = Shuffler(self.store, token=TOKEN, key=KEY, deliver_to="http://127.0.0.1:9")
        self.releases = Releases(self.store, KEY, self.line, self.shuffler.metrics, clock=lambda: 0.0)
        self.shuffler.upkeep.prepare(self.releases)

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

    @rule(pairs=REPORTS)
    def send(self, pairs):
        (answer,) = self.store.append([(PLAN.id, rows_of(pairs))])
        assert (answer is None) == self.open
        if self.open:
            self.sent |= {pair for pair in pairs if pair[0] not in self.released}

    @rule(numbers=st.lists(st.integers(0, 15), min_size=1, max_size=2))
    def withdraw(self, numbers):
        ids = rows_of((number, 0) for number in numbers)[:, :12]
        if self.open:
            self.store.withdraw(PLAN.id, ids)
            self.withdrawn |= set(numbers)
        else:
            with pytest.raises(StudyClosedError):
                self.store.withdraw(PLAN.id, ids)

    @rule()
    def release(self):
        counted = self.counted()
        if self.staged is None and len(counted) < MINIMUM and (counted or not self.released):
            with pytest.raises(Problem, match=f"{len(counted)} people and the plan's minimum is {MINIMUM}"):
                self.releases.release(PLAN)
            return
        self.releases.release(PLAN)
        if self.staged is None and counted:
            self.stage()

    @rule(fate=st.sampled_from(["works", "works", "no connection", "no answer", "power cut"]))
    def deliver(self, fate):
        self.line.fate = fate
        self.releases._attempts.clear()  # as if the pause were over
        try:
            done = self.releases.deliver(PLAN.id)
        except PowerCutError:
            done = False
            self.restart()
        assert done == (fate == "works" or self.staged is None)
        if self.staged is not None and fate != "no connection" and self.staged not in self.arrived:
            self.arrived.append(self.staged)
        if done:
            self.staged = None

    @rule()
    def look(self):
        """What the shuffler does by itself."""
        asyncio.run(self.shuffler.upkeep.look())
        if not self.open and self.staged is None and len(self.counted()) >= MINIMUM:
            self.stage()

    @rule()
    def restart(self):
        self.stop()
        self.start()

    @precondition(lambda self: self.open and len(self.released) > 6)
    @rule()
    def close(self):
        self.store.close(PLAN.id)
        self.open = False

    @rule()
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

    def teardown(self):
        self.compare()
        self.stop()
        self.stack.close()


@contextlib.contextmanager
def a_folder():
    folder = tempfile.mkdtemp()
    try:
        yield Path(folder) / "store"
    finally:
        shutil.rmtree(folder)


def few(examples, steps=25):
    return settings(max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True)


def test_releases_in_folders():
    run_state_machine_as_test(lambda: Releasing(a_folder), settings=few(20))


def test_releases_in_postgresql(postgres):
    import psycopg

    @contextlib.contextmanager
    def a_database():
        name = f"test_{secrets.token_hex(8)}"
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
            yield postgres.url(name)
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    run_state_machine_as_test(lambda: Releasing(a_database), settings=few(3, 20))
