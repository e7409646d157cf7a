"""The sign of a report, before its flip: what the report's row says of the point.

A row belongs to a view, and each kind of view has its own geometry; all of them answer one question, `odd`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.plan.plan import Plan
from coterie.wire.rows import HasViews, Rows


class Signs(Protocol):
    """The geometry of one view: cells of a partition, or halfspaces."""

    def odd(self, quantized: NDArray[np.float64], masks: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return 1 where the point's sign in row `mask` of the view is -1, else 0: (n, d), (n,) -> (n,)."""
        ...


class ViewSigns:
    """The signs of all views of a plan. Holds no secret and no state; threads may share it.

    Parameters
    ----------
    plan : Plan
        Gives the keys of the views.
    parameters : HasViews
        The plan's parameters.

    Examples
    --------
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=1.0, expected_users=1000)
    >>> ViewSigns(plan, plan.parameters).odd(np.zeros((2, 3)), np.array([0, 0]), np.array([0, 0])).tolist()
    [0, 0]
    """

    __slots__ = ("_views", "rows")

    def __init__(self, plan: Plan, parameters: HasViews) -> None:
        self.rows = Rows.of(parameters)
        self._views: list[Signs] = [
            view.geometry(plan.randomness_key, number, plan.dimension)
            for number, view in enumerate(parameters.views)
        ]

    def odd(
        self, quantized: NDArray[np.float64], views: NDArray[np.int64], masks: NDArray[np.int64]
    ) -> NDArray[np.uint8]:
        """Return 1 where the sign of the point in its report's row is -1, else 0: (n, d), (n,), (n,) -> (n,).

        A row is given as its view and its mask there (`Rows.places`).
        """
        if len(self._views) == 1:
            return self._views[0].odd(quantized, masks)
        odd = np.empty(len(masks), dtype=np.uint8)
        for number, view in enumerate(self._views):
            chosen = np.flatnonzero(views == number)
            odd[chosen] = view.odd(quantized[chosen], masks[chosen])
        return odd
