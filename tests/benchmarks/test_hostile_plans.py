"""No plan that a device accepts by default costs it much, whoever wrote it; larger ones are refused."""

import pytest

from benchmarks.hostile_plans import MOST_MIB, MOST_SECONDS, PLANS, measure
from coterie import Plan

REFUSED = ("256 views of 256 halfspaces", "one view of 65,536 halfspaces")


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_a_plan_costs_a_client_little(name):
    plan = PLANS[name]()
    assert Plan.from_json(plan.to_json()) == plan  # it is valid, accepted or not
    found = measure(plan)
    assert ("rows times dimensions" in found["refused"]) == (name in REFUSED)
    assert found["seconds"] < MOST_SECONDS
    assert found["mib"] < MOST_MIB / 2
