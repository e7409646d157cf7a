"""Whether a sample has the law that its plan says: the tests behind the empirical part.

*The law.* Places of all reports, and of those that have something in common: the same fixed point, a
coordinate in the same range, a value missing, a byte of the id or of its public stream, a row of the table,
the call, the place in it, the stretch of time, what the report before drew. Each by itself (every group of
places, and everything up to it), and all its histograms together: whether a law hangs on *which* of many
small groups a report is of, however it does (`bounds.log_fit`); so also on the person and the row, on
stretches of time of every length, on what was drawn just before. And bits of coins against pairs of the id's,
and against other reports' ids: those of a pool of coins that is not moved on.
*Values.* How often each value was sent, against its chances given points and ids; its bits against ids.
*Ids.* Bytes, bits and pairs of bits, given the point and the time; against ids before, few and so many that
low bits of a congruence come again; repeated ones; linear rules (`coterie.audit.linear`); and whether public
numbers of point and id (scores, truths) are as large as for ids of our own.
*Order.* The first reports; every period up to `LONGEST_PERIOD`, in all and within calls; whether calls
and stretches, of time, of a person, of a row, are too much alike; products of coins, and pairs of first
places, at every distance.
*Answers together.* Pairs of answers of one report, and all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from coterie.audit.bounds import Battery, log_even, log_fit, log_products, log_tail, tallied
from coterie.audit.linear import log_complexity, log_rank
from coterie.audit.reading import IDS_OF, Law, Reading
from coterie.audit.result import Check
from coterie.audit.samples import Sample
from coterie.privacy.odds import BASE_ODDS

LONGEST_PERIOD: Final = 4096
_STRETCHES: Final = 64  # of time
_NEAR: Final = 64  # distances at which draws are compared one by one
_LAGS: Final = (1, 2, 3, 4, 8)  # at which ids are compared bit by bit, besides a long one
_OTHERS: Final = (-2, -1, 1, 2)  # how much later the reports are whose ids are compared with coins
_PLANE: Final = 400  # ids of one person that are looked at for linear rules
_REGISTER: Final = 2048  # ids, one after the other, whose bits are
_TWISTER: Final = 1 << 14  # ids whose words are: 19,937 bits of state show in 40,000
_FEWEST: Final = 4  # reports of a group: fewer could not fail
_PHASE: Final = 8  # reports of a phase of a period: fewer could not fail
_BLOCKS: Final = (8, 64, 512, 4096, 32768)  # draws, one after the other
_FOLDS: Final = 256  # cells of sums of coins
_COIN_BITS: Final = 5  # that are compared with pairs of an id's bits: places of 256 tell no finer
_FINE: Final = 4096  # cells of a law, at most, that are looked at one by one
_BITS_OF_BYTE: Final = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Something that reports have in common, by number."""

    name: str
    labels: NDArray[Any]  # (n,)
    count: int
    names: tuple[str, ...] = ()

    def told(self, label: int) -> str:
        """Name one of its groups."""
        return self.names[label] if self.names else f"{self.name} {label}"


def contexts(sample: Sample) -> Iterator[Context]:
    """Yield all that a law might hang on."""
    yield from people(sample)
    yield from moments(sample)
    parity = _parity(sample.ids)
    yield Context("parity of the id", parity, 2)
    for number in range(sample.ids.shape[1]):
        yield Context(f"id byte {number}", sample.ids[:, number], 256)
        if number:
            words = sample.ids[:, number - 1].astype(np.int64) << 8 | sample.ids[:, number]
            yield Context(f"bytes {number - 1} and {number} of the id", words, 1 << 16)
    for number in range(sample.heads.shape[1]):
        yield Context(f"byte {number} of the id's stream", sample.heads[:, number], 256)
    if sample.rows is not None and len(sample):
        yield Context("row", sample.rows, int(sample.rows.max()) + 1)
    # The point and the public sign together: what only one of both sides of a cell would show.
    for name, bit in (("parity", parity), ("flip", sample.heads[:, 4] & 1)):
        pairs = tuple(f"{each}, {name} {i}" for each in sample.names for i in (0, 1))
        yield Context(name, 2 * sample.probes + bit, len(pairs), pairs)


def people(sample: Sample) -> Iterator[Context]:
    """Yield what there is to say of people."""
    yield Context("everybody", np.zeros(len(sample), np.uint8), 1, ("everybody",))
    yield Context("person", sample.probes, len(sample.names), sample.names)
    for name, labels in sample.labels.items():
        yield Context(name, labels, int(labels.max(initial=0)) + 1)


def moments(sample: Sample) -> Iterator[Context]:
    """Yield what there is to say of time."""
    n = len(sample)
    yield Context("stretch of time", np.arange(n) * _STRETCHES // max(n, 1), _STRETCHES)
    yield Context("call", sample.calls, int(sample.calls.max(initial=0)) + 1)
    sizes = np.bincount(sample.calls, minlength=1)[sample.calls]
    for name, places in (
        ("place in the call", sample.places),
        ("place before the end of the call", sizes - sample.places),
    ):
        yield Context(name, places, int(places.max(initial=0)) + 1)
    small = np.minimum(np.log2(np.maximum(sizes, 1)).astype(np.int64), 31)
    yield Context("people in the call, as a power of two:", small, 32)
    same = np.concatenate([[0], (sample.probes[1:] == sample.probes[:-1]).astype(np.int64)])[:n]
    yield Context("the same person as before:", same, 2)
    before = np.concatenate([[0], sample.probes])[:n]
    yield Context("after", before, len(sample.names), tuple(f"after {name}" for name in sample.names))


# ---------------------------------------------------------------- the law of places


def check_law(sample: Sample, number: int, claim: str) -> Check:
    """Test one law of a sample given everything that it might hang on."""
    law, battery = sample.laws[number], Battery()
    cells = sample.cells[number]
    size, flat = cells.shape[1], cells.ravel()
    groups, kinds = law.coarse[flat], int(law.coarse.max()) + 1
    if law.cap:
        hits = np.array([(flat < law.cap).sum()])
        battery.counts(hits, len(flat), law.chances[: law.cap].sum(), lambda _: f"{law.name}s in the cap")
    for of_reports in contexts(sample):
        context = replace(of_reports, labels=np.repeat(of_reports.labels, size))
        _groups(battery, law, context, groups)
        if context.name in ("everybody", "person") and len(law.chances) <= _FINE:
            _cells(battery, law, context, flat)
        _histograms(battery, law, context, flat)
    for context in bets(sample, law, flat):
        _histograms(battery, law, context, flat)
    _by_bits(battery, law, flat, sample.ids)
    if size > 1:
        _groups(battery, law, Context("answer", np.tile(np.arange(size), len(cells)), size), groups)
    # Pairs that do not overlap, so that what follows is independent of what it follows on: two sets of them.
    before = groups[:-1] + kinds * (np.arange(len(groups) - 1) % 2)
    _groups(battery, law, Context("after one in group", before, 2 * kinds), groups[1:])
    words = f"{len(flat):,} {law.name}s of {len(sample):,} reports: {claim}{battery.told}"
    figures = {"observations": len(flat), "reports": len(sample), "log_p": battery.log_p}
    return Check("empirical", f"law of {law.name}s", battery.passed, words, figures)


def bets(sample: Sample, law: Law, flat: NDArray[np.int64]) -> Iterator[Context]:
    """Yield what may be too many groups to look at each: of all draws, one after the other."""
    n = len(flat)
    for size in _BLOCKS:
        yield Context(f"stretches of {size} {law.name}s", np.arange(n) // size, -(-n // size))
    if sample.rows is not None:
        both = sample.probes * (int(sample.rows.max(initial=0)) + 1) + sample.rows
        yield Context("person and row", np.repeat(both, law.size), int(both.max(initial=0)) + 1)
    yield Context(f"{law.name} before", np.concatenate([[0], flat])[:n], len(law.chances))
    coins = np.concatenate([[0.0, 0.0], _coins(law, flat)])[: n + 1]
    for name, sign in (("sum", 1), ("difference", -1)):
        folded = ((coins[1:] + sign * coins[:-1]) % 1.0 * _FOLDS).astype(np.int64)
        yield Context(f"{name} of the two {law.name}s before", folded, _FOLDS)


def _coins(law: Law, flat: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return coins on [-½, ½) that may have made these draws: uniform if the draws have their law."""
    starts = np.concatenate([[0.0], np.cumsum(law.chances)])
    return np.asarray(starts[flat] + law.chances[flat] * np.random.default_rng().random(len(flat)) - 0.5)


def _histograms(battery: Battery, law: Law, context: Context, flat: NDArray[np.int64]) -> None:
    """Test all histograms of a context at once, and, where there are few, each."""
    cells, chances = flat, law.chances
    if len(chances) > _FINE:
        cells, chances = law.coarse[flat], np.asarray(np.bincount(law.coarse, law.chances), dtype=np.float64)
    together, alone = log_fit(tallied(context.labels, cells, len(chances)), chances)
    battery.take(np.array([together]), lambda _: f"{law.name}s hang on {context.name}")
    battery.take(alone, lambda at: f"{context.told(at[0])}: histogram of {law.name}s")


def _groups(battery: Battery, law: Law, context: Context, groups: NDArray[np.int64]) -> None:
    """Test every group of cells, and everything up to it, given a context."""
    chances = np.bincount(law.coarse, law.chances).astype(np.float64)
    kinds = len(chances)
    table = _table(context, groups, kinds)
    kept = np.flatnonzero(table.sum(axis=1) >= _FEWEST)
    table = table[kept]
    trials = table.sum(axis=1, keepdims=True)
    events = np.concatenate([table, np.cumsum(table, axis=1)[:, 1:-1]], axis=1)
    chance = np.concatenate([chances, np.cumsum(chances)[1:-1]])

    def words(at: tuple[int, ...]) -> str:
        cells = np.flatnonzero(law.coarse == (at[1] if at[1] < kinds else at[1] - kinds + 1))
        start = int(cells[0]) if at[1] < kinds else 0
        return f"{context.told(int(kept[at[0]]))}: {_span(law, start, int(cells[-1]))}"

    battery.counts(events, trials, np.minimum(chance, 1.0), words)


def _cells(battery: Battery, law: Law, context: Context, flat: NDArray[np.int64]) -> None:
    """Test every cell, given a context."""
    table = _table(context, flat, len(law.chances))
    trials = table.sum(axis=1, keepdims=True)
    battery.counts(table, trials, law.chances, lambda at: f"{context.told(at[0])}: {law.cell(at[1])}")


def _span(law: Law, first: int, last: int) -> str:
    return law.cell(first) if first == last else f"{law.cell(first)} to {law.cell(last)}"


def _table(context: Context, cells: NDArray[Any], kinds: int) -> NDArray[np.int64]:
    """Count pairs: (n,), (n,) -> (count, kinds)."""
    pairs = context.labels.astype(np.int64) * kinds + cells
    return np.bincount(pairs, minlength=context.count * kinds).reshape(context.count, kinds)


def _by_bits(battery: Battery, law: Law, flat: NDArray[np.int64], ids: NDArray[np.uint8]) -> None:
    """Test that no leading bit of coins is a bit of the id, two of them together, or one of another's id."""
    n, width = len(ids), 8 * ids.shape[1]
    told = (_coins(law, flat) + 0.5)[:, None] * 2.0 ** np.arange(1, _COIN_BITS + 1)
    weights = (
        (2 * (told.astype(np.int64) % 2) - 1).reshape(n, law.size, _COIN_BITS).sum(axis=1).astype(np.float32)
    )
    sums, near = np.zeros((_COIN_BITS, width + 1, width + 1)), np.zeros((len(_OTHERS), _COIN_BITS, width))
    reach = max(_OTHERS)
    padded = np.pad(weights, ((reach, reach), (0, 0)))
    for start in range(0, n, 1 << 16):
        piece = slice(start, start + (1 << 16))
        signs = np.ones((len(ids[piece]), width + 1), dtype=np.float32)  # the last: of one bit alone
        signs[:, :width] -= 2 * np.unpackbits(ids[piece], axis=1)
        for number, weight in enumerate(weights[piece].T):
            sums[number] += (signs * weight[:, None]).T @ signs
        for which, later in enumerate(_OTHERS):
            near[which] += padded[start + reach - later :][: len(signs)].T @ signs[:, :width]
    first, second = np.triu_indices(width + 1, 1)
    agree = np.rint((sums[:, first, second] + len(flat)) / 2).astype(np.int64)

    def words(at: tuple[int, ...]) -> str:
        pair = f"bit {first[at[1]]}" + f" and bit {second[at[1]]}" * int(second[at[1]] < width)
        return f"bit {at[0]} of coins of {law.name}s follows {pair} of the id"

    battery.counts(agree, len(flat), 0.5, words)
    trials = law.size * np.maximum(n - np.abs(_OTHERS), 0)[:, None, None]

    def words_of_others(at: tuple[int, ...]) -> str:
        which = f"bit {at[2]} of the id {_OTHERS[at[0]]:+d} reports later"
        return f"bit {at[1]} of coins of {law.name}s follows {which}"

    battery.counts(np.rint((near + trials) / 2).astype(np.int64), trials, 0.5, words_of_others)


def check_values(reading: Reading) -> Check:
    """Test how often each value was sent, and again, given points and ids, and its bits against ids."""
    battery = Battery()
    hits, trials = reading.again[..., 0], reading.again[..., 1]
    likely = np.array([[part.odds / part.total, BASE_ODDS / part.total] for part in reading.parts])[:, None]
    battery.counts(hits, trials, likely, lambda at: f"answer {at[0]}: the value of the report before")
    for number, (sums, twins) in reading.follows.items():

        def bits(at: tuple[int, ...], answer: int = number) -> str:
            which = f"bit {at[2]} of the id {IDS_OF[at[0]]:+d} reports later"
            return f"bit {at[1]} of answer {answer} follows {which}"

        battery.counts(np.rint((sums + twins) / 2).astype(np.int64), twins, 0.5, bits)
    for number, (hits, means) in enumerate(zip(reading.seen, reading.expected, strict=True)):
        total = int(hits.sum())
        chances = np.minimum(means / max(total, 1), 1.0)

        def words(at: tuple[int, ...], answer: int = number) -> str:
            return f"value {at[0]} of answer {answer}"

        battery.counts(hits, total, chances, words)
    return Check("empirical", "values", battery.passed, battery.told)


# ---------------------------------------------------------------- ids


def check_ids(sample: Sample) -> Check:
    """Test that ids are uniform, fresh, and know nothing of the point or the time."""
    battery, n = Battery(), len(sample)
    repeats = max(_repeats(sample.ids[:, start : start + 10]) for start in (0, 2))
    # Ten bytes of honest ids, the first or the last, repeat with probability n²/2^80 at most.
    chance = 2 * math.log(max(n, 2)) - 80 * math.log(2)
    battery.take(np.array([chance if repeats else 0.0]), lambda _: f"{repeats:,} ids have repeated ten bytes")
    for context in (*people(sample), *(each for each in moments(sample) if each.count <= 4096)):
        for what, data in (("id", sample.ids), ("id's stream", sample.heads)):
            _bytes(battery, context, data, what)
        _parities(battery, context, sample.ids)
    _pairs(battery, sample)
    _linear(battery, sample)
    for lag in (*_LAGS, 1 << max(n.bit_length() - 2, 0)):
        later, earlier, name = sample.ids[lag:], sample.ids[:-lag], f"ids {lag} apart"
        nobody = Context(name, np.zeros(len(later), np.uint8), 1, (name,))
        _bytes(battery, nobody, later ^ earlier, "xor")
        _bytes(battery, nobody, later - earlier, "difference")
    words = np.ascontiguousarray(sample.ids).view(">u4").astype(np.float64) / 2**32 - 0.5
    for number in range(words.shape[1]):
        _products(battery, words[:, number], f"word {number} of ids")
    compared = np.stack([sample.compared[0], sample.compared.sum(axis=0)])  # (2, people, numbers)
    everybody = compared.sum(axis=1, keepdims=True)
    for names, (hits, trials) in ((sample.names, compared), (("everybody",), everybody)):

        def paired(at: tuple[int, ...], names: tuple[str, ...] = names) -> str:
            return f"{names[at[0]]}: public number {at[1]} larger than with ids of ours"

        battery.counts(hits, trials, 0.5, paired)
    told = f"{n:,} ids, {repeats:,} repeated: {battery.told}"
    return Check("empirical", "ids", battery.passed, told, {"log_p": battery.log_p})


def _bytes(battery: Battery, context: Context, data: NDArray[np.uint8], what: str) -> None:
    """Test bytes, (n, bytes), and their bits, for uniformity."""
    tables = np.stack([_table(context, column, 256) for column in data.T])  # (bytes, labels, 256)
    trials, who = tables.sum(axis=2, keepdims=True), context.told
    ones = tables @ _BITS_OF_BYTE  # (bytes, labels, 8)
    battery.counts(ones, trials, 0.5, lambda at: f"{who(at[1])}: bit {8 * at[0] + at[2]} of the {what}")
    if context.count <= 64:
        battery.counts(
            tables, trials, 1 / 256, lambda at: f"{who(at[1])}: byte {at[0]} of the {what} is {at[2]}"
        )
        for number, table in enumerate(tables):
            fits = log_fit((*np.nonzero(table), table[table > 0]), np.full(256, 1 / 256))[1]
            name = f"histogram of byte {number} of the {what}"
            battery.take(fits, lambda at, name=name: f"{who(at[0])}: {name}")  # type: ignore[misc]


def _parity(ids: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.asarray(np.bitwise_count(ids).sum(axis=1) & 1).astype(np.int64)


def _parities(battery: Battery, context: Context, ids: NDArray[np.uint8]) -> None:
    """Test whether an id's ones are even or odd in number."""
    table = _table(context, _parity(ids), 2)
    battery.counts(table[:, 1], table.sum(axis=1), 0.5, lambda at: f"{context.told(at[0])}: odd ids")


def _pairs(battery: Battery, sample: Sample) -> None:
    """Test that two bits of an id agree as often as not, for everybody and for each fixed person."""
    width, order = 8 * sample.ids.shape[1], np.argsort(sample.probes, kind="stable")
    counts = np.bincount(sample.probes, minlength=len(sample.names))
    together = np.zeros((len(counts), width, width))
    for who, mine in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        for start in range(0, len(mine), 1 << 16):
            bits = np.unpackbits(sample.ids[mine[start : start + (1 << 16)]], axis=1)
            signs = 2 * bits.astype(np.float32) - 1
            together[who] += signs.T @ signs
    first, second = np.triu_indices(width, 1)
    for names, sums, trials in (
        (("everybody",), together.sum(axis=0, keepdims=True), counts.sum(keepdims=True)),
        (sample.names, together, counts),
    ):
        agree = np.rint((sums[:, first, second] + trials[:, None]) / 2).astype(np.int64)

        def words(at: tuple[int, ...], names: tuple[str, ...] = names) -> str:
            return f"{names[at[0]]}: bits {first[at[1]]} and {second[at[1]]} of ids agree"

        battery.counts(agree, trials[:, None], 0.5, words)


def _linear(battery: Battery, sample: Sample) -> None:
    """Look for linear rules: in the ids of one person, and from one id to the next."""
    planes = [log_rank(sample.ids[sample.probes == who][:_PLANE]) for who in range(len(sample.names))]
    battery.take(np.array(planes), lambda at: f"{sample.names[at[0]]}: ids on a plane")
    longest = int(np.bincount(sample.calls, minlength=1).argmax())
    ids = sample.ids[sample.calls == longest]
    bits = np.unpackbits(ids[:_REGISTER], axis=1)
    words = np.ascontiguousarray(ids[:_TWISTER]).view(">u4").ravel()
    series = [*bits.T, (words >> 31).astype(np.uint8), (words & 1).astype(np.uint8)]
    short = np.array([log_complexity(each) for each in series])
    battery.take(short, lambda at: f"bit {at[0]} of ids follows from those before, linearly")


def _repeats(words: NDArray[np.uint8]) -> int:
    joined = np.ascontiguousarray(words).view(f"V{words.shape[1]}").ravel()
    return len(joined) - len(np.unique(joined))


# ---------------------------------------------------------------- time


def check_order(sample: Sample) -> Check:
    """Test that places do not hang on when, and on what was drawn before."""
    battery = Battery()
    for law, cells in zip(sample.laws, sample.cells, strict=True):
        flat = cells.ravel()
        first = law.cap or int(np.searchsorted(np.cumsum(law.chances), 0.5)) + 1
        events = [(f"{law.name}s in the likelier half" if not law.cap else f"{law.name}s in the cap", first)]
        if len(law.chances) > 2:
            events.append((law.cell(0), 1))
        for name, until in events:
            hit = (cells < until).sum(axis=1).astype(np.int32)
            chance = float(law.chances[:until].sum())
            _first(battery, hit, law.size, chance, name)
            _periods(battery, hit, law.size, chance, f"every {{}}th report: {name}")
            in_call = np.bincount(sample.places, hit).astype(np.int64)
            there = np.bincount(sample.places) * law.size
            _periods_in(battery, in_call, there, chance, f"every {{}}th report of a call: {name}")
            _even(battery, sample, (cells < until).ravel(), chance, name)
        _equals(battery, law, flat)
        likely = int(law.chances.argmax())
        _pairs_of(battery, flat == likely, float(law.chances[likely]), law.cell(likely))
        _products(battery, _coins(law, flat), f"coins of {law.name}s")
    return Check("empirical", "order in time", battery.passed, battery.told, {"log_p": battery.log_p})


def _equals(battery: Battery, law: Law, flat: NDArray[np.int64]) -> None:
    """Test how often two draws are the same, at short distances, in pairs that do not overlap."""
    lags = range(1, min(_NEAR, len(flat) // 4) + 1)
    counts = np.zeros((len(lags), 2, 2), dtype=np.int64)
    for number, lag in enumerate(lags):
        same = flat[lag:] == flat[:-lag]
        halves = np.arange(len(same)) // lag % 2
        counts[number, :, 1] = np.bincount(halves, minlength=2)
        counts[number, :, 0] = np.bincount(halves[same], minlength=2)
    likely = float((law.chances**2).sum())
    battery.counts(
        counts[..., 0], counts[..., 1], likely, lambda at: f"{law.name}s {at[0] + 1} apart are the same"
    )


def _periods(battery: Battery, hits: NDArray[np.int32], size: int, chance: float, words: str) -> None:
    """Fold a series at every period and test every phase."""
    longest = min(LONGEST_PERIOD, len(hits) // _PHASE)
    if longest < 2:
        return
    ends, trials = np.zeros((longest + 1, 2), np.int64), np.zeros((longest + 1, 1), np.int64)
    for period in range(2, longest + 1):
        long = longest // period * period
        whole = len(hits) // long
        folded = hits[: whole * long].reshape(whole, long).sum(axis=0).reshape(-1, period).sum(axis=0)
        ends[period] = folded.min(), folded.max()  # of as many trials each: no other phase is as unusual
        trials[period] = whole * (long // period) * size
    logs = log_tail(ends, trials, chance).min(axis=1)
    battery.take(logs, lambda at: words.format(at[0]), tests=longest * (longest + 1) // 2)


def _periods_in(
    battery: Battery, hits: NDArray[np.int64], trials: NDArray[np.int64], chance: float, words: str
) -> None:
    """Fold what was counted place by place of a call."""
    longest = min(LONGEST_PERIOD, len(hits) // 2, int(trials.sum()) // _PHASE)
    logs = np.zeros(max(longest + 1, 1))
    for period in range(2, longest + 1):
        pad = -len(hits) % period
        folded, there = (
            np.concatenate([each, np.zeros(pad, np.int64)]).reshape(-1, period).sum(axis=0)
            for each in (hits, trials)
        )
        logs[period] = log_tail(folded, there, chance).min()
    battery.take(logs, lambda at: words.format(at[0]), tests=longest * (longest + 1) // 2 + 1)


def _even(battery: Battery, sample: Sample, hits: NDArray[np.bool_], chance: float, name: str) -> None:
    """Test whether calls, stretches of time, of a person and of a row have too much the same counts."""
    size = len(hits) // max(len(sample), 1)
    grouped = [("a call", "", np.repeat(sample.calls, size), hits)]
    orders = {"": None, ", person by person": sample.probes, ", row by row": sample.rows}
    for order, keys in orders.items():
        if order and keys is None:
            continue
        series = hits if keys is None else hits[np.argsort(np.repeat(keys, size), kind="stable")]
        grouped += [(f"{block:,} draws", order, np.arange(len(hits)) // block, series) for block in _BLOCKS]
    logs = []
    for _, _, labels, series in grouped:
        trials = np.bincount(labels, minlength=1)
        kept = trials >= _BLOCKS[0]
        logs.append(log_even(np.bincount(labels[series], minlength=len(trials))[kept], trials[kept], chance))

    def words(at: tuple[int, ...]) -> str:
        group, order, _, _ = grouped[at[0]]
        return f"stretches of {group}{order} are too even: {name}"

    battery.take(np.array(logs), words)


def _first(battery: Battery, hits: NDArray[np.int32], size: int, chance: float, name: str) -> None:
    """Test the first reports, 1, 2, 4 and so on of them: what a client does before it is warm."""
    ends = 1 << np.arange(len(hits).bit_length())
    counts = np.cumsum(hits, dtype=np.int64)[ends - 1]
    battery.counts(counts, ends * size, chance, lambda at: f"the first {ends[at]:,} reports: {name}")


def _pairs_of(battery: Battery, hits: NDArray[np.bool_], chance: float, name: str) -> None:
    """Test how often both ends of every distance have one cell: a rare one, at any period, stands out."""
    n = len(hits)
    if n < 2:
        return
    sums = np.rint(_at_distances(hits.astype(np.float64)))
    # Pairs at one distance overlap, but they are two sets that do not: half the exponent (Cauchy-Schwarz).
    logs = log_tail(sums / 2, np.arange(n - 1, 0, -1) / 2, chance**2)
    battery.take(logs, lambda at: f"{name}, twice {at[0] + 1:,} apart: {sums[at]:,.0f}")


def _at_distances(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of products of numbers so far apart: (n,) -> (n - 1,)."""
    spectrum = fft.rfft(series, fft.next_fast_len(2 * len(series), real=True))
    products = fft.irfft(spectrum * spectrum.conj(), fft.next_fast_len(2 * len(series), real=True))
    return np.asarray(products[1 : len(series)])


def _products(battery: Battery, coins: NDArray[np.float64], words: str) -> None:
    """Test products of coins at every distance, by one transform."""
    n = len(coins)
    if n < 2:
        return
    sums = _at_distances(coins)
    battery.take(log_products(sums, n), lambda at: f"{words} {at[0] + 1:,} apart are alike: {sums[at]:,.0f}")


# ---------------------------------------------------------------- answers of one report


def check_together(sample: Sample) -> Iterator[Check]:
    """Test that the answers of one report are independent."""
    inside = [(cells < law.cap) for law, cells in zip(sample.laws, sample.cells, strict=True) if law.cap]
    if not inside or sum(each.shape[1] for each in inside) < 2:
        return
    honest = np.concatenate(inside, axis=1)
    chances = np.concatenate(
        [np.full(law.size, law.chances[: law.cap].sum()) for law in sample.laws if law.cap]
    )
    battery, n = Battery(), len(honest)
    signs = 2 * honest.astype(np.float32) - 1
    first, second = np.triu_indices(len(chances), 1)
    agree = np.rint(((signs.T @ signs)[first, second] + n) / 2).astype(np.int64)
    p, q = chances[first], chances[second]
    battery.counts(
        agree, n, p * q + (1 - p) * (1 - q), lambda at: f"answers {first[at[0]]} and {second[at[0]]} agree"
    )
    every = np.array([honest.all(axis=1).sum(), (~honest).all(axis=1).sum()])
    likely = np.array([chances.prod(), (1 - chances).prod()])
    battery.counts(every, n, likely, lambda at: f"{('all', 'no')[at[0]]} answers in the cap")
    _equal_cells(battery, sample)
    yield Check("empirical", "answers together", battery.passed, battery.told)


def _equal_cells(battery: Battery, sample: Sample) -> None:
    for law, cells in zip(sample.laws, sample.cells, strict=True):
        if law.size < 2 or len(law.chances) == 2:
            continue
        pairs = list(itertools.combinations(range(law.size), 2))
        equal = np.array([(cells[:, i] == cells[:, j]).sum() for i, j in pairs])
        battery.counts(
            equal,
            len(cells),
            float((law.chances**2).sum()),
            lambda at, pairs=pairs: f"answers {pairs[at[0]]} at the same place",  # type: ignore[misc]
        )


# ---------------------------------------------------------------- the form


def check_form(sample: Sample) -> Check:
    """Compare lengths with the plan's, and look for bits that belong to no answer."""
    found = ", ".join(map(str, sorted(sample.lengths)))
    kept = sample.lengths == {sample.plan.report_width} and not sample.leftover and sample.refused is None
    words = f"reports have {found} bytes; the plan says {sample.plan.report_width}"
    if sample.plan.upload_width in sample.lengths - {sample.plan.report_width}:
        words += "; an id does not follow from its token"
    if sample.leftover:
        words += f"; {sample.leftover:,} hold more than their answers"
    if sample.refused is not None:
        words += f"; somebody got none ({sample.refused[:200]})"
    return Check("empirical", "form", kept, words)
