"""What the estimators share: a whole protocol played in one process, in scikit-learn's manner.

`fit` designs a plan, encodes every row as one person's report, adds the reports up and decodes the table.
What comes out of the reports alone is private in the sense of the plan's guarantee; what is computed from the
rows themselves is not:

    private      cluster_centers_, result_, explained_, table_      functions of the reports
    not private  labels_, n_clipped_, score(X), and a ball taken from the data (radius=None)

With declared features the rows are records; their points and the ball follow from the declaration alone, and
centers lie in its space (`result_.describe()` reads them back).

Rows are one person each. `sample_weight` is not supported: a weight would be one more value of a person's
that travels in the open, and a person of weight w would need w reports, which spends w·ε.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
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
from coterie.centers import decode
from coterie.centers.decode import AUTO, decoder_options
from coterie.centers.result import ask_for, too_many
from coterie.centers.solution import OBJECTIVES
from coterie.coins import Coins, SimulationCoins, SystemCoins
from coterie.engines import Partition, play
from coterie.errors import DecodeError, PlanError, PointError
from coterie.estimators.caveats import (
    BALL_FROM_DATA,
    CLIPPED,
    ONE_GROUP,
    SCALED_BY_DATA,
    SEEDED,
    TOO_MANY,
    UNREAD,
    UNSUPPORTED,
    ClippedPointsWarning,
    DataDependentBallWarning,
    DataDependentScaleWarning,
    SeededFitWarning,
    UnreadColumnsWarning,
    UnsupportedCentersWarning,
    scaled_by,
)
from coterie.features import Feature, Number, Schema
from coterie.features.columns import columns_of, holds_records
from coterie.features.schema import as_schema
from coterie.geometry.ball import refuse_masked
from coterie.metrics import distances, nearest
from coterie.plain.canonical import SAFE_INTEGER
from coterie.plain.checks import checked_options
from coterie.plan import Plan, design_options
from coterie.privacy import MAX_EPSILON
from coterie.protocols import parameters_class

_FLOATS: Final = (np.float64, np.float32)  # taken as they are; everything else becomes float64
_SEEDS: Final = 1 << 32
_LOOKED_AT: Final = 2000  # rows, for values that say nothing
_MOST_UNREAD: Final = 0.5  # of a column's values, before a warning
_PLANNED: Final = 8  # clusters of a plan whose number is to be chosen
_SAID_TO_A_PLAN: Final = frozenset(signature(Plan.design).parameters)


Collect = Callable[..., Aggregate]  # rows and, unless it is designed for them, their plan -> their table
Features = Schema | Sequence[Feature] | Mapping[str, Any] | str | os.PathLike[str] | None


class PlayedKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base of the estimators: a child designs the plan and may collect in its own way.

    Its attributes and most of its parameters are described in `LocalKMeans`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO})],
        "epsilon": [Interval(Real, 0, MAX_EPSILON, closed="right")],
        "protocol_options": [dict, None],
        "decoder": [str, None],
        "solver": [HasMethods("fit"), None],
        "decoder_options": [dict, None],
        "objective": [StrOptions(set(OBJECTIVES))],
        "features": [Schema, dict, list, tuple, str, os.PathLike, None],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "center": ["array-like", None],
        "engine": [str],
        "random_state": ["random_state"],
    }

    n_clusters: int | str
    epsilon: float
    protocol_options: dict[str, Any] | None
    decoder: str | None
    solver: Any
    decoder_options: dict[str, Any] | None
    objective: str
    features: Features
    radius: float | None
    center: ArrayLike | None
    engine: str
    random_state: int | np.random.RandomState | None

    def __init__(self, **settings: Any) -> None:
        for name, value in settings.items():  # of a child, as it was given them
            setattr(self, name, value)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: object = None) -> Self:
        """Play the protocol: every row of X is one person's point or, with `features`, record.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table of records
            float32 and float64 are read as they are, a chunk at a time; other types are copied to float64.
            With `features`: a pandas or Polars DataFrame, an Arrow table, a mapping of columns or a list of
            records, with a column for each feature; other columns are not looked at.
        y : ignored
            For scikit-learn's interface.

        Returns
        -------
        Self
            Itself, fitted.
        """
        self._schema = self._declared()
        if self._schema is not None and holds_records(X):  # a column of a table may be costly to read
            X, _ = columns_of(X, [feature.name for feature in self._schema.features])
        points = self._validated(X, reset=True)
        if self.n_clusters != AUTO and len(points) < self._planned(len(points)):
            raise PlanError(f"n_samples={len(points)} must be at least n_clusters={self.n_clusters}")
        ball = self._ball(points)
        coins, plan_seed, generator = _sources(self.random_state)
        asked: dict[str, Any] = {
            "random_state": generator,
            "decoder": self.decoder,
            "solver": None if self.solver is None else clone(self.solver, safe=False),
            **self._read_options(),
        }
        self.n_clipped_ = 0

        def collect(rows: NDArray[Any], plan: Plan | None = None) -> Aggregate:
            return self._collect(plan or self._design(rows, ball, plan_seed), rows, coins)

        tables = self._tables(points, collect, asked)
        self.tables_ = tuple(tables)
        self.table_ = self.tables_[-1]
        self.plans_ = tuple(table.plan for table in tables)
        self.plan_ = self.plans_[-1]
        self.guarantee_ = dataclasses.replace(self.plan_.guarantee, exceptions=self._exceptions(X, points))
        number = AUTO if self.n_clusters == AUTO else None
        self.result_ = decode(tables, clusters=number, objective=self.objective, **asked)
        self.explained_ = self.result_.explained
        self.cluster_centers_ = self.result_.centers
        self.labels_ = nearest(points, self.cluster_centers_)[0]
        self._warn_if_unusable(len(points))
        self._warn_of_unread(X)
        return self

    @property
    @abstractmethod
    def _construction(self) -> tuple[str, str]:
        """The protocol and the model that are played."""

    def _design(self, points: NDArray[Any], ball: dict[str, Any], seed: int) -> Plan:
        """Return the plan that these rows answer; `ball` is what `Plan.design` is told of it."""
        (people, dimension), (protocol, model) = points.shape, self._construction
        clusters, epsilon = self._planned(people), float(self.epsilon)
        options = {**self._own_options(people), **self._plan_options()}
        said = {"protocol": protocol, "model": model, "seed": seed, **ball, **options}
        return Plan.design(dimension, clusters, epsilon, people, **said)

    def _own_options(self, people: int) -> dict[str, Any]:
        """Return what the estimator's own parameters say to the design."""
        del people
        return {}

    def _plan_options(self) -> dict[str, Any]:
        """Return the options of the design. What the estimator itself says, as a seed, is none of them."""
        protocol, model = self._construction
        options = self.protocol_options or {}
        own = {name: options[name] for name in options if name in _SAID_TO_A_PLAN}
        known = design_options(protocol, model)
        checked_options(f"protocol {protocol} in the {model} model", known, own)
        return options

    def _read_options(self) -> dict[str, Any]:
        """Return the options of the decoder, refused before anybody is asked."""
        protocol, model = self._construction
        parameters_class(protocol, model)  # refuses what is none
        options = self.decoder_options or {}
        checked_options(
            f"the decoder of protocol {protocol}", decoder_options(protocol), options, DecodeError
        )
        return options

    def _planned(self, people: int) -> int:
        """Return the number of clusters that a plan is designed for; one to be chosen is unknown to it."""
        return min(_PLANNED, people) if isinstance(self.n_clusters, str) else int(self.n_clusters)

    def _tables(self, points: NDArray[Any], collect: Collect, asked: dict[str, Any]) -> list[Aggregate]:
        """Return the tables of all plans that are played: here one, which everybody answers."""
        del asked  # what decoding between two plans would be told
        return [collect(points)]

    def _warn_if_unusable(self, people: int) -> None:
        clusters = len(self.cluster_centers_)
        if self.result_.supported < clusters:
            one = clusters > 1 and not np.ptp(self.cluster_centers_, axis=0).any()
            words = ONE_GROUP if one else UNSUPPORTED
            if too_many(self.result_.clear, self.result_.explained):
                words = TOO_MANY
            asking = ask_for(self.result_.choices, clusters)
            told = words.format(supported=self.result_.supported, clusters=clusters, asking=asking)
            warnings.warn(told, UnsupportedCentersWarning, stacklevel=3)
        if 2 * self.n_clipped_ > people:
            warnings.warn(CLIPPED, ClippedPointsWarning, stacklevel=3)

    def _warn_of_unread(self, X: Any) -> None:
        """Warn of columns whose values mostly say nothing to their features: texts for numbers, say."""
        if self._schema is None:
            return
        columns, count = columns_of(X, [feature.name for feature in self._schema.features])
        step = max(1, count // _LOOKED_AT)
        unread = [f for f in self._schema.features if f.unread(columns[f.name][::step]) > _MOST_UNREAD]
        if unread:
            names = ", ".join(repr(feature.name) for feature in unread)
            warnings.warn(UNREAD.format(names=names), UnreadColumnsWarning, stacklevel=3)

    def _exceptions(self, X: Any, points: NDArray[Any]) -> tuple[str, ...]:
        """Return what this fit does that the promise does not cover; warn of what was not warned of yet."""
        found = []
        if self.random_state is not None:
            warnings.warn(SEEDED, SeededFitWarning, stacklevel=3)
            found.append(SEEDED)
        if self.radius is None and self._schema is None:
            found.append(BALL_FROM_DATA)
        if how := scaled_by(points if self._schema is None else _numbers(X, self._schema)):
            found.append(SCALED_BY_DATA.format(how=how))
            warnings.warn(found[-1], DataDependentScaleWarning, stacklevel=3)
        return tuple(found)

    def _collect(self, plan: Plan, points: NDArray[Any], coins: Coins) -> Aggregate:
        """Return everybody's reports, added up; clipped points are counted on the way."""

        def watch(partition: Partition) -> None:
            self.n_clipped_ += partition.clipped

        return play(plan, points, coins, on=self.engine, watch=watch)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the index of each row's nearest center: (n, d) -> (n,). A look at the rows: not private."""
        check_is_fitted(self)
        return nearest(self._validated(X), self.cluster_centers_)[0]

    def transform(self, X: Any) -> NDArray[Any]:
        """Return each row's distance to each center: (n, d) -> (n, k). A look at the rows: not private."""
        check_is_fitted(self)
        return distances(self._validated(X), self.cluster_centers_)

    def score(self, X: Any, y: object = None) -> float:
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
        if self.features is not None:  # whatever a record holds has a place
            tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _declared(self) -> Schema | None:
        """Return the declared features, whatever form they were given in; None where rows are points."""
        if self.features is None:
            return None
        if self.radius is not None or self.center is not None:
            raise PlanError(
                "radius and center follow from the features: leave them at None; for a smaller ball declare "
                "a coverage, as in Schema(..., coverage=0.7)"
            )
        return as_schema(self.features)

    def _records(self, X: Any, schema: Schema, *, reset: bool) -> NDArray[np.float64]:
        """Return the points of a table of records."""
        if not holds_records(X):
            raise PointError(
                "features are declared, so X must be a table with columns by name (a DataFrame, an Arrow "
                f"table, a mapping of columns, a list of records), got {type(X).__name__}"
            )
        points = schema.points(X)
        if not len(points):
            raise PointError("X holds 0 rows, and a minimum of 1 is required")
        if reset:
            names = [feature.name for feature in schema.features]
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
        return points

    def _validated(self, X: Any, *, reset: bool = False) -> NDArray[Any]:
        if self._schema is not None:
            return self._records(X, self._schema, reset=reset)
        refuse_masked(X)
        try:
            checked: NDArray[Any] = validate_data(self, X, reset=reset, dtype=_FLOATS)
        except (TypeError, ValueError) as error:
            said = str(error)
            if "could not convert" in said or "Cannot cast" in said:  # as numpy says it, and pandas
                raise PointError(
                    "X must hold numbers, got a value that is none: declare columns, features=Schema([…])"
                ) from None
            shape, quoted, _ = said.partition(" array instead:\narray=")
            if quoted:  # scikit-learn's quotes them all
                raise PointError(
                    f"{shape} array instead. Reshape your data: X.reshape(1, -1) if it is one person, "
                    "X.reshape(-1, 1) if it is one number of each"
                ) from None
            # scikit-learn's quotes the rows here, too.
            if "Complex data" in said or (isinstance(error, TypeError) and "complex" in said):
                raise PointError("Complex data not supported: X must hold real numbers") from None
            raise
        return checked

    def _ball(self, points: NDArray[Any]) -> dict[str, Any]:
        """Return what a plan is told of its ball: public facts or, with a warning, those of the data."""
        if self._schema is not None:
            return {"features": self._schema}
        center = None if self.center is None else _as_center(self.center, points.shape[1])
        if self.radius is not None:
            return {"center": None if center is None else center.tolist(), "radius": float(self.radius)}
        warnings.warn(
            "radius=None takes the ball from the data: the farthest row decides it, so it says something "
            "about that person, and the privacy guarantee does not cover it. For a private result give a "
            "radius (and a center) that is known without looking at the data, or declare features",
            DataDependentBallWarning,
            stacklevel=2,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            if center is None:
                center = points.mean(axis=0, dtype=np.float64)
            radius = float(np.sqrt(nearest(points, center[None])[1].max()))
        if not np.isfinite(radius):
            raise PointError("X is too large to measure distances in float64; scale it down first")
        return {"center": center.tolist(), "radius": radius or 1.0}  # any ball does where all rows are alike


def _numbers(X: Any, schema: Schema) -> NDArray[np.float64]:
    """Return the declared numbers of records as they came, (n, numbers), to see whether a scaler made them.

    Left out is what is no float, and what is declared to lie between 0 and ±1, which it may fill by itself.
    """
    ends = {-1.0, 0.0, 1.0}
    numbers = [
        each for each in schema.features if isinstance(each, Number) and not {each.low, each.high} <= ends
    ]
    columns, people = columns_of(X, [each.name for each in numbers])
    found = [np.asarray(column) for column in columns.values()]
    return np.column_stack(
        [np.zeros((people, 0)), *(column.astype(np.float64) for column in found if column.dtype.kind == "f")]
    )


def _as_center(center: ArrayLike, dimension: int) -> NDArray[np.float64]:
    try:
        values = np.asarray(center, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlanError(f"center must be {dimension} numbers, got something else") from None
    if values.shape != (dimension,):
        raise PlanError(f"center must have shape ({dimension},), one number a column, got {values.shape}")
    return values


def seed_of(random_state: int | np.random.RandomState) -> int:
    """Return the seed that stands for scikit-learn's `random_state`."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(_SEEDS, dtype=np.uint32))


def _sources(
    random_state: int | np.random.RandomState | None,
) -> tuple[Coins, int, np.random.Generator | None]:
    """Return the secret coins, the plan's public seed and the decoder's generator."""
    if random_state is None:
        return SystemCoins(), secrets.randbelow(SAFE_INTEGER + 1), None
    seed = seed_of(random_state)
    public = int(np.random.default_rng([seed, 1]).integers(SAFE_INTEGER + 1))
    return SimulationCoins([seed, 0]), public, np.random.default_rng([seed, 2])
