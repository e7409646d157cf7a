"""What can be told from a client's bytes alone, with confidence: the empirical part for local laws.

Two points x, y, many reports of each. Where a part's value lies in the cap of x and not in that of y (both
follow from the public id), it is A/B times as likely under x: the best event there is. With k of n reports of
x in it and l of n of y,

    ε ≥ Σ_parts ln( CP_low(k, n) / CP_high(l, n) )

holds with confidence 1 - α for a client that keeps ε (Clopper-Pearson, α shared out over all limits of an
audit). A client whose limit exceeds the claim breaks its promise. One whose limit stays far below it does not
use what it may, or is another mechanism than the plan says: that is a failure, too.

Parts with the same odds are pooled. That parts are independent, ids uniform and unrelated to the point, and
lengths the same for everybody is tested besides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coterie.audit.laws import Part, ScriptedCoins, parts_of
from coterie.audit.result import Check
from coterie.encode.base import ENCODERS
from coterie.encode.codeword import CodewordEncoder
from coterie.encode.lsh_tree import LshTreeEncoder
from coterie.encode.net_tree_codeword import CodewordTreeEncoder
from coterie.plan import Plan
from coterie.privacy.odds import BASE_ODDS
from coterie.wire.layout import ID_BYTES
from coterie.wire.lsh_tree import LshTreeStream
from coterie.wire.net_tree_codeword import CodewordTreeStream
from coterie.wire.stream import PublicStream, signs_of

FALSE_ALARM: Final = 1e-6  # of a whole audit
LIMITS_PER_AUDIT: Final = 40  # confidence limits and tests that share it
LEAST_SHARE: Final = 0.95  # of the claimed ε that the lower limit must reach, if the samples can show it
MOST_SAMPLES: Final = 1_500_000  # reports of one point
CHUNK: Final = 1 << 15
_GEOMETRY_IDS: Final = 1 << 14  # drawn to see how far two points' caps lie apart

Send = Callable[[NDArray[np.float64]], list[bytes] | NDArray[np.uint8]]  # points (n, d) -> n reports
_Class = tuple[Part, int, float]  # a part, how many obey its law, the share of a cap that another one misses


class Reading:
    """What the public id of a report says about where a point's values would lie."""

    def __init__(self, plan: Plan) -> None:
        parts = parts_of(plan)
        if parts is None:
            raise TypeError(f"reports of protocol {plan.protocol} have no finite law")
        self.plan, self.parts = plan, parts
        self._encoder: Any = ENCODERS[plan.protocol](plan)
        self._stream = PublicStream(plan.randomness_key())

    def values(self, reports: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the sent value of each part: (n, width) -> (n, parts)."""
        payload = np.ascontiguousarray(reports[:, ID_BYTES:])
        return np.stack([part.read(payload) for part in self.parts], axis=1)

    def inside(
        self, point: NDArray[np.float64], ids: NDArray[np.uint8], values: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell which values lie in the cap of a point: (d,), (n, 12), (n, parts) -> (n, parts)."""
        points = np.repeat(point[None], len(ids), axis=0)
        # The last place of every cap, and so the smallest score in it; for a bit, the truth itself.
        edge = np.array([part.cap * part.odds - 1 for part in self.parts], dtype=np.int64)
        coins = ScriptedCoins(np.repeat(edge[None], len(ids), axis=0), self.parts)
        edges = self.values(self._encoder.encode(points, ids, coins))
        found = values == edges
        for number, part in enumerate(self.parts):
            if part.values > 2:
                scores = self._scores(points, ids, number, values[:, number])
                least = self._scores(points, ids, number, edges[:, number])
                before = values[:, number] < edges[:, number]
                found[:, number] |= (scores > least) | ((scores == least) & before)
        return np.asarray(found)

    def truth(self, point: NDArray[np.float64], ids: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return bits that are fair coins over ids, whatever the point: (d,), (n, 12) -> (n, k)."""
        points = np.repeat(point[None], len(ids), axis=0)
        if isinstance(self._encoder, CodewordEncoder | CodewordTreeEncoder):
            return np.asarray(self._encoder.signed_vectors(points, ids)[:, :1] > 0)
        draws = np.zeros((len(ids), len(self.parts)), dtype=np.int64)
        values = self.values(self._encoder.encode(points, ids, ScriptedCoins(draws, self.parts)))
        bits = [number for number, part in enumerate(self.parts) if part.values == 2]
        return np.asarray(values[:, bits] == 1)

    def _scores(
        self, points: NDArray[np.float64], ids: NDArray[np.uint8], number: int, indices: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the scores of one index per report: (n,)."""
        if isinstance(self._encoder, LshTreeEncoder):
            answer = sum(part.values > 2 for part in self.parts[:number])
            packed = LshTreeStream(self.plan).chosen(ids, answer, indices)
            vectors = self._encoder.signed_vectors(points, ids, answer)
        elif isinstance(self._encoder, CodewordTreeEncoder):
            packed = CodewordTreeStream(self.plan).chosen(ids, indices)
            vectors = self._encoder.signed_vectors(points, ids)
        else:
            width = self.plan.parameters.embedding // 128  # type: ignore[attr-defined]
            counters = (1 + indices * width)[:, None] + np.arange(width)
            packed = self._stream.blocks_at(ids, counters).reshape(len(ids), -1)
            vectors = self._encoder.signed_vectors(points, ids)
        return np.asarray(np.einsum("ij,ij->i", signs_of(packed).astype(np.float64), vectors))


def _samples_needed(classes: Sequence[_Class], claim: float) -> int:
    """Return how many reports of each point make the lower limit reach 95 % of ε for an honest client."""
    missing = _shortfall(classes, [size / (2 if part.values == 2 else 1) for part, size, _ in classes])
    return min(MOST_SAMPLES, max(2000, math.ceil((missing / ((1 - LEAST_SHARE) * claim)) ** 2)))


def check_samples(
    plan: Plan, send: Send, claim: float, *, samples: int | None = None, label: str = ""
) -> list[Check]:
    """Sample a client and check all that its bytes tell."""
    reading = Reading(plan)
    x, y = _opposite_points(plan)
    classes = _classes(reading, x, y)
    count = _samples_needed(classes, claim) if samples is None else samples
    clipped = x + 40 * (x - y)
    ids: list[NDArray[np.uint8]] = []
    lies, fair = _Correlation(reading.parts), _Fairness()
    widths: set[int] = set()
    done = 0
    tallies = np.zeros((2, len(reading.parts), 2), dtype=np.int64)  # point, part, (hits, trials)
    while done < count:
        size = min(CHUNK, count - done)
        for which, point in enumerate((x, y)):
            rows, seen = _rows(send(np.repeat(point[None], size, axis=0)), plan)
            widths |= seen
            if rows is None:
                return [_length_check(widths, plan, label)]
            values, row_ids = reading.values(rows), np.ascontiguousarray(rows[:, :ID_BYTES])
            at_x, at_y = (reading.inside(each, row_ids, values) for each in (x, y))
            tallies[which, :, 0] += (at_x & ~at_y).sum(axis=0)
            tallies[which, :, 1] += _trials(reading, at_x, at_y, values)
            lies.add((at_x, at_y)[which])
            fair.add(reading.truth(point, row_ids))
            ids.append(row_ids)
        done += size
        if done >= count and samples is None and count < MOST_SAMPLES:
            # Two points may differ in fewer bits than half: go on until the limit can reach its bar.
            missing = _shortfall_of(reading, classes, tallies) / ((1 - LEAST_SHARE) * claim)
            if missing > 1:
                count = min(MOST_SAMPLES, math.ceil(1.05 * count * missing**2))
    for point in (clipped, x * 0):
        _, seen = _rows(send(np.repeat(point[None], 50, axis=0)), plan)
        widths |= seen
    checks = [_length_check(widths, plan, label), _loss_check(reading, classes, tallies, claim, count, label)]
    checks.append(_id_check(np.concatenate(ids), fair, label))
    if len(reading.parts) > 1:
        checks.append(lies.check(label))
    return checks


def clopper_pearson(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the lower and the upper limit of a probability, each wrong with probability at most alpha.

    Examples
    --------
    >>> low, high = clopper_pearson(50, 100, 1e-3)
    >>> round(low, 3), round(high, 3)
    (0.345, 0.655)
    """
    low = 0.0 if hits == 0 else float(stats.beta.ppf(alpha, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(stats.beta.isf(alpha, hits + 1, trials - hits))
    return low, high


def _loss_check(
    reading: Reading,
    classes: Sequence[_Class],
    tallies: NDArray[np.int64],
    claim: float,
    count: int,
    label: str,
) -> Check:
    alpha = FALSE_ALARM / LIMITS_PER_AUDIT
    low_end = estimate = 0.0
    for part, size, _ in classes:
        chosen = [number for number, other in enumerate(reading.parts) if _same(part, other)]
        (hits_x, trials_x), (hits_y, trials_y) = tallies[:, chosen].sum(axis=1).tolist()
        low, _ = clopper_pearson(hits_x, max(trials_x, 1), alpha)
        _, high = clopper_pearson(hits_y, max(trials_y, 1), alpha)
        low_end += size * math.log(max(low, 1e-300) / high)
        chances = (max(hits_x, 0.5) / max(trials_x, 1), max(hits_y, 0.5) / max(trials_y, 1))
        estimate += size * math.log(chances[0] / chances[1])
    # What an honest client's limit reaches, all but surely.
    possible = claim - _shortfall_of(reading, classes, tallies)
    bar = min(LEAST_SHARE * claim, possible)
    words = (
        f"epsilon is at least {low_end:.4f} (estimate {estimate:.4f}) by {count:,} reports of each of two "
        f"points; it must lie in [{bar:.4f}, {claim:.4f}]"
    )
    figures = {
        "lower_limit": low_end,
        "estimate": estimate,
        "claimed_epsilon": claim,
        "bar": bar,
        "samples": 2 * count,
        "false_alarm": FALSE_ALARM,
    }
    return Check("empirical", f"loss of the bytes{label}", bar <= low_end <= claim, words, figures)


def _length_check(widths: set[int], plan: Plan, label: str) -> Check:
    found = ", ".join(map(str, sorted(widths)))
    kept = widths == {plan.report_width}
    return Check(
        "empirical", f"length{label}", kept, f"reports have {found} bytes; the plan says {plan.report_width}"
    )


def _id_check(ids: NDArray[np.uint8], fair: _Fairness, label: str) -> Check:
    """Test that ids are uniform, do not repeat, and know nothing of the point."""
    alpha = FALSE_ALARM / LIMITS_PER_AUDIT / (ID_BYTES + 1)
    repeats = len(ids) - len(np.unique(np.ascontiguousarray(ids).view("V12")))
    worst = min(
        float(stats.chisquare(np.bincount(ids[:, place], minlength=256)).pvalue) for place in range(ID_BYTES)
    )
    kept = repeats == 0 and worst > alpha and fair.p_value > alpha
    words = (
        f"{len(ids):,} ids, {repeats} repeated; smallest p-value of a uniform byte {worst:.2g}, of a fair "
        f"sign given the point {fair.p_value:.2g}"
    )
    return Check("empirical", f"ids{label}", kept, words)


class _Fairness:
    """Whether public bits given the point are fair coins, as they are for ids that do not know it."""

    def __init__(self) -> None:
        self._ones: NDArray[np.int64] | int = 0
        self._count = 0

    def add(self, bits: NDArray[np.bool_]) -> None:
        self._ones = self._ones + bits.sum(axis=0)
        self._count += len(bits)

    @property
    def p_value(self) -> float:
        ones = np.atleast_1d(np.asarray(self._ones, dtype=np.float64))
        if not ones.size:
            return 1.0
        deviations = np.abs(ones - self._count / 2) / math.sqrt(self._count / 4)
        return float(min(1.0, ones.size * 2 * stats.norm.sf(deviations.max())))


class _Correlation:
    """Whether the parts of a report lie independently."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._chance = np.array([part.cap * part.odds / part.total for part in parts])
        self._sum = 0.0
        self._count = 0

    def add(self, honest: NDArray[np.bool_]) -> None:
        centered = honest - self._chance
        self._sum += float((centered.sum(axis=1) ** 2 - (centered**2).sum(axis=1)).sum())
        self._count += len(honest)

    def check(self, label: str) -> Check:
        variance = self._chance * (1 - self._chance)
        pairs = variance.sum() ** 2 - (variance**2).sum()
        deviations = self._sum / math.sqrt(2 * self._count * pairs)
        kept = abs(deviations) < _normal(FALSE_ALARM / LIMITS_PER_AUDIT / 2)
        words = f"answers of one report agree {deviations:+.2f} deviations more often than independent ones"
        return Check("empirical", f"independence of answers{label}", kept, words)


def _rows(sent: list[bytes] | NDArray[np.uint8], plan: Plan) -> tuple[NDArray[np.uint8] | None, set[int]]:
    """Return reports as rows, or None where a length is wrong, and the lengths seen."""
    if isinstance(sent, np.ndarray):
        return (sent if sent.shape[1] == plan.report_width else None), {sent.shape[1]}
    widths = {len(report) for report in sent}
    if widths != {plan.report_width}:
        return None, widths
    return np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(len(sent), -1), widths


def _opposite_points(plan: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    generator = np.random.default_rng(2)
    direction = generator.normal(size=plan.dimension)
    direction *= 0.999 / np.linalg.norm(direction)
    center = np.zeros(plan.dimension) if plan.center is None else np.asarray(plan.center)
    return center + plan.radius * direction, center - plan.radius * direction


def _trials(
    reading: Reading, at_x: NDArray[np.bool_], at_y: NDArray[np.bool_], values: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the reports in which a part could tell: for bits, those whose truths differ; else all."""
    binary = np.array([part.values == 2 for part in reading.parts])
    return np.where(binary, (at_x != at_y).sum(axis=0), len(values))


def _classes(reading: Reading, x: NDArray[np.float64], y: NDArray[np.float64]) -> list[_Class]:
    """Return one part of each kind of law, how many obey it, and how far caps of x lie apart from those of y.

    The last, the share of the cap of x that is not in that of y, is public geometry: ids and values drawn
    without any client show it.
    """
    generator = np.random.default_rng(3)
    ids = generator.integers(256, size=(_GEOMETRY_IDS, ID_BYTES), dtype=np.uint8)
    highs = [part.values for part in reading.parts]
    values = generator.integers(highs, size=(_GEOMETRY_IDS, len(highs)))
    at_x, at_y = (reading.inside(point, ids, values) for point in (x, y))
    apart, within = (at_x & ~at_y).sum(axis=0), at_x.sum(axis=0)
    seen: list[_Class] = []
    for part in reading.parts:
        if not any(_same(part, other) for other, _, _ in seen):
            chosen = [number for number, other in enumerate(reading.parts) if _same(part, other)]
            share = max(int(apart[chosen].sum()), 1) / max(int(within[chosen].sum()), 1)
            seen.append((part, len(chosen), share))
    return seen


def _same(one: Part, other: Part) -> bool:
    return (one.values, one.cap, one.odds) == (other.values, other.cap, other.odds)


def _shortfall_of(reading: Reading, classes: Sequence[_Class], tallies: NDArray[np.int64]) -> float:
    """Return the shortfall for as many trials as there were."""
    trials = []
    for part, _, _ in classes:
        chosen = [number for number, other in enumerate(reading.parts) if _same(part, other)]
        trials.append(max(float(tallies[:, chosen, 1].sum(axis=1).min()), 1.0))
    return _shortfall(classes, trials)


def _shortfall(classes: Sequence[_Class], trials: Sequence[float]) -> float:
    """Return how far below ε an honest client's lower limit may lie, all but surely.

    Each class of parts has two confidence limits, at `z` deviations each, and an estimate that errs by `z`
    deviations itself.
    """
    limits = squares = 0.0
    for (part, size, apart), count in zip(classes, trials, strict=True):
        spreads = [math.sqrt((1 - chance) / chance / count) for chance in _chances(part, apart)]
        limits += size * sum(spreads)
        squares += size**2 * sum(spread**2 for spread in spreads)
    return _normal(FALSE_ALARM / LIMITS_PER_AUDIT) * (limits + math.sqrt(squares))


def _chances(part: Part, apart: float) -> tuple[float, float]:
    """Return the probabilities of the telling event under x and under y."""
    inside = part.cap * part.odds / part.total
    if part.values == 2:
        return inside, 1 - inside
    return inside * apart, part.cap * apart * BASE_ODDS / part.total


def _normal(alpha: float) -> float:
    return float(stats.norm.isf(alpha))
