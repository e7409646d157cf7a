import dataclasses
import inspect
import math

import numpy as np
import pytest

import coterie.encode.client
from coterie.encode import Client
from coterie.errors import LedgerError, PlanError, PointError
from coterie.plan import Plan

PLAN = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=100)
SECRET = 0.12345678901


def test_a_report_has_the_plans_width():
    client = Client(PLAN)
    assert type(client.encode([0.1, 0.2, 0.3])) is bytes
    assert len(client.encode(np.array([1, 0, 0]))) == 13
    many = client.encode_many(np.zeros((5, 3), dtype=np.float32))
    assert type(many) is bytes
    assert len(many) == 65
    assert client.encode_many(np.zeros((0, 3))) == b""


def test_every_report_has_a_fresh_id():
    client = Client(PLAN)
    reports = np.frombuffer(client.encode_many(np.zeros((500, 3))), dtype=np.uint8).reshape(-1, 13)
    ids = [row[:12].tobytes() for row in reports] + [client.encode(np.zeros(3))[:12] for _ in range(50)]
    assert len(set(ids)) == 550


def test_the_system_is_the_only_source_of_coins(monkeypatch):
    """No argument, attribute or import leads from the client to seeded coins."""
    assert list(inspect.signature(Client).parameters) == ["plan", "ledger", "policy"]
    assert "SimulationCoins" not in inspect.getsource(coterie.encode.client)
    drawn = []

    def urandom(count):
        drawn.append(count)
        return bytes(count)

    monkeypatch.setattr("os.urandom", urandom)
    assert Client(PLAN).encode(np.zeros(3))[:12] == bytes(12)
    assert drawn == [12, 8]  # the id, then the one draw
    np.random.seed(0)  # noqa: NPY002 - the global generator must not matter
    monkeypatch.undo()
    assert Client(PLAN).encode(np.zeros(3))[:12] != Client(PLAN).encode(np.zeros(3))[:12]


def test_the_client_checks_the_odds_itself():
    """A plan object that got past its own checks is still refused."""
    plan = dataclasses.replace(PLAN, parameters=dataclasses.replace(PLAN.parameters))
    object.__setattr__(plan.parameters, "odds", plan.parameters.odds + 1)
    with pytest.raises(PlanError, match="do not answer it"):
        Client(plan)
    with pytest.raises(PlanError, match=r"needs a Plan, got str; Plan\.load reads one"):
        Client(PLAN.to_json())


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ([SECRET, 0.0], r"shape \(3,\), got shape \(2,\)"),
        ([[SECRET, 0.0, 0.0]], r"shape \(3,\), got shape \(1, 3\)"),
        (SECRET, r"shape \(3,\), got shape \(\)"),
        ([SECRET, math.nan, 0.0], "NaN"),
        ([SECRET, math.inf, 0.0], "infinite"),
        ([SECRET, -math.inf, 0.0], "infinite"),
        ([f"{SECRET}", "0", "0"], "real numbers"),
        ([SECRET, None, 0.0], "real numbers"),
        ([SECRET, 1j, 0.0], "real numbers"),
        ([True, False, True], "real numbers"),
        ([SECRET, [0.0], 0.0], "nested lists"),
        ([10**30, 0, 0], "real numbers"),
        (np.ma.masked_array([SECRET, 0.0, 0.0], [True, False, False]), "masked"),
        (np.array([SECRET, 0.0, 1j]), "real numbers"),
        (None, r"shape \(3,\)"),
    ],
)
def test_bad_points_are_refused_without_being_quoted(point, message, tmp_path):
    for client in (Client(PLAN), Client(PLAN, ledger=tmp_path / "ledger")):
        with pytest.raises(PointError, match=message) as caught:
            client.encode(point)
        error = caught.value
        while error is not None:
            assert "1234" not in str(error)
            error = error.__cause__
        assert client.clipped == 0
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((2, 4)), r"shape \(n, 3\)"),
        (np.zeros(3), r"shape \(n, 3\)"),
        ([[0.0, SECRET, math.nan]], "NaN"),
        ([[0.0, 1.0], [0.0]], "unequal length"),
        (np.array([["a", "b", "c"]]), "real numbers"),
        (np.ma.masked_array([[SECRET, 0.0, 0.0]], [[True, False, False]]), "masked"),
    ],
)
def test_bad_batches_are_refused(points, message):
    with pytest.raises(PointError, match=message):
        Client(PLAN).encode_many(points)


def test_counts_the_clipped_on_this_side_only():
    client = Client(PLAN)
    client.encode([3.0, 4.0, 0.0])
    client.encode_many([[0.1, 0.0, 0.0], [0.0, 9.0, 0.0], [1.0, 0.0, 0.0]])
    assert client.clipped == 2


def test_a_ledger_gives_the_first_answer_whatever_the_value_is_now(tmp_path):
    ledger = tmp_path / "ledger"
    first = Client(PLAN, ledger=ledger).encode([0.1, 0.2, 0.3])
    for point in ([0.1, 0.2, 0.3], [-1.0, 0.0, 0.0], [math.nan] * 3, "anything"):
        assert Client(PLAN, ledger=ledger).encode(point) == first
    other = dataclasses.replace(PLAN, seed=1)
    assert Client(other, ledger=ledger).encode([0.1, 0.2, 0.3]) != first
    assert Client(PLAN, ledger=ledger).encode([0.1, 0.2, 0.3]) == first


def test_a_refused_point_leaves_the_plan_unanswered(tmp_path):
    client = Client(PLAN, ledger=tmp_path / "ledger")
    with pytest.raises(PointError, match="NaN"):
        client.encode([math.nan, 0.0, 0.0])
    assert client.encode([0.0, 0.0, 0.0]) == client.encode([1.0, 0.0, 0.0])


def test_bulk_encoding_refuses_a_ledger(tmp_path):
    with pytest.raises(LedgerError, match="many people's points"):
        Client(PLAN, ledger=tmp_path / "ledger").encode_many(np.zeros((2, 3)))
