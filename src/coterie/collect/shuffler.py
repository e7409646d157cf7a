"""The shuffler: report files in, one batch of messages out that says nothing about who sent them.

1. All files are verified to the last byte, all of the plan; repeated ids count once (`intake`).
2. A batch under the plan's minimum is refused; by column also one with a row of too few people.
3. Everything but the messages is dropped: for shares the ids too, which only served to tell reports apart.
4. The messages are put into the order of their bytes. A sort hides the order of arrival as well as a random
   permutation does (what is left is the multiset), needs no coins, and gives the same file again.
5. The ids are recorded as released (`released`), then the file appears, whole, under its name.

Interrupted anywhere, there is no output file or the whole one; started again with the same files it gives the
same bytes. What the software cannot see is written in the guarantee: that the shuffler keeps no copy, and
that nobody else saw the reports arrive.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.collect.intake import IntakeCounts, take_in
from coterie.collect.released import open_released
from coterie.errors import PlanError, ReportError
from coterie.plan import Plan
from coterie.plan.codeword import ID_BYTES
from coterie.plan.shares import ShareNumbers
from coterie.plan.vector_sums import VectorSumNumbers
from coterie.privacy import Guarantee
from coterie.randomizers.vector_sums import VectorSums, from_big_endian
from coterie.wire.report_file import write_reports
from coterie.wire.rows import Rows
from coterie.wire.shuffled_file import ShuffledFile
from coterie.wire.stream import PublicStream

MEMORY_SUFFIX: Final = ".released"  # of the folder beside a plan's file
MOST_BYTES: Final = 1 << 32  # of reports mixed at a time


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What became of a batch."""

    counts: IntakeCounts
    people: int
    messages: int
    batch: str  # digest, 64 hex digits
    fresh: bool  # False when this very batch was released before
    guarantee: Guarantee  # recomputed for this number of people


def shuffle_files(
    paths: Iterable[str | os.PathLike[str]],
    plan: Plan,
    out: str | os.PathLike[str],
    released: str | os.PathLike[str],
) -> Shuffled:
    """Mix the reports of several files into one batch.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        Report files of the plan.
    plan : Plan
        A plan of the shuffle model.
    out : str or os.PathLike
        The shuffled file to write.
    released : str or os.PathLike
        Folder that remembers which ids were released; the same one for all batches of a plan.

    Raises
    ------
    FileError
        If a file is truncated, foreign, of another version or corrupt.
    ReportError
        If the batch is too small, or shares a report with an earlier one. Nothing was released then.
    """
    if plan.model != "shuffle":
        raise PlanError(f"a plan of the {plan.model} model has nothing to shuffle; its model must be shuffle")
    with take_in(paths, plan) as intake, write_reports(out, plan, ShuffledFile) as writer:
        digest = hashlib.sha256(b"coterie/1/batch" + plan.id_bytes)
        ids: list[NDArray[np.uint8]] = []
        held: list[NDArray[np.uint8]] = []
        splits = isinstance(plan.numbers, ShareNumbers)
        for chunk in intake.chunks():  # sorted by id, each id once
            digest.update(np.ascontiguousarray(chunk).data)
            ids.append(chunk[:, :ID_BYTES].copy())
            if splits:
                held.append(chunk)
                _check_size(held)
            else:
                writer.append(chunk)
        people = sum(map(len, ids))
        if people < plan.minimum_batch:
            raise ReportError(_too_few(plan, people))
        all_ids = np.concatenate(ids)
        if splits:
            for messages in mixed_messages(plan, np.concatenate(held)):
                writer.append(messages)
        with open_released(released, plan) as memory:
            fresh = memory.record(digest.digest(), all_ids)
    return Shuffled(
        counts=intake.counts,
        people=people,
        messages=writer.count,
        batch=digest.hexdigest(),
        fresh=fresh,
        guarantee=plan.guarantee_for(people),
    )


def mixed_messages(plan: Plan, reports: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Yield the messages of reports of shares, row by row, in the order of their bytes: (k, message width).

    Parameters
    ----------
    plan : Plan
        A plan of protocol `shuffle` or `net-tree-sums` in the shuffle model.
    reports : ndarray of uint8, shape (n, width)
        All reports of one batch, each id once.

    Raises
    ------
    ReportError
        If a share lies outside the field, or a row has too few people to mix.
    """
    numbers: object = plan.numbers
    if not isinstance(numbers, ShareNumbers):
        raise PlanError(f"reports of protocol {plan.protocol} are not made of shares")
    sums = numbers.sums()
    size = sums.mixer.share_bytes
    if isinstance(numbers, VectorSumNumbers) and numbers.by_column:
        rows, _ = PublicStream(plan.public_key()).choices(reports[:, :ID_BYTES], Rows.of(numbers))
        _check_groups(rows, numbers)
        for row in np.unique(rows).tolist():
            yield _sorted_messages(sums, row, reports[rows == row, ID_BYTES:], size)
        return
    width = numbers.coordinates * numbers.shares * size
    for row in range(numbers.rows):
        start = ID_BYTES + row * width
        yield _sorted_messages(sums, row, reports[:, start : start + width], size)


def _sorted_messages(sums: VectorSums, row: int, written: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return everybody's messages of one row, sorted: (n, D·m·size) -> (n·D·m, message width)."""
    people = len(written)
    shares = from_big_endian(np.ascontiguousarray(written).reshape(-1, size))
    if (shares >= sums.mixer.modulus).any():
        raise ReportError(
            f"a report holds a share outside the field of {sums.mixer.modulus} elements (row {row}); "
            "nothing was released. Find the file that its client wrote and leave it out"
        )
    by_coordinate = shares.reshape(people, sums.width, sums.mixer.shares).transpose(1, 0, 2)
    mixed = np.sort(by_coordinate.reshape(sums.width, -1), axis=1)  # (D, n·m)
    return sums.messages(np.array([row]), mixed[None])


def _check_groups(rows: NDArray[np.int64], numbers: VectorSumNumbers) -> None:
    smallest = int(np.bincount(rows, minlength=numbers.rows).min())
    if smallest < numbers.group:
        raise ReportError(
            f"a row of this batch has {smallest} people, the plan needs {numbers.group} in each to mix and "
            "to add noise; nothing was released. Wait for more reports"
        )


def _check_size(held: list[NDArray[np.uint8]]) -> None:
    total = sum(chunk.nbytes for chunk in held)
    if total > MOST_BYTES:
        raise ReportError(
            f"the batch has more than {MOST_BYTES} bytes of reports; split it into batches above the plan's "
            "minimum. Nothing was released"
        )


def _too_few(plan: Plan, people: int) -> str:
    try:
        instead = f"the promise would be epsilon {plan.guarantee_for(max(people, 1)).epsilon:.4g}"
    except PlanError:
        instead = "there would be no promise"
    return (
        f"the batch has {people} people and the plan's minimum is {plan.minimum_batch}: {instead} instead of "
        f"{plan.epsilon:g}. Nothing was released: wait for more reports, or make a plan for fewer people"
    )


def default_memory(plan_path: str | os.PathLike[str]) -> Path:
    """Return the folder beside a plan's file that remembers its released ids."""
    path = Path(plan_path)
    return path.with_name(path.name + MEMORY_SUFFIX)
