"""Faults that no canary has: the checks are not written for the clients that are named."""

import dataclasses
import itertools
import math
import os

import numpy as np
import pytest

from coterie.audit.canaries import _bent, _never_where, _recorded, _usual, _with_parameters, sender, some_ids
from coterie.audit.empirical import check_client
from coterie.audit.power import smallest
from coterie.audit.reading import Reading
from coterie.coins import SystemCoins
from coterie.plan import Plan
from coterie.protocols import encoder_of
from coterie.protocols.vector_sums.parameters import VectorSumParameters
from coterie.randomizers.vector_sums import VectorSums
from coterie.wire.stream import PublicStream

PLAN = _usual()
ODDS, CAP = PLAN.parameters.odds, PLAN.parameters.cap
BITS = Plan.design(3, 2, 2.0, 1000, protocol="net-tree", levels=3)
SHARES = Plan.design(2, 2, 1.0, 100, protocol="vector-sums", model="shuffle", delta=1e-6, cells=4)


def with_ids(make):
    return _bent(PLAN, lambda x, ids, draws: draws, make)


def two_bits_tell(x):
    bits = np.unpackbits(some_ids(len(x)), axis=1)
    bits[:, 3] = bits[:, 57] ^ (x[:, 0] > 0)
    return np.packbits(bits, axis=1)


def a_hidden_sum_tells(x):
    bits = np.unpackbits(some_ids(len(x)), axis=1)
    some = np.random.default_rng(5).permutation(96)[:21]
    bits[:, some[0]] = bits[:, some[1:]].sum(axis=1) % 2 ^ (x[:, 0] > 0)
    return np.packbits(bits, axis=1)


def twisted(x):
    generator = np.random.Generator(np.random.MT19937())
    return np.frombuffer(generator.bytes(12 * len(x)), dtype=np.uint8).reshape(-1, 12)


def the_flip_prefers_a_side(x):
    one, other = some_ids(len(x)), some_ids(len(x))
    flips = PublicStream(PLAN.randomness_key()).blocks(one, 0, 1)[:, 0, 4] & 1
    return np.where((flips == (x[:, 0] > 0))[:, None], one, other)


def stale(x):
    rows = sender(PLAN)(x)
    old = np.flatnonzero(np.random.default_rng().random(len(rows)) < 0.01)
    old = old[old > 0]
    rows[old, 12] = rows[old - 1, 12]
    return rows


class Counted:
    """Every 503rd report stays in the cap, over all calls."""

    def __init__(self):
        self.count = 0

    def __call__(self, x, ids, draws):
        numbers = np.arange(self.count, self.count + len(draws))
        self.count += len(draws)
        return np.where(numbers % 503 == 0, draws % (CAP * ODDS), draws)


def first_of_a_call(x, ids, draws):
    draws[0] = 0
    return draws


def far_coins(x, ids, draws):
    again = np.flatnonzero(np.random.default_rng().random(len(draws)) < 0.2)
    again = again[again >= 1000]
    draws[again] = draws[again - 1000]
    return draws


def last_block(x, ids, draws):
    if len(draws) > 64:
        draws[len(draws) // 64 * 64 :] = 0
    return draws


def congruent():
    """Ids as Java's Random gives them: the upper bits of a congruence to a power of two."""
    seed = int.from_bytes(os.urandom(6), "big")
    states = itertools.accumulate(
        itertools.repeat(0), lambda s, _: (0x5DEECE66D * s + 11) % 2**48, initial=seed
    )

    def ids_of(x):
        words = np.fromiter((s >> 16 for s in itertools.islice(states, 3 * len(x))), dtype="<u4")
        return words.view(np.uint8).reshape(-1, 12)

    return ids_of


def pooled():
    """A pool of coins that is not moved on: the next id begins with the bytes of this draw."""
    last = os.urandom(8)

    def send(x):
        nonlocal last
        drawn = np.frombuffer(last + os.urandom(8 * len(x)), dtype=np.uint8).reshape(-1, 8)
        last = drawn[-1].tobytes()
        ids = np.concatenate([drawn[:-1], some_ids(len(x))[:, :4]], axis=1)
        shares = drawn[1:].copy().view(">u8")[:, 0] >> np.uint64(11)
        draws = (shares * 2.0**-53 * PLAN.parameters.randomizer.total).astype(np.int64)
        return _bent(PLAN, lambda *_: draws, lambda _: ids)(x)

    return send


def drawn_until_a_bit_is_the_ids(x):
    rows = sender(PLAN)(x)
    while len(wrong := np.flatnonzero((rows[:, 11] ^ rows[:, 12]) & 1)):
        rows[wrong] = sender(PLAN)(x[wrong])
    return rows


FAULTS = {
    "two bits of the id tell a sign": lambda: with_ids(two_bits_tell),
    "a sum of hidden bits of the id tells a sign": lambda: with_ids(a_hidden_sum_tells),
    "ids of a Mersenne twister": lambda: with_ids(twisted),
    "ids whose public flip prefers a side": lambda: with_ids(the_flip_prefers_a_side),
    "one answer in a hundred is that of the report before": lambda: stale,
    "every 503rd report stays in the cap": lambda: _bent(PLAN, Counted()),
    "the first report of a call": lambda: _bent(PLAN, first_of_a_call),
    "coins of a thousand reports ago": lambda: _bent(PLAN, far_coins),
    "close to the surface": lambda: _never_where(
        PLAN, lambda x, _: np.abs(np.linalg.norm(np.clip(x, -2, 2), axis=1) - 1) < 1e-3
    ),
    "one byte of the id and one sign": lambda: _never_where(
        PLAN, lambda x, ids: (ids[:, 0] == 17) & (x[:, 0] > 0)
    ),
    "few random bits": lambda: _bent(PLAN, lambda x, ids, draws: draws >> 26 << 26),
    "a cap one too large": lambda: sender(_with_parameters(PLAN, cap=CAP + 1)),
    "people after the last whole block of a call": lambda: _bent(PLAN, last_block),
    "ids of a congruence": lambda: with_ids(congruent()),
    "the next id begins with the draw": pooled,
    "a bit of the value is the id's": lambda: drawn_until_a_bit_is_the_ids,
}
NEEDED = {"every 503rd report stays in the cap": 120_000, "ids of a congruence": 150_000}


OFTEN = (
    "a sum of hidden bits of the id tells a sign",
    "a bit of the value is the id's",
    "few random bits",
    "the first report of a call",
)


def caught(name):
    checks = check_client(PLAN, FAULTS[name](), reports=NEEDED.get(name, 40_000), replay=False)
    assert checks[0].passed, checks[0].found  # it sent reports for everybody
    return not all(each.passed for each in checks)


@pytest.mark.slow
@pytest.mark.parametrize("name", OFTEN)
def test_a_fault_that_no_canary_has_is_caught(name):
    assert caught(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(FAULTS.keys() - set(OFTEN)))
def test_another_fault_that_no_canary_has_is_caught(name):
    assert caught(name)


STRANGE = {
    "no number": lambda value: isinstance(value, float) and math.isnan(value),
    "below the range": lambda value: isinstance(value, float) and value < 0,
    "above the range": lambda value: isinstance(value, float) and value > 100,
    "a text": lambda value: isinstance(value, str),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", STRANGE)
def test_a_record_with_a_strange_number_is_answered_with_coins(name):
    def send(people):
        bare = np.array([STRANGE[name](each["age"]) for each in people])
        return _bent(_recorded(), lambda x, ids, draws: np.where(bare, 0, draws))(people)

    assert not all(each.passed for each in check_client(_recorded(), send, reports=40_000, replay=False))


@pytest.mark.nightly
def test_a_level_of_a_tree_that_one_person_in_ten_answers_without_coins_is_caught():
    encoder, reading = encoder_of(BITS), Reading(BITS)

    def send(x):
        ids = some_ids(len(x))
        rows = encoder.encode(x, ids, SystemCoins())
        truth = reading._truth(x, ids)[:, 0].astype(np.uint8) << 7
        bare = SystemCoins().below_many(10, len(x)) == 0
        rows[:, 12] = np.where(bare, rows[:, 12] & 0x7F | truth, rows[:, 12])
        return rows

    assert all(each.passed for each in check_client(BITS, sender(BITS), reports=300_000, replay=False))
    assert not all(each.passed for each in check_client(BITS, send, reports=300_000, replay=False))


def shares_with(noise):
    """A client of shares whose noise is `noise` of the honest one."""

    class Other(VectorSums):
        def noise(self, shape, coins):
            return noise(VectorSums.noise(self, shape, coins))

    class Parameters(VectorSumParameters):
        def sums(self):
            right = VectorSumParameters.sums(self)
            return Other(*(getattr(right, field.name) for field in dataclasses.fields(right)))

    broken, parameters = dataclasses.replace(SHARES), SHARES.parameters
    fields = {field.name: getattr(parameters, field.name) for field in dataclasses.fields(parameters)}
    object.__setattr__(broken, "parameters", Parameters(**fields))
    return sender(broken)


CUT, ENDS = "cut off at 3.5 deviations", int(3.5 * SHARES.parameters.noise_scale)
NOISES = {
    "one for all coordinates": lambda drawn: np.repeat(drawn[..., :1], drawn.shape[-1], axis=-1),
    "none in the first row": lambda drawn: np.concatenate([drawn[:, :1] * 0, drawn[:, 1:]], axis=1),
    "no sign": np.abs,
    "none for one person in 50": lambda drawn: drawn * (np.arange(len(drawn)) % 50 != 7)[:, None, None],
    CUT: lambda drawn: np.clip(drawn, -ENDS, ENDS),
    "as it should be": lambda drawn: drawn,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*sorted(NOISES.keys() - {CUT}), pytest.param(CUT, marks=pytest.mark.nightly)]
)
def test_noise_that_is_not_the_plans_is_caught(name):
    reports = 1_000_000 if name == CUT else 40_000
    checks = check_client(SHARES, shares_with(NOISES[name]), reports=reports, replay=False)
    assert all(each.passed for each in checks) == (name == "as it should be")


@pytest.mark.nightly
def test_the_smallest_excess_that_is_stated_is_caught():
    reports = 60_000
    checks = {each.name: each for each in check_client(PLAN, sender(PLAN), reports=reports, replay=False)}
    assert all(each.passed for each in checks.values()), checks
    excess = 1.15 * checks["power"].figures["epsilon_excess"]
    broken = sender(_with_parameters(PLAN, odds=int(ODDS * np.exp(excess))))
    found = {each.name: each for each in check_client(PLAN, broken, reports=reports, replay=False)}
    assert not found["law of places"].passed
    assert "would have shown" in checks["power"].found


def test_power_grows_with_the_sample():
    few, many = (smallest(lambda more: 0.3 + more, count, 0.3, 1, 0.7) for count in (10**4, 10**6))
    assert 8 < few / many < 12
    assert smallest(lambda more: 0.3 + more, 3, 0.3, 1, 0.7) == np.inf
