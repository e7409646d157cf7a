import numpy as np
import pytest

from coterie.centers.tight.factors import amounts
from coterie.centers.tight.kept_cells import significant_cells
from coterie.centers.tight.solve import solve
from coterie.centers.tight.unmix import explaining, pure_directions, pure_looseness
from coterie.protocols.codeword.oracles.cell_sums import CellSums
from coterie.protocols.codeword.oracles.rows import Lift

DIMENSION = 20
LIFT = Lift(point=np.sqrt(1 - 0.3**2), count=0.3, dimension=DIMENSION)


@pytest.fixture(scope="module")
def shared():
    """Four tight clusters; 0 and 1 share a cell of the first view, 1 and 2 one of the second."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(4, DIMENSION))
    centers *= 0.9 / np.linalg.norm(centers, axis=1, keepdims=True)
    lifted = LIFT.of(centers) / 4
    views = []
    for cells in ([0, 0, 1, 2], [3, 4, 4, 5]):
        vectors = np.zeros((8, DIMENSION + 2))
        np.add.at(vectors, cells, lifted)
        views.append(CellSums(vectors + rng.normal(0, 1e-3, vectors.shape), 1e-6, 5000))
    return centers, tuple(views)


def test_differences_of_leaves_find_the_hidden_cluster(shared):
    centers, views = shared
    cells = significant_cells(views, LIFT, at_least=4)
    pool, whole = pure_directions(cells, LIFT)
    assert whole == 3  # 0, 2 and 3 have a cell to themselves somewhere
    found = explaining(cells, pool, whole, 4)
    cosines = found @ LIFT.of(centers).T
    assert sorted(cosines.argmax(axis=1).tolist()) == [0, 1, 2, 3]
    assert cosines.max(axis=1).min() > 0.99
    assert (amounts(cells, found).sum(axis=1) > 0).sum() == 6


def test_a_shared_cell_is_not_taken_for_a_loose_one(shared):
    cells = significant_cells(shared[1], LIFT, at_least=4)
    assert cells.looseness > 1.1
    assert pure_looseness(cells, LIFT) == pytest.approx(1.0, abs=0.03)


def test_the_solver_with_both_finds_all_centers(shared):
    centers, views = shared
    solution, clear = solve(views, None, LIFT, 4, np.random.default_rng(0), unmix=True)
    assert clear.all()
    apart = np.linalg.norm(centers[:, None] - solution.centers, axis=2).min(axis=1)
    assert apart.max() < 0.1
