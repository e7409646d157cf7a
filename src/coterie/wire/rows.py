"""Which row of the table a report serves: a view, and one of its masks, both from the report's block 0.

    ticket = byte 5 mod W      the view: tickets go to the views in order, as many to each as its weight
    mask   = bytes 0-3 mod M   M the rows of that view
    row    = rows of the views before it + mask
    flip   = lowest bit of byte 4

W, the sum of the weights, and every M are powers of two, so no value is favoured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from coterie.plan.views import View

Places = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]  # views, masks, flips: (n,) each


class HasViews(Protocol):
    """Parameters of a protocol whose rows are those of public views."""

    @property
    def views(self) -> tuple[View, ...]:
        """The public views."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of a plan's table.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(dimension=100, clusters=8, epsilon=1.0, expected_users=10**6)
    >>> rows = Rows.of(plan.parameters)
    >>> [(part.start, part.stop) for part in rows.parts]
    [(0, 1024), (1024, 1088)]
    """

    tickets: NDArray[np.int64]  # (W,): the view of each ticket
    masks: NDArray[np.int64]  # (V,): M - 1
    firsts: NDArray[np.int64]  # (V + 1,): first row of each view, then the number of rows

    @classmethod
    def of(cls, parameters: HasViews) -> Self:
        """Lay the rows of a plan's views out, one view after the other."""
        rows = np.array([view.rows for view in parameters.views], dtype=np.int64)
        weights = [view.weight for view in parameters.views]
        return cls(np.repeat(np.arange(len(rows)), weights), rows - 1, np.concatenate([[0], np.cumsum(rows)]))

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.firsts[-1])

    @property
    def parts(self) -> tuple[slice, ...]:
        """The rows of each view."""
        return tuple(slice(int(a), int(b)) for a, b in zip(self.firsts[:-1], self.firsts[1:], strict=True))

    def places(self, block: NDArray[np.uint8]) -> Places:
        """Read view, mask and flip from block 0 of each report: (n, 16) -> (n,), (n,), (n,)."""
        masks = np.ascontiguousarray(block[:, :4]).view(">u4")[:, 0].astype(np.int64)
        views = self.tickets[block[:, 5] & np.uint8(len(self.tickets) - 1)]
        masks &= self.masks[views]
        return views, masks, block[:, 4] & np.uint8(1)

    def read(self, block: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Read row and flip from block 0 of each report: (n, 16) -> (n,), (n,)."""
        views, masks, flips = self.places(block)
        return masks + self.firsts[views], flips
