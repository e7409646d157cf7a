"""The cost of medians: unbiased for one center whatever the model is, with the deviation it states."""

import numpy as np

from coterie import Plan, decode
from coterie.centers.medians import mean_distance
from coterie.centers.solution import Solution, squared_distances
from coterie.engines.simulate import simulate
from coterie.geometry.halfspaces import mean_coordinate
from coterie.protocols.codeword.oracles import slices as module
from coterie.protocols.codeword.oracles.rows import rows_of
from coterie.protocols.codeword.oracles.slices import Slices, turned

RUNS = 16  # draws of hyperplanes
TABLES = 16
FAR = 4.0  # deviations of a mean of independent runs that chance does not reach
DIMENSION = 8
RNG = np.random.default_rng(5)
PEOPLE = np.concatenate([
    0.1 * RNG.standard_normal((300, DIMENSION)) + 0.5 / np.sqrt(DIMENSION),
    0.2 * RNG.standard_normal((200, DIMENSION)) / np.sqrt(2),
])  # fmt: skip
PEOPLE /= np.maximum(1.0, np.linalg.norm(PEOPLE, axis=1))[:, None]
CENTERS = [np.zeros(DIMENSION), 0.3 * PEOPLE[0], np.full(DIMENSION, -0.15)]


ROUND = RNG.standard_normal((500, DIMENSION))  # whom all directions see alike, so that 1 % is seen
ROUND *= 0.7 / np.linalg.norm(ROUND, axis=1)[:, None]


def away(centers, points=PEOPLE):
    return float(np.sqrt(squared_distances(points, np.atleast_2d(centers)).min(axis=1)).mean())


def halfspaces(clusters):
    plan = Plan.design(DIMENSION, clusters, 4.0, 10**6)
    return next(one for one in rows_of(simulate(plan, PEOPLE, 10**6).table) if one.halfspaces)


def noise_free(view):
    """Return errors of the sliced cost of two centers, for hyperplanes drawn afresh: (runs, centers)."""
    even, rng, errors = np.full(len(ROUND), 1 / len(ROUND)), np.random.default_rng(0), []
    for _ in range(RUNS):
        other = turned(view, rng)
        rows = other.predicted(ROUND, even)
        errors.append([Slices.of(other, one[None]).read(rows) - away(one, ROUND) for one in CENTERS[:2]])
    return np.array(errors)


def test_slices_of_one_center_are_its_cost_and_a_constant_a_hundredth_off_is_not(monkeypatch):
    view = halfspaces(1)
    errors = noise_free(view)
    allowed = FAR * errors.std(axis=0, ddof=1) / np.sqrt(RUNS) + 0.001
    assert (np.abs(errors.mean(axis=0)) <= allowed).all()
    monkeypatch.setattr(module, "mean_coordinate", lambda d: mean_coordinate(d) * 1.01)
    assert (np.abs(noise_free(view).mean(axis=0)) > allowed).all()


def test_slices_of_several_centers_are_at_most_their_cost():
    view, rng = halfspaces(3), np.random.default_rng(0)
    centers, even = np.array(CENTERS), np.full(len(PEOPLE), 1 / len(PEOPLE))
    drawn = [turned(view, rng) for _ in range(RUNS)]
    told = [Slices.of(one, centers).read(one.predicted(PEOPLE, even)) for one in drawn]
    spread = FAR * np.std(told, ddof=1) / np.sqrt(RUNS)
    assert np.pi / (4 * len(centers)) * away(centers) < np.mean(told) < away(centers) - spread  # Theorem 3


def supposed(points, centers):
    even, k = np.full(len(points), 1 / len(points)), len(centers)
    return Solution(centers, np.full(k, 1 / k), np.zeros(k), np.ones(k, dtype=bool), points, even)


def test_the_stated_deviation_is_that_of_the_estimate_whatever_the_population():
    """With a population that is all in the middle the estimate is as unbiased, and no surer than stated."""
    off = []
    for seed in range(TABLES):
        plan = Plan.design(DIMENSION, 1, 2.0, 200_000, seed=seed)
        table = simulate(plan, PEOPLE, 200_000, random_state=seed)
        center = CENTERS[1 + seed % 2][None]
        told = mean_distance([table], supposed(0.1 * PEOPLE[:100], center), np.random.default_rng(seed))
        off.append((told.value - away(center)) / told.deviation)
    assert abs(np.mean(off)) < FAR / np.sqrt(TABLES)
    assert 0.5 < np.sqrt(np.mean(np.square(off))) < 1.55  # 999 of 1000 of a normal law


def test_medians_are_decoded_with_their_cost_and_without_radii():
    rng = np.random.default_rng(1)
    groups = np.repeat([[0.6, 0.0], [-0.6, 0.0]], 1000, axis=0) + 0.05 * rng.standard_normal((2000, 2))
    far = np.concatenate([groups, np.tile([0.6, 0.75], (250, 1))])  # some pull the first group's mean
    plan = Plan.design(2, 2, 4.0, 200_000, radius=2.0)
    table = simulate(plan, 2 * far, 200_000, random_state=0)
    medians = decode(table, objective="medians", random_state=0)
    means = medians.refit(2, random_state=0)
    place = np.array([1.2, 0.0])
    apart = [np.linalg.norm(one.centers - place, axis=1).min() for one in (means, medians)]
    assert apart[1] < apart[0]
    assert medians.supported == 2
    assert np.isnan(medians.errors).all()
    assert medians.coverage is None
    true = np.sqrt(squared_distances(2 * far, medians.centers).min(axis=1)).mean()
    assert abs(medians.distance.value - true) < 3 * medians.distance.deviation
    assert medians.to_dict()["distance"] == medians.distance._asdict()
    assert "distance" not in means.to_dict()
    assert "from the nearest center on average" in medians.describe()
