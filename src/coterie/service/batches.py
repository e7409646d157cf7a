"""The collector's end of the shuffle model: batches in, whole and once, from shufflers that it knows.

A collector takes no report of a shuffle plan, only batches that a shuffler released, each signed
(`wire/shuffled_file.py`). Before one is kept it is looked at as if it were to be decoded: a batch counts
whole or not at all, so one that could not be added up must not get in.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.errors import CoterieError
from coterie.plain.files import DIGEST_BYTES
from coterie.plan import Plan
from coterie.service.problems import Problem
from coterie.store import Store, Study
from coterie.wire.layout import in_pieces
from coterie.wire.report_file import HEADER
from coterie.wire.shuffled_file import MOST_BATCH, ShuffledFile, bytes_per_person

# What a shuffler gathers, and what may come in beside while it counts again.
MOST_BODY: Final = MOST_BATCH + (1 << 26)


def checked_people(plan: Plan, digest: str, data: bytes) -> int:
    """Return how many people a batch is of, once all of it has proved to be one.

    Raises
    ------
    Problem
        If it has another digest, is no shuffled file of the plan, is not in the order of its bytes, holds
        messages that no device can have sent, or is of fewer people than the plan's minimum.
    """
    if hashlib.sha256(data).hexdigest() != digest:
        raise Problem(
            "malformed-batch", "it does not have the digest it was sent under; nothing was taken in"
        )
    try:
        rows = ShuffledFile.rows_of(data, plan, "the batch")
        table = Aggregate(plan)
        for piece in in_pieces(rows):
            table.add(piece)
        people, fewest = table.count, table.table.fewest
    except CoterieError as error:
        raise Problem("malformed-batch", f"{error}; nothing was taken in") from None
    if not _in_order(rows):
        raise Problem("malformed-batch", "its messages are not in the order of their bytes: it is not mixed")
    if people < plan.minimum_batch or fewest < plan.parameters.smallest_group:
        raise Problem(
            "too-few", f"a batch of this plan is of {plan.minimum_batch} people or more; nothing was taken in"
        )
    return people


def _in_order(rows: NDArray[np.uint8]) -> bool:
    """Return whether messages lie in the order of their bytes, a piece in memory at a time."""
    last = None
    for piece in in_pieces(rows):
        keys = np.ascontiguousarray(piece).view(f"S{rows.shape[1]}")[:, 0]
        if (last is not None and keys[0] < last) or (keys[1:] < keys[:-1]).any():
            return False
        last = keys[-1]
    return True


class Tally:
    """How many people a plan's batches are of, read again only when there are more batches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[int, int]] = {}

    def people(self, study: Study) -> int:
        """Return it; by their length alone, since each was looked at before it was kept."""
        plan, number = study.plan, study.counts.batches
        if not number:
            return 0
        known, people = self._known.get(plan.id, (0, 0))
        if known != number:
            sizes = [len(batch.data) - HEADER.size - DIGEST_BYTES for batch in self._store.batches(plan.id)]
            people = sum(size // bytes_per_person(plan) for size in sizes)
            self._known[plan.id] = (len(sizes), people)
        return people
