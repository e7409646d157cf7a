import dataclasses
import pickle
import warnings

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie.centers import decode
from coterie.coins import SimulationCoins, SystemCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import ENGINES, Inline, play
from coterie.errors import DecodeError, PlanError, PointError, SettingError
from coterie.estimators import (
    ClippedPointsWarning,
    DataDependentBallWarning,
    DataDependentScaleWarning,
    LocalKMeans,
    SeededFitWarning,
    ShuffleKMeans,
    UnsupportedCentersWarning,
)
from coterie.estimators.caveats import SEEDED
from coterie.metrics import nearest, normalized_objective

# Most fits here are of few people: that they warn is tested by itself.
pytestmark = pytest.mark.filterwarnings("ignore::coterie.estimators.UnsupportedCentersWarning")

X, TRUE_CENTERS, _ = gaussian_mixture(20_000, 2, 3, separation=8, random_state=1)

TOO_FEW_PEOPLE = "demands accurate clusters from 50 points; at epsilon 1 that many reports hold too little"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::coterie.estimators.DataDependentBallWarning")
@pytest.mark.filterwarnings("ignore::coterie.estimators.DataDependentScaleWarning")
@parametrize_with_checks(
    [LocalKMeans()], expected_failed_checks=lambda _: {"check_clustering": TOO_FEW_PEOPLE}, xfail_strict=True
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def model():
    return LocalKMeans(n_clusters=3, epsilon=4.0, radius=1.0, random_state=0).fit(X)


@pytest.mark.slow
def test_groups_are_found(model):
    assert model.cluster_centers_.shape == (3, 2)
    assert model.result_.supported == 3
    # 20,000 people at ε = 4 in the plane: noise of a center is near 0.05, so that 0.25 is far out.
    apart = np.linalg.norm(TRUE_CENTERS[:, None] - model.cluster_centers_, axis=2)
    assert apart.min(axis=1).max() < 0.25
    assert normalized_objective(X, model.cluster_centers_) < normalized_objective(X, X.mean(axis=0)[None]) / 3


@pytest.mark.slow
def test_fitted_attributes_say_what_was_played(model):
    assert model.plan_.clusters == 3
    assert model.plan_.expected_users == len(X)
    assert (model.plan_.radius, model.plan_.center) == (1.0, None)
    assert model.guarantee_ == dataclasses.replace(model.plan_.guarantee, exceptions=(SEEDED,))
    assert model.guarantee_.epsilon == 4.0
    assert model.n_clipped_ == 0
    assert model.n_features_in_ == 2
    assert model.result_.count == len(X)
    np.testing.assert_array_equal(model.cluster_centers_, model.result_.centers)


def test_predict_transform_and_score_agree(model):
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, model.labels_)
    distances = model.transform(X)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))
    assert model.score(X) == pytest.approx(-(distances.min(axis=1) ** 2).sum())
    assert model.get_feature_names_out().tolist() == ["localkmeans0", "localkmeans1", "localkmeans2"]


@pytest.mark.slow
def test_a_seed_repeats_and_no_seed_does_not(model):
    again = clone(model).fit(X)
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    assert again.plan_ == model.plan_
    fresh = clone(model).set_params(random_state=None)
    first, second = fresh.fit(X).plan_, fresh.fit(X).plan_
    assert first.seed != second.seed  # the systems coins; equal by chance once in 2^53


@pytest.mark.slow
def test_coins_are_the_systems_unless_seeded(monkeypatch):
    used = []

    class Watching(Inline):
        def encode(self, plan, points, coins):
            used.append(type(coins))
            return super().encode(plan, points, coins)

    monkeypatch.setitem(ENGINES, "watching", Watching)
    for random_state in (None, 0, np.random.RandomState(0)):
        LocalKMeans(2, radius=1.0, engine="watching", random_state=random_state).fit(X[:500])
    assert used == [SystemCoins, SimulationCoins, SimulationCoins]


@pytest.mark.slow
def test_fit_is_the_protocol_itself(model):
    # Design, encode, aggregate, decode by hand with the same coins: the same centers, bit for bit.
    table = play(model.plan_, X, SimulationCoins([0, 0]))
    by_hand = decode(table, random_state=np.random.default_rng([0, 2]))
    np.testing.assert_array_equal(by_hand.centers, model.cluster_centers_)


@pytest.mark.slow
def test_without_a_radius_the_ball_is_the_datas_and_says_so():
    shifted = 1000 + 30 * X
    model = LocalKMeans(3, epsilon=4.0, random_state=0)
    with pytest.warns(DataDependentBallWarning, match="the privacy guarantee does not cover it"):
        model.fit(shifted)
    np.testing.assert_allclose(model.plan_.center, shifted.mean(axis=0))
    assert model.plan_.radius == pytest.approx(np.linalg.norm(shifted - shifted.mean(axis=0), axis=1).max())
    assert model.n_clipped_ == 0
    with pytest.warns(DataDependentBallWarning, match="radius=None"):
        around = clone(model).set_params(center=[1000.0, 1000.0]).fit(shifted)
    assert around.plan_.center == (1000.0, 1000.0)
    assert around.plan_.radius <= 30 + 1e-9


@pytest.mark.slow
def test_a_public_ball_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LocalKMeans(3, radius=30.0, center=[1000, 1000]).fit(1000 + 30 * X)
    assert model.plan_.center == (1000.0, 1000.0)


@pytest.mark.slow
def test_clipped_rows_are_counted_and_warned_of():
    with pytest.warns(
        ClippedPointsWarning, match="More than half of the rows lie outside the ball"
    ) as caught:
        assert LocalKMeans(3, radius=0.5, random_state=0).fit(X).n_clipped_ > 10_000
    told = str(next(one.message for one in caught if one.category is ClippedPointsWarning))
    assert not any(letter.isdigit() for letter in told)  # the count is the data's


@pytest.mark.slow
def test_few_clipped_rows_are_no_cause_for_a_warning():
    rows = np.concatenate([X[:1000], np.full((900, 2), 5.0)])  # a warning would be an error here
    assert LocalKMeans(2, epsilon=4.0, radius=1.0, random_state=0).fit(rows).n_clipped_ == 900


@pytest.mark.parametrize("model", [LocalKMeans, ShuffleKMeans])
def test_centers_without_support_are_warned_of(model):
    few = X[:300]
    with pytest.warns(UnsupportedCentersWarning, match="tell no groups apart: all 4 centers are the mean"):
        fitted = model(4, epsilon=0.1, radius=1.0, random_state=0).fit(few)
    assert fitted.result_.supported == 0
    assert np.ptp(fitted.cluster_centers_, axis=0).max() == 0
    assert set(fitted.labels_) == {0}  # one group has one label


@pytest.mark.slow
def test_some_centers_without_support_are_warned_of():
    fitted = LocalKMeans(3, epsilon=4.0, radius=1.0, random_state=0).fit(X)
    fitted.result_ = dataclasses.replace(fitted.result_, clear=np.array([True, False, True]))
    with pytest.warns(UnsupportedCentersWarning, match="Only 2 of 3 groups stand clear"):
        fitted._warn_if_unusable(len(X))
    fitted.result_ = dataclasses.replace(fitted.result_, clear=np.zeros(3, dtype=bool))
    with pytest.warns(UnsupportedCentersWarning, match="There are groups, but 3 are too many.*ask for 2"):
        fitted._warn_if_unusable(len(X))


@pytest.mark.slow
def test_the_table_stays_and_can_be_decoded_again():
    fitted = LocalKMeans(3, epsilon=4.0, radius=1.0, random_state=0).fit(X)
    assert fitted.table_.count == len(X)
    assert fitted.tables_ == (fitted.table_,)
    assert fitted.table_.plan == fitted.plan_
    assert len(decode(fitted.table_, clusters=2, random_state=0).centers) == 2
    assert fitted.explained_ == fitted.result_.explained
    assert 0 < fitted.explained_.low <= fitted.explained_.value <= 1


@pytest.mark.slow
def test_supported_centers_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededFitWarning)
        LocalKMeans(3, epsilon=4.0, radius=1.0, random_state=0).fit(X)


@pytest.mark.slow
def test_columns_keep_their_names():
    arrow = pytest.importorskip("pyarrow", reason="brings tables with named columns")
    table = arrow.table({"east": X[:, 0], "north": X[:, 1]})
    model = LocalKMeans(3, radius=1.0, random_state=0).fit(table)
    assert model.feature_names_in_.tolist() == ["east", "north"]


@pytest.mark.slow
def test_works_in_a_pipeline():
    pipe = make_pipeline(StandardScaler(), LocalKMeans(3, radius=3.0, random_state=0))
    with pytest.warns(DataDependentScaleWarning, match="mean 0 and deviation 1"):
        assert pipe.fit_predict(X).shape == (len(X),)
    assert pipe.transform(X[:5]).shape == (5, 3)
    assert pipe.score(X) < 0


@pytest.mark.slow
def test_float32_is_read_as_it_is(model):
    single = clone(model).fit(X.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float64
    pairs = np.linalg.norm(single.cluster_centers_[:, None] - model.cluster_centers_, axis=2)
    assert pairs.min(axis=1).max() < 0.05  # in any order
    assert single.transform(X[:3].astype(np.float32)).dtype == np.float32


def test_one_cluster_one_row_and_equal_rows():
    assert LocalKMeans(1, radius=1.0, random_state=0).fit(X[:1]).cluster_centers_.shape == (1, 2)
    with pytest.warns(DataDependentBallWarning, match="radius=None"):
        model = LocalKMeans(2, random_state=0).fit(np.full((50, 2), 7.0))
    assert np.isfinite(model.cluster_centers_).all()


def test_the_fitted_model_survives_pickling(model):
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(copy.predict(X[:100]), nearest(X[:100], model.cluster_centers_)[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 2.5}, "n_clusters"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 1000.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"protocol": "telepathy"}, "protocol"),
        ({"radius": 0.0}, "radius"),
        ({"radius": float("inf")}, "radius"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        LocalKMeans(**{"radius": 1.0, **parameters}).fit(X[:100])


def test_unknown_engines_and_decoders_are_refused_with_the_known_ones():
    with pytest.raises(SettingError, match="there is no engine 'abacus'; known: inline"):
        LocalKMeans(2, radius=1.0, engine="abacus").fit(X[:100])
    with pytest.raises(
        DecodeError, match="codeword has no decoder 'oracle'; known: confirm, population, cells"
    ):
        LocalKMeans(2, radius=1.0, decoder="oracle").fit(X[:100])


@pytest.mark.parametrize("center", [[0.0], [[0.0, 0.0]], ["a", "b"], [0.0, np.nan]])
def test_a_center_that_is_no_point_is_refused(center):
    with pytest.raises(PlanError, match="center"):
        LocalKMeans(2, radius=1.0, center=center).fit(X[:100])


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(PlanError, match=r"n_samples=5 must be at least n_clusters=8"):
        LocalKMeans(8, radius=1.0).fit(X[:5])


def test_data_too_large_to_measure_is_refused():
    far = np.array([[1e308, 0.0], [-1e308, 0.0]])
    with pytest.warns(DataDependentBallWarning, match="radius"), pytest.raises(PointError, match="scale it"):
        LocalKMeans(2).fit(far)


def test_no_message_quotes_a_value(model):
    with pytest.raises(PointError, match="must hold numbers") as caught:
        LocalKMeans(2, radius=1.0).fit([["0.5", "secret"], ["1", "2"]])
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    odd = {"a": [1.0, 2.0], "new": [True, False], "plan": pandas.Categorical(["free", "paid"])}
    with pytest.raises(PointError, match="declare columns"):  # pandas has words of its own
        LocalKMeans(2, radius=1.0).fit(pandas.DataFrame(odd))
    for flat in ([0.512345, 0.25], 0.512345):
        with pytest.raises(PointError, match=r"Expected 2D array, got (1D|scalar) array instead") as caught:
            model.predict(flat)
        assert "5123" not in str(caught.value)
    with pytest.raises(ValueError, match="NaN"):
        model.predict([[np.nan, 0.0]])


@pytest.mark.parametrize("points", [[[1.0, 2.0, 3.0]], [1.0, 2.0], [[np.inf, 0.0]]])
def test_bad_rows_are_refused(model, points):
    with pytest.raises(ValueError, match=r"features|1D array|infinity"):
        model.predict(points)


def test_weights_are_not_taken():
    with pytest.raises(TypeError, match="sample_weight"):
        LocalKMeans(2, radius=1.0).fit(X[:100], sample_weight=np.ones(100))


def test_unfitted_models_say_so():
    with pytest.raises(NotFittedError, match="not fitted"):
        LocalKMeans().predict(X)


def scaled(kind, rows):
    from sklearn import preprocessing

    return getattr(preprocessing, kind)().fit_transform(rows)


ROWS = np.random.default_rng(5).normal(3, 2, (300, 2))


@pytest.mark.slow
@pytest.mark.parametrize("model", [LocalKMeans, ShuffleKMeans])
def test_a_seeded_fit_says_that_its_promise_does_not_hold(model):
    with pytest.warns(SeededFitWarning, match="whoever knows the seed undoes the noise"):
        fitted = model(2, radius=9.0, random_state=0).fit(ROWS)
    assert "IT DOES NOT HOLD HERE:\n- A fit with random_state" in str(fitted.guarantee_)
    unseeded = model(2, radius=9.0).fit(ROWS)  # a warning would be an error here
    assert unseeded.guarantee_.exceptions == ()
    assert unseeded.guarantee_ == unseeded.plan_.guarantee
    assert "DOES NOT HOLD" not in str(unseeded.guarantee_)


def test_a_ball_from_the_data_stands_in_the_guarantee():
    with pytest.warns(DataDependentBallWarning, match="radius=None"):
        fitted = LocalKMeans(2).fit(ROWS)
    assert "IT DOES NOT HOLD HERE:\n- radius=None took the ball from the data" in str(fitted.guarantee_)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("StandardScaler", "mean 0 and deviation 1"),
        ("MinMaxScaler", "smallest 0 and largest 1"),
        ("MaxAbsScaler", "largest size 1"),
        ("RobustScaler", "median 0 and quartiles 1 apart"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_scaler_in_front_is_noticed(kind, how, dtype):
    rows = scaled(kind, ROWS.astype(dtype))
    with pytest.warns(DataDependentScaleWarning, match=how):
        fitted = LocalKMeans(2, radius=9.0).fit(rows)
    assert f"these very rows ({how})" in str(fitted.guarantee_)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        ROWS / 20,
        np.eye(4)[np.random.default_rng(0).integers(0, 4, 300)],  # indicators
        scaled("Normalizer", ROWS),  # each row by itself
        np.ones((300, 2)),
        (ROWS - 3) / 2,  # by numbers known beforehand
    ],
)
def test_other_rows_are_not_taken_for_scaled_ones(rows):
    assert LocalKMeans(2, radius=9.0).fit(rows).guarantee_.exceptions == ()


SECRET = 0.123456789


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ma.masked_array([[SECRET, 1.0], [2.0, 3.0]], [[True, False], [False, False]]), "masked"),
        (np.array([[SECRET + 1j, 1.0], [2.0, 3.0]]), "Complex data not supported"),
        ([[SECRET + 1j, 1.0], [2.0, 3.0]], "Complex data not supported"),
    ],
)
def test_masked_and_complex_rows_are_refused_and_not_quoted(rows, message):
    fitted = LocalKMeans(2, radius=9.0).fit(ROWS)
    for call in (LocalKMeans(2, radius=9.0).fit, fitted.predict, fitted.transform, fitted.score):
        with pytest.raises(PointError, match=message) as caught:
            call(rows)
        assert "1234" not in str(caught.value)
        assert caught.value.__cause__ is None
