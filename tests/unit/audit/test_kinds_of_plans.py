"""Every kind of plan is audited: an honest client passes, and one that answers for somebody else does not."""

from types import SimpleNamespace

import numpy as np
import pytest

from coterie import Client, Plan
from coterie.audit import audit
from coterie.audit.empirical import check_client
from coterie.features import Category, Flag, Number
from tests.plans import is_there

REPORTS = 2500
SHUFFLED = {"model": "shuffle", "delta": 1e-6}
TREE = {"protocol": "net-tree", **SHUFFLED}
SUMS = {"protocol": "net-tree-sums", "levels": 2, "buckets": 4, **SHUFFLED}
RECORDS = [Number("age", 0, 100), Flag("member"), Category("color", ["red", "green", "blue"])]


def confirming():
    first, centers = Plan.design(3, 2, 2.0, 1000), np.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]])
    population = SimpleNamespace(
        points=centers, weights=np.ones(2), scatter=0.0, study_id=first.study_id, plan_ids=(first.id,)
    )
    found = SimpleNamespace(centers=centers, radius=1.0, middle=None, features=None, population=population)
    return first.follow_up(found, 1000, confirm=True)


PLANS = {
    "directions": Plan.design(6, 2, 2.0, 1000, directions=np.eye(6)[:2]),
    "confirming": confirming(),
    "records": Plan.design(features=RECORDS, clusters=2, epsilon=2.0, expected_users=1000),
    **({"tree of codewords, mixed": Plan.design(3, 2, 1.0, 1000, **TREE)} if is_there(TREE) else {}),
    **({"sums of a tree": Plan.design(3, 2, 1.0, 100, **SUMS)} if is_there(SUMS) else {}),
}


def test_these_are_those_plans():
    assert PLANS["directions"].to_dict()["version"] == 2
    assert PLANS["directions"].coordinates == 2
    assert PLANS["confirming"].confirms
    assert PLANS["records"].features is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_a_quick_audit_passes_for_each_kind_of_plan(name, monkeypatch):
    monkeypatch.setattr("coterie.audit.run._QUICK_REPORTS", REPORTS)
    monkeypatch.setattr("coterie.audit.run._QUICK_SINGLE_REPORTS", 100)
    monkeypatch.setattr("coterie.audit.replay.TURNS", 4)
    monkeypatch.setattr("coterie.audit.replay.ROUNDS", 4)
    found = audit(PLANS[name], quick=True, with_canaries=False)
    assert found.passed, found.failures
    assert {check.part for check in found.checks} == {"exact", "empirical", "environment"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_who_answers_for_somebody_else_is_seen(name):
    plan = PLANS[name]
    client = Client(plan)

    def somebody(people):
        same = np.zeros((len(people), plan.dimension)) + 0.4
        sent = client.encode_many(
            [{"age": 3, "member": True, "color": None}] * len(people) if plan.features else same
        )
        return np.frombuffer(sent, dtype=np.uint8).reshape(-1, plan.report_width)

    failed = {check.name for check in check_client(plan, somebody, reports=REPORTS) if not check.passed}
    assert any(check.startswith("law of ") for check in failed), failed
