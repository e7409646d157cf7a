"""The client: what runs on a person's device.

It checks the plan's odds against its ε by itself, because the plan comes from outside; draws a fresh random
id and the secret coins from the operating system, always; and, with a ledger, answers a plan once.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import SystemCoins
from coterie.encode.base import ENCODERS
from coterie.encode.ledger import Ledger
from coterie.errors import LedgerError, PlanError, PointError
from coterie.geometry.ball import as_points
from coterie.plan import Plan
from coterie.plan.codeword import ID_BYTES


class Client:
    """Encodes points under a plan with secret coins from the operating system.

    Parameters
    ----------
    plan : Plan
        The study's public contract.
    ledger : str or os.PathLike, optional
        A file on the device in which the answer is remembered: asked again, `encode` returns the same bytes,
        whatever the value is now. Without one the plan's ε holds for each call by itself.

    Attributes
    ----------
    plan : Plan
        As given.
    clipped : int
        Points so far that lay outside the plan's ball and were drawn back to its surface. Computed from the
        points and hence not private: it stays on this side.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> client = Client(plan)
    >>> len(client.encode([0.3, -0.4])), len(client.encode_many([[0.3, -0.4], [3.0, 4.0]]))
    (13, 26)
    >>> client.clipped
    1
    """

    def __init__(self, plan: Plan, ledger: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(plan, Plan):
            raise PlanError(f"a client needs a Plan, got {type(plan).__name__}; Plan.load reads one")
        plan.numbers.check_odds(plan.epsilon)
        self._plan = plan
        self.clipped = 0
        self._ledger = None if ledger is None else Ledger(ledger)
        self._encoder = ENCODERS[plan.protocol](plan)
        self._coins = SystemCoins()

    @property
    def plan(self) -> Plan:
        """The plan that is answered; fixed, since odds and ledger go by it."""
        return self._plan

    def encode(self, x: ArrayLike) -> bytes:
        """Return the report of one point.

        With a ledger, a plan that was answered before gets the stored report and `x` is not looked at.

        Parameters
        ----------
        x : array_like, shape (d,)
            One person's point: finite real numbers.

        Returns
        -------
        bytes
            `plan.report_width` bytes, whatever the point.

        Raises
        ------
        PointError
            If the shape, type or contents are wrong. The message never quotes the point.
        LedgerError
            If the ledger cannot be used; then no report was made.
        """
        if self._ledger is None:
            return self._fresh_report(x)
        return self._ledger.answer(self.plan, lambda: self._fresh_report(x))

    def encode_many(self, X: ArrayLike) -> bytes:
        """Return the reports of many people's points, back to back, in the order of the rows.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person.

        Returns
        -------
        bytes
            n times `plan.report_width` bytes.

        Raises
        ------
        LedgerError
            If the client has a ledger: that remembers one device's one answer.
        """
        if self._ledger is not None:
            raise LedgerError(
                "a ledger holds one person's answer, and encode_many encodes many people's points; "
                "use a Client without a ledger for simulations, or encode on each device"
            )
        return self._fresh_reports(as_points(X, self.plan.dimension)).tobytes()

    def _fresh_report(self, x: ArrayLike) -> bytes:
        try:
            point = np.asarray(x)
        except ValueError:  # ragged lists; the cause is not chained, it might quote them
            raise PointError("a point must be a flat list of numbers, got nested lists") from None
        if point.shape != (self.plan.dimension,):
            raise PointError(f"a point must have shape ({self.plan.dimension},), got shape {point.shape}")
        return self._fresh_reports(as_points(point[None], self.plan.dimension)).tobytes()

    def _fresh_reports(self, points: NDArray[np.float64]) -> NDArray[np.uint8]:  # (n, d) -> (n, width)
        ids = np.frombuffer(self._coins.bytes(ID_BYTES * len(points)), dtype=np.uint8)
        reports, clipped = self._encoder.encode_counting(points, ids.reshape(-1, ID_BYTES), self._coins)
        self.clipped += clipped
        return reports
