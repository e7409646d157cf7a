"""Threads over pieces of a batch.

The heavy steps (AES, BLAS, sorting, compiled kernels) run without the interpreter's lock. BLAS is held to
one thread meanwhile: its own threads and ours would fight over the same cores, and on small products they
lose more by waiting for each other than they gain.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar, cast

_MOST: Final = 16  # beyond this the Python between the heavy steps is the limit

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _Here(threading.local):
    """What this thread is."""

    is_share = False  # one of several that share the cores already
    is_helper = False  # one of `on_all_cores`

    def become_share(self) -> None:
        self.is_share = True

    def become_helper(self) -> None:
        self.is_share = self.is_helper = True
        _limit_threads("openmp")  # OpenMP's limit belongs to a thread: a new one has none


_here: Final = _Here()


@contextlib.contextmanager
def sharing_the_cores() -> Iterator[None]:
    """Let this thread, in the block, be one of several that share the cores: it deals no shares itself."""
    before, _here.is_share = _here.is_share, True
    try:
        yield
    finally:
        _here.is_share = before


def default_workers() -> int:
    """Return how many threads to use: the cores this process may run on, 16 at most."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(available or 1, _MOST)


def in_shares(function: Callable[[Iterable[int]], _Result], starts: range, workers: int) -> list[_Result]:
    """Deal the pieces of a batch, given by where they start, to threads; return what each made of its share.

    A thread that has a share itself deals none: it does all of its pieces right there.
    A thread takes its next piece when it is done with the last one, so that a busy core holds nobody up.
    Which piece comes to whom is thus up to chance: results must not depend on it.

    Parameters
    ----------
    function : callable
        Takes a share of the starts.
    starts : range
        Where the pieces start. A single piece, or none, is done right here, at no further cost.
    workers : int
        Threads at most.

    Examples
    --------
    >>> sum(in_shares(sum, range(0, 50, 10), workers=2))
    100
    """
    if len(starts) <= 1 or _here.is_share:
        return [function(starts)]
    workers = max(1, min(workers, len(starts)))
    with _limit_threads("blas"):
        if workers == 1:
            return [function(starts)]
        lock, rest = threading.Lock(), iter(starts)
        with ThreadPoolExecutor(workers, initializer=_here.become_share) as pool:
            return list(pool.map(function, [_dealt(rest, lock) for _ in range(workers)]))


@contextlib.contextmanager
def on_all_cores() -> Iterator[Callable[[Callable[[_Item], _Result], Iterable[_Item]], Iterable[_Result]]]:
    """Yield a `map` whose calls run side by side, in one pool of threads; results come in order.

    For work of a millisecond and more that leaves the interpreter's lock, again and again. BLAS and OpenMP
    have one thread each meanwhile, here and in the pool: the cores are taken, and with more of them sums
    would depend on how many there are. A thread that is a share itself, or has one core, gets the plain
    `map`.

    Examples
    --------
    >>> with on_all_cores() as map_all:
    ...     list(map_all(abs, [-1, 2]))
    [1, 2]
    """
    if _here.is_helper:  # limited already
        yield map
        return
    workers = default_workers()
    with _limit_threads():
        if _here.is_share or workers == 1:
            yield map
            return
        with ThreadPoolExecutor(workers, initializer=_here.become_helper) as pool:
            yield pool.map


def is_helper() -> bool:
    """Return whether this is a thread of `on_all_cores`: what all threads share is its caller's to set."""
    return _here.is_helper


def _limit_threads(api: str | None = None) -> contextlib.AbstractContextManager[object]:
    """Hold BLAS and OpenMP, or one of them, to one thread; a device without threadpoolctl does without."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:
        return contextlib.nullcontext()
    return cast("contextlib.AbstractContextManager[object]", threadpool_limits(limits=1, user_api=api))


def _dealt(rest: Iterator[int], lock: threading.Lock) -> Iterator[int]:
    """Yield what is left when asked, to several threads, each piece to one of them."""
    while True:
        with lock:
            start = next(rest, None)
        if start is None:
            return
        yield start
