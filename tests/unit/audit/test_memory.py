"""What a client remembers: the same bytes again, one plan of a study, and the total."""

from dataclasses import replace

import pytest

from coterie import Plan
from coterie.audit.memory import check_memory
from coterie.encode import Client

FIRST = Plan.design(3, 2, 1.0, 1000)
PLANS = {
    "first of its study": FIRST,
    "follow-up": Plan.design(3, 2, 1.0, 1000, study=FIRST.id, after=(FIRST.id,), radius=0.5),
    "directions": Plan.design(3, 2, 1.0, 1000, directions=[[1.0, 0.0, 0.0]]),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_ours_remembers(plan):
    check = check_memory(plan)
    assert check.passed, check.found


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_client_that_takes_every_plan_for_a_study_of_its_own_is_caught(plan):
    def make(asked, path, policy):
        return Client(replace(asked, study=None, after=()), policy=policy, ledger=path)

    check = check_memory(plan, make)
    assert not check.passed
    assert "two plans of one study are answered" in check.found
