"""Broken clients, each of a kind that has been shipped somewhere: the audit must catch them all.

A check that has never failed shows nothing. Every audit runs these beside the client it was given, by the
same functions, and fails if one of them passes. `UNSEEN` names those that no audit of bytes can catch; they
stand under what it cannot show.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from coterie.audit.amplification import check_amplification
from coterie.audit.empirical import check_client
from coterie.audit.environment import check_generator
from coterie.audit.laws import check_laws
from coterie.audit.memory import check_memory, client_with
from coterie.audit.reading import Reading
from coterie.audit.result import Check
from coterie.coins import SimulationCoins, SystemCoins
from coterie.encode.ledger import Answer, Ledger
from coterie.features import Category, Flag, Number
from coterie.plan import Plan
from coterie.plan.views import CrossPolytope
from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.protocols import PROTOCOLS, encoder_of
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.wire.layout import ID_BYTES
from coterie.wire.rows import Rows as Rows_
from coterie.wire.stream import PublicStream

REPORTS: Final = 20_000  # of a canary
SOME: Final = 80_000  # of one whose fault is no large one
MANY: Final = 1_200_000  # of one whose fault is small

Rows = NDArray[np.uint8]
Points = NDArray[np.float64]


@functools.cache
def _plan() -> Plan:
    """Return a small codeword plan: 64 codewords, ε = 2, and a zero point whose scores tie."""
    parameters = CodewordParameters(64, 14, largest_odds(2.0), 128, 0, (CrossPolytope(8),))
    return Plan(
        protocol="codeword", model="local", dimension=6, clusters=2, epsilon=2.0, delta=0.0,
        expected_users=100, center=None, radius=1.0, seed=0, parameters=parameters,
    )  # fmt: skip


@functools.cache
def _mixed() -> Plan:
    return Plan.design(2, 2, 1.0, 2000, model="shuffle", delta=1e-6)


def some_ids(count: int) -> Rows:
    """Return fresh ids: (n, 12)."""
    return np.frombuffer(SystemCoins().bytes(ID_BYTES * count), dtype=np.uint8).reshape(-1, ID_BYTES)


def sender(plan: Plan, coins: Any = None) -> Callable[[Points], Rows]:
    """Return a client of the plan's own encoder, with these coins or the system's."""
    encoder = encoder_of(plan)

    def send(points: Points) -> Rows:
        return encoder.encode_counting(points, some_ids(len(points)), coins or SystemCoins())[0]

    return send


def outside(points: Points) -> NDArray[np.bool_]:
    """Return which points lie outside the unit ball, however far."""
    return np.asarray((np.clip(points, -2, 2) ** 2).sum(axis=1) > 1)


def samples(
    plan: Plan, send: Callable[[Any], Any], reports: int = REPORTS, *, replay: bool = True
) -> list[Check]:
    """Return the checks of so many reports of a client."""
    return check_client(plan, send, reports=reports, replay=replay)


def _with_parameters(plan: Plan, **changes: int) -> Plan:
    """Return a plan object that its own checks would refuse: what a careless client might hold."""
    parameters: Any = plan.parameters
    broken = dataclasses.replace(plan, parameters=dataclasses.replace(parameters))
    for name, value in changes.items():
        object.__setattr__(broken.parameters, name, value)
    return broken


def _encoder_of(plan: Plan, **changes: int) -> CodewordEncoder:
    return CodewordEncoder(_with_parameters(plan, **changes))


class _RemainderCoins(SystemCoins):
    """The remainder of a word that is a little longer than the bound: small draws come up twice as often."""

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        words = np.frombuffer(self.bytes(8 * size), dtype="<u8") >> np.uint64(64 - bound.bit_length())
        return np.asarray(words % np.uint64(bound)).astype(np.int64)


class _RepeatingCoins(SystemCoins):
    """A generator that starts from the same seed for every report."""

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        return np.full(size, int.from_bytes(b"same seed", "big") % bound, dtype=np.int64)


class _Forgetful(Ledger):
    """A ledger that is never written."""

    def _write(self, answers: dict[bytes, Answer]) -> None:
        del answers


class _Spendthrift(Ledger):
    """A ledger that forgets what its plans cost."""

    def _check(self, plan: Plan, policy: Any, answers: dict[bytes, Answer], today: int) -> None:
        del plan, policy, answers, today


def _other_parameters(**changes: int) -> Iterable[Check]:
    yield check_laws(_plan(), _encoder_of(_plan(), **changes).encode, 2.0, ids=1)


def _threshold_cap() -> Iterable[Check]:
    """Take a cap "score ≥ the m-th score": where scores tie it is larger, and the odds are other chances."""
    plan = _plan()

    def encode(points: Points, ids: Rows, coins: Any) -> Rows:
        caps = -(Reading(plan)._keyed(points, ids, 0)[0] >> 6)  # scores, without the bits of the index
        least = np.sort(caps, axis=1)[:, -CodewordParameters.of(plan).cap]
        widest = int((caps >= least[:, None]).sum(axis=1).max())
        return _encoder_of(plan, cap=widest).encode(points, ids, coins)

    yield check_laws(plan, encode, 2.0, ids=16)


def _redrawn_id() -> Iterable[Check]:
    """Draw two ids and keep the one with which the point's best codeword is better."""
    reading = Reading(_plan())

    def picky(points: Points) -> Rows:
        one, other = some_ids(len(points)), some_ids(len(points))
        better = reading.features(points, one)[:, :1] >= reading.features(points, other)[:, :1]
        return np.where(better, one, other)

    return samples(_plan(), _bent(_plan(), ids_of=picky), SOME, replay=False)


def _telling_length() -> Iterable[Check]:
    send = sender(_plan())

    def telling(points: Points) -> list[bytes]:
        told = zip(send(points), outside(points), strict=True)
        return [row.tobytes() + b"!" * int(far) for row, far in told]

    return samples(_plan(), telling, 2000)


# ---------------------------------------------------------------- clients that are wrong for some people only


@functools.cache
def _usual() -> Plan:
    """Return a plan as it is designed: 256 codewords, two views, 1,088 rows."""
    return Plan.design(3, 2, 1.0, 1000)


def _law() -> CodewordParameters:
    return CodewordParameters.of(_usual())


@functools.cache
def _recorded() -> Plan:
    features = [Number("age", 0, 100), Category("plan", ("free", "paid", "trial")), Flag("member")]
    return Plan.design(features=features, clusters=2, epsilon=1.0, expected_users=1000)


Bend = Callable[[Points, Rows, NDArray[np.int64]], NDArray[np.int64]]
Where = Callable[[Any, Any], Any]  # points (n, d), ids (n, 12) -> (n,) of bool


def _bent(
    plan: Plan,
    bend: Bend = lambda points, ids, draws: draws,
    ids_of: Callable[[Points], Rows] = lambda points: some_ids(len(points)),
) -> Callable[[Any], Rows]:
    """Return a client whose draw is `bend` of the honest one; a draw of 0 names the best codeword."""
    encoder = encoder_of(plan)

    def send(people: Any) -> Rows:
        points = people if plan.features is None else plan.features.points(people)
        ids = ids_of(points)

        class Bent(SystemCoins):
            def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
                return bend(points, ids, super().below_many(bound, size))

        return encoder.encode(points, ids, Bent())

    return send


def _never_where(plan: Plan, where: Where) -> Callable[[Any], Rows]:
    """Return a client that tosses no coin where it is told: it names the best codeword."""
    return _bent(plan, lambda points, ids, draws: np.where(where(points, ids), 0, draws))


def _odds_where(where: Where) -> Callable[[Any], Rows]:
    """Return a client with odds too large where it is told, and too small elsewhere by the same factor."""
    randomizer, (index,) = _law().randomizer, _law().parts()
    laws = [dataclasses.replace(randomizer, odds=int(randomizer.odds * factor)) for factor in (1.2, 1 / 1.2)]
    firsts = np.concatenate([[0], np.cumsum(index.places)])

    def bend(points: Points, ids: Rows, draws: NDArray[np.int64]) -> NDArray[np.int64]:
        ranks = [law.ranks(SystemCoins().below_many(law.total, len(draws))) for law in laws]
        return np.asarray(firsts[np.where(where(points, ids), *ranks)])

    return _bent(_usual(), bend)


def _best_never_sent() -> Callable[[Any], Rows]:
    odds = _law().odds
    return _bent(_usual(), lambda points, ids, draws: np.where(draws < odds, draws + odds, draws))


def _worst_never_sent() -> Callable[[Any], Rows]:
    last = _law().randomizer.total - BASE_ODDS
    return _bent(_usual(), lambda points, ids, draws: np.where(draws < last, draws, draws - BASE_ODDS))


def _hashed_ids() -> Callable[[Any], Rows]:
    """Make ids of the point and the clock: whoever guesses both knows whose report it is."""

    def ids_of(points: Points) -> Rows:
        return _hashes(b"%b%d" % (row.tobytes(), time.time_ns()) for row in points)

    return _bent(_usual(), ids_of=ids_of)


def _kept_coins() -> Callable[[Any], Rows]:
    """Use every draw for two reports, one after the other, whoever they are of."""
    return _bent(_usual(), lambda points, ids, draws: draws[np.arange(len(draws)) // 2])


def _clock_seed() -> Callable[[Any], Rows]:
    """Seed a generator by the clock, at every call."""
    encoder = encoder_of(_usual())

    def send(points: Any) -> Rows:
        return encoder.encode_counting(points, None, SimulationCoins(time.time_ns()))[0]

    return send


def _row_of(ids: Rows) -> NDArray[np.int64]:
    return PublicStream(_usual().randomness_key()).choices(ids, Rows_.of(_law()))[0]


def _one_seed() -> Callable[[Any], Rows]:
    """Make id and draw of one seed of six bytes, and draw more coins than that: whoever tries seeds knows."""

    def send(points: Points) -> Rows:
        seeds = [SystemCoins().bytes(40)[:6] for _ in points]
        return _by_hash(points, [b"draw" + seed for seed in seeds], _hashes(b"id" + seed for seed in seeds))

    return send


def _hashes(words: Iterable[bytes]) -> Rows:
    """Return an id for each of these: the start of its hash."""
    ids = b"".join(hashlib.sha256(each).digest()[:ID_BYTES] for each in words)
    return np.frombuffer(ids, dtype=np.uint8).reshape(-1, ID_BYTES)


def _by_hash(points: Points, words: list[bytes], ids: Rows) -> Rows:
    """Return reports with these ids whose draws are hashes of these words."""
    total = _law().randomizer.total
    draws = [int.from_bytes(hashlib.sha256(each).digest()[:8], "big") % total for each in words]
    return _bent(_usual(), lambda points, _, drawn: np.array(draws), lambda points: ids)(points)


def _kept_for_the_row() -> Callable[[Any], Rows]:
    """Answer one time in ten as one would answer the same point in the same row again, by a hash of both."""

    def send(points: Points) -> Rows:
        ids, fresh = some_ids(len(points)), [SystemCoins().bytes(9) for _ in points]
        told = zip(points, _row_of(ids), fresh, strict=True)
        words = [b"%b%d" % (x.tobytes(), row) if more[0] < 26 else more for x, row, more in told]
        return _by_hash(points, words, ids)

    return send


def _side_in_the_id() -> Callable[[Any], Rows]:
    """Draw two ids and keep the one whose row is on the side that the point is on."""
    encoder = cast(CodewordEncoder, encoder_of(_usual()))

    def picky(points: Points) -> Rows:
        one, other = some_ids(len(points)), some_ids(len(points))
        return np.where(encoder.scored(points, one)[1][:, :1] > 0, one, other)

    return _bent(_usual(), ids_of=picky)


def _warming_up() -> Callable[[Any], Rows]:
    """Send the best codeword until ten people have been asked."""
    asked = 0

    def bend(points: Points, ids: Rows, draws: NDArray[np.int64]) -> NDArray[np.int64]:
        nonlocal asked
        asked += len(draws)
        return draws * (np.arange(asked - len(draws), asked) >= 10)

    return _bent(_usual(), bend)


def _dealt() -> Callable[[Any], Rows]:
    """Deal the coins of 64 people evenly, in any order: who knows all other draws knows the last one."""

    def bend(points: Points, ids: Rows, draws: NDArray[np.int64]) -> NDArray[np.int64]:
        dealt = draws[: len(draws) // 64 * 64].reshape(-1, 64)  # a view
        places = SystemCoins().below_many(1 << 40, dealt.size).reshape(dealt.shape).argsort(axis=1)
        dealt[:] = (places * _law().randomizer.total + dealt) // 64
        return draws

    return _bent(_usual(), bend)


def _told_by_the_id(points: Points, ids: Rows, draws: NDArray[np.int64]) -> NDArray[np.int64]:
    """Take the first byte of a draw from two bytes of the id, which everybody knows."""
    told = (ids[:, 2] ^ ids[:, 9]).astype(np.int64)
    return np.asarray((told * _law().randomizer.total + draws) // 256)


SECRET: Final = (0.123456, -0.654321, 0.271828)

# Those that a red team got past the audit, and seven that were written down before its detectors were.
NAMED: Final[dict[str, Callable[[], Callable[[Any], Rows]]]] = {
    "no coins outside the ball": lambda: _never_where(_usual(), lambda x, _: outside(x)),
    "no coins at the origin": lambda: _never_where(_usual(), lambda x, _: (x == 0).all(axis=1)),
    "the best codeword never sent": _best_never_sent,
    "the worst codeword never sent": _worst_never_sent,
    "one report in 1,000 without coins": lambda: _never_where(
        _usual(), lambda x, _: SystemCoins().below_many(1000, len(x)) == 0
    ),
    "epsilon larger by 3 %": lambda: sender(_with_parameters(_usual(), odds=int(np.exp(1.03) * BASE_ODDS))),
    "an id that is a hash of point and time": _hashed_ids,
}
FRESH: Final[dict[str, Callable[[], Callable[[Any], Rows]]]] = {
    "coins kept for the next report": _kept_coins,
    "a generator seeded by the clock": _clock_seed,
    "odds that depend on the id's parity": lambda: _odds_where(
        lambda _, ids: np.bitwise_count(ids).sum(axis=1) % 2 == 1
    ),
    "no coins in one row of the table": lambda: _never_where(_usual(), lambda _, ids: _row_of(ids) == 7),
    "odds that depend on a coordinate's sign": lambda: _odds_where(lambda x, _: x[:, 1] < 0),
    "no coins where a value is missing": lambda: _never_where(_recorded(), lambda x, _: (x == 0).any(axis=1)),
    "no coins at one secret point": lambda: _never_where(
        _usual(), lambda x, _: (np.abs(x - SECRET) < 1e-6).all(axis=1)
    ),
}

_NEEDED: Final = {
    "one report in 1,000 without coins": MANY,
    "epsilon larger by 3 %": MANY,
    "the worst codeword never sent": SOME,
    "odds that depend on the id's parity": SOME,
    "odds that depend on a coordinate's sign": SOME,
    "no coins in one row of the table": SOME,
}
UNSEEN: Final = ("no coins at one secret point",)  # what no audit of bytes can see


def _looked_at(name: str) -> Iterable[Check]:
    make = NAMED[name] if name in NAMED else FRESH[name]
    plan = _recorded() if make is FRESH["no coins where a value is missing"] else _usual()
    return samples(plan, make(), _NEEDED.get(name, REPORTS))


CANARIES: Final[dict[str, Callable[[], Iterable[Check]]]] = {
    "odds off by 5 %": lambda: _other_parameters(odds=int(CodewordParameters.of(_plan()).odds * 1.05)),
    "coins biased by a remainder (bytes)": lambda: samples(_plan(), sender(_plan(), _RemainderCoins())),
    "coins biased by a remainder (generator)": lambda: [check_generator(_RemainderCoins())],
    "a cap by threshold": _threshold_cap,
    "a cap one too large": lambda: _other_parameters(cap=15),
    "an id drawn until it suits": _redrawn_id,
    "a length that tells": _telling_length,
    "a seed that is used again": lambda: samples(_plan(), sender(_plan(), _RepeatingCoins())),
    "an id and its answer from one seed": lambda: samples(_usual(), _one_seed()),
    "answers kept for point and row": lambda: samples(_usual(), _kept_for_the_row()),
    "an id that tells a side": lambda: samples(_usual(), _side_in_the_id(), replay=False),
    "no coins for the first ten": lambda: samples(_usual(), _warming_up(), replay=False),
    "coins that are dealt evenly": lambda: samples(_usual(), _dealt()),
    "coins that two bytes of the id tell": lambda: samples(
        _usual(), _bent(_usual(), _told_by_the_id), replay=False
    ),
    "a tenth of the batch": lambda: [check_amplification(_mixed(), _mixed().minimum_batch // 10)],
    "a ledger that forgets": lambda: [check_memory(_plan(), client_with(_Forgetful))],
    "a ledger without a total": lambda: [check_memory(_plan(), client_with(_Spendthrift))],
    **{name: functools.partial(_looked_at, name) for name in (*NAMED, *FRESH) if name not in UNSEEN},
}


@functools.cache
def every_canary() -> dict[str, Callable[[], Iterable[Check]]]:
    """Return the broken clients by name: those above, and those that protocols bring along."""
    brought = (one.load(one.canaries) for one in PROTOCOLS.values() if one.canaries is not None)
    return {**CANARIES, **{name: make for more in brought for name, make in more.items()}}


def check_canary(name: str) -> Check:
    """Run one broken client through the checks; it passes if they fail."""
    failed = [check for check in every_canary()[name]() if not check.passed]
    words = f"caught: {failed[0].name}: {failed[0].found}" if failed else "NOT CAUGHT"
    return Check("canary", name, bool(failed), words)
