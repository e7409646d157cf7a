"""The audit of codewords of a net tree."""

import dataclasses

import pytest

from coterie.audit.laws import check_laws
from coterie.audit.run import audit
from coterie.plan import Plan
from coterie.protocols.paper.net_tree.encode_codeword import CodewordTreeEncoder

CODEWORDS = Plan.design(2, 2, 2.0, 10_000, protocol="net-tree", randomizer="codeword")


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
    found = audit(CODEWORDS, quick=True, with_canaries=False)
    assert found.passed, found.failures
    assert {check.part for check in found.checks} == {"exact", "empirical", "environment"}


def test_larger_odds_or_a_wider_cap_break_the_law_of_codewords():
    for change in ({"odds": int(CODEWORDS.parameters.odds * 1.05)}, {"cap": CODEWORDS.parameters.cap + 1}):
        encoder = CodewordTreeEncoder(broken(CODEWORDS, **change))
        assert not check_laws(CODEWORDS, encoder.encode, 2.0, ids=1).passed
