"""The collector's end of the shuffle model: batches in, whole and once, from shufflers that it knows.

A collector takes no report of a shuffle plan, only batches that a shuffler released, each signed
(`wire/shuffled_file.py`). Before one is kept it is looked at as if it were to be decoded: a batch counts
whole or not at all, so one that could not be added up must not get in. Where messages have ids, those of
people who came before count for nothing, and hide nobody: enough of a batch must be new.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Final

from coterie.aggregate import Aggregate
from coterie.collect.batches import have_ids
from coterie.collect.deduplicate import without
from coterie.errors import CoterieError
from coterie.plain.files import DIGEST_BYTES
from coterie.plan import Plan
from coterie.service.problems import Problem
from coterie.store import Store, Study
from coterie.wire.layout import ID_BYTES, in_order, in_pieces
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
        messages that no device can have sent or an id twice, or is of fewer people than the plan's minimum.
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
    if not in_order(in_pieces(rows)):
        raise Problem("malformed-batch", "its messages are not in the order of their bytes: it is not mixed")
    if have_ids(plan) and not in_order(in_pieces(rows[:, :ID_BYTES]), strictly=True):
        raise Problem("malformed-batch", "an id is in it twice; nothing was taken in")
    if people < plan.minimum_batch or fewest < plan.parameters.smallest_group:
        raise _too_few(plan)
    return people


def _too_few(plan: Plan) -> Problem:
    return Problem(
        "too-few", f"a batch of this plan is of {plan.minimum_batch} new people or more; nothing was taken in"
    )


class Batches:
    """Takes batches into a store, one at a time: what one brings is compared with all that came before.

    Several servers on one database do not see what the others are taking in just then; ids count once all the
    same.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._people: dict[str, tuple[int, int]] = {}  # of so many batches of a plan

    def take(self, plan: Plan, digest: str, data: bytes) -> bool:
        """Keep a batch, durably; return False if it is there already.

        Raises
        ------
        Problem
            If it is none (`checked_people`), or fewer of its people are new than the plan's minimum.
        """
        checked_people(plan, digest, data)
        with self._lock:
            if have_ids(plan) and self._new(plan, digest, data) < plan.minimum_batch:
                raise _too_few(plan)
            return self._store.put_batch(plan.id, digest, data)

    def _new(self, plan: Plan, digest: str, data: bytes) -> int:
        """Return how many ids of a batch no other batch has."""
        fresh = in_pieces(ShuffledFile.rows_of(data, plan, "the batch"))
        for batch in self._store.batches(plan.id):
            if batch.digest != digest:
                rows = ShuffledFile.rows_of(batch.data, plan, "a batch of the store")
                fresh = without(fresh, (piece[:, :ID_BYTES] for piece in in_pieces(rows)))
        return sum(len(rows) for rows in fresh)

    def people(self, study: Study) -> int:
        """Return how many people a plan's batches are of, read again only when there are more batches.

        Each id counts once; batches without ids count by their length, since each was looked at.
        """
        plan, number = study.plan, study.counts.batches
        if not number:
            return 0
        known, people = self._people.get(plan.id, (0, 0))
        if known != number:
            if have_ids(plan):
                people = sum(len(rows) for rows in self._store.messages(plan.id))
            else:
                sizes = (len(each.data) - HEADER.size - DIGEST_BYTES for each in self._store.batches(plan.id))
                people = sum(size // bytes_per_person(plan) for size in sizes)
            self._people[plan.id] = (number, people)
        return people
