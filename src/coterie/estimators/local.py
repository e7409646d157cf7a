"""`LocalKMeans`: what local privacy would cost on your data, as a scikit-learn estimator.

`fit` plays the whole protocol in one process: a plan is designed, every row is encoded as one person's
report, the reports are added up and the table is decoded. What comes out of the reports alone is private in
the sense of the plan's guarantee; what is computed from the rows themselves is not:

    private      cluster_centers_, result_          functions of the reports
    not private  labels_, n_clipped_, score(X), and a ball taken from the data (radius=None)

Rows are one person each. `sample_weight` is not supported: a weight would be one more value of a person's
that travels in the open, and a person of weight w would need w reports, which spends w·ε.
"""

from __future__ import annotations

import dataclasses
import secrets
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
    clone,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie.aggregate import Aggregate
from coterie.centers import Result, decode
from coterie.centers.decode import AUTO
from coterie.coins import Coins, SimulationCoins, SystemCoins
from coterie.engines.inline import encode_in_chunks
from coterie.errors import PlanError, PointError
from coterie.estimators.caveats import (
    BALL_FROM_DATA,
    CLIPPED,
    SCALED_BY_DATA,
    SEEDED,
    UNSUPPORTED,
    ClippedPointsWarning,
    DataDependentBallWarning,
    DataDependentScaleWarning,
    SeededFitWarning,
    UnsupportedCentersWarning,
    scaled_by,
)
from coterie.geometry.ball import refuse_masked
from coterie.metrics import distances, nearest
from coterie.plan import Plan
from coterie.plan.canonical import SAFE_INTEGER
from coterie.plan.protocols import PARAMETERS
from coterie.privacy import MAX_EPSILON

_FLOATS: Final = (np.float64, np.float32)  # taken as they are; everything else becomes float64
_SEEDS: Final = 1 << 32
_PLANNED: Final = 8  # clusters of a plan whose number is to be chosen
_WHOLE: Final = 1e-9  # how far shares may be from adding up to 1


class LocalKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
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
    solver : object, default=None
        For the tree protocols: a k-means solver in scikit-learn's manner, which clusters the private coreset
        (`coterie.centers.LocalSearch` has a proved ratio). None is KMeans with ten starts.
    radius : float, default=None
        Radius of the public ball; points outside are drawn back to its surface. Choose it without looking at
        the data. None takes the ball from the data (farthest row from `center`) with a
        `DataDependentBallWarning`: good for a first look, not covered by the guarantee.
    center : array-like of shape (n_features,), default=None
        Center of the public ball. None is the origin or, where `radius` is None too, the mean of the data.
    waves : sequence of float or None, default=None
        Shares of the rows, of sum 1, that are asked one after the other, as (0.1, 0.9): the first ones with
        the ball above, the others with a ball that follows from what the earlier ones said, and all reports
        are read together. Sequential interaction with the population, one message per person: each row is
        asked once, and its epsilon stays the same. For data that is small compared with its ball or off its
        middle; protocol "codeword" only.
    random_state : int, RandomState instance or None, default=None
        None draws ids and secret coins from the operating system, as devices do. An int makes fits repeatable
        by drawing them from a seeded generator: a simulation, whose result must not be released as
        private, because whoever knows the seed undoes the noise (`SeededFitWarning`).

    Attributes
    ----------
    cluster_centers_ : ndarray of float64, shape (n_clusters, n_features)
        Centers. Private.
    labels_ : ndarray of int32, shape (n_samples,)
        Nearest center of each row of the caller's own data. **Not private**: keep them where the data is.
    result_ : Result
        What the decoder found: centers, shares, errors, how many centers are supported, cautions. Private.
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
        Number of columns seen in `fit`.
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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO})],
        "epsilon": [Interval(Real, 0, MAX_EPSILON, closed="right")],
        "protocol": [StrOptions({name for name in PARAMETERS if "local" in PARAMETERS[name].models})],
        "protocol_options": [dict, None],
        "solver": [HasMethods("fit"), None],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "center": ["array-like", None],
        "waves": [tuple, list, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        epsilon: float = 1.0,
        protocol: str = "codeword",
        protocol_options: dict[str, Any] | None = None,
        solver: Any = None,
        radius: float | None = None,
        center: ArrayLike | None = None,
        waves: Sequence[float] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.protocol = protocol
        self.protocol_options = protocol_options
        self.solver = solver
        self.radius = radius
        self.center = center
        self.waves = waves
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Play the protocol: every row of X is one person's point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 and float64 are read as they are, a chunk at a time; other types are copied to float64.
        y : ignored
            For scikit-learn's interface.

        Returns
        -------
        LocalKMeans
            Itself, fitted.
        """
        points = self._validated(X, reset=True)
        if self.n_clusters != AUTO and len(points) < self._planned(len(points)):
            raise PlanError(f"n_samples={len(points)} must be at least n_clusters={self.n_clusters}")
        parts = self._parts(len(points))
        center, radius = self._ball(points)
        coins, plan_seed, decoder = _sources(self.random_state)
        solver = None if self.solver is None else clone(self.solver, safe=False)
        plans: list[Plan] = []
        tables: list[Aggregate] = []
        self.n_clipped_ = 0
        for part in parts:
            rows = points if len(parts) == 1 else points[part]
            if tables:
                found = decode(tables, random_state=decoder, solver=solver)
                plan = _next_plan(plans[-1], found, len(rows), self.protocol_options or {})
            else:
                plan = self._design(rows, center, radius, plan_seed)
            table, clipped = self._collect(plan, rows, coins)
            plans.append(plan)
            tables.append(table)
            self.n_clipped_ += clipped
        self.plans_ = tuple(plans)
        self.plan_ = plans[-1]
        self.guarantee_ = dataclasses.replace(self.plan_.guarantee, exceptions=self._exceptions(points))
        number = AUTO if self.n_clusters == AUTO else None
        self.result_ = decode(tables, clusters=number, random_state=decoder, solver=solver)
        self.cluster_centers_ = self.result_.centers
        self.labels_ = nearest(points, self.cluster_centers_)[0]
        self._warn_if_unusable(len(points))
        return self

    def _planned(self, people: int) -> int:
        """Return the number of clusters that a plan is designed for; one to be chosen is unknown to it."""
        return min(_PLANNED, people) if isinstance(self.n_clusters, str) else int(self.n_clusters)

    def _parts(self, people: int) -> list[NDArray[np.int64]]:
        """Return the rows of each wave; one wave of everybody where none are asked for."""
        everybody = np.arange(people)
        if self.waves is None:
            return [everybody]
        shares = _checked_waves(self.waves)
        if self.protocol != "codeword":
            raise PlanError(f"waves need protocol codeword, got {self.protocol}")
        ends = np.rint(np.cumsum(shares) * people).astype(np.int64)
        if (np.diff(ends, prepend=0) < self._planned(people)).any():
            raise PlanError(
                f"each of the waves {tuple(self.waves)} needs at least as many rows as there are clusters, "
                f"and n_samples={people}"
            )
        if self.random_state is None:
            order = np.random.default_rng().permutation(everybody)
        else:
            order = np.random.default_rng([_seed(self.random_state), 3]).permutation(everybody)
        return [np.sort(part) for part in np.split(order, ends[:-1])]

    def _warn_if_unusable(self, people: int) -> None:
        clusters = len(self.cluster_centers_)
        if self.result_.supported < clusters:
            words = UNSUPPORTED.format(supported=self.result_.supported, clusters=clusters)
            warnings.warn(words, UnsupportedCentersWarning, stacklevel=3)
        if 2 * self.n_clipped_ > people:
            warnings.warn(CLIPPED, ClippedPointsWarning, stacklevel=3)

    def _exceptions(self, points: NDArray[Any]) -> tuple[str, ...]:
        """Return what this fit does that the promise does not cover; warn of what was not warned of yet."""
        found = []
        if self.random_state is not None:
            warnings.warn(SEEDED, SeededFitWarning, stacklevel=3)
            found.append(SEEDED)
        if self.radius is None:
            found.append(BALL_FROM_DATA)
        if how := scaled_by(points):
            found.append(SCALED_BY_DATA.format(how=how))
            warnings.warn(found[-1], DataDependentScaleWarning, stacklevel=3)
        return tuple(found)

    def _design(self, points: NDArray[Any], center: list[float] | None, radius: float, seed: int) -> Plan:
        return Plan.design(
            points.shape[1],
            self._planned(len(points)),
            float(self.epsilon),
            len(points),
            protocol=self.protocol,
            center=center,
            radius=radius,
            seed=seed,
            **(self.protocol_options or {}),
        )

    def _collect(self, plan: Plan, points: NDArray[Any], coins: Coins) -> tuple[Aggregate, int]:
        """Return everybody's reports, added up, and how many points were clipped."""
        table = Aggregate(plan)
        clipped = 0
        for chunk in encode_in_chunks(plan, points, coins):
            table.add(chunk.reports)
            clipped += chunk.clipped
        return table, clipped

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return the index of each row's nearest center: (n, d) -> (n,). A look at the rows: not private."""
        check_is_fitted(self)
        return nearest(self._validated(X), self.cluster_centers_)[0]

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return each row's distance to each center: (n, d) -> (n, k). A look at the rows: not private."""
        check_is_fitted(self)
        return distances(self._validated(X), self.cluster_centers_)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the k-means objective of X, a sum over rows as in `sklearn.cluster.KMeans`.

        A look at the rows: not private. `coterie.metrics.normalized_objective` is its mean.
        """
        check_is_fitted(self)
        return -float(nearest(self._validated(X), self.cluster_centers_)[1].sum())

    @property
    def _n_features_out(self) -> int:
        """Number of columns of `transform`."""
        return int(self.cluster_centers_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validated(self, X: ArrayLike, *, reset: bool = False) -> NDArray[Any]:
        refuse_masked(X)
        try:
            checked: NDArray[Any] = validate_data(self, X, reset=reset, dtype=_FLOATS)
        except TypeError as error:
            if "complex" in str(error):
                raise PointError("Complex data not supported: X must hold real numbers") from None
            raise
        except ValueError as error:
            if "could not convert" in str(error):  # numpy's message quotes the value
                raise PointError("X must hold numbers, got a value that is none") from None
            shape, quoted, _ = str(error).partition(
                " array instead:\narray="
            )  # scikit-learn's quotes them all
            if quoted:
                raise PointError(
                    f"{shape} array instead. Reshape your data: X.reshape(1, -1) if it is one person, "
                    "X.reshape(-1, 1) if it is one number of each"
                ) from None
            if "Complex data" in str(error):  # scikit-learn's quotes the rows here, too
                raise PointError("Complex data not supported: X must hold real numbers") from None
            raise
        return checked

    def _ball(self, points: NDArray[Any]) -> tuple[list[float] | None, float]:
        """Return the ball's center (None is the origin) and radius, public or, with a warning, the data's."""
        center = None if self.center is None else _as_center(self.center, points.shape[1])
        if self.radius is not None:
            return None if center is None else center.tolist(), float(self.radius)
        warnings.warn(
            "radius=None takes the ball from the data: the farthest row decides it, so it says something "
            "about that person, and the privacy guarantee does not cover it. For a private result give a "
            "radius (and a center) that is known without looking at the data",
            DataDependentBallWarning,
            stacklevel=2,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            if center is None:
                center = points.mean(axis=0, dtype=np.float64)
            radius = float(np.sqrt(nearest(points, center[None])[1].max()))
        if not np.isfinite(radius):
            raise PointError("X is too large to measure distances in float64; scale it down first")
        return center.tolist(), radius or 1.0  # any ball does where all rows are the same


def _as_center(center: ArrayLike, dimension: int) -> NDArray[np.float64]:
    try:
        values = np.asarray(center, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlanError(f"center must be {dimension} numbers, got something else") from None
    if values.shape != (dimension,):
        raise PlanError(f"center must have shape ({dimension},), one number a column, got {values.shape}")
    return values


def _checked_waves(waves: Sequence[object]) -> list[float]:
    shares = [float(x) if isinstance(x, Real) else np.nan for x in waves]
    if not shares or not all(0 < x <= 1 for x in shares) or abs(sum(shares) - 1) > _WHOLE:
        raise PlanError("waves must be positive shares of the rows that add up to 1, such as (0.1, 0.9)")
    return shares


def _next_plan(plan: Plan, found: Result, people: int, options: dict[str, Any]) -> Plan:
    """Follow up; with the same ball where the earlier people's reports tell nobody apart."""
    seen = found.population
    if len(seen.points) > 1 or seen.scatter > 0:
        return plan.follow_up(found, people, **options)
    return plan.follow_up(found, people, center=plan.center, radius=plan.radius, **options)


def _seed(random_state: int | np.random.RandomState) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(_SEEDS, dtype=np.uint32))


def _sources(
    random_state: int | np.random.RandomState | None,
) -> tuple[Coins, int, np.random.Generator | None]:
    """Return the secret coins, the plan's public seed and the decoder's generator."""
    if random_state is None:
        return SystemCoins(), secrets.randbelow(SAFE_INTEGER + 1), None
    seed = _seed(random_state)
    public = np.random.default_rng([seed, 1])
    return (
        SimulationCoins([seed, 0]),
        int(public.integers(SAFE_INTEGER + 1)),
        np.random.default_rng([seed, 2]),
    )
