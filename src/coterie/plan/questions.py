"""What a plan can be asked: its promise, what to expect of it, what a report is; all follows from its fields.

`coterie.plan.plan.Plan` is made, written and read there, and answers here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plain.checks import MOST_PEOPLE, checked_integer
from coterie.privacy import Guarantee, Spending
from coterie.privacy.guarantee import (
    DECLARED_FEATURES,
    FOLLOWED_BALL,
    PUBLIC_BALL,
    PUBLIC_DIRECTIONS,
    PUBLISHED_GROUPS,
    SAMPLED_FEATURES,
    TRUST,
)
from coterie.protocols.base import TOKEN_BYTES, Facts, Parameters

if TYPE_CHECKING:
    from coterie.features import Schema
    from coterie.plan.forecast import Channel, Confirmation, Expectation, Kind, Shift
    from coterie.protocols.paper.approximation import Approximation


class Questions:
    """The questions to a plan; `Plan` inherits them and has what they are answered from."""

    __slots__ = ()

    protocol: str
    center: tuple[float, ...] | None
    dimension: int
    directions: tuple[tuple[int, ...], ...] | None
    radius: float
    after: tuple[str, ...]
    features: Schema | None
    parameters: Parameters

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """The public facts that the parameters were chosen from and are checked against."""

    def check_promise(self) -> None:
        """Raise PlanError unless the parameters keep the promise. No plan can be built without it."""
        self.parameters.check_promise(self.facts)

    @property
    def guarantee(self) -> Guarantee:
        """The privacy promise, in numbers and (as a string) in plain words."""
        return self._about_the_ball(self.parameters.guarantee(self.facts))

    def _about_the_ball(self, promise: Guarantee) -> Guarantee:
        """Return the promise with words on where the ball comes from, and the features it follows from."""
        lines = [FOLLOWED_BALL] if self.after else [] if self.features else [PUBLIC_BALL]
        if self.directions is not None:
            lines.append(PUBLIC_DIRECTIONS.format(count=len(self.directions)))
        if self.confirms:
            lines.append(PUBLISHED_GROUPS.format(groups=self.facts.clusters))
        if self.features is not None:
            from coterie.features.schema import PUBLIC_SAMPLE

            sampled = self.features.source == PUBLIC_SAMPLE
            lines.insert(0, SAMPLED_FEATURES if sampled else DECLARED_FEATURES)
        words: list[str] = []
        for line in promise.conditions:
            words.extend(lines if line == PUBLIC_BALL else [line])
        return replace(promise, conditions=tuple(words))

    @property
    def confirms(self) -> bool:
        """Whether the plan asks about published groups: in which of them people are, and where there."""
        return self.directions is None and self.parameters.groups(self.facts.clusters) is not None

    @property
    def published(self) -> NDArray[np.float64] | None:
        """The published centers that the plan asks about, (k, d) in the original units; None if it finds."""
        groups = self.parameters.groups(self.facts.clusters)
        if groups is None or not self.confirms:
            return None
        middle = 0.0 if self.center is None else np.array(self.center)
        return np.array(groups, dtype=np.float64) * (self.radius / SCALE) + middle

    def guarantee_for(self, people: int) -> Guarantee:
        """Return what the promise comes to for one batch of so many people, recomputed for that number.

        In the local model it does not depend on the others. Where reports are mixed, fewer people than
        planned hide each other less: the planned promise must not be claimed for them. Several batches do
        not add up: people are hidden in their own.
        """
        people = checked_integer("people", people, 1, MOST_PEOPLE)
        return self._about_the_ball(self.parameters.guarantee(self.facts, people))

    def expected(self, n: int | None = None, kind: str | Kind = "separated") -> Expectation:
        """Return what to expect of the study: objective and recovered share, with a band.

        Of a plan with directions, inside those, where reports fill a ball of radius 1.

        Parameters
        ----------
        n : int, optional
            People who answer; `expected_users` if None.
        kind : {"tight", "separated", "broad", "real"} or Kind
            What the points are believed to be like: round groups of radius 1/100, 1/8 or 1/3 of the ball, or
            real data like digits. See `coterie.plan.forecast`.

        Raises
        ------
        PlanError
            If there is no forecast for the plan's protocol.

        Examples
        --------
        >>> from coterie.plan import Plan
        >>> plan = Plan.design(dimension=100, clusters=8, epsilon=1.0, expected_users=10**6)
        >>> round(plan.expected().recovered, 2), plan.expected(10_000).hopeless
        (0.97, True)
        """
        from coterie.plan.forecast import expect

        return expect(*self._noise(n), kind)

    def _noise(self, n: int | None) -> tuple[Channel, int, int]:
        """Return the noise of a table of so many people, their number, and k."""
        from coterie.plan.forecast import channel_of

        facts = self.facts
        people = facts.expected_users if n is None else checked_integer("n", n, 1, MOST_PEOPLE)
        return channel_of(self.protocol, self.parameters, facts, people), people, facts.clusters

    def confirmation(self, n: int | None = None) -> Confirmation:
        """Return how surely a plan that confirms will state its figures, for groups of equal shares.

        Parameters
        ----------
        n : int, optional
            People who answer; `expected_users` if None.

        Raises
        ------
        PlanError
            If the plan asks about no published groups.
        """
        from coterie.plan.forecast import Confirmation

        if not self.confirms:
            raise PlanError("this plan finds groups and confirms none; `expected` says what to expect of it")
        return Confirmation.of(*self._noise(n))

    def comparison(self, n: int | None = None, *, kind: str = "separated") -> Shift:
        """Return which change of a group's share two labels of such a plan will show (`coterie.compare`).

        Parameters
        ----------
        n : int, optional
            People who answer under each label; `expected_users` if None.
        kind : {"separated", "real"}
            What people are believed to be like: groups that lie apart, or real data, whose groups overlap.
            Plans that ask about published groups need no such belief.

        Examples
        --------
        >>> from coterie.plan import Plan
        >>> plan = Plan.design(dimension=11, clusters=5, epsilon=2.0, expected_users=100_000)
        >>> print(plan.comparison().words)  # doctest: +ELLIPSIS
        a change of ... points in a share is seen in four cases of five, differences are known within ...
        """
        from coterie.plan.forecast import Shift

        return Shift.of(*self._noise(n), kind=None if self.confirms else kind)

    def approximation(
        self,
        decoder_options: Mapping[str, Any] | None = None,
        *,
        people: int | None = None,
        failure: float = 0.1,
        slack: float | None = None,
        solver_ratio: float | None = None,
        jl_constant: float = math.inf,
        nodes: float | None = None,
    ) -> Approximation:
        """Return what is guaranteed of the centers: cost ≤ ratio·OPT + additive.

        In squared units of the ball, summed over people; both are infinite unless every premise holds. By the
        cells of a net (`protocols.codeword.approximation`) or by a net tree, the paper's Theorem 22
        (`protocols.paper.approximation`).

        Parameters
        ----------
        decoder_options : mapping, optional
            What `decode` is told, say {"constants": "theory"}: the practical decoder of a tree has no
            guarantee.
        people : int, optional
            n; the expected users by default.
        failure, slack, solver_ratio, jl_constant, nodes
            β, ξ, κ, C and N; the last three of trees alone.

        Raises
        ------
        PlanError
            If the protocol states no approximation ratio.
        """
        promise = self.parameters.approximation(
            self.facts,
            decoder_options,
            people=self.facts.expected_users if people is None else people,
            failure=failure,
            slack=slack,
            solver_ratio=solver_ratio,
            jl_constant=jl_constant,
            nodes=nodes,
        )
        if self.directions is not None:  # what lies outside them, nobody reports
            return replace(promise, ratio=math.inf, additive=math.inf)
        return replace(promise, additive=promise.additive * self.radius**2)

    def additive_error(self, decoder_options: Mapping[str, Any] | None = None, **settings: Any) -> float:
        """Return t of the guarantee cost ≤ ratio·OPT + t, or infinity where no ratio is guaranteed.

        Parameters
        ----------
        decoder_options : mapping, optional
            What `decode` is told, say {"constants": "theory"}.
        **settings
            As for `approximation`: people, failure, slack, solver_ratio, jl_constant, nodes.

        Examples
        --------
        >>> from coterie.plan import Plan
        >>> plan = Plan.design(2, 4, 1.0, 200_000, protocol="net-tree", constants="theory")
        >>> error = plan.additive_error({"constants": "theory"}, failure=0.1)
        >>> 200_000 < error < math.inf  # the theorem says nothing at this n
        True
        """
        promise = self.approximation(decoder_options, **settings)
        return promise.additive if math.isfinite(promise.ratio) else math.inf

    @property
    def local_epsilon(self) -> float:
        """What one report promises by itself: ε where nothing is mixed; infinity is nothing."""
        return self.parameters.promised_alone(self.facts.epsilon)

    @property
    def spending(self) -> Spending:
        """What answering costs a person, in exact fractions, for policies and ledgers."""
        return Spending.of(self.facts.epsilon, self.facts.delta, self.local_epsilon)

    @property
    def size(self) -> int:
        """Rows × coordinates of all views and directions, for policies: what a device may have to compute."""
        directions = 0 if self.directions is None else len(self.directions) * self.dimension
        return self.parameters.view_rows * self.facts.dimension + directions

    @property
    def mixed(self) -> bool:
        """Whether reports are mixed by a shuffler before anyone reads them."""
        return TRUST[self.facts.model].mixed

    @property
    def curated(self) -> bool:
        """Whether a trusted curator sees the points, and nobody sends reports."""
        return TRUST[self.facts.model].curated

    @property
    def minimum_batch(self) -> int:
        """The fewest people whose reports may be released together; 1 where nothing is mixed."""
        return self.parameters.smallest_batch

    @property
    def message_width(self) -> int:
        """Bytes of one row that a table takes: a report or, where reports are split up, one mixed message."""
        return self.parameters.message_width

    @property
    def report_width(self) -> int:
        """Bytes of one report, the same for every person and every point."""
        return self.parameters.report_width

    @property
    def upload_width(self) -> int:
        """Bytes that one person sends: a report and, where ids follow from tokens, the token before it."""
        return self.report_width + (TOKEN_BYTES if self.facts.ids == "token" else 0)
