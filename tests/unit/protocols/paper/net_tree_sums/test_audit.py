"""The audit of sums over all levels of a net tree."""

import dataclasses

import pytest

from coterie.audit.canaries import sender
from coterie.audit.empirical import check_client
from coterie.audit.run import audit
from coterie.plan import Plan

SUMS = {"protocol": "net-tree-sums", "delta": 1e-6}
SENT = Plan.design(2, 2, 1.0, 100, model="shuffle", levels=2, buckets=20, **SUMS)


def broken(plan, **changes):
    """A plan object that its own checks would refuse."""
    copy = dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters))
    for name, value in changes.items():
        object.__setattr__(copy.parameters, name, value)
    return copy


@pytest.mark.slow
def test_the_packages_own_client_passes(monkeypatch):
    monkeypatch.setattr("coterie.audit.run._QUICK_REPORTS", 8000)  # enough for what passes
    monkeypatch.setattr("coterie.audit.replay.TURNS", 4)
    monkeypatch.setattr("coterie.audit.replay.ROUNDS", 4)
    found = audit(SENT, quick=True, with_canaries=False)
    assert found.passed, found.failures
    assert {check.part for check in found.checks} == {"exact", "empirical", "environment"}


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.9])
def test_less_noise_in_the_shares_is_seen(share):
    quiet = broken(SENT, noise_parts=int(SENT.parameters.noise_parts * share))
    assert not all(check.passed for check in check_client(SENT, sender(quiet), reports=60_000))


def test_reports_that_are_too_long_to_send_are_said_not_to_have_been_looked_at():
    wide = Plan.design(10, 2, 1.0, 10_000, model="shuffle", **SUMS)
    found = {check.name: check.found for check in audit(wide, quick=True, with_canaries=False).checks}
    assert "more than can be sent: none was looked at" in found["samples"]
    assert "one answer" not in found
