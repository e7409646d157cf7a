"""The exact law of a report given its id, enumerated through the encoder itself (docs/theory/codeword.md).

A report is an id and independent *parts* (`coterie.protocols.base.Part`). A part is decided by one secret
draw, uniform below m·A + (N-m)·B, whose places are intervals of A or B draws.

For a point and an id the encoder is asked at both ends of every interval of every draw, and at random
combinations. The number of draws that lead to a value is the value's weight; the report's law is the product
over parts; so two points' probabilities of any report differ by at most

    Π_parts max_value weight(x)/weight(y)        an exact fraction, compared with e^ε in integers
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.audit.probes import fixed_points
from coterie.audit.result import Check
from coterie.errors import BrokenLawError
from coterie.plan import Plan
from coterie.privacy.odds import ratio_allowed
from coterie.protocols import Part
from coterie.wire.forms import report_form
from coterie.wire.layout import ID_BYTES

COMBINATIONS: Final = 64  # random combinations of places that are tried besides
TRIED: Final = (  # of `fixed_points`
    "the middle", "a corner", "the opposite corner", "a point of the surface", "its opposite",
    "a point inside", "another point", "just outside", "far outside",
)  # fmt: skip

Encode = Callable[[NDArray[np.float64], NDArray[np.uint8], Any], NDArray[np.uint8]]


class ScriptedCoins:
    """Coins that were drawn before: one column per part, one row per report."""

    def __init__(self, draws: NDArray[np.int64], parts: tuple[Part, ...]) -> None:
        self._draws = draws  # (n, parts)
        self._parts = parts
        self._next = 0

    def bytes(self, count: int) -> bytes:
        """Refuse: a report's id is public, and nothing else is drawn as bytes."""
        raise BrokenLawError(f"the encoder drew {count} bytes besides its id")

    def below(self, bound: int) -> int:
        """Return the next draw of the first report."""
        return int(self.below_many(bound, 1)[0])

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return the next draws; the bound must be the law's."""
        columns = size // max(len(self._draws), 1)
        taken = self._parts[self._next : self._next + columns]
        if size != columns * len(self._draws) or len(taken) < columns:
            raise BrokenLawError(f"the encoder drew {size} numbers, where the plan has others")
        for part in taken:
            if part.total != bound:
                raise BrokenLawError(f"a draw is below {bound}, and the plan says below {part.total}")
        start, self._next = self._next, self._next + columns
        return self._draws[:, start : self._next].ravel()


def adversarial_ids(count: int) -> list[bytes]:
    """Return ids: extreme ones first, then others."""
    ids = [bytes(12), b"\xff" * 12, bytes(range(12))]
    generator = np.random.default_rng(1)
    return [*ids, *(generator.bytes(12) for _ in range(count))][:count]


Law = list[dict[int, int]]  # by part: value -> number of draws


def law_of(plan: Plan, encode: Encode, point: NDArray[np.float64], identity: bytes) -> Law:
    """Return the exact law of the report of one point and one id."""
    parts = plan.parameters.parts()
    ends = [np.cumsum([0, *part.places]) for part in parts]
    draws, owners = [], []
    for number, edges in enumerate(ends):
        tried = np.zeros((2 * (len(edges) - 1), len(parts)), dtype=np.int64)
        tried[:, number] = np.stack([edges[:-1], edges[1:] - 1], axis=1).ravel()
        draws.append(tried)
        owners.append(len(tried))
    generator = np.random.default_rng(int.from_bytes(identity[:4], "big"))
    places = np.stack([generator.integers(0, part.values, COMBINATIONS) for part in parts], axis=1)
    draws.append(np.stack([edges[places[:, j]] for j, edges in enumerate(ends)], axis=1))
    script = np.concatenate(draws)
    ids = np.repeat(np.frombuffer(identity, dtype=np.uint8)[None], len(script), axis=0)
    reports = encode(np.repeat(point[None], len(script), axis=0), ids, ScriptedCoins(script, parts))
    if not (reports[:, :ID_BYTES] == ids).all():
        raise BrokenLawError("a report does not begin with its id")
    if reports.shape[1] != plan.report_width:
        raise BrokenLawError(f"a report has {reports.shape[1]} bytes, not {plan.report_width}")
    payload = np.ascontiguousarray(reports[:, ID_BYTES:])
    values = np.stack([part.read(payload) for part in parts], axis=1)  # (n, parts)
    tables, start = [], 0
    for number, (part, count) in enumerate(zip(parts, owners, strict=True)):
        mine = values[start : start + count]
        others = np.delete(mine, number, axis=1)
        if (others != others[0]).any():
            raise BrokenLawError("a draw changes an answer that is not its own")
        first, last = mine[::2, number], mine[1::2, number]
        if (first != last).any():
            raise BrokenLawError("a draw's interval holds two answers")
        weights: dict[int, int] = {}
        for value, weight in zip(first.tolist(), part.places, strict=True):
            weights[value] = weights.get(value, 0) + weight
        tables.append((first, weights))
        start += count
    expected = np.stack([first[places[:, j]] for j, (first, _) in enumerate(tables)], axis=1)
    if (values[start:] != expected).any():
        raise BrokenLawError("answers depend on each other's draws")
    if report_form(plan).foreign(reports).any():
        raise BrokenLawError("a report holds more than its answers")
    return [weights for _, weights in tables]


def largest_ratio(one: Law, other: Law) -> Fraction | float:
    """Return the largest ratio of two laws' probabilities of one report; infinity where only one has it."""
    ratio = Fraction(1)
    for mine, theirs in zip(one, other, strict=True):
        if mine.keys() - theirs.keys():
            return math.inf
        scale = Fraction(sum(theirs.values()), sum(mine.values()))
        ratio *= max(Fraction(weight, theirs[value]) for value, weight in mine.items()) * scale
    return ratio


def check_laws(plan: Plan, encode: Encode, claim: float, *, ids: int = 4, label: str = "") -> Check:
    """Enumerate laws and decide exactly whether they keep the claim."""
    points = [point for name, point in fixed_points(plan).items() if name in TRIED]
    name = f"law of the report's bytes{label}"
    worst: Fraction | float = Fraction(1)
    try:
        for identity in adversarial_ids(ids):
            laws = [law_of(plan, encode, point, identity) for point in points]
            for one, other in itertools.permutations(laws, 2):
                worst = max(worst, largest_ratio(one, other))
    except BrokenLawError as error:
        return Check("exact", name, False, str(error))
    figures: dict[str, Any] = {"points": len(points), "ids": ids, "claimed_epsilon": claim}
    if isinstance(worst, float):
        return Check("exact", name, False, "one point can send what another cannot", figures)
    spent = math.log(worst)
    figures |= {"largest_ratio": str(worst) if len(str(worst)) < 200 else None, "log_ratio": spent}
    kept = ratio_allowed(worst, claim)
    words = f"any report is at most e^{spent:.9g} times as likely; the claim is e^{claim:.9g}"
    return Check("exact", name, kept, words if kept else f"{words}: NOT KEPT", figures)
