"""Estimators with declared features: tables of records in, groups in words out."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from coterie.errors import PlanError, PointError
from coterie.estimators import (
    ClippedPointsWarning,
    DataDependentScaleWarning,
    LocalKMeans,
    SeededFitWarning,
    ShuffleKMeans,
    UnreadColumnsWarning,
    UnsupportedCentersWarning,
)
from coterie.estimators.caveats import BALL_FROM_DATA
from coterie.features import Category, Flag, Number, Schema

SCHEMA = Schema(
    [
        Number("age", 0, 100, unit="years"),
        Category("plan", ["free", "paid", "team"], weight=0.8),
        Flag("member", missing="false", weight=0.5),
    ]
)
ROUND = 3000
PEOPLE = {  # two kinds of people, in turn
    "age": [22.0, 71.0] * ROUND,
    "shoe": [43, 38] * ROUND,
    "plan": ["free", "paid"] * ROUND,
    "member": [None, True] * ROUND,
}

# Every fit with a seed says so; that is tested by itself.
pytestmark = pytest.mark.filterwarnings("ignore::coterie.estimators.SeededFitWarning")


def fitted(table, estimator=LocalKMeans, **options):
    return estimator(2, **{"epsilon": 4.0, "features": SCHEMA, "random_state": 0, **options}).fit(table)


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededFitWarning)
        return fitted(PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_tables_of_every_make_give_the_same(model, make):
    table = make(PEOPLE)
    again = fitted(table)
    assert (again.cluster_centers_ == model.cluster_centers_).all()
    assert (again.labels_ == model.labels_).all()
    assert (again.predict(table) == model.predict(PEOPLE)).all()
    assert (again.transform(table) == model.transform(PEOPLE)).all()
    assert again.score(table) == model.score(PEOPLE)


def test_a_fit_reads_each_declared_column_once_and_no_other(model):
    class Watched(dict):
        read = ()

        def __getitem__(self, name):
            self.read = (*self.read, name)
            return super().__getitem__(name)

    table = Watched(PEOPLE)
    assert (fitted(table).labels_ == model.labels_).all()
    assert sorted(table.read) == ["age", "member", "plan"]


def test_the_groups_are_found_and_described(model):
    assert model.labels_[0] != model.labels_[1]
    assert (model.labels_[::2] == model.labels_[0]).all()
    records = [SCHEMA.record(center) for center in model.cluster_centers_[model.labels_[:2]]]
    assert [record["plan"] for record in records] == ["free", "paid"]
    assert records[0]["age"] < 40 < 55 < records[1]["age"]
    assert "age" in model.result_.describe()
    assert {estimate.feature for estimate in model.result_.groups[0].estimates} == {"age", "plan", "member"}


def test_rows_are_measured_as_the_schema_measures(model):
    points = SCHEMA.points(PEOPLE)
    apart = np.linalg.norm(points[:, None] - model.cluster_centers_, axis=2)
    assert np.allclose(model.transform(PEOPLE), apart)
    assert (model.predict(PEOPLE) == apart.argmin(axis=1)).all()
    assert model.score(PEOPLE) == pytest.approx(-(apart.min(axis=1) ** 2).sum())


def test_the_ball_is_the_schemas_and_the_promise_has_no_exception_for_it(model):
    assert model.plan_.features == SCHEMA
    assert model.plan_.radius == SCHEMA.radius
    assert model.plan_.center is None
    assert BALL_FROM_DATA not in model.guarantee_.exceptions
    assert model.n_clipped_ == 0


def test_without_a_seed_nothing_is_excepted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnsupportedCentersWarning)  # by chance, with secret coins
        assert fitted(PEOPLE, random_state=None).guarantee_.exceptions == ()


def test_names_are_those_of_the_schema_in_its_order(model):
    assert model.feature_names_in_.tolist() == ["age", "plan", "member"]
    assert model.n_features_in_ == 3
    turned = pd.DataFrame(PEOPLE)[["member", "plan", "age"]]
    assert (model.predict(turned) == model.predict(PEOPLE)).all()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["list", "dict", "short dict", "json", "toml", "path as text"])
def test_a_schema_comes_in_every_form(model, form, tmp_path):
    written = json.loads(SCHEMA.to_json())
    if form == "list":
        features = list(SCHEMA.features)
    elif form == "dict":
        features = written
    elif form == "short dict":
        features = {"features": written["features"]}
    elif form == "toml":
        features = tmp_path / "features.toml"
        features.write_text(
            '[[features]]\nkind = "number"\nname = "age"\nlow = 0\nhigh = 100\nunit = "years"\n'
            '[[features]]\nkind = "category"\nname = "plan"\nvalues = ["free", "paid", "team"]\n'
            "weight = 0.8\n"
            '[[features]]\nkind = "flag"\nname = "member"\nmissing = "false"\nweight = 0.5\n'
        )
    else:
        features = tmp_path / "features.json"
        features.write_text(SCHEMA.to_json())
        features = str(features) if form == "path as text" else features
    assert fitted(PEOPLE, features=features).plan_.id == model.plan_.id


@pytest.mark.parametrize(
    "given", [{"radius": 1.0}, {"center": [0.0] * 4}, {"radius": 2.0, "center": [0.0] * 4}]
)
def test_a_ball_beside_a_schema_is_refused_with_what_to_do(given):
    with pytest.raises(PlanError, match=r"follow from the features: leave them at None.*coverage"):
        fitted(PEOPLE, **given)


def test_arrays_are_refused_where_features_are_declared(model):
    with pytest.raises(PointError, match=r"columns by name.*got ndarray"):
        fitted(np.zeros((10, 3)))
    with pytest.raises(PointError, match=r"columns by name.*got ndarray"):
        model.predict(np.zeros((10, 4)))


def test_a_table_that_lacks_a_column_or_rows_is_refused(model):
    with pytest.raises(PointError, match="no column 'plan', which the schema declares"):
        model.predict({"age": [3], "member": [True]})
    with pytest.raises(PointError, match="0 rows"):
        model.predict({"age": [], "plan": [], "member": []})


def test_no_value_is_refused(model):
    odd = {
        "age": [None, "old", 1e300, float("nan")],
        "plan": [None, 3, "", "?"],
        "member": ["x", None, 7, False],
    }
    assert model.predict(odd).shape == (4,)


def test_not_fitted_is_said():
    with pytest.raises(NotFittedError):
        LocalKMeans(features=SCHEMA).predict(PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_output_in_a_frame(kind):
    table = (
        pd.DataFrame(PEOPLE, index=range(100, 100 + 2 * ROUND)) if kind == "pandas" else pl.DataFrame(PEOPLE)
    )
    model = LocalKMeans(2, epsilon=4.0, features=SCHEMA, random_state=0).set_output(transform=kind)
    found = model.fit_transform(table)
    assert list(found.columns) == ["localkmeans0", "localkmeans1"]
    assert isinstance(found, type(table))
    if kind == "pandas":
        assert found.index.equals(table.index)


@pytest.mark.slow
def test_in_a_pipeline_and_cloned(model):
    grown = FunctionTransformer(lambda table: table.assign(age=table["age"] * 1.0))
    line = make_pipeline(grown, clone(model))
    assert (line.fit(pd.DataFrame(PEOPLE)).predict(pd.DataFrame(PEOPLE)) == model.labels_).all()
    assert line[-1].features == SCHEMA


@pytest.mark.slow
def test_numbers_that_a_scaler_made_are_noticed():
    ages = np.random.default_rng(0).normal(40, 12, 2 * ROUND)
    features = [Number("age", -4, 4), Flag("member")]
    with pytest.warns(DataDependentScaleWarning, match="mean 0 and deviation 1"):
        model = fitted({**PEOPLE, "age": (ages - ages.mean()) / ages.std()}, features=features)
    assert any("mean 0" in each for each in model.guarantee_.exceptions)
    shares = np.linspace(0.0, 1.0, 2 * ROUND)  # a share fills its declared bounds by itself
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataDependentScaleWarning)
        fitted({**PEOPLE, "age": shares}, features=[Number("age", 0, 1), Flag("member")])


def test_a_coverage_clips():
    tight = Schema(SCHEMA.features, 0.5)
    with pytest.warns(ClippedPointsWarning):
        model = fitted(PEOPLE, features=tight)
    assert model.n_clipped_ == 2 * ROUND
    assert model.plan_.radius == tight.radius


@pytest.mark.slow
def test_waves_keep_the_features():
    model = fitted(PEOPLE, waves=(0.3, 0.7))
    assert [plan.features for plan in model.plans_] == [SCHEMA, SCHEMA]
    assert model.result_.groups[0].estimates[0].feature == "age"


@pytest.mark.parametrize("variant", ["amplified", "central"])
def test_the_sibling_takes_records_too(variant):
    model = fitted(pd.DataFrame(PEOPLE), ShuffleKMeans, variant=variant)
    assert model.plan_.features == SCHEMA
    assert model.labels_[0] != model.labels_[1]
    assert model.feature_names_in_.tolist() == ["age", "plan", "member"]
    assert BALL_FROM_DATA not in model.guarantee_.exceptions


def test_no_value_appears_in_an_error():
    with pytest.raises(PointError) as caught:
        fitted([{"age": 77777, "plan": "secret", "member": True}, 123456])
    assert not any(value in str(caught.value) for value in ("77777", "secret", "123456"))


@pytest.mark.slow
def test_columns_that_say_nothing_are_named_and_no_value_is():
    """Texts where numbers are wanted, and flags spelt otherwise, would all lie in the middle unnoticed."""
    schema = Schema(
        [Number("age", 0, 100), Flag("member"), Number("income", 0, 10**6), Category("plan", ["a", "b"])]
    )
    people = {
        "age": [34, None, 200] * 40,
        "member": ["yes", "no", None] * 40,
        "income": ["30,000", "50,000", ""] * 40,
        "plan": ["a", "c", "b"] * 40,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LocalKMeans(n_clusters=1, epsilon=2.0, features=schema).fit(people)
    (told,) = [str(one.message) for one in caught if one.category is UnreadColumnsWarning]
    assert told.startswith("Most values of 'member', 'income' are none that the feature declares")
    assert "30,000" not in told
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnreadColumnsWarning)
        warnings.simplefilter("ignore", UnsupportedCentersWarning)
        LocalKMeans(n_clusters=1, epsilon=2.0, features=schema).fit(
            {**people, "member": [None] * 120, "income": [1.5, np.nan, -1] * 40}
        )


def test_a_missing_column_is_told_with_those_that_are_like_it():
    with pytest.raises(PointError, match=r"no column 'age', .*; it has ' Age ': rename it"):
        LocalKMeans(n_clusters=1, features=[Number("age", 0, 100)]).fit({" Age ": [3], "x": [4]})
    with pytest.raises(PointError, match=r"it has 'x', 'y'"):
        LocalKMeans(n_clusters=1, features=[Number("age", 0, 100)]).fit(pd.DataFrame({"x": [3], "y": [4]}))
