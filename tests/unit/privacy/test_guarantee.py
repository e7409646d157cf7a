import dataclasses
import math

import pytest

from coterie.errors import PlanError
from coterie.privacy import Guarantee


@pytest.fixture
def promise():
    return Guarantee(epsilon=1.5, delta=0.0, spent=1.4999999, model="local")


def test_says_the_promise_in_plain_words(promise):
    text = str(promise)
    assert "1.5-differential privacy of one person's single report (pure: delta = 0)" in text
    assert "e^1.5 (under 4.49) times" in text  # 4.4817 rounded up, never down
    assert "spend 1.4999999 of the promised 1.5" in text
    assert "nobody" in text


@pytest.mark.parametrize("word", ["fresh 12-byte id", "ledger", "radius", "column", "clipped", "spend twice"])
def test_names_the_conditions(promise, word):
    assert word in str(promise)


def test_epsilon_is_not_rounded_for_show():
    shown = str(Guarantee(epsilon=0.123456789, delta=0.0, spent=0.123456789, model="local"))
    assert "0.123456789-differential" in shown


def test_a_delta_is_said():
    text = str(Guarantee(epsilon=1.0, delta=1e-6, spent=1.0, model="shuffle"))
    assert "delta = 1e-06" in text
    assert "mixed" in text


def test_what_is_left_without_mixing_is_said():
    mixed = Guarantee(epsilon=1.0, delta=1e-6, spent=1.0, model="shuffle", local_epsilon=4.0)
    assert "If the mixing fails, 4-differential privacy is left: a report may be 54.6 times" in str(mixed)
    shares = dataclasses.replace(mixed, local_epsilon=math.inf)
    assert "If the mixing fails there is no promise" in str(shares)
    for nothing in (
        dataclasses.replace(mixed, local_epsilon=None),
        dataclasses.replace(mixed, model="central"),
    ):
        assert "If the mixing fails" not in str(nothing)


def test_a_batch_and_its_exceptions_are_said():
    text = str(Guarantee(1.0, 1e-6, 1.0, "shuffle", people=90, exceptions=("A seed was used.",)))
    assert "spends 1 of the promised 1 in a batch of 90 people" in text
    assert "but for a chance of 1e-06" in text
    assert "IT DOES NOT HOLD HERE:\n- A seed was used." in text


def test_is_frozen(promise):
    with pytest.raises(dataclasses.FrozenInstanceError):
        promise.epsilon = 0.1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "trusted"}, "model must be one of local, shuffle, central"),
        ({"epsilon": 0.0}, "need epsilon > 0"),
        ({"delta": 1.0}, "0 <= delta < 1"),
        ({"spent": 1.6}, "at most epsilon"),
        ({"spent": 0.0}, "must be positive"),
    ],
)
def test_refuses_what_is_no_guarantee(promise, changes, message):
    with pytest.raises(PlanError, match=message):
        dataclasses.replace(promise, **changes)
