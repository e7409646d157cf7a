"""Centers and amounts settle together, starting from a partition of the cells.

*Settle*: amounts given centers, centers given amounts (`factors`), centers shrunk in between.
*Swap*: move a center to a badly explained cell, settle, and keep it if more is explained in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.solution import into_ball
from coterie.centers.tight.factors import CLEAR, amounts, directions_of, unexplained
from coterie.centers.tight.kept_cells import KeptCells
from coterie.centers.tight.subspace import shrink_in_blocks
from coterie.protocols.codeword.oracles.rows import Lift

_ROUNDS: Final = 8  # of alternating least squares
_SWAPS: Final = 4
_PLACES: Final = 3  # badly explained cells that are tried
_TRIALS: Final = 48  # moves tried at a time; with more centers than this none is
_TOO_NOISY: Final = 0.3  # squared relative error of a center above which cells cannot be told apart by it
_TOO_ALIKE: Final = 0.003  # least eigenvalue of the directions' Gram matrix below which amounts are ambiguous
_NO_IDEA: Final = 1e12  # variance of a center that no cell holds


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Centers, and the amounts of the cells they were pooled from."""

    holdings: NDArray[np.float64]  # (cells, k)
    pooled: NDArray[np.float64]  # (k, d), means of what each holds; zero for a center that no cell holds
    variances: NDArray[np.float64]  # (k,), of each coordinate of them
    energies: NDArray[np.float64]  # (k,), squared length over noise, less what noise alone would have
    centers: NDArray[np.float64]  # (k, d), shrunk and inside the ball


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What stays fixed while centers and amounts settle."""

    cells: KeptCells
    lift: Lift
    target: NDArray[np.float64]  # (d,)
    basis: NDArray[np.float64] | None  # (d, r)

    def state_of(self, holdings: NDArray[np.float64]) -> State:
        """Pool the centers of given amounts, and shrink them."""
        pooled, variances = directions_of(self.cells, holdings)
        energies = 1 / variances  # of unit vectors
        scale = self.cells.looseness * self.lift.point
        pooled, variances = (
            pooled[:, : self.lift.dimension] / scale,
            np.minimum(variances / scale**2, _NO_IDEA),
        )
        centers = into_ball(shrink_in_blocks(pooled, variances, self.target, self.basis))
        return State(holdings, pooled, variances, energies, centers)

    def settle(self, state: State, rounds: int = _ROUNDS) -> State:
        """Alternate between amounts and centers while the centers are good enough to tell cells apart."""
        for _ in range(rounds):
            directions = self.lift.of(state.centers)
            if not _can_tell_apart(directions, state.variances):
                break
            better = amounts(self.cells, directions)
            lost = ~(better > 0).any(axis=0)
            better[:, lost] = state.holdings[:, lost]
            state = self.state_of(better)
        return state

    def swap(self, state: State, kept: NDArray[np.intp], points: NDArray[np.float64]) -> State:
        """Move a center to a cell that is badly explained, for as long as that explains more in all.

        This is what undoes a k-means that took two groups in one cell for one.
        """
        for _ in range(_SWAPS):
            directions = self.lift.of(state.centers)
            if len(directions) > _TRIALS or not _can_tell_apart(directions, state.variances):
                break
            energies = unexplained(self.cells, directions, state.holdings)
            worst = np.argsort(-energies[kept], kind="stable")[: min(_PLACES, _TRIALS // len(directions))]
            trials = []
            for place in self.lift.of(points[worst]):
                for moved in range(len(directions)):
                    trial = directions.copy()
                    trial[moved] = place
                    # The cell's own direction is noisy; one round pools it before it is judged.
                    trials.append(self.settle(self.state_of(amounts(self.cells, trial)), rounds=1))
            best = self.settle(min(trials, key=self.cost))
            if self.cost(best) >= self.cost(state) - CLEAR**2:
                break
            state = best
        return state

    def cost(self, state: State) -> float:
        """Return the energy that a state does not explain."""
        return float(unexplained(self.cells, self.lift.of(state.centers), state.holdings).sum())


def _can_tell_apart(directions: NDArray[np.float64], variances: NDArray[np.float64]) -> bool:
    size = directions.shape[1]
    if len(directions) > size or float(np.median(variances)) * size > _TOO_NOISY:
        return False
    return bool(np.linalg.eigvalsh(directions @ directions.T)[0] > _TOO_ALIKE)
