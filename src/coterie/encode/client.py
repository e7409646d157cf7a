"""The client: what runs on a person's device.

It checks the plan's promise by itself, because the plan comes from outside, and what the plan asks
against its owner's policy; draws the secret coins from the operating system, always, and the id, too, unless
it follows from a token; and, with a ledger, answers a plan once and keeps the sum over all plans.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import SystemCoins
from coterie.encode.ledger import Ledger
from coterie.errors import LedgerError, PlanError, PointError, PolicyError, ReportError
from coterie.features.columns import holds_records
from coterie.geometry.ball import refuse_masked
from coterie.plain.canonical import shown
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.privacy import Guarantee, Policy
from coterie.protocols import encoder_of
from coterie.wire.layout import ID_BYTES
from coterie.wire.tokens import checked_token, token_id

MOST_NAMED: Final = 12  # of each kind, in a warning


class RecordKeysWarning(UserWarning):
    """Keys of a record are not the names of the plan's features; names alone are told, never a value."""


class Client:
    """Encodes points under a plan with secret coins from the operating system.

    Parameters
    ----------
    plan : Plan
        The study's public contract.
    ledger : str or os.PathLike, optional
        A file on the device in which the answer is remembered: asked again, `encode` returns the same bytes,
        whatever the value is now. Without one the plan's ε holds for each call by itself, and no total is
        kept over plans.
    policy : Policy, optional
        What the owner of the device allows, by plan and in all; `Policy()` by default. `encode` keeps to it;
        `encode_many`, which simulates many people, checks the odds only.

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

    Where the plan declares features, people have records:

    >>> from coterie.features import Category, Number
    >>> people = [Number("age", 0, 100), Category("plan", ["free", "paid"])]
    >>> plan = Plan.design(features=people, clusters=2, epsilon=1.0, expected_users=100)
    >>> len(Client(plan).encode({"age": 34, "plan": "free"}))
    13
    """

    def __init__(self, plan: Plan, ledger: AnyPath | None = None, *, policy: Policy | None = None) -> None:
        if not isinstance(plan, Plan):
            raise PlanError(f"a client needs a Plan, got {type(plan).__name__}; Plan.load reads one")
        if not isinstance(policy, Policy | None):
            raise PolicyError(f"a client's policy is a Policy, got {type(policy).__name__}")
        plan.check_promise()
        self._plan = plan
        self._policy = policy or Policy()
        self.clipped = 0
        self._ledger = None if ledger is None else Ledger(ledger)
        self._encoder = encoder_of(plan)
        self._coins = SystemCoins()

    @property
    def plan(self) -> Plan:
        """The plan that is answered; fixed, since odds and ledger go by it."""
        return self._plan

    @property
    def policy(self) -> Policy:
        """What the owner of the device allows."""
        return self._policy

    @property
    def guarantee(self) -> Guarantee:
        """The plan's promise, and what this client sees to over several plans."""
        policy = self._policy
        if self._ledger is None:
            over = (
                "This client has no ledger: no total is kept, and what several plans, or several answers to "
                "this one, learn of a person adds up without bound."
            )
        else:
            period = "" if policy.days is None else f" in any {policy.days} days, and without bound beyond"
            over = (
                f"Over all plans in this ledger at most epsilon {policy.total_epsilon:g} is spent, delta "
                f"{policy.total_delta:g}, and epsilon {policy.total_local_epsilon:g} if nothing is mixed"
                f"{period}."
            )
        promise = self.plan.guarantee
        return dataclasses.replace(promise, conditions=(*promise.conditions, over))

    def encode(self, x: ArrayLike | Mapping[str, Any], *, token: bytes | None = None) -> bytes:
        """Return what one person sends: the report of one point, after the token where the plan wants one.

        With a ledger, a plan that was answered before gets the stored bytes; `x` and `token` are not looked
        at.

        Parameters
        ----------
        x : mapping, or array_like of shape (d,)
            One person's record, where the plan declares features: values by name, none of which is ever
            refused; give None where somebody did not answer. Or one person's point: finite real numbers.
        token : bytes, optional
            For plans with `ids="token"`: the 16 bytes that the collector issued to this person.

        Returns
        -------
        bytes
            `plan.upload_width` bytes, whatever the point.

        Raises
        ------
        PolicyError
            If the plan asks for more than the owner allows; then nothing was drawn.
        PointError
            If the shape, type or contents are wrong. The message never quotes the point.
        LedgerError
            If the ledger cannot be used; then no report was made.

        Warns
        -----
        RecordKeysWarning
            Before anything is drawn, if a key is no feature's name (it is not looked at). Of a record that
            lacks keys alone nothing is said, and no time is spent on it: which values a person did not give
            is the person's. What is said depends on keys, never on values.

        Examples
        --------
        >>> from coterie.features import Number
        >>> plan = Plan.design(features=[Number("age", 0, 100)], clusters=1, epsilon=1.0, expected_users=9)
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     report = Client(plan).encode({"agee": 3})
        >>> print(told[0].message)
        'agee' is no feature's name; a record has no 'age', which counts as not given (None says so)
        """
        self._policy.check(self.plan.model, self.plan.spending, self.plan.minimum_batch, self.plan.size)
        if self._ledger is None:
            return self._fresh_upload(x, token)
        return self._ledger.answer(self.plan, lambda: self._fresh_upload(x, token), policy=self._policy)

    def encode_many(self, X: Any) -> bytes:
        """Return the reports of many people's points, back to back, in the order of the rows.

        For simulations: every id is drawn, also where a real one follows from a token, and no policy is
        asked, since none of the people is the owner of this machine.

        Parameters
        ----------
        X : array_like of shape (n, d), or a table of records
            One row a person. Where the plan declares features: a data frame, an Arrow table, a mapping of
            columns or a list of records, as for `Schema.points`.

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
        if isinstance(X, list | tuple) and holds_records(X):
            keys = dict.fromkeys(key for record in X if isinstance(record, Mapping) for key in record)
            self._compare_keys(keys, stacklevel=3, many=True)
        return self._reports(self._places(X), None).tobytes()

    def _places(self, records: Any) -> Any:
        """Return the points of records; points stay as they are."""
        if not holds_records(records):
            return records
        if self.plan.features is None:
            raise PointError("this plan declares no features: it takes points, not records")
        return self.plan.features.points(records)

    def _compare_keys(self, keys: Mapping[Any, Any], stacklevel: int, *, many: bool = False) -> None:
        """Warn of keys that are no feature's name, and then, or of many people, of features without one."""
        if self.plan.features is None:
            return
        names = [feature.name for feature in self.plan.features.features]
        strange = [key for key in keys if key not in names]
        absent = [name for name in names if name not in keys] if strange or many else []
        told = [f"{_listed(strange)} is no feature's name"] if strange else []
        if absent:
            told.append(f"a record has no {_listed(absent)}, which counts as not given (None says so)")
        if told:
            warnings.warn("; ".join(told), RecordKeysWarning, stacklevel=stacklevel)

    def _fresh_upload(self, x: ArrayLike | Mapping[str, Any], token: bytes | None) -> bytes:
        if isinstance(x, Mapping):
            self._compare_keys(x, stacklevel=4)
        if self.plan.ids != "token":
            if token is not None:
                raise ReportError("this plan's ids are drawn on the device: it takes no token")
            return self._fresh_report(x, self._coins.bytes(ID_BYTES))
        if token is None:
            raise ReportError("this plan's ids follow from tokens: pass the one that the collector issued")
        return checked_token(token) + self._fresh_report(x, token_id(self.plan, token))

    def _fresh_report(self, x: ArrayLike | Mapping[str, Any], identity: bytes) -> bytes:
        if isinstance(x, Mapping):
            x = self._places([x])[0]
        refuse_masked(x)
        try:
            point = np.asarray(x)
        except ValueError:  # ragged lists; the cause is not chained, it might quote them
            raise PointError("a point must be a flat list of numbers, got nested lists") from None
        if point.shape != (self.plan.dimension,):
            raise PointError(f"a point must have shape ({self.plan.dimension},), got shape {point.shape}")
        return self._reports(point[None], np.frombuffer(identity, dtype=np.uint8)[None]).tobytes()

    def _reports(self, points: ArrayLike, ids: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        """Return the reports of points, (n, d), (n, 12) -> (n, width), and count those that were clipped."""
        reports, clipped = self._encoder.encode_counting(points, ids, self._coins)
        self.clipped += clipped
        return reports


def _listed(names: list[Any]) -> str:
    """Return the first few names as a message shows them; nothing where there is none."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(shown, names[:MOST_NAMED])) + more
