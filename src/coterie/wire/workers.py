"""Threads over pieces of a batch.

The heavy steps (AES, BLAS, sorting, compiled kernels) run without the interpreter's lock. BLAS is held to
one thread meanwhile: its own threads and ours would fight over the same cores, and on small products they
lose more by waiting for each other than they gain.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_MOST: Final = 16  # beyond this the Python between the heavy steps is the limit

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")


def default_workers() -> int:
    """Return how many threads to use: the cores this process may run on, 16 at most."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(available or 1, _MOST)


def in_threads(
    function: Callable[[_Piece], _Result], pieces: Iterable[_Piece], workers: int
) -> list[_Result]:
    """Return `function` of every piece, in order. Setting up costs a fraction of a millisecond.

    Examples
    --------
    >>> in_threads(abs, [-1, 2, -3], workers=2)
    [1, 2, 3]
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(limits=1, user_api="blas"):
        if workers <= 1:
            return [function(piece) for piece in pieces]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(function, pieces))
