import dataclasses

import numpy as np
import pytest

from coterie import Aggregate, Plan
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.geometry.ball import SCALE, quantize
from coterie.geometry.cells import CrossPolytopeCells
from coterie.geometry.lift import lift
from coterie.plan.views import CrossPolytope, Halfspaces
from coterie.protocols.codeword.oracles.cell_sums import cell_sums, embedding_matrix
from coterie.protocols.codeword.oracles.second_moment import SecondMoment, second_moment
from coterie.protocols.codeword.table import CodewordTable

PEOPLE = 40_000
DEVIATIONS = 6.0  # of a mean over thousands of entries: false alarm far below 1e-6


@pytest.fixture(scope="module")
def study():
    """A table of 40,000 people at three points, at a large ε so that signal and bias both show."""
    plan = Plan.design(dimension=20, clusters=3, epsilon=4.0, expected_users=PEOPLE, seed=3)
    views = (CrossPolytope(32, 3), CrossPolytope(64, 1))
    plan = dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, views=views))
    places = np.random.default_rng(7).normal(size=(3, 20))
    places *= np.array([[0.9], [0.6], [0.3]]) / np.linalg.norm(places, axis=1, keepdims=True)
    shares = np.array([0.5, 0.3, 0.2])
    points = np.repeat(places, (shares * PEOPLE).astype(int), axis=0)
    table = play(plan, points, SimulationCoins(11)).table
    assert isinstance(table, CodewordTable)
    lifted = lift(quantize(places, None, 1.0)[0], table.parameters.count_weight) / SCALE
    return plan, table, quantize(places, None, 1.0)[0], shares, lifted


def true_sums(plan, quantized, shares, lifted, number):
    """Return what the cells of one view hold, as shares of its people: (M, D)."""
    view = plan.parameters.views[number]
    cells = CrossPolytopeCells.from_key(plan.randomness_key(f"view/{number}"), view.size, plan.dimension)
    sums = np.zeros((view.rows, lifted.shape[1]))
    np.add.at(sums, cells.of(quantized), shares[:, None] * lifted)
    return sums


def scores(found, expected):
    """Standardised residuals of all cells and coordinates."""
    return (found.vectors - expected) / np.sqrt(found.variance)


def test_sums_are_unbiased_and_their_noise_is_as_stated(study):
    plan, table, quantized, shares, lifted = study
    for number, found in enumerate(cell_sums(table)):
        z = scores(found, true_sums(plan, quantized, shares, lifted, number))
        assert abs(z.mean()) < DEVIATIONS / np.sqrt(z.size)
        assert 0.93 < (z**2).mean() < 1.07  # of 1,400 squares and more, each of deviation √2
        assert (z**2).max() < 40


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_same_check_rejects_a_wrong_noise_level(study, factor):
    plan, table, quantized, shares, lifted = study
    found = cell_sums(table)[0]
    z = scores(found, true_sums(plan, quantized, shares, lifted, 0)) / factor
    assert not 0.93 < (z**2).mean() < 1.07


def test_the_same_check_rejects_a_wrong_gain(study):
    plan, table, quantized, shares, lifted = study
    expected = true_sums(plan, quantized, shares, lifted, 0)
    found = cell_sums(table)[0]
    full = expected.any(axis=1)

    def gain(vectors):  # regression of the found sums on the true ones
        return float((vectors[full] * expected[full]).sum() / (expected[full] ** 2).sum())

    deviation = np.sqrt(found.variance / (expected[full] ** 2).sum())
    assert abs(gain(found.vectors) - 1) < 0.01 + DEVIATIONS * deviation  # 1 %: directional bias at ε = 4
    assert abs(gain(found.vectors * 1.1) - 1) > 0.01 + DEVIATIONS * deviation


def test_the_second_moment_is_that_of_the_lifted_vectors(study):
    _, table, _, shares, lifted = study
    moment = second_moment(table)
    expected = (lifted * shares[:, None]).T @ lifted
    z = (moment.matrix - expected) / moment.deviation
    off_diagonal = z[~np.eye(len(z), dtype=bool)]
    assert abs(off_diagonal.mean()) < 0.5
    assert 0.8 < (off_diagonal**2).mean() < 1.5
    assert np.linalg.norm(moment.matrix - expected) < 0.2 * np.linalg.norm(expected)
    assert np.linalg.norm(1.3 * moment.matrix - expected) > 0.2 * np.linalg.norm(expected)


def test_the_embedding_keeps_lengths(study):
    plan, table, *_ = study
    embed = embedding_matrix(plan, table.parameters)
    assert embed.shape == (128, 22)
    np.testing.assert_allclose(embed.T @ embed, np.eye(22), atol=1e-12)


def test_wide_embeddings_have_no_second_moment():
    plan = Plan.design(dimension=300, clusters=2, epsilon=1.0, expected_users=1000)
    table = Aggregate(plan).table
    assert second_moment(table) is None


def test_halfspaces_have_no_cells(study):
    plan, _, _, _, _ = study
    views = (Halfspaces(4, (0, 0, 0, 0)), CrossPolytope(8))
    table = CodewordTable.zero(
        dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, views=views))
    )
    table.add(np.random.default_rng(0).integers(0, 256, (1000, 13), dtype=np.uint8))
    (only,) = cell_sums(table)
    assert only.vectors.shape == (16, 22)
    assert only.people == table.counts[4:].sum()


def test_the_diagonal_of_the_second_moment_is_restored():
    """From a table that is exactly its expectation; without the diagonal the matrix is far off."""
    plan = Plan.design(dimension=40, clusters=2, epsilon=4.0, expected_users=10**6, shape="tight")
    table = CodewordTable.zero(plan)
    parameters = table.parameters
    embed = embedding_matrix(plan, parameters)
    rng = np.random.default_rng(0)
    lifted = rng.normal(size=(3, 42))
    lifted /= np.linalg.norm(lifted, axis=1, keepdims=True)
    hollow = (lifted @ embed.T).T @ (lifted @ embed.T) / 3
    np.fill_diagonal(hollow, 0)
    table.counts[0] = 10**12
    gain = parameters.randomizer.second_gain(parameters.embedding)
    table.second[:] = np.round(10**12 * (np.eye(parameters.embedding) + gain * hollow))
    np.testing.assert_allclose(second_moment(table).matrix, lifted.T @ lifted / 3, atol=1e-6)


def test_a_second_moment_of_other_people_has_the_noise_of_as_many_reports():
    moment, true = SecondMoment(np.zeros((40, 40)), 0.1), np.full((40, 40), 0.3)
    drawn = np.array([moment.drawn(true, np.random.default_rng(seed)).matrix for seed in range(200)])
    np.testing.assert_array_equal(drawn, drawn.transpose(0, 2, 1))
    away = (drawn - true)[:, *np.triu_indices(40, 1)]
    assert away.std() == pytest.approx(0.1, rel=0.02)  # of 156,000 entries; 0.09 and 0.11 are refused
    assert abs(away.mean()) < 0.002
