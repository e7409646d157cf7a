"""The shuffler: reports in, one batch of messages out that says nothing about who sent them.

`batch_bytes` is what every release goes through, from files (`coterie.store.shuffle_files`) and in the
service:

1. A batch under the plan's minimum is refused; by column also one with a row of too few people.
2. Everything but the messages is dropped: for shares the ids too, which only served to tell reports apart.
3. The messages are put into the order of their bytes. A sort hides the order of arrival as well as a random
   permutation does (what is left is the multiset), needs no coins, and gives the same file again.

That a report enters one batch, ever, is the store's part (`Store.stage_batch`). What the software cannot see
is written in the guarantee: that the shuffler keeps no copy, and that nobody else saw the reports arrive.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.collect.skips import Skipped
from coterie.errors import PlanError, ReportError
from coterie.plan import Plan
from coterie.protocols import protocol_of
from coterie.wire.layout import ID_BYTES, in_order
from coterie.wire.report_file import ReportWriter
from coterie.wire.shuffled_file import ShuffledFile

MOST_BYTES: Final = 1 << 32  # of reports mixed at a time


def gathered(plan: Plan, chunks: Iterable[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return the reports of one batch at once, (n, width), if memory is for so many."""
    held, size = [np.zeros((0, plan.report_width), dtype=np.uint8)], 0
    for chunk in chunks:
        held.append(chunk)
        size += chunk.nbytes
        if size > MOST_BYTES:
            raise ReportError(
                f"the batch has more than {MOST_BYTES} bytes of reports; split it into batches above the "
                "plan's minimum. Nothing was released"
            )
    return np.concatenate(held)


def batch_bytes(plan: Plan, rows: NDArray[np.uint8], skipped: tuple[Skipped, ...] = ()) -> bytes:
    """Return the messages of a batch, mixed, as the bytes of a shuffled file, if it may be released.

    Parameters
    ----------
    plan : Plan
        A plan of the shuffle model.
    rows : ndarray of uint8, shape (n, report width)
        The reports, sorted by id, each id once.
    skipped : tuple of Skipped
        What was left out, for the words of a refusal.

    Raises
    ------
    ReportError
        If there are fewer people than the plan's minimum, or too few in a row. Nothing may be released then.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4)
    >>> batch_bytes(plan, np.zeros((0, 13), dtype=np.uint8))
    Traceback (most recent call last):
    coterie.errors.ReportError: the batch has 0 people and the plan's minimum is 54: ...
    """
    check_shuffled(plan)
    if not in_order([rows[:, :ID_BYTES]], strictly=True):  # then the order of arrival is gone, too
        raise ReportError("a batch is made of reports in the order of their ids, each once")
    if len(rows) < plan.minimum_batch:
        raise ReportError(_too_few(plan, len(rows), skipped))
    file = io.BytesIO()
    writer = ReportWriter(file, plan, ShuffledFile)
    for messages in mixed(plan, [rows]):
        writer.append(messages)
    writer.finish()
    return file.getvalue()


def check_shuffled(plan: Plan) -> None:
    """Raise PlanError unless reports of the plan are mixed."""
    if not plan.mixed:
        raise PlanError(f"a plan of the {plan.model} model has nothing to shuffle; its model must be shuffle")


def mixed(plan: Plan, partitions: Iterable[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """Yield what a batch of reports says once it is mixed: what a table of the plan adds up.

    Shares are mixed, all of them at once. A report that counts whole is a message already, and its place in
    the batch changes no table: partitions are handed on as they come.

    Parameters
    ----------
    plan : Plan
        The plan that the reports answer.
    partitions : iterable of ndarray of uint8, each of shape (m, report width)
        The reports of one batch, each id once.

    Raises
    ------
    ReportError
        If a row has too few people to mix.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 1.0, 100)
    >>> [messages.shape for messages in mixed(plan, [np.zeros((5, 13), dtype=np.uint8)])]
    [(5, 13)]
    """
    protocol = protocol_of(plan)
    if protocol.mix is None:
        yield from partitions
        return
    reports = [*partitions, np.zeros((0, plan.report_width), dtype=np.uint8)]
    yield from protocol.load(protocol.mix)(plan, np.concatenate(reports))


def _too_few(plan: Plan, people: int, skipped: tuple[Skipped, ...]) -> str:
    try:
        instead = f"the promise would be epsilon {plan.guarantee_for(max(people, 1)).epsilon:.4g}"
    except PlanError:
        instead = "there would be no promise"
    return (
        f"the batch has {people} people and the plan's minimum is {plan.minimum_batch}: {instead} instead of "
        f"{plan.epsilon:g}. Nothing was released: wait for more reports, or make a plan for fewer people"
        + "".join(f". {each}" for each in skipped)
    )
