"""From a client's bytes back to its coins: at which *place* of the point's order a sent value stands.

A report's id is public, and with the point it fixes the order of each answer's values, the cap first. An
honest client sends the value at place r with probability A/T (r < m) or B/T, whatever point and id are. So
places are what a client must have drawn, and they have one law for everybody (docs/audit.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.audit.laws import ScriptedCoins
from coterie.audit.result import Check
from coterie.plain.pieces import pieces
from coterie.plan import Plan
from coterie.privacy.odds import BASE_ODDS
from coterie.protocols import Part, encoder_of
from coterie.protocols.codeword.encode_numpy import Chooser
from coterie.randomizers.codeword import order_keys
from coterie.wire.layout import ID_BYTES

IDS_OF: Final = (-1, 0, 1)  # how much later the reports are whose ids are compared with values
_BITS_AT_A_TIME: Final = 1 << 25  # of codewords
_Wide = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """The law that observations of one kind have, whoever they are of.

    Attributes
    ----------
    name : str
        What is observed.
    size : int
        How many of them a report holds, independent of each other.
    chances : ndarray of float64, shape (F,)
        Of the cells that an observation can fall into, in an order that means something.
    coarse : ndarray of int64, shape (F,)
        Into which of fewer groups, neighbours each, a cell belongs.
    cap : int
        Cells before this one are the likely ones: the cap; 0 where there is none.
    """

    name: str
    size: int
    chances: NDArray[np.float64]
    coarse: NDArray[np.int64]
    cap: int = 0

    def cell(self, number: int) -> str:
        """Name one cell."""
        if not self.cap:
            return f"{self.name} in cell {number} of {len(self.chances)}"
        if len(self.chances) == 2:
            return f"{self.name} {('true', 'turned')[number]}"
        where = "in" if number < self.cap else "outside"
        return f"{self.name} {number + 1} of {len(self.chances)} ({where} the cap)"


class Reader(Protocol):
    """Reads a client's draws from the reports of one plan."""

    laws: tuple[Law, ...]

    def __init__(self, plan: Plan) -> None:
        """Read nothing yet."""

    @staticmethod
    def exact(plan: Plan) -> Iterator[Check]:
        """Check what can be enumerated of a plan."""

    def read(self, points: NDArray[np.float64], rows: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
        """Return the cells of each law's observations: (n, d), (n, width) -> (n, size) each."""

    def features(self, points: NDArray[np.float64], ids: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return public numbers of point and id that a client could choose its ids by: (n, d) -> (n, k)."""

    def check(self) -> Iterator[Check]:
        """Check what was read, besides what is checked of every reader."""

    def bits(self) -> float:
        """Return how many bits of coins a report's answers hold, at least."""


class Reading:
    """What the public id of a report says about a point's values.

    Parameters
    ----------
    plan : Plan
        One whose reports have a finite law.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.parts = plan, plan.parameters.parts()
        parts = self.parts
        kinds = list(dict.fromkeys((part.values, part.cap, part.odds) for part in parts))
        self._members = [
            [number for number, part in enumerate(parts) if (part.values, part.cap, part.odds) == kind]
            for kind in kinds
        ]
        self.laws = tuple(_law_of_places(parts[members[0]], len(members)) for members in self._members)
        self.seen = [np.zeros(part.values, dtype=np.int64) for part in parts]  # values sent
        self.expected = [np.zeros(part.values) for part in parts]  # given points and ids
        # How often the value before was sent again: by part, even or odd, in the cap or not; (hits, trials).
        self.again = np.zeros((len(parts), 2, 2, 2), dtype=np.int64)
        # Bits of values, less those of others as likely, by bits of ids: sums of signs, and how many differ.
        self.follows = {
            number: np.zeros((2, len(IDS_OF), (part.values - 1).bit_length(), 8 * ID_BYTES))
            for number, part in enumerate(parts)
            if part.values > 2
        }
        self._generator = np.random.default_rng()
        self._encoder: Any = encoder_of(plan)

    def read(self, points: NDArray[np.float64], rows: NDArray[np.uint8]) -> list[_Wide]:
        """Return places, by law, and count values (`seen`, `expected`)."""
        values = np.minimum(self.values(rows), [part.values - 1 for part in self.parts])
        places = self.places(points, np.ascontiguousarray(rows[:, :ID_BYTES]), values)
        for number, part in enumerate(self.parts):
            self.seen[number] += np.bincount(values[:, number], minlength=part.values)
        return [places[:, members] for members in self._members]

    def values(self, reports: NDArray[np.uint8]) -> _Wide:
        """Return the sent value of each part: (n, width) -> (n, parts)."""
        payload = np.ascontiguousarray(reports[:, ID_BYTES:])
        return np.stack([part.read(payload) for part in self.parts], axis=1)

    def places(self, points: NDArray[np.float64], ids: NDArray[np.uint8], values: _Wide) -> _Wide:
        """Return the place of each value, (n, parts), and add up how often each was to be `expected`."""
        places = np.empty(values.shape, dtype=np.int64)
        for number, part in enumerate(self.parts):
            if part.values == 2:
                continue
            step = max(1, _BITS_AT_A_TIME // (part.values * 128))
            for piece in pieces(len(ids), step):
                keys, _ = self._keyed(points[piece], ids[piece], number)
                own = np.take_along_axis(keys, values[piece, number, None], axis=1)
                places[piece, number] = (keys < own).sum(axis=1)
                edge = np.partition(keys, part.cap - 1, axis=1)[:, part.cap - 1, None]
                caps = (keys <= edge).sum(axis=0)
                outside = len(keys) - caps
                self.expected[number] += (caps * part.odds + outside * BASE_ODDS) / part.total
                last = np.take_along_axis(keys[1:], values[piece, number][:-1, None], axis=1)
                self._again(number, values[piece, number], (last <= edge[1:])[:, 0])
                drawn = self._generator.integers(0, part.values, (len(keys), 1))
                alike = (np.take_along_axis(keys, drawn, axis=1) <= edge) == (own <= edge)
                sent = values[piece, number, None]
                self._follow(number, sent, np.where(alike, drawn, sent), ids[piece])
        bits = [number for number, part in enumerate(self.parts) if part.values == 2]
        if bits:
            truth = self._truth(points, ids)
            for column, number in enumerate(bits):
                part = self.parts[number]
                places[:, number] = values[:, number] != truth[:, column]
                ones = int(truth[:, column].sum())
                one = (ones * part.odds + (len(ids) - ones) * BASE_ODDS) / part.total
                self.expected[number] += [len(ids) - one, one]
                self._again(number, values[:, number], values[:-1, number] == truth[1:, column])
        return places

    def _again(self, number: int, values: _Wide, inside: NDArray[np.bool_]) -> None:
        """Count values that are those of the report before, in pairs that do not overlap."""
        same = values[1:] == values[:-1]
        for parity in (0, 1):
            for side, wanted in enumerate((inside, ~inside)):
                chosen = wanted[parity::2]
                self.again[number, parity, side] += [(same[parity::2] & chosen).sum(), chosen.sum()]

    def _follow(self, number: int, values: _Wide, twins: _Wide, ids: NDArray[np.uint8]) -> None:
        """Count how bits in which values, (n, 1), differ from twins as likely go with bits of ids."""
        places = np.arange((self.parts[number].values - 1).bit_length())
        turned = ((values >> places & 1) - (twins >> places & 1)).astype(np.float32)
        signs = 2 * np.unpackbits(ids, axis=1).astype(np.float32) - 1
        for which, later in enumerate(IDS_OF):
            mine = turned[max(0, -later) : len(ids) - max(0, later)]
            self.follows[number][0, which] += mine.T @ signs[max(0, later) : len(ids) + min(0, later)]
            self.follows[number][1, which] += np.abs(mine).sum(axis=0)[:, None]

    def features(self, points: NDArray[np.float64], ids: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return public numbers of point and id that a client could choose its ids by: (n, k).

        The best, the worst and the cap's last score and that of codeword 0, which codeword is best, bit by
        bit, and the first of the integers that are scored, whose sign the row decides; of bits, the truth.
        """
        found = []
        for number, part in enumerate(self.parts):
            if part.values > 2:
                keys, vectors = self._keyed(points, ids, number)
                order = -(keys >> (part.values - 1).bit_length())
                edge = np.partition(order, part.values - part.cap, axis=1)[:, part.values - part.cap]
                found += [order.max(axis=1), order.min(axis=1), edge, order[:, 0], vectors[:, 0]]
                best = keys.argmin(axis=1)
                found += [best >> bit & 1 for bit in range((part.values - 1).bit_length())]
        if any(part.values == 2 for part in self.parts):
            found += list(self._truth(points, ids).T)
        return np.stack(found, axis=1).astype(np.float64)

    def _truth(self, points: NDArray[np.float64], ids: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return the bits before any coin: (n, d), (n, 12) -> (n, bits)."""
        draws = np.zeros((len(ids), len(self.parts)), dtype=np.int64)
        sent = self.values(self._encoder.encode(points, ids, ScriptedCoins(draws, self.parts)))
        return np.asarray(sent[:, [part.values == 2 for part in self.parts]] == 1)

    def _keyed(
        self, points: NDArray[np.float64], ids: NDArray[np.uint8], number: int
    ) -> tuple[_Wide, NDArray[np.float64]]:
        """Return the keys by which an answer's values are ordered, the smallest first, and what is scored.

        (n, d), (n, 12) -> (n, N), (n, P).
        """
        part = self.parts[number]
        answer = sum(other.values > 2 for other in self.parts[:number])
        packed, vectors = self._encoder.scored(points, ids, answer)
        keys = order_keys(Chooser(len(ids), part.values, vectors.shape[1]).scores(packed, vectors))
        return np.asarray(keys), vectors


def _law_of_places(part: Part, size: int) -> Law:
    chances = np.asarray(part.places, dtype=np.float64) / part.total
    cells = np.arange(part.values)
    # First and last place of the cap and of the others by themselves, four groups in between.
    edges = [0, 1, *np.linspace(1, part.cap - 1, 5), part.cap - 1, part.cap, part.cap + 1]
    edges += [*np.linspace(part.cap + 1, part.values - 1, 5), part.values - 1]
    cuts = np.unique(np.clip(np.array(edges, dtype=np.int64), 0, part.values - 1))
    name = "answer" if part.values == 2 else "place"
    return Law(name, size, chances, np.searchsorted(cuts, cells, side="right") - 1, part.cap)
