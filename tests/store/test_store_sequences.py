"""Any sequence of calls leaves what a simple model says: two sets, and what follows from them."""

import contextlib
import shutil

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from coterie.store import Batch, StudyClosedError, StudyState, open_store

from .conftest import found, ids, rows

REPORT = st.tuples(st.integers(0, 12), st.integers(0, 3))  # few ids, so that they meet
SOME = st.lists(REPORT, max_size=8)
WHICH = st.integers(0, 1)


class Model:
    """A study by its definition."""

    def __init__(self):
        self.reports, self.withdrawn, self.released = set(), set(), set()
        self.received = 0
        self.open = True
        self.staged = None
        self.documents = {}

    def counted(self):
        smallest = {}
        for number, byte in sorted(self.reports):
            smallest.setdefault(number, byte)
        left_out = self.withdrawn | self.released
        return sorted((number, byte) for number, byte in smallest.items() if number not in left_out)


def mix(chunks):
    return b"mixed" + b"".join(chunk.tobytes() for chunk in chunks)


def machine(address, empty, plans):
    """A state machine on a store at `address`; `empty` clears the place before each run."""

    class Sequences(RuleBasedStateMachine):
        @initialize()
        def begin(self):
            empty()
            self.models = [Model(), Model()]
            self.sent = []
            self.store = open_store(address)
            for plan in plans:
                assert self.store.put_plan(plan)

        def take(self, pairs):
            """Append, and let the model do the same."""
            answers = self.store.append([(plans[which].id, rows(*reports)) for which, reports in pairs])
            for (which, reports), answer in zip(pairs, answers, strict=True):
                model = self.models[which]
                assert (answer is None) == model.open
                if model.open:
                    model.reports |= set(reports)
                    model.received += len(reports)
                else:
                    assert isinstance(answer, StudyClosedError)

        @rule(pairs=st.lists(st.tuples(WHICH, SOME), max_size=3))
        def append(self, pairs):
            self.sent += pairs
            self.take(pairs)

        @rule(data=st.data())
        def replay_in_pieces_and_another_order(self, data):
            if self.sent:
                which, reports = data.draw(st.sampled_from(self.sent))
                shuffled = data.draw(st.permutations(reports))
                cut = data.draw(st.integers(0, len(reports)))
                self.take([(which, shuffled[:cut]), (which, shuffled[cut:])])

        @rule(which=WHICH, numbers=st.lists(st.integers(0, 12), max_size=2))
        def withdraw(self, which, numbers):
            model = self.models[which]
            if model.open:
                self.store.withdraw(plans[which].id, ids(*numbers))
                model.withdrawn |= set(numbers)
            else:
                with pytest.raises(StudyClosedError, match="closed"):
                    self.store.withdraw(plans[which].id, ids(*numbers))

        @rule()
        def restart(self):
            self.store.shut()
            self.store = open_store(address)

        @rule(which=WHICH)
        def compact(self, which):
            counts, model = self.store.compact(plans[which].id), self.models[which]
            assert counts.counted == len(model.counted())
            assert counts.withdrawn == len(model.withdrawn)
            assert counts.counted + counts.duplicates + counts.conflicting <= counts.received

        @rule(which=WHICH)
        def read(self, which):
            assert found(self.store, plans[which]) == self.models[which].counted()

        @rule(which=WHICH)
        def stage(self, which):
            model = self.models[which]
            batch = self.store.stage_batch(plans[which].id, mix)
            if model.staged is None:
                counted = model.counted()
                model.staged = Batch.of(mix([rows(*counted)]))
                model.released |= {number for number, _ in counted}
            assert batch == model.staged

        @rule(which=WHICH, numbers=st.sets(st.integers(0, 20), max_size=8), replaced=st.booleans())
        def hand_over(self, which, numbers, replaced):
            """Others' reports, sorted and each id once, that the store never keeps."""
            model, waiting = self.models[which], self.models[which].staged
            instead_of = waiting.digest if replaced and waiting is not None else None
            given = rows(*((number, 1) for number in sorted(numbers)))
            batch = self.store.stage_batch(
                plans[which].id, mix, reports=iter([given[:3], given[3:]]), instead_of=instead_of
            )
            if waiting is None or replaced:
                left = sorted(numbers - model.released - model.withdrawn)
                model.staged = Batch.of(mix([rows(*((number, 1) for number in left))]))
                model.released |= set(left)
            assert batch == model.staged

        @rule(which=WHICH)
        def acknowledge(self, which):
            model = self.models[which]
            if model.staged is not None:
                self.store.acknowledge_batch(plans[which].id, model.staged.digest)
                model.staged = None

        @rule(which=WHICH, name=st.sampled_from(["table", "result"]), data=st.binary(max_size=5))
        def put_document(self, which, name, data):
            kept = self.models[which].documents.setdefault(name, data)
            assert self.store.put_document(plans[which].id, name, data) == kept

        @rule(which=WHICH, really=st.integers(0, 3))
        def close(self, which, really):
            if not really:
                self.store.close(plans[which].id)
                self.models[which].open = False

        @invariant()
        def counts_and_state(self):
            for plan, model in zip(plans, getattr(self, "models", []), strict=False):
                study = self.store.study(plan.id)
                assert study.counts.received == model.received
                assert study.counts.released == len(model.released)
                assert (study.state is StudyState.OPEN) == model.open

        def teardown(self):
            if hasattr(self, "store"):
                with self.store:
                    for plan, model in zip(plans, self.models, strict=True):
                        assert found(self.store, plan) == model.counted()

    return Sequences


def run(address, postgres_url, plans, examples, steps):
    def empty():
        if postgres_url is None:
            shutil.rmtree(address, ignore_errors=True)
            return
        import psycopg

        with psycopg.connect(postgres_url, autocommit=True) as connection, contextlib.suppress(psycopg.Error):
            connection.execute("DROP SCHEMA coterie CASCADE")

    run_state_machine_as_test(
        machine(address, empty, plans),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def place(address):
    return None if not isinstance(address, str) else address


def test_sequences(address, plan, other_plan):
    run(address, place(address), (plan, other_plan), examples=20, steps=20)


@pytest.mark.nightly
def test_many_sequences(address, plan, other_plan):
    run(address, place(address), (plan, other_plan), examples=300, steps=50)
