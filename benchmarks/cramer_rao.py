"""What the rows of the base study can tell of its centers, with and without the derivative of the sign.

    python -m benchmarks cramer_rao

The rows' noise is normal and known, so the Fisher matrix of the centers is JᵀWJ, J the Jacobian of the
predicted rows and W the inverse variances. The trace of its inverse, over k, bounds the mean squared error of
an unbiased estimate of a center, shares and spread being known.

A tight group's sign is a step: its derivative is large in the few rows whose hyperplane cuts the group, and
zero in all others, so the matrix at the truth tells only what an infinitely small move changes. What matters
is a move as large as the error itself. Hence the second figure: the same trace with signs as smooth as the
error that it states is wide, found by repeating; `BlobFit.fit` ends at that width, too.

Printed for the default design at d = 100, k = 8, n = 10⁶, ε = 1, r = 100, beside what spending all of ε on a
known partition gives, k²·D/(κ²·n).
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

from coterie import Plan
from coterie.centers.blobs import BlobFit
from coterie.datasets import gaussian_mixture
from coterie.plan.views import Halfspaces
from coterie.protocols.codeword.oracles.rows import Frame, Lift, ViewRows
from coterie.protocols.codeword.parameters import CodewordParameters

DIMENSION, CLUSTERS, PEOPLE, EPSILON, SEPARATION = 100, 8, 10**6, 1.0, 100.0
FIRST_GUESS, ROUNDS = 0.1, 12


def halfspace_view(plan: Plan, people: int) -> tuple[ViewRows, float]:
    """Return the plan's halfspaces with the noise of so many reports and no sums, and the gain κ."""
    parameters = plan.parameters
    assert isinstance(parameters, CodewordParameters)
    gain = parameters.randomizer.gain(parameters.embedding)
    lifted = plan.dimension + 2
    spread = math.sqrt(1 + parameters.randomizer.second_gain(parameters.embedding) / lifted) / gain
    tickets = sum(view.weight for view in parameters.views)
    for number, view in enumerate(parameters.views):
        if isinstance(view, Halfspaces):
            own = people * view.weight / tickets
            made = ViewRows(
                vectors=np.zeros((view.rows, lifted)),
                deviations=np.full(view.rows, spread * math.sqrt(view.rows / own)),
                people=int(own),
                geometry=view.geometry(plan.randomness_key, number, plan.dimension),
                kept=np.arange(view.rows),
                frame=Frame(np.zeros(plan.dimension), 1.0),
                lift=Lift.from_count_weight(parameters.count_weight, plan.dimension),
            )
            return made, gain
    raise ValueError("the plan has no halfspaces")


def fisher(
    fit: BlobFit, centers: NDArray[np.float64], shares: NDArray[np.float64], sigma: float, *, sides: bool
) -> NDArray[np.float64]:
    """Return the Fisher matrix of the centers: (k·d, k·d)."""
    clusters, dimension = centers.shape
    point = fit.view.lift.point
    seen = fit.seen(centers, shares, np.full(clusters, sigma), np.zeros(clusters))
    signs, lifted = seen.signs, seen.lifted
    slopes = seen.bells / (fit.lengths[:, None] * seen.wide)
    falling = -(point**2) * centers / lifted[:, -1:]  # slope of the last coordinate
    if not sides:
        slopes = np.zeros_like(slopes)
    blocks = np.zeros((clusters, lifted.shape[1], dimension))  # B: how w(μ) moves with μ
    blocks[:, :dimension] = point * np.eye(dimension)
    blocks[:, -1] = falling
    # The Jacobian of a row for group i is p_i·(sign·B_i + slope·w_i·gᵀ); sum its squares over the rows.
    matrix = np.empty((clusters, dimension, clusters, dimension))
    for i in range(clusters):
        for j in range(clusters):
            flat = float(fit.weights @ (signs[:, i] * signs[:, j])) * blocks[i].T @ blocks[j]
            here = (fit.weights * signs[:, i] * slopes[:, j]) @ fit.normals
            there = (fit.weights * slopes[:, i] * signs[:, j]) @ fit.normals
            mixed = np.outer(blocks[i].T @ lifted[j], here) + np.outer(there, lifted[i] @ blocks[j])
            steep = fit.normals.T @ ((fit.weights * slopes[:, i] * slopes[:, j])[:, None] * fit.normals)
            whole = flat + mixed + float(lifted[i] @ lifted[j]) * steep
            matrix[i, :, j] = shares[i] * shares[j] * whole
    return matrix.reshape(clusters * dimension, -1)


def mean_squared_error(
    fit: BlobFit, centers: NDArray[np.float64], shares: NDArray[np.float64], sigma: float, *, sides: bool
) -> float:
    """Return the bound on a center's mean squared error, for signs that are `sigma` wide."""
    matrix = fisher(fit, centers, shares, sigma, sides=sides)
    return float(np.trace(np.linalg.inv(matrix))) / len(centers)


def as_wide_as_itself(
    fit: BlobFit, centers: NDArray[np.float64], shares: NDArray[np.float64], *, sides: bool
) -> float:
    """Return the same for signs that are as wide as the error is."""
    error = FIRST_GUESS
    for _ in range(ROUNDS):
        sigma = math.sqrt(error / centers.shape[1])
        error = mean_squared_error(fit, centers, shares, sigma, sides=sides)
    return error


def main() -> None:
    """Print the bounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    found = []
    for seed in range(seeds):
        _, centers, _ = gaussian_mixture(1000, DIMENSION, CLUSTERS, separation=SEPARATION, random_state=seed)
        plan = Plan.design(DIMENSION, CLUSTERS, EPSILON, PEOPLE, seed=seed)
        view, gain = halfspace_view(plan, PEOPLE)
        fit = BlobFit(view, np.zeros(DIMENSION))
        sigma = 1 / (SEPARATION * math.sqrt(DIMENSION))
        shares = np.full(CLUSTERS, 1 / CLUSTERS)
        found.append(
            [
                as_wide_as_itself(fit, centers, shares, sides=True),
                as_wide_as_itself(fit, centers, shares, sides=False),
                mean_squared_error(fit, centers, shares, sigma, sides=True),
                mean_squared_error(fit, centers, shares, sigma, sides=False),
                CLUSTERS**2 * (DIMENSION + 2) / (gain**2 * PEOPLE),
            ]
        )
    means = np.mean(found, axis=0)
    print(f"mean squared error of a center, {seeds} seeds     with the sign   without")
    print(f"signs as wide as the error                    {means[0]:.4f}          {means[1]:.4f}")
    print(f"signs as wide as the group                    {means[2]:.4f}          {means[3]:.4f}")
    print(f"known partition, all of epsilon               {means[4]:.4f}")
