"""Many reports of many people, read back to the coins that must have made them.

For an honest client three things hold together, and they are all that its privacy rests on:

    places      have the plan's law, whatever the point, the id, the time and all other reports are
    ids         are uniform, whatever the point, the time and all other reports are
    the rest    of a report is nothing

`Sample` holds what was sent; `coterie.audit.fit` tests the three, each on everybody and given everything that
a law might hang on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.audit.probes import Labels, Points, Probes
from coterie.audit.reading import Law, Reader
from coterie.plan import Plan
from coterie.wire.forms import report_form
from coterie.wire.layout import ID_BYTES
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream
from coterie.wire.tokens import token_id

REPORTS: Final = 1 << 21  # of one audit, at most
SECONDS: Final = 270.0  # that asking a client and reading its reports may take
CALL: Final = 1 << 14  # people in one call
RUNS: Final = (1, 64, 1, 4096)  # copies of one person in a row, call by call
SHORT_CALLS: Final = (1, 1, 2, 1, 16, 1, 2, 1, 256)  # people in the first calls, over and over
_SHORT_SECONDS: Final = 15.0
_MOST_SHORT_CALLS: Final = 1500
_GROWTH: Final = 8  # of the number of people in a call, from one to the next
_PER_SHORT_CALL: Final = 500  # reports of the sample, at least
_PAIRED: Final = 1 << 11  # people of a call whose ids are compared with ids of our own

Sent = list[bytes] | bytes | NDArray[np.uint8]  # reports one by one, back to back, or as rows
Send = Callable[[Any], Sent]  # points (n, d), or n records -> n reports


@dataclass(slots=True, eq=False)
class Sample:
    """What a client sent, report by report in the order of time.

    Attributes
    ----------
    laws : tuple of Law
        The laws of its draws.
    cells : list of ndarray, shape (n, size) each
        What was drawn, by law.
    ids, heads : ndarray of uint8, shape (n, 12) and (n, 16)
        Ids, and the first block of their public streams.
    rows : ndarray of int64, shape (n,), or None
        The row of the table that each id names, where the plan has rows.
    probes : ndarray of int64, shape (n,)
        Which of `names` the person was.
    labels : dict of ndarray, shape (n,) each
        What else there is to say of the person (`Probes.labels`).
    calls, places : ndarray of int64, shape (n,)
        Number of the call, and place in it.
    compared : ndarray of int64, shape (2, names, k)
        How often a public number of point and id was larger for the client's id than for one of ours, and
        how often smaller.
    lengths : set of int
        Of all reports, also of those that could not be read.
    leftover : int
        Reports that hold more than their answers.
    refused : str or None
        What the client said instead of sending a report.
    """

    plan: Plan
    names: tuple[str, ...]
    laws: tuple[Law, ...]
    cells: list[NDArray[np.int64]]
    ids: NDArray[np.uint8]
    heads: NDArray[np.uint8]
    rows: NDArray[np.int64] | None
    probes: NDArray[np.int64]
    labels: Labels
    calls: NDArray[np.int64]
    places: NDArray[np.int64]
    compared: NDArray[np.int64]
    lengths: set[int]
    leftover: int
    refused: str | None

    def __len__(self) -> int:
        return len(self.ids)


def sample(plan: Plan, send: Send, reader: Reader, *, reports: int, seconds: float, call: int) -> Sample:
    """Ask a client about many people: a few at a time, then many, until reports or seconds are spent."""
    started, probes = time.monotonic(), Probes(plan)
    taken, generator = _Taken(plan, reader, probes.names), np.random.default_rng()
    took, long = 0.0, max(SHORT_CALLS)
    done, number, most_short = 0, 0, min(_MOST_SHORT_CALLS, reports // _PER_SHORT_CALL)
    while done < reports and (number == 0 or time.monotonic() - started < seconds):
        short = number < most_short and time.monotonic() - started < min(_SHORT_SECONDS, seconds / 4)
        if short and done < reports // 4:
            size = SHORT_CALLS[number % len(SHORT_CALLS)]
        else:  # a slow client is asked for fewer at a time, so that the clock is looked at
            size = long = min(call, _GROWTH * long) if took < seconds / 20 else long
            size -= int(generator.integers(0, size // 8 + 1))  # so that blocks of people are not all full
        asked = time.monotonic()
        people, which = probes.people(min(size, reports - done), RUNS[number % len(RUNS)])
        try:
            sent = send(people)
        except Exception as error:
            if not number:  # a client that refuses somebody tells of them; one that never runs does not
                raise
            taken.refused = f"{type(error).__name__}: {error}"
            break
        took = time.monotonic() - asked
        rows = _rows(sent, plan, len(which), taken.lengths)
        if rows is None:
            break
        points = probes.points(people)
        taken.add(points, rows, which, probes.labels(people, points))
        done, number = done + len(which), number + 1
    return taken.sample()


class _Taken:
    """A sample that grows."""

    def __init__(self, plan: Plan, reader: Reader, names: tuple[str, ...]) -> None:
        self._plan, self._reader = plan, reader
        self._names, self._form = names, report_form(plan)
        self.lengths: set[int] = set()
        self.refused: str | None = None
        self._leftover = 0
        self._pieces: list[dict[str, NDArray[Any]]] = []
        self._cells: list[list[NDArray[np.int64]]] = [[] for _ in reader.laws]
        self._labels: list[Labels] = []
        self._compared = np.zeros((2, 1, 1), np.int64)  # won and lost, by person and feature
        self._generator = np.random.default_rng()

    def add(self, points: Points, rows: NDArray[np.uint8], which: NDArray[np.int64], labels: Labels) -> None:
        ids = np.ascontiguousarray(rows[:, :ID_BYTES])
        self._leftover += int(self._form.foreign(rows).sum())
        for kept, cells in zip(self._cells, self._reader.read(points, rows), strict=True):
            kept.append(cells.astype(np.int32))
        calls, places = np.full(len(ids), len(self._pieces)), np.arange(len(ids))
        self._pieces.append({"ids": ids, "probes": which, "calls": calls, "places": places})
        self._labels.append(labels)
        self._pair(points[:_PAIRED], ids[:_PAIRED], which[:_PAIRED])

    def _pair(self, points: Points, ids: NDArray[np.uint8], which: NDArray[np.int64]) -> None:
        """Compare public numbers of the client's ids with those of ours: either is as likely the larger."""
        ours = self._generator.integers(0, 256, ids.shape, dtype=np.uint8)
        theirs, mine = self._reader.features(points, ids), self._reader.features(points, ours)
        counts = np.zeros((2, len(self._names), theirs.shape[1]), dtype=np.int64)
        np.add.at(counts[0], which, theirs > mine)
        np.add.at(counts[1], which, theirs < mine)
        self._compared = self._compared + counts

    def sample(self) -> Sample:
        """Return all of it."""
        nothing = dict.fromkeys(("probes", "calls", "places"), np.zeros(0, np.int64))
        nobody: dict[str, NDArray[Any]] = {"ids": np.zeros((0, ID_BYTES), np.uint8), **nothing}
        pieces = self._pieces or [nobody]  # where not even the first call gave rows
        joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in nobody}
        heads = PublicStream(self._plan.randomness_key()).blocks(joined["ids"], 0, 1)[:, 0]
        parameters: Any = self._plan.parameters
        names = self._labels[0] if self._labels else {}
        return Sample(
            plan=self._plan,
            names=self._names,
            laws=self._reader.laws,
            cells=[np.concatenate(kept) if kept else np.zeros((0, 1), np.int64) for kept in self._cells],
            heads=heads,
            rows=Rows.of(parameters).read(heads)[0] if hasattr(parameters, "views") else None,
            labels={name: np.concatenate([each[name] for each in self._labels]) for name in names},
            compared=self._compared,
            lengths=self.lengths,
            leftover=self._leftover,
            refused=self.refused,
            **joined,
        )


def reports_of(sent: Sent, plan: Plan) -> list[bytes]:
    """Return reports one by one, without the tokens that their ids follow from; with those they do not."""
    skip = plan.upload_width - plan.report_width
    if isinstance(sent, bytes | bytearray | memoryview):
        data = bytes(sent)
        whole = skip and len(data) % plan.upload_width == 0 and len(data) % plan.report_width
        width = plan.upload_width if whole else plan.report_width
        sent = [data[start : start + width] for start in range(0, len(data), width)]
    reports = [bytes(report) for report in sent]
    if skip and all(len(report) == plan.upload_width for report in reports):
        return [
            each[skip:] if each[skip:].startswith(token_id(plan, each[:skip])) else each for each in reports
        ]
    return reports


def _rows(sent: Sent, plan: Plan, count: int, lengths: set[int]) -> NDArray[np.uint8] | None:
    """Return reports as rows, or None where a length or their number is wrong; note the lengths."""
    if isinstance(sent, np.ndarray) and sent.shape == (count, plan.report_width) and sent.dtype == np.uint8:
        lengths.add(plan.report_width)
        return sent
    reports = reports_of(sent, plan)
    lengths |= {len(report) for report in reports}
    if len(reports) != count:
        lengths.add(0)
    if lengths != {plan.report_width}:
        return None
    return np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(count, -1)
