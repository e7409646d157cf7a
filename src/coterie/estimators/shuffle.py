"""`ShuffleKMeans`: what people would get who trust a shuffler, or a curator, in one process.

The same interface as `LocalKMeans`; what changes is whom a person trusts, and how little noise that needs.
What is private and what is not is said there.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from coterie.aggregate import Aggregate
from coterie.centers.decode import AUTO
from coterie.coins import Coins
from coterie.encode.vector_sums import MOST_BYTES
from coterie.engines.inline import encode_in_chunks
from coterie.engines.vector_sums import drawn_table, sent_table
from coterie.estimators.local import LocalKMeans
from coterie.plan import Plan
from coterie.plan.design_shuffle import LOCAL_CAP
from coterie.plan.shares import ShareParameters
from coterie.privacy import MAX_EPSILON

MOST_SENT_PEOPLE: Final = 2000  # up to here shares are really sent, mixed and added up
MOST_SENT_MESSAGES: Final = 1 << 24

_VARIANTS: Final = {
    "amplified": {"protocol": "codeword", "model": "shuffle"},
    "split-and-mix": {"protocol": "vector-sums", "model": "shuffle"},
    "net-tree": {"protocol": "net-tree-sums", "model": "shuffle"},
    "central": {"protocol": "vector-sums", "model": "central"},
    "central-net-tree": {"protocol": "net-tree-sums", "model": "central"},
}


class ShuffleKMeans(LocalKMeans):
    """k-means from reports that are mixed before anyone reads them, played in one process.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        As in `LocalKMeans`.
    epsilon : float, default=1.0
        Privacy parameter of the mixed batch, in (0, 16]; smaller is more private.
    delta : float, default=1e-6
        The chance that the promise may fail, in (0, 1).
    variant : str, default="amplified"
        "amplified": one `codeword` report of 13 bytes a person, hidden among the others. "split-and-mix":
        shares of exact vector sums by cell, with nearly the accuracy of a curator and many more bytes.
        "net-tree": the same over the paper's net tree, its Theorem 2. "central", "central-net-tree": a
        trusted curator, as the line to compare with.
    layout : {"cells", "column"}, default="cells"
        For "split-and-mix": shares of all cells, or of one public column a person (far fewer messages).
    local_cap : float, default=10.0
        For "amplified": the largest epsilon to allow a single report if the mixing fails.
    protocol_options, solver, radius, center, random_state
        As in `LocalKMeans`.

    Attributes
    ----------
    guarantee_ : Guarantee
        Both promises: after mixing for the people of this fit, and what is left if the mixing fails.
    sums_drawn_ : bool
        Whether sums were drawn from their law instead of sent in shares: so from 2,000 people on, or where
        reports would be too long, where sending would take hours and say nothing else.
    cluster_centers_, labels_, result_, plan_, plans_, n_clipped_, n_features_in_, feature_names_in_
        As in `LocalKMeans`.

    Examples
    --------
    >>> from coterie.datasets import gaussian_mixture
    >>> X, true_centers, _ = gaussian_mixture(20_000, 2, 3, separation=8, random_state=1)
    >>> model = ShuffleKMeans(n_clusters=3, epsilon=1.0, delta=1e-6, radius=1.0, random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.guarantee_.local_epsilon > 5
    ((3, 2), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO})],
        "epsilon": [Interval(Real, 0, MAX_EPSILON, closed="right")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "variant": [StrOptions(set(_VARIANTS))],
        "layout": [StrOptions({"cells", "column"})],
        "local_cap": [Interval(Real, 0, MAX_EPSILON, closed="right")],
        "protocol_options": [dict, None],
        "solver": [HasMethods("fit"), None],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "center": ["array-like", None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        variant: str = "amplified",
        layout: str = "cells",
        local_cap: float = LOCAL_CAP,
        protocol_options: dict[str, Any] | None = None,
        solver: Any = None,
        radius: float | None = None,
        center: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.variant = variant
        self.layout = layout
        self.local_cap = local_cap
        self.protocol_options = protocol_options
        self.solver = solver
        self.radius = radius
        self.center = center
        self.random_state = random_state

    def _parts(self, people: int) -> list[NDArray[np.int64]]:
        return [np.arange(people)]  # a wave would be a batch of its own, with less to hide in

    def _design(self, points: NDArray[Any], center: list[float] | None, radius: float, seed: int) -> Plan:
        options: dict[str, Any] = {"minimum_batch": len(points)}  # nobody drops out of a fit
        if self.variant == "amplified":
            options["local_cap"] = float(self.local_cap)
        elif self.variant == "split-and-mix":
            options["layout"] = self.layout
        options |= self.protocol_options or {}
        return Plan.design(
            points.shape[1],
            self._planned(len(points)),
            float(self.epsilon),
            len(points),
            **_VARIANTS[self.variant],
            center=center,
            radius=radius,
            seed=seed,
            delta=float(self.delta),
            **options,
        )

    def _collect(self, plan: Plan, points: NDArray[Any], coins: Coins) -> tuple[Aggregate, int]:
        parameters = plan.parameters
        self.sums_drawn_ = False
        if not isinstance(parameters, ShareParameters):
            return super()._collect(plan, points, coins)
        sent = len(points) * parameters.cost.messages
        few = len(points) <= MOST_SENT_PEOPLE and sent <= MOST_SENT_MESSAGES
        if plan.model == "shuffle" and few and parameters.report_width <= MOST_BYTES:
            chunks = list(encode_in_chunks(plan, points, coins))
            reports = np.concatenate([chunk.reports for chunk in chunks])
            return sent_table(plan, reports), sum(chunk.clipped for chunk in chunks)
        self.sums_drawn_ = plan.model == "shuffle"
        return drawn_table(plan, points, coins)
