"""What many plans learn of one person is bounded by the ledger, whatever goes wrong in between."""

import dataclasses
import math
import os
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest

from coterie.encode import Client
from coterie.encode.ledger import Ledger
from coterie.errors import PlanError, PolicyError
from coterie.plan import Plan
from coterie.privacy import Policy

PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
POINT = [0.3, -0.4]
DAY = 86400
KEY = "5e1f" * 16


def plans(count, **public):
    return [dataclasses.replace(PLAN, seed=seed, **public) for seed in range(count)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


def test_plans_that_differ_in_the_seed_alone_do_not_add_up_beyond_the_total(path):
    """Sixty such plans told two points apart before there was a total."""
    for plan in plans(8):
        Client(plan, path).encode(POINT)
    for plan in plans(60)[8:]:
        with pytest.raises(PolicyError, match="epsilon 9, and this device allows 8"):
            Client(plan, path).encode(POINT)
    spent = Ledger(path).spent()
    assert (spent.total.epsilon, spent.total.local_epsilon, len(spent.answers)) == (8, 8, 8)
    assert Client(PLAN, path).encode(POINT) == spent.answers[0].sent  # an old answer costs nothing


def test_nothing_is_drawn_before_the_policy_is_asked(path, monkeypatch):
    monkeypatch.setattr("os.urandom", lambda _: pytest.fail("coins were drawn"))
    steep = Plan.design(dimension=2, clusters=2, epsilon=6.0, expected_users=100)
    for ledger in (None, path):
        with pytest.raises(PolicyError, match="epsilon 6, and this device allows 4"):
            Client(steep, ledger).encode(POINT)
    with pytest.raises(PolicyError, match=r"epsilon 1, and this device allows 0\.5"):
        Client(PLAN, path, policy=Policy(total_epsilon=0.5)).encode(POINT)
    with pytest.raises(PolicyError, match="policy is a Policy, got float"):
        Client(PLAN, policy=4.0)
    assert not path.exists()


def test_local_epsilon_is_summed_by_itself(path):
    policy = Policy(total_epsilon=100.0, total_local_epsilon=20.0, shufflers=(KEY,))
    mixed = [
        Plan.design(2, 2, 1.0, 2000, model="shuffle", delta=1e-6, seed=seed, local_cap=9.0)
        for seed in range(6)
    ]
    local = mixed[0].local_epsilon
    assert 3 < local < 9
    allowed = math.floor(20 / local)
    for plan in mixed[:allowed]:
        Client(plan, path, policy=policy).encode(POINT)
    with pytest.raises(PolicyError, match="for local epsilon"):
        Client(mixed[allowed], path, policy=policy).encode(POINT)
    total = Ledger(path).spent().total
    assert total.local_epsilon == allowed * Fraction(local)
    assert total.delta == allowed * Fraction(1e-6)


def test_a_client_draws_nothing_for_a_mixer_that_nobody_named(path, monkeypatch):
    mixed = Plan.design(2, 2, 1.0, 2000, model="shuffle", delta=1e-6)
    assert len(Client(mixed, path, policy=Policy(shufflers=(KEY,))).encode(POINT)) == 13
    monkeypatch.setattr("os.urandom", lambda _: pytest.fail("coins were drawn"))
    for ledger in (None, path):
        with pytest.raises(PolicyError, match="knows no shuffler"):
            Client(mixed, ledger).encode(POINT)


def test_shares_need_a_policy_that_says_so(path):
    plan = Plan.design(2, 2, 1.0, 100, protocol="vector-sums", model="shuffle", delta=1e-6, cells=4)
    with pytest.raises(PolicyError, match="promise nothing unless they are mixed"):
        Client(plan, path, policy=Policy(shufflers=(KEY,))).encode(POINT)
    half = Policy(max_local_epsilon=math.inf, shufflers=(KEY,))
    with pytest.raises(PolicyError, match="promise nothing unless they are mixed"):
        Client(plan, path, policy=half).encode(POINT)
    whole = Policy(max_local_epsilon=math.inf, total_local_epsilon=math.inf, shufflers=(KEY,))
    assert len(Client(plan, path, policy=whole).encode(POINT)) == plan.report_width
    assert Ledger(path).spent().total.local_epsilon is None
    with pytest.raises(PolicyError, match="promise nothing"):  # what is lost is lost
        Client(PLAN, path).encode(POINT)


def test_a_period_forgets_and_says_so(path, monkeypatch):
    now = [20000.0 * DAY]
    monkeypatch.setattr("time.time", lambda: now[0])
    policy = Policy(total_epsilon=2.0, per=timedelta(days=30))
    first, second, third, fourth = plans(4)
    Client(first, path, policy=policy).encode(POINT)
    now[0] += 29 * DAY
    Client(second, path, policy=policy).encode(POINT)
    with pytest.raises(PolicyError, match=r"epsilon 3.*in 30 days"):
        Client(third, path, policy=policy).encode(POINT)
    now[0] += DAY
    Client(third, path, policy=policy).encode(POINT)
    assert Ledger(path).spent().total.epsilon == 3
    assert Ledger(path).spent(days=30).total.epsilon == 2
    now[0] -= 300 * DAY  # a clock set back does not forget
    with pytest.raises(PolicyError, match="epsilon 4"):
        Client(fourth, path, policy=policy).encode(POINT)
    promise = str(Client(first, path, policy=policy).guarantee)
    assert "at most epsilon 2 is spent" in promise
    assert "in any 30 days, and without bound beyond" in promise


def test_without_a_ledger_no_total_is_kept_and_it_says_so(path):
    for plan in plans(20):
        Client(plan).encode(POINT)
    assert "no ledger: no total is kept" in str(Client(PLAN).guarantee)
    assert "no total" not in str(Client(PLAN, path).guarantee)


def test_bulk_simulation_checks_the_odds_only():
    steep = Plan.design(dimension=2, clusters=2, epsilon=6.0, expected_users=100)
    assert len(Client(steep).encode_many(np.zeros((3, 2)))) == 39
    object.__setattr__(steep.parameters, "odds", steep.parameters.odds + 1)
    with pytest.raises(PlanError, match="do not answer it"):
        Client(steep)


class Died(BaseException):
    """A process that ends here."""


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_crash_never_loses_what_was_spent(path, monkeypatch, step, before):
    """The sum is of what was answered: a total and its answers cannot come apart."""
    first, second = plans(2)
    Client(first, path).encode(POINT)
    real = getattr(os, step)

    def dying(*arguments):
        if before:
            raise Died
        real(*arguments)
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(os, step, dying)
        with pytest.raises(Died):
            Client(second, path).encode(POINT)
    spent = Ledger(path).spent()
    assert spent.total.epsilon == len(spent.answers) in {1, 2}
    Client(second, path).encode(POINT)
    assert Ledger(path).spent().total.epsilon == 2
