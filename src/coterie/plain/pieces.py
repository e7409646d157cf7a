"""Long work a piece at a time, so that memory stays small."""

from __future__ import annotations

from collections.abc import Iterator


def pieces(count: int, step: int) -> Iterator[slice]:
    """Return slices of at most `step` places that cover `count` of them, in order.

    Examples
    --------
    >>> list(pieces(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
