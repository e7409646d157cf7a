"""What counts of one study: three sorted sets, and how they change; the same for every store.

    REPORTS     those that count, each id once
    WITHDRAWN   ids that never count
    RELEASED    ids that left in batches

A store says how a set is read and written anew (`rows`, `rewrite`) and how a batch is recorded (`record`).
What is written counts only as a whole: once a state is published that names it, or a transaction commits.
"""

from __future__ import annotations

import abc
import itertools
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.collect.deduplicate import Deduplicator, without
from coterie.plan import Plan
from coterie.store.base import Batch, Chunks, Mix
from coterie.wire.layout import ID_BYTES

REPORTS, WITHDRAWN, RELEASED = KINDS = range(1, 4)
NAMES: Final = {REPORTS: "reports", WITHDRAWN: "withdrawn", RELEASED: "released"}
COUNTS: Final = {**NAMES, REPORTS: "counted"}  # of `coterie.store.base.Counts`


class Sets(abc.ABC):
    """The sets of one study, as something that is about to change sees them."""

    __slots__ = ()
    plan: Plan

    @abc.abstractmethod
    def rows(self, kind: int) -> Chunks:
        """Yield a set, sorted, (m, width) at a time."""

    @abc.abstractmethod
    def rewrite(self, kind: int, chunks: Chunks) -> None:
        """Put sorted rows in the place of a set, which may be read meanwhile, and keep their count."""

    @abc.abstractmethod
    def record(self, mix: Mix, chunks: Chunks) -> Batch:
        """Keep a batch of all these reports to be acknowledged, its digest, and its ids as released."""

    def width(self, kind: int) -> int:
        """Return the bytes of one row of a set."""
        return self.plan.report_width if kind == REPORTS else ID_BYTES

    def came(self) -> list[NDArray[np.uint8]]:
        """Return the ids, (m, 12) each, of what counts, was withdrawn or was released."""
        return [rows[:, :ID_BYTES].copy() for kind in KINDS for rows in self.rows(kind)]

    def merge(self, withdrawals: Chunks, reports: Chunks, folder: Path | None = None) -> Deduplicator:
        """Take in what came; return what knows how many reports were repeated.

        Temporary files lie in the folder.
        """
        if first := [*itertools.islice(withdrawals, 1)]:
            with Deduplicator(ID_BYTES, kept=[self.rows(WITHDRAWN)], folder=folder) as ids:
                for rows in itertools.chain(first, withdrawals):
                    ids.add(rows)
                self.rewrite(WITHDRAWN, ids.chunks())
        left_out = [self.rows(WITHDRAWN), self.rows(RELEASED)]
        kept = [self.rows(REPORTS)]
        with Deduplicator(self.width(REPORTS), kept=kept, without=left_out, folder=folder) as once:
            for rows in reports:
                once.add(rows)
            self.rewrite(REPORTS, once.chunks())
        return once

    def release(self, mix: Mix, reports: Chunks | None) -> Batch:
        """Make a batch of what counts, or of others' reports less those that never count."""
        left: Chunks = iter(())
        if reports is None:
            batch = self.record(mix, self.rows(REPORTS))
        else:
            fresh = without(without(reports, self.rows(WITHDRAWN)), self.rows(RELEASED))
            batch = self.record(mix, fresh)
            left = without(self.rows(REPORTS), self.rows(RELEASED))  # some may have been taken in, too
        self.rewrite(REPORTS, left)
        return batch
