"""Other questions to the same population, and the population's file."""

import io
import zipfile

import numpy as np
import pytest

from coterie import Plan, Population, decode
from coterie.centers.refit import fit_medians
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.errors import DecodeError, FileError

CORNERS = np.array([[0.7, 0.0], [-0.7, 0.0], [0.0, 0.7], [0.0, -0.7]])


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    points = np.repeat(CORNERS, 5000, axis=0) + 0.05 * rng.standard_normal((20_000, 2))
    plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=len(points))
    return decode(play(plan, points, SimulationCoins(0)), random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["means", "medians"])
def test_a_refit_finds_what_the_plan_did_not_ask_for(result, objective):
    four = result.refit(4, objective=objective, random_state=0)
    apart = np.linalg.norm(CORNERS[:, None] - four.centers[None], axis=2)
    assert apart.min(axis=1).max() < 0.15
    np.testing.assert_allclose(four.weights, 0.25, atol=0.1)
    assert four.weights.sum() == pytest.approx(1)


@pytest.mark.slow
def test_a_refit_promises_the_same_and_states_no_errors(result):
    four = result.refit(4, random_state=0)
    assert four.guarantee == result.guarantee
    assert (four.plan_id, four.study_id, four.count) == (result.plan_id, result.study_id, result.count)
    assert four.population is result.population
    assert np.isnan(four.errors).all()
    assert (np.diff(four.weights) <= 0).all()  # A is the largest
    assert four.supported <= result.supported
    assert "nothing is stated of their errors" in four.notes[0]
    assert "clusters=4" in four.notes[0]


def test_a_seed_repeats_a_refit(result):
    first, second = (result.refit(3, random_state=1).centers for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("k", [0, -1, 2.0, True, 10**9])
def test_a_number_of_centers_that_cannot_be_is_refused(result, k):
    with pytest.raises(DecodeError, match="k must be an integer from 1 to"):
        result.refit(k)


def test_an_unknown_objective_is_refused(result):
    with pytest.raises(DecodeError, match="objective must be one of means, medians"):
        result.refit(2, objective="modes")


def test_medians_do_not_follow_a_far_point():
    rng = np.random.default_rng(3)
    points = np.concatenate([0.01 * rng.standard_normal((90, 2)), np.full((10, 2), 10.0)])
    median = fit_medians(points, np.full(100, 0.01), 1, rng)
    assert np.linalg.norm(median) < 0.02  # the mean is 1.4 away


def test_the_median_is_where_the_pulls_cancel():
    rng = np.random.default_rng(4)
    points, weights = rng.standard_normal((50, 3)), rng.random(50)
    median = fit_medians(points, weights, 1, rng)[0]
    away = points - median
    pull = weights @ (away / np.linalg.norm(away, axis=1, keepdims=True))
    assert np.linalg.norm(pull) < 1e-3 * weights.sum()


def test_a_population_survives_its_file(result, tmp_path):
    result.population.save(tmp_path / "seen.npz")
    again = Population.load(tmp_path / "seen.npz")
    np.testing.assert_array_equal(again.points, result.population.points)
    np.testing.assert_array_equal(again.weights, result.population.weights)
    assert again.plan_ids == (result.plan_id,)
    assert again.scatter == result.population.scatter
    assert (again.plan_id, again.study_id) == (result.plan_id, result.study_id)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "seen.npz").read_bytes()


def archive(**changes):
    arrays = {
        "format": np.array("coterie-population"),
        "version": np.array(1),
        "study_id": np.array("a" * 64),
        "plan_ids": np.array(["a" * 64]),
        "points": np.zeros((2, 3)),
        "weights": np.ones(2),
        "scatter": np.array(0.5),
    }
    file = io.BytesIO()
    np.savez(file, **{name: value for name, value in {**arrays, **changes}.items() if value is not None})
    return file.getvalue()


def test_the_archive_that_is_spoilt_below_is_good(tmp_path):
    (tmp_path / "good.npz").write_bytes(archive())
    good = Population.load(tmp_path / "good.npz")
    assert (good.points.shape, good.scatter) == ((2, 3), 0.5)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK nothing",
        archive()[:-40],
        archive(format=np.array("another")),
        archive(format=np.array(["coterie-population"])),
        archive(version=np.array(2)),
        archive(version=np.array("1")),
        archive(study_id=np.array(1)),
        archive(plan_ids=np.array([], dtype=np.str_)),
        archive(plan_ids=np.array("a" * 64)),
        archive(points=None),
        archive(more=np.zeros(2)),
        archive(points=np.zeros(2)),
        archive(points=np.zeros((2, 3), dtype=np.float32)),
        archive(points=np.zeros((2, 3), dtype=object)),  # pickled
        archive(points=np.full((2, 3), np.nan)),
        archive(weights=np.ones(3)),
        archive(weights=-np.ones(2)),
        archive(weights=np.zeros(2)),
        archive(scatter=np.array(-1.0)),
        archive(scatter=np.array(np.nan)),
        archive(scatter=np.zeros(1)),
        archive(scatter=np.array(0)),
    ],
)
def test_a_file_that_is_no_population_is_refused(tmp_path, data):
    (tmp_path / "bad.npz").write_bytes(data)
    with pytest.raises(FileError, match=r"bad\.npz, byte 0: expected"):
        Population.load(tmp_path / "bad.npz")


def of_python_2(data):
    """Return the same arrays with shapes as Python 2 wrote them."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"'shape': (2, 3), ", b"'shape': (2L, 3),"))
    return file.getvalue()


@pytest.mark.filterwarnings("default")  # an error here would hide that numpy only warns
def test_headers_of_python_2_are_refused_and_not_guessed_at(tmp_path):
    (tmp_path / "old.npz").write_bytes(of_python_2(archive()))
    with pytest.raises(FileError, match=r"old\.npz, byte 0: expected a population"):
        Population.load(tmp_path / "old.npz")


def test_what_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    large = Population(np.zeros((60_000, 2)), np.ones(60_000), "a" * 64, ("a" * 64,))
    monkeypatch.setattr("coterie.centers.population_file.MAX_BYTES", 2 << 20)
    with pytest.raises(DecodeError, match="takes 1,440,000 bytes, and a file of one may have 2,097,152"):
        large.save(tmp_path / "large.npz")
    assert not (tmp_path / "large.npz").exists()


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    file = io.BytesIO()
    with np.load(io.BytesIO(archive())) as good:
        np.savez_compressed(file, **{**good, "points": np.zeros((10_000, 10)), "weights": np.ones(10_000)})
    (tmp_path / "packed.npz").write_bytes(file.getvalue())
    assert Population.load(tmp_path / "packed.npz").points.shape == (10_000, 10)
    monkeypatch.setattr("coterie.centers.population_file.MAX_BYTES", 100_000)
    assert len(file.getvalue()) < 100_000
    with pytest.raises(FileError, match="expected a population"):
        Population.load(tmp_path / "packed.npz")
