"""Broken clients whose reports are several bits: the audit must catch them all (`coterie.audit.canaries`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.audit.canaries import Points, Rows, outside, samples, sender
from coterie.audit.laws import check_laws
from coterie.audit.reading import Reading
from coterie.audit.result import Check
from coterie.coins import SystemCoins
from coterie.plan import Plan
from coterie.protocols import encoder_of
from coterie.wire.layout import ID_BYTES


@functools.cache
def _bits() -> Plan:
    return Plan.design(3, 2, 2.0, 1000, protocol="lsh-tree", histogram_share=0.5)


class _SharedCoins(SystemCoins):
    """One draw for all answers of a report."""

    def __init__(self) -> None:
        self._last: NDArray[np.int64] | None = None

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        fresh = SystemCoins().below_many(bound, size)
        if self._last is not None and len(self._last) == size:
            last, self._last = self._last, None
            return np.asarray(np.minimum(last, bound - 1))
        self._last = fresh
        return fresh


def _telling_padding() -> Iterable[Check]:
    encoder = encoder_of(_bits())

    def telling(points: Points, ids: Rows, coins: Any) -> Rows:
        reports, _ = encoder.encode_counting(points, ids, coins)
        reports[:, -1] |= outside(points).astype(np.uint8)
        return reports

    yield check_laws(_bits(), telling, 2.0, ids=1)


def _honest_bit() -> Iterable[Check]:
    """One answer is sent without its coin."""
    send, reading = sender(_bits()), Reading(_bits())

    def honest(points: Points) -> Rows:
        rows = send(points)
        truth = reading._truth(points, np.ascontiguousarray(rows[:, :ID_BYTES]))[:, 0]
        rows[:, -1] = (rows[:, -1] & 0x7F) | (truth.astype(np.uint8) << 7)
        return rows

    yield from samples(_bits(), honest)


CANARIES: Final[dict[str, Callable[[], Iterable[Check]]]] = {
    "padding that tells": _telling_padding,
    "one coin for two answers": lambda: samples(_bits(), sender(_bits(), _SharedCoins())),
    "an answer without its coin": _honest_bit,
}
