"""Any sequence of requests leaves what a simple model says, and so does the table at the end."""

import contextlib
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from coterie import Aggregate
from coterie.remote import RemoteCollector
from tests.service.conftest import TOKEN, failures, post, serving, small_plan

PLAN = small_plan()
MALFORMED = 200
REPORT = st.tuples(st.integers(0, 9), st.sampled_from([0, 1, 2, MALFORMED]))  # few ids, so that they meet
SOME = st.lists(REPORT, min_size=1, max_size=8)


def rows(reports):
    return b"".join(number.to_bytes(12, "big") + bytes([byte]) for number, byte in reports)


def machine(folder):
    class Requests(RuleBasedStateMachine):
        @initialize()
        def begin(self):
            shutil.rmtree(folder, ignore_errors=True)
            self.reports, self.withdrawn, self.sent, self.open = set(), set(), [], True
            self.stack = contextlib.ExitStack()
            self.start()
            self.running.store.put_plan(PLAN)

        def start(self):
            self.running = self.stack.enter_context(serving(folder))

        def check(self, reports, where="reports"):
            """Send, and let the model do the same."""
            found = failures(post(self.running.url, PLAN, rows(reports), where))
            expected = []
            for number, byte in reports:
                reason = "malformed" if byte == MALFORMED else None if self.open else "closed"
                if reason is not None:
                    expected.append((number.to_bytes(12, "big").hex(), reason))
                elif where == "reports":
                    self.reports.add((number, byte))
                else:
                    self.withdrawn.add(number)
            assert found == expected

        @rule(reports=SOME)
        def upload(self, reports):
            self.sent.append(reports)
            self.check(reports)

        @rule(data=st.data())
        def replay_in_another_order(self, data):
            if self.sent:
                reports = data.draw(st.permutations(data.draw(st.sampled_from(self.sent))))
                cut = data.draw(st.integers(0, len(reports)))
                for part in (reports[:cut], reports[cut:]):
                    if part:
                        self.check(part)

        @rule(reports=SOME)
        def withdraw(self, reports):
            self.check(reports, "withdrawals")

        @rule()
        def restart(self):
            self.stack.close()
            self.start()

        @rule()
        def compact(self):
            counts = self.running.store.compact(PLAN.id)
            assert counts.counted == len(self.counted())

        @rule()
        def close(self):
            with RemoteCollector(self.running.url, token=TOKEN) as operator:
                operator.close(PLAN.id)
                assert operator.status(PLAN.id)["state"] == "closed"
            self.open = False

        def counted(self):
            smallest = {}
            for number, byte in sorted(self.reports):
                smallest.setdefault(number, byte)
            return sorted(pair for pair in smallest.items() if pair[0] not in self.withdrawn)

        def teardown(self):
            if not hasattr(self, "running"):
                return
            expected, found = Aggregate(PLAN), Aggregate(PLAN)
            expected.add(rows(self.counted()))
            for chunk in self.running.store.reports(PLAN.id):
                found.add(np.ascontiguousarray(chunk))
            self.stack.close()
            assert found.to_bytes() == expected.to_bytes()

    return Requests


def run(folder, examples, steps):
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine(folder), settings=chosen)


def test_sequences_of_requests(tmp_path):
    run(tmp_path / "data", 12, 15)


@pytest.mark.nightly
def test_many_sequences_of_requests(tmp_path):
    run(tmp_path / "data", 200, 40)
