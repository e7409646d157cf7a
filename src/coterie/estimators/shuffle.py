"""`ShuffleKMeans`: what people would get who trust a shuffler, or a curator, in one process.

A sibling of `LocalKMeans` with the same interface; what changes is whom a person trusts, and how little noise
that needs. There are no waves here: a wave would be a batch of its own, with less to hide in.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from coterie.aggregate import Aggregate
from coterie.coins import Coins
from coterie.engines import drawn_table
from coterie.estimators.base import Features, PlayedKMeans
from coterie.plan import Plan
from coterie.privacy import MAX_EPSILON
from coterie.protocols import PROTOCOLS
from coterie.protocols.codeword.amplified_design import LOCAL_CAP

_ALL_VARIANTS: Final = {  # protocol and model
    "amplified": ("codeword", "shuffle"),
    "split-and-mix": ("vector-sums", "shuffle"),
    "net-tree": ("net-tree-sums", "shuffle"),
    "central": ("vector-sums", "central"),
    "central-net-tree": ("net-tree-sums", "central"),
}
_VARIANTS: Final = {name: played for name, played in _ALL_VARIANTS.items() if played[0] in PROTOCOLS}


class ShuffleKMeans(PlayedKMeans):
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
    protocol_options, decoder, solver, decoder_options, objective
        As in `LocalKMeans`.
    features, radius, center, engine, random_state
        As in `LocalKMeans`.

    Attributes
    ----------
    guarantee_ : Guarantee
        Both promises: after mixing for the people of this fit, and what is left if the mixing fails.
    sums_drawn_ : bool
        Whether sums were drawn from their law instead of sent in shares: so from 2,000 people on, or where
        reports would be too long, where sending would take hours and say nothing else.
    cluster_centers_, labels_, result_, explained_, table_, tables_, plan_, plans_, n_clipped_,
    n_features_in_, feature_names_in_
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
        **PlayedKMeans._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "variant": [StrOptions(set(_VARIANTS))],
        "layout": [StrOptions({"cells", "column"})],
        "local_cap": [Interval(Real, 0, MAX_EPSILON, closed="right")],
    }
    delta: float
    variant: str
    layout: str
    local_cap: float

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
        decoder: str | None = None,
        solver: Any = None,
        decoder_options: dict[str, Any] | None = None,
        objective: str = "means",
        features: Features = None,
        radius: float | None = None,
        center: ArrayLike | None = None,
        engine: str = "inline",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            n_clusters=n_clusters, epsilon=epsilon, delta=delta, variant=variant, layout=layout,
            local_cap=local_cap, protocol_options=protocol_options, decoder=decoder, solver=solver,
            decoder_options=decoder_options, objective=objective, features=features, radius=radius,
            center=center, engine=engine, random_state=random_state,
        )  # fmt: skip

    def _own_options(self, people: int) -> dict[str, Any]:
        options = {"delta": float(self.delta), "minimum_batch": people}  # nobody drops out of a fit
        if self.variant == "amplified":
            return {**options, "local_cap": float(self.local_cap)}
        return {**options, "layout": self.layout} if self.variant == "split-and-mix" else options

    @property
    def _construction(self) -> tuple[str, str]:
        return _VARIANTS[self.variant]

    def _collect(self, plan: Plan, points: NDArray[Any], coins: Coins) -> Aggregate:
        sent = plan.parameters.is_played(len(points))
        self.sums_drawn_ = plan.mixed and not sent
        if sent:
            return super()._collect(plan, points, coins)
        table, self.n_clipped_ = drawn_table(plan, points, coins)
        return table
