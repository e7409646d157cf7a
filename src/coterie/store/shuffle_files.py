"""Shuffling files: reports in, one batch of messages out, remembered in a store.

1. All files are verified to the last byte, all of the plan; repeated ids count once, reports without the
   plan's form and reports that were released before (an honest retry) are left out and counted.
2. The rest is mixed, if there are enough (`coterie.collect.shuffler`), and in one durable step the store
   keeps the batch and its ids: each report enters one batch, ever.
3. The file appears, whole, under its name. Then of the batch the ids are left in the store, and its name.

Interrupted anywhere, there is no output file or the whole one; started again with the same files it gives the
same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coterie.collect.intake import IntakeCounts, take_in
from coterie.collect.shuffler import batch_bytes, check_shuffled, gathered
from coterie.collect.skips import Skipped
from coterie.plain.files import AnyPath, replacing
from coterie.plan import Plan
from coterie.privacy import Guarantee
from coterie.store.base import Chunks, Store, reports_digest
from coterie.store.open import open_store
from coterie.wire.layout import ID_BYTES, as_keys
from coterie.wire.shuffled_file import ShuffledFile


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What became of a batch."""

    counts: IntakeCounts
    skipped: tuple[Skipped, ...]  # by reason: without the plan's form, or released before
    people: int
    messages: int
    batch: str  # digest of its reports, 64 hex digits
    fresh: bool  # False when this very batch was released before
    guarantee: Guarantee  # recomputed for this number of people


def shuffle_files(
    paths: Iterable[AnyPath], plan: Plan, out: AnyPath, released: AnyPath, *, overwrite: bool = False
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
        Store that remembers which ids were released, by plan; the same one for all batches. A folder is made
        if need be; where another process has it open, this one waits.
    overwrite : bool
        Replace `out` if it exists.

    Raises
    ------
    FileError
        If a file is truncated, foreign, of another version or corrupt.
    ReportError
        If the batch is too small without what had to be left out. Nothing was released then.
    """
    check_shuffled(plan)
    with take_in(paths, plan) as intake:
        rows = gathered(plan, intake.chunks())  # sorted by id, each id once
    digest = reports_digest(plan, rows)
    skipped, mixed = intake.counts.skipped, rows

    def mix(chunks: Chunks) -> bytes:
        nonlocal mixed, skipped
        mixed = gathered(plan, chunks)
        before = np.isin(as_keys(rows[:, :ID_BYTES]), as_keys(mixed[:, :ID_BYTES]), invert=True)
        if before.any():
            skipped += intake.places_of(rows[before, :ID_BYTES], "released before")
        return batch_bytes(plan, mixed, skipped)

    with open_store(released, wait=True) as store:
        store.put_plan(plan)
        _let_go(store, plan)  # of what an interruption left: its reports make it again
        with replacing(out, overwrite=overwrite) as file:
            fresh = not store.was_staged(plan.id, digest)
            if fresh:
                data = store.stage_batch(plan.id, mix, reports=iter([rows])).data
            else:
                data = batch_bytes(plan, rows)
            file.write(data)
        _let_go(store, plan)
    return Shuffled(
        counts=intake.counts,
        skipped=skipped,
        people=len(mixed),
        messages=ShuffledFile.open(out, plan).count,
        batch=reports_digest(plan, mixed),
        fresh=fresh,
        guarantee=plan.guarantee_for(len(mixed)),
    )


def _let_go(store: Store, plan: Plan) -> None:
    """Forget the bytes of a batch that was released; of its reports the ids stay."""
    if (waiting := store.staged_batch(plan.id)) is not None:
        store.acknowledge_batch(plan.id, waiting.digest)


def default_folder() -> Path:
    """Return where this user's shufflers remember released ids: one place, wherever the plans lie.

    `$XDG_STATE_HOME/coterie/released`, or `~/.local/state/coterie/released`.
    """
    state = os.environ.get("XDG_STATE_HOME") or ""
    root = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return root / "coterie" / "released"
