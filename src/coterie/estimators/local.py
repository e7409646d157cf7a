"""`LocalKMeans`: what local privacy would cost on your data, as a scikit-learn estimator.

What is private of a fit and what is not is said in `coterie.estimators.base`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.aggregate import Aggregate
from coterie.centers import decode
from coterie.centers.decode import AUTO
from coterie.centers.solution import MEDIANS
from coterie.errors import PlanError
from coterie.estimators.base import Collect, Features, PlayedKMeans, seed_of
from coterie.plan import Plan
from coterie.protocols import PROTOCOLS

_WHOLE: Final = 1e-9  # how far shares may be from adding up to 1


class LocalKMeans(PlayedKMeans):
    """k-means from one locally private report a person, played in one process.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Centers to find, at most the number of rows; "auto" finds as many groups as the reports tell apart,
        up to 18.
    epsilon : float, default=1.0
        Privacy parameter of each person's report, in (0, 16]; smaller is more private.
    protocol : str, default="codeword"
        The construction; see `coterie.Plan`.
    protocol_options : dict, default=None
        What the protocol's design takes besides, by name, as `Plan.design` does, say {"levels": 3} for
        "net-tree". An unknown name is refused with the list of known ones.
    decoder : str, default=None
        Which of the protocol's decoders; see `coterie.decode`. None is the protocol's first that fits.
    solver : object, default=None
        For the tree protocols: a k-means solver in scikit-learn's manner, which clusters the private coreset
        (`coterie.centers.LocalSearch` has a proved ratio). None is KMeans with ten starts.
    decoder_options : dict, default=None
        What the protocol's decoder takes besides, by name, as `coterie.decode` does, say {"strays": 0} or
        {"constants": "theory"} for "net-tree". An unknown name is refused with the list of known ones.
    objective : {"means", "medians"}, default="means"
        Whether centers are means or medians, which follow far-off people less. Of medians no radii are
        stated; `result_.distance` is how far people are from the nearest one, with its deviation.
    features : Schema, sequence of Feature, dict or path, default=None
        The declared features of people's records (`coterie.features`), as such, in JSON form, or the name of
        a JSON or TOML file. Then `fit`, `predict`, `transform` and `score` take tables with columns by name
        (pandas, Polars, Arrow, mappings), dimension and ball follow, and `radius` and `center` stay None.
    radius : float, default=None
        Radius of the public ball; points outside are drawn back to its surface. Choose it without looking at
        the data. None takes the ball from the data (farthest row from `center`) with a
        `DataDependentBallWarning`: good for a first look, not covered by the guarantee.
    center : array-like of shape (n_features,), default=None
        Center of the public ball. None is the origin or, where `radius` is None too, the mean of the data.
    waves : sequence of float or None, default=None
        Shares of the people, of sum 1, that are asked one after the other, as (0.1, 0.9): the first ones with
        the ball above, the others with a ball that follows from what the earlier ones said, and all reports
        are read together. Sequential interaction with the population, one message per person: each is
        asked once, and the epsilon stays the same. For data that is small compared with its ball or off its
        middle; protocol "codeword" only.
    confirm : bool, default=False
        With several waves, whether the last one confirms: its people are asked about the groups that the
        others found, and `result_.confirmed` states share and mean of the people nearest to each, with
        intervals that need no model (docs/waves.md), as `waves=(0.5, 0.5), confirm=True`.
    engine : str, default="inline"
        How the collection is played; see `coterie.engines`. "inline" is this process.
    random_state : int, RandomState instance or None, default=None
        None draws ids and secret coins from the operating system, as devices do. An int makes fits repeatable
        by drawing them from a seeded generator: a simulation, whose result must not be released as
        private, because whoever knows the seed undoes the noise (`SeededFitWarning`).

    Attributes
    ----------
    cluster_centers_ : ndarray of float64, shape (n_clusters, n_features)
        Centers, in the features' coordinates where those are declared. Private.
    labels_ : ndarray of int32, shape (n_samples,)
        Nearest center of each row of the caller's own data. **Not private**: keep them where the data is.
    result_ : Result
        What the decoder found: centers, shares, errors, which groups stand clear, cautions. Private.
        `result_.describe()` says it in words, feature by feature.
    explained_ : Interval
        Share of the rows' spread that the centers explain, with its interval. Private.
    table_ : Aggregate
        Everybody's reports, added up; with waves, those of the last one. Private. `coterie.decode` reads it
        again, for another number of clusters say, at no cost in privacy.
    tables_ : tuple of Aggregate
        All of them, as `coterie.decode` takes them.
    guarantee_ : Guarantee
        The promise to each person, in numbers and in words; its `exceptions` say what of this fit it does not
        cover: a seed, a ball from the data, rows scaled by statistics of the data.
    plan_ : Plan
        The public contract that was played; with waves, the last one.
    plans_ : tuple of Plan
        All of them.
    n_clipped_ : int
        Rows that lay outside the ball. **Not private.**
    n_features_in_ : int
        Number of columns seen in `fit`; of features, where those are declared.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Their names, where all of them had one.

    Notes
    -----
    `sample_weight` is not supported: rows are people, and each sends one report of the same kind.

    Examples
    --------
    >>> from coterie.datasets import gaussian_mixture
    >>> X, true_centers, _ = gaussian_mixture(20_000, 2, 3, separation=8, random_state=1)
    >>> model = LocalKMeans(n_clusters=3, epsilon=2.0, radius=1.0, random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.predict(X[:4]).shape, model.transform(X[:4]).shape
    ((3, 2), (4,), (4, 3))

    People with features, as data frames or columns by name:

    >>> from coterie.features import Flag, Number
    >>> people = {"age": [20.0, 70.0] * 2000, "member": [True, False] * 2000}
    >>> model = LocalKMeans(2, epsilon=4.0, features=[Number("age", 0, 100), Flag("member")], random_state=0)
    >>> sorted(model.fit(people).predict({"age": [25, 65], "member": [True, False]}).tolist())
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlayedKMeans._parameter_constraints,
        "protocol": [str],  # what is registered when the plan is designed, one's own included
        "waves": [tuple, list, None],
        "confirm": ["boolean"],
    }
    protocol: str
    waves: Sequence[float] | None
    confirm: bool

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        epsilon: float = 1.0,
        protocol: str = "codeword",
        protocol_options: dict[str, Any] | None = None,
        decoder: str | None = None,
        solver: Any = None,
        decoder_options: dict[str, Any] | None = None,
        objective: str = "means",
        features: Features = None,
        radius: float | None = None,
        center: ArrayLike | None = None,
        waves: Sequence[float] | None = None,
        confirm: bool = False,
        engine: str = "inline",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            n_clusters=n_clusters, epsilon=epsilon, protocol=protocol, protocol_options=protocol_options,
            decoder=decoder, solver=solver, decoder_options=decoder_options, objective=objective,
            features=features, radius=radius, center=center, waves=waves, confirm=confirm, engine=engine,
            random_state=random_state,
        )  # fmt: skip

    @property
    def _construction(self) -> tuple[str, str]:
        return self.protocol, "local"

    def _tables(self, points: NDArray[Any], collect: Collect, asked: dict[str, Any]) -> list[Aggregate]:
        """Return the table of each wave; its plan follows from what the earlier ones said."""
        if self.confirm and len(self.waves or ()) < 2:
            raise PlanError("confirm asks the last of several waves: give waves, such as (0.5, 0.5)")
        if self.confirm and self.objective == MEDIANS:
            raise PlanError("the last wave confirms means: leave confirm out, or take objective means")
        if self.waves is None:
            return super()._tables(points, collect, asked)
        tables: list[Aggregate] = []
        parts = self._parts(self.waves, len(points))
        for number, part in enumerate(parts, start=1):
            last = self.confirm and number == len(parts)
            plan = self._follow_up(tables, asked, len(part), confirm=last) if tables else None
            tables.append(collect(points[part], plan))
        return tables

    def _parts(self, waves: Sequence[float], people: int) -> list[NDArray[np.int64]]:
        """Return the people of each wave, drawn at random."""
        shares = _checked_waves(waves)
        able = [name for name, protocol in PROTOCOLS.items() if protocol.reads_several]
        if self.protocol not in able:
            raise PlanError(f"waves need protocol {' or '.join(able)}, got {self.protocol}")
        ends = np.rint(np.cumsum(shares) * people).astype(np.int64)
        if (np.diff(ends, prepend=0) < self._planned(people)).any():
            raise PlanError(
                f"each of the waves {tuple(waves)} needs at least as many people as there are clusters, "
                f"and n_samples={people}"
            )
        seed = None if self.random_state is None else [seed_of(self.random_state), 3]
        order = np.random.default_rng(seed).permutation(people)
        return [np.sort(part) for part in np.split(order, ends[:-1])]

    def _follow_up(
        self, tables: Sequence[Aggregate], asked: dict[str, Any], people: int, *, confirm: bool
    ) -> Plan:
        """Follow up; with the same ball where the earlier people's reports tell nobody apart."""
        plan, options = tables[-1].plan, self._plan_options()
        number = AUTO if confirm and self.n_clusters == AUTO else None
        found = decode(tables, clusters=number, **asked)
        seen = found.population
        if confirm:
            options = {"confirm": True, **options}
        elif len(seen.points) <= 1 and seen.scatter <= 0:
            options = {"center": plan.center, "radius": plan.radius, **options}
        return plan.follow_up(found, people, **options)


def _checked_waves(waves: Sequence[object]) -> list[float]:
    shares = [float(x) if isinstance(x, Real) else np.nan for x in waves]
    if not shares or not all(0 < x <= 1 for x in shares) or abs(sum(shares) - 1) > _WHOLE:
        raise PlanError("waves must be positive shares of the people that add up to 1, such as (0.1, 0.9)")
    return shares
