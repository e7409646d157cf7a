"""Shuffled batches: files of messages that shufflers released, each batch whole, each person once.

A shuffler lets a report into one batch, ever. Two shufflers of one plan, or one that forgot what it released,
do not know that of each other: of 2,700 people in one batch and the same with one more in the next, 5,401
would count. Reports that count whole (an amplified `codeword`) keep their random ids when they are mixed, so
here each id counts once over all batches, by the rule that every intake has (`deduplicate`). What is left of
shares has no ids: of those each batch counts once, and that is all that can be seen.

That an id counts once does not hide it again. Whoever holds both batches sees the one who joined: his promise
is that of his report by itself, ε₀. So a collector takes a batch only if enough of its people are new
(`coterie.service.batches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coterie.collect.deduplicate import Deduplicator, Rows
from coterie.errors import ReportError
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.protocols import protocol_of
from coterie.wire.shuffled_file import ShuffledFile


class Batches:
    """Shuffled batches of one plan, all of them whole and each there once.

    A message that is missing spoils its row: a batch counts whole or not at all, and a table refuses a
    message without its form.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        Shuffled files; report files are refused.
    plan : Plan
        The plan that they must answer.

    Attributes
    ----------
    files, messages : int
        How many there are, repeated ids among them.

    Raises
    ------
    FileError
        If a file is truncated, foreign, of another version or corrupt.
    ReportError
        If the same batch is given twice.
    """

    def __init__(self, paths: Iterable[AnyPath], plan: Plan) -> None:
        self._plan = plan
        self._files = [ShuffledFile.open(path, plan) for path in paths]
        if len({file.verify() for file in self._files}) < len(self._files):
            raise ReportError("the same shuffled file is given twice; each batch counts once")
        self.files = len(self._files)
        self.messages = sum(file.count for file in self._files)

    def chunks(self) -> Iterator[Rows]:
        """Yield the messages that count, (m, message width) at a time."""
        return counted_once(self._plan, (rows for file in self._files for rows in file.chunks()))


def counted_once(plan: Plan, messages: Iterable[Rows]) -> Iterator[Rows]:
    """Yield the messages of batches that count: each id once where they have ids, otherwise all.

    Parameters
    ----------
    plan : Plan
        A plan of the shuffle model.
    messages : iterable of ndarray of uint8, each of shape (m, message width)
        Those of all batches.

    Examples
    --------
    >>> import numpy as np
    >>> plan = Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4)
    >>> again = np.zeros((1, plan.message_width), dtype=np.uint8)
    >>> sum(len(rows) for rows in counted_once(plan, [again, again]))
    1
    """
    if not have_ids(plan):
        yield from messages
        return
    with Deduplicator(plan.message_width) as once:
        for rows in messages:
            once.add(rows)
        yield from once.chunks()


def have_ids(plan: Plan) -> bool:
    """Return whether messages carry ids: reports that count whole do, what is left of shares does not."""
    return protocol_of(plan).mix is None
