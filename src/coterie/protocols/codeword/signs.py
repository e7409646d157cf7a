"""The sign of a report, before its flip: what the report's row says of the point.

A row belongs to a view, and each kind of view has its own geometry; all of them answer one question, `odd`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.cells import CrossPolytopeCells, NetCells
from coterie.geometry.halfspaces import HalfspaceSigns
from coterie.plan.plan import Plan
from coterie.wire.rows import HasViews, Rows

Geometry = CrossPolytopeCells | NetCells | HalfspaceSigns


class ViewSigns:
    """The signs of all views of a plan, each made when a report first serves it. Holds no secret.

    A client draws one report, which serves one of them; threads may share it, and may make one twice.

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

    def __init__(self, plan: Plan, parameters: HasViews) -> None:
        self.rows = Rows.of(parameters)
        self._plan = plan
        self._views = parameters.views
        self._made: dict[int, Geometry] = {}

    def view(self, number: int) -> Geometry:
        """Return the geometry of a view."""
        if (found := self._made.get(number)) is None:
            plan = self._plan
            found = self._views[number].geometry(plan.randomness_key, number, plan.coordinates)
            self._made[number] = found
        return found

    def odd(
        self, quantized: NDArray[np.float64], views: NDArray[np.int64], masks: NDArray[np.int64]
    ) -> NDArray[np.uint8]:
        """Return 1 where the sign of the point in its report's row is -1, else 0: (n, d), (n,), (n,) -> (n,).

        A row is given as its view and its mask there (`Rows.places`).
        """
        if len(self._views) == 1:
            return self.view(0).odd(quantized, masks)
        odd = np.empty(len(masks), dtype=np.uint8)
        for number in np.unique(views).tolist():
            chosen = np.flatnonzero(views == number)
            odd[chosen] = self.view(number).odd(quantized[chosen], masks[chosen])
        return odd
