"""The population: weighted atoms in the ball that explain what was seen.

Predict every row from the atoms, compare with what was seen, and change the weights p until the difference is
no more than noise. Many weights would do; the one of largest entropy says nothing that the rows do not:

    minimise  ½·Σ_j |Σ_x p_x·φ_j(x)·w(x) - Y_j|²/deviation_j²  +  τ·Σ_x p_x·log(N·p_x)

a convex problem in p (here by L-BFGS in log p). Then move the atoms: draw them anew by weight, jitter them,
and again with less jitter, until chi-square per number is 1. In many dimensions the atoms live in the
subspace that stands clear of the noise (`spectrum`), with plain Gaussian scatter outside it, and only that
part of the rows is looked at: the rest would be noise.

Where the atoms start: normal in the subspace (the law of largest entropy for a covariance), half of them near
cells that stand clear by themselves; in few dimensions normal in all of them. Several fits of fresh starts
are pooled: where they differ the rows do not tell.

How far people scatter outside the subspace is told by their lengths: the last coordinate of a lifted point is
a·√(1 - |x|²), whatever the direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from coterie.centers.exact import on_grid
from coterie.centers.least import STEPS, least
from coterie.centers.solution import into_ball
from coterie.centers.spectrum import FLAT, covariance, spectrum
from coterie.protocols.codeword.oracles.rows import Through, ViewRows, everybody, mean_rest
from coterie.wire.workers import on_all_cores

ATOMS: Final = 2000  # of one fit; measured: 1,500 to 4,000 are as good
ENTROPY: Final = 100.0  # τ; measured: benchmarks/results/tuning.csv
_JITTERS: Final = (0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05)  # of the spread, turn by turn
_FEW: Final = 20  # steps while atoms still move; measured: as good as all of them, 10 are not (ablations.csv)
_BLOCK: Final = 256  # rows that one core does at a time; the same however many cores there are
_EXACT_BITS: Final = 23  # of sums of whole numbers: single precision holds one more, for their rounding
_FALSE_CELL: Final = 3e-4  # chance that an empty cell proposes atoms
_NEW_DIRECTION: Final = 0.03  # share of the clear cells' energy that makes a direction of its own
_LEAST_SPREAD: Final = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Weighted atoms that explain the rows, in the coordinates of the frame."""

    atoms: NDArray[np.float64]  # (N, d)
    inner: NDArray[np.float64]  # (N, d), less their scatter outside the subspace
    weights: NDArray[np.float64]  # (N,), sum 1
    basis: NDArray[np.float64]  # (d, r)
    middle: NDArray[np.float64]  # (d,)
    floor: float  # variance of a coordinate outside the subspace
    edge: float  # variance of a direction that noise can hide
    misfit: float  # chi-square per number; 1 is noise

    @property
    def scatter(self) -> float:
        """Mean square distance of people from `inner`."""
        return self.floor * float(len(self.basis) - self.basis.shape[1])


def pooled(members: Sequence[Cloud]) -> Cloud:
    """Return one population of several, in equal parts."""
    return replace(
        members[0],
        atoms=np.concatenate([one.atoms for one in members]),
        inner=np.concatenate([one.inner for one in members]),
        weights=np.concatenate([one.weights for one in members]) / len(members),
        floor=float(np.mean([one.floor for one in members])),
    )


def fit_population(views: Sequence[ViewRows], rng: np.random.Generator) -> Cloud | None:
    """Fit atoms to halfspace rows, to all rows where there are none; None if nothing stands clear."""
    dimension = views[0].lift.dimension
    halves = [view for view in views if view.halfspaces]
    fitted = halves or list(views)
    cells, shares = clear_cells(views)
    mean, rest = shrunk_mean(views), mean_rest(views)
    if dimension <= FLAT or any(isinstance(view.frame, Through) for view in views):
        start = _as_wide(halves, mean, rest, rng)
    else:
        found = _span(halves, cells, shares, mean, rest)
        if found is None:
            return None
        start = _gaussian(*found, mean, cells, shares, rng)
    return _settle(start, fitted, mean, rest, rng)


@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    basis: NDArray[np.float64]  # (d, r)
    spread: NDArray[np.float64]  # (r,), deviations
    floor: float  # variance of a coordinate outside
    edge: float
    middle: NDArray[np.float64]  # (d,)
    places: NDArray[np.float64]  # (N, r)


def _as_wide(
    halves: Sequence[ViewRows], mean: NDArray[np.float64], rest: float, rng: np.random.Generator
) -> _Start:
    """Return a start in all directions of the frame, as wide as people are in each."""
    spread = max(1 - rest**2 - float(mean @ mean), _LEAST_SPREAD)
    dimension = len(mean)
    own = [view for view in halves if view.own_ball]
    wide = covariance(own, mean, spread) if own else spread / dimension * np.eye(dimension)
    places = rng.multivariate_normal(mean, wide, ATOMS, method="cholesky")  # eigenvectors have no sign
    return _Start(np.eye(dimension), np.sqrt(np.diag(wide)), 0.0, 0.0, np.zeros(dimension), into_ball(places))


def _span(
    halves: Sequence[ViewRows],
    cells: NDArray[np.float64],
    shares: NDArray[np.float64],
    mean: NDArray[np.float64],
    rest: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float] | None:
    """Return basis, variances, floor and edge: what halfspaces see, the mean, and what cells see besides."""
    square = 1 - rest**2
    seen = spectrum(halves, mean, square)
    basis, variances = seen.basis, seen.variances
    if not basis.shape[1] and not len(cells):
        return None
    left = square - float(mean @ mean) - float(variances.sum())
    floor = max(left / max(len(mean) - len(variances), 1), _LEAST_SPREAD**2)
    away = mean - basis @ (basis.T @ mean)
    if (length := float(np.linalg.norm(away))) ** 2 > floor:  # farther than people scatter there
        basis = np.column_stack([basis, away / length])
        variances = np.append(variances, floor)
    if len(cells):
        beyond = (cells - cells @ basis @ basis.T) * np.sqrt(shares)[:, None]
        _, sizes, directions = np.linalg.svd(beyond, full_matrices=False)
        new = sizes**2 > _NEW_DIRECTION * float((shares[:, None] * cells**2).sum())
        basis = np.column_stack([basis, directions[new].T])
        variances = np.concatenate([variances, sizes[new] ** 2])
    if not basis.shape[1]:
        return None
    basis = np.linalg.qr(basis)[0]
    basis *= np.sign(np.take_along_axis(basis, np.abs(basis).argmax(axis=0)[None], axis=0))
    return on_grid(basis), variances, floor, seen.edge


def _gaussian(
    basis: NDArray[np.float64],
    variances: NDArray[np.float64],
    floor: float,
    edge: float,
    mean: NDArray[np.float64],
    cells: NDArray[np.float64],
    shares: NDArray[np.float64],
    rng: np.random.Generator,
) -> _Start:
    spread = np.sqrt(np.maximum(variances, _LEAST_SPREAD))
    middle = on_grid(mean @ basis @ basis.T)
    places = rng.standard_normal((ATOMS, len(spread))) * spread
    if len(cells):
        near = cells[rng.choice(len(cells), ATOMS // 2, p=shares / shares.sum())]
        places[: ATOMS // 2] = (near - middle) @ basis + 0.1 * spread * rng.standard_normal(
            (ATOMS // 2, len(spread))
        )
    return _Start(basis, spread, floor, edge, middle, places)


def _settle(
    start: _Start,
    fitted: Sequence[ViewRows],
    mean: NDArray[np.float64],
    rest: float,
    rng: np.random.Generator,
) -> Cloud:
    """Fit atoms in turns, scattered outside the subspace until they are as wide as everybody.

    E|x - mean|² = 1 - E[1 - |x|²] - |mean|², and `rest` is E√(1 - |x|²): by how much the mean square of that
    root is more than the square of its mean, the atoms tell.
    """
    dimension, size = start.basis.shape
    full = np.column_stack([start.basis, rng.standard_normal((dimension, dimension - size))])
    outside = on_grid(np.linalg.qr(full)[0][:, size:])
    seen = seen_parts(fitted, start.basis)
    places, floor = start.places, start.floor
    for turn, jitter in enumerate(_JITTERS):
        inner = into_ball(start.middle + on_grid(places) @ start.basis.T)
        scatter = on_grid(math.sqrt(floor) * rng.standard_normal((len(places), dimension - size)))
        atoms = into_ball(inner + scatter @ outside.T)
        blocks, last = feature_blocks(atoms, fitted), turn == len(_JITTERS) - 1
        weights, misfit = reweight(atoms, fitted, seen, blocks, STEPS if last else _FEW)
        if not last and misfit <= 1 and turn >= 2:
            last = True
            weights, misfit = reweight(atoms, fitted, seen, blocks)
        if size < dimension:
            room = np.maximum(1 - _squares(atoms), 0.0)
            uneven = float(weights @ room) / max(float(weights @ np.sqrt(room)) ** 2, 1e-12)  # at least 1
            spread = 1 - uneven * rest**2 - float(mean @ mean)
            left = spread - float(weights @ _squares(inner - weights @ inner))
            floor = max(left / (dimension - size), _LEAST_SPREAD**2)
        if last:
            break
        drawn = places[rng.choice(len(places), len(places), p=weights)]
        keep = 1.0 if size == dimension else math.sqrt(1 - jitter**2)
        places = keep * drawn + jitter * start.spread * rng.standard_normal(drawn.shape)
    return Cloud(atoms, inner, weights, start.basis, start.middle, floor, start.edge, misfit)


def spread_beyond(
    inner: NDArray[np.float64], weights: NDArray[np.float64], rest: float, directions: int
) -> float:
    """Return the variance outside the subspace with which lengths are as the rows say: E√(1 - |x|²) = rest.

    The left side falls with it, so halving finds it.
    """
    if not directions:
        return 0.0
    room = 1 - _squares(inner)  # (N,)
    low, high = 0.0, 1.0  # of the mean square distance
    for _ in range(30):
        tried = (low + high) / 2
        told = float(weights @ np.sqrt(np.maximum(room - tried, 0.0)))
        low, high = (tried, high) if told > rest else (low, tried)
    return max(low / directions, _LEAST_SPREAD**2)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The part of a view's rows that the fit looks at, in units of its noise."""

    projection: NDArray[np.float64]  # (D, r + 2)
    targets: NDArray[np.float32]  # (M, r + 2)


def seen_parts(views: Sequence[ViewRows], basis: NDArray[np.float64]) -> list[Seen]:
    """Return the part of each view's rows that a fit in this subspace looks at."""
    dimension, size = basis.shape
    projection = np.zeros((dimension + 2, size + 2))
    projection[:dimension, :size] = basis
    projection[dimension, size] = projection[dimension + 1, size + 1] = 1
    targets = (view.vectors @ projection / view.deviations[:, None] for view in views)
    return [Seen(projection, target.astype(np.float32)) for target in targets]


def misfit(
    view: ViewRows, rows: NDArray[np.float64], noise: NDArray[np.float64], basis: NDArray[np.float64]
) -> tuple[float, int]:
    """Return chi-square of what rows, (M, D), miss of a view in a subspace, and of how many numbers.

    `noise` is the covariance of a row's noise in units of its deviation², (D, D).
    """
    (left,) = seen_parts([replace(view, vectors=view.vectors - rows)], basis)
    each = ((noise @ left.projection) * left.projection).sum(axis=0)  # of each number, (r + 2,)
    return float((left.targets.astype(np.float64) ** 2 / each).sum()), left.targets.size


def reweight(
    atoms: NDArray[np.float64],
    views: Sequence[ViewRows],
    seen: Sequence[Seen],
    blocks: Sequence[Block],
    steps: int = STEPS,
) -> tuple[NDArray[np.float64], float]:
    """Return the weights of largest entropy that explain the rows, (N,), and chi-square per number."""
    count = len(atoms)
    vectors = [
        on_grid(view.lifted(atoms)) @ on_grid(part.projection) for view, part in zip(views, seen, strict=True)
    ]
    with on_all_cores() as map_all:

        def misses(weights: NDArray[np.float64]) -> list[tuple[NDArray[np.float32], NDArray[np.float64]]]:
            weighted = [_whole(weights[:, None] * v, _EXACT_BITS) for v in vectors]
            return list(
                map_all(lambda one: one.miss(weighted[one.view], seen[one.view].targets[one.rows]), blocks)
            )

        def loss(logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            weights = _softmax(logits)
            surplus = np.log(np.maximum(weights, 1e-30)) + math.log(count)
            slope = ENTROPY * (surplus + 1)
            value = ENTROPY * float(weights @ surplus)
            for block, (miss, pull) in zip(blocks, misses(weights), strict=True):
                value += 0.5 * float(np.square(miss, dtype=np.float64).sum())
                slope += np.einsum("nr,nr->n", pull, vectors[block.view])
            return value, weights * (slope - float(weights @ slope))

        found = least(loss, np.zeros(count), steps)
        weights = _softmax(found)
        left = [miss for miss, _ in misses(weights)]
    total = sum(float(np.square(miss, dtype=np.float64).sum()) for miss in left)
    return weights, total / sum(miss.size for miss in left)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What some rows of a view see of atoms: as much as one core does at a time."""

    view: int
    rows: slice
    features: NDArray[np.float32]  # (N, rows), whole numbers
    trust: NDArray[np.float32]  # (rows, 1), 1/deviation

    def miss(
        self, weighted: NDArray[np.float32], targets: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return what weighted atoms, (N, r + 2) in units of 2^-23, miss, and how that pulls at each of them.

        Both products are of whole numbers whose sums stay below 2^24: exact in single precision, so the same
        on every processor.
        """
        miss = self.features.T @ weighted * self.trust * np.float32(2.0**-_EXACT_BITS) - targets
        pull = miss * self.trust
        bits = _EXACT_BITS - math.frexp(float(np.abs(pull).max()) * len(pull))[1]
        return miss, (self.features @ _whole(pull, bits)).astype(np.float64) * 2.0**-bits


def _whole(values: NDArray[Any], bits: int) -> NDArray[np.float32]:
    """Return values in units of 2^-bits, rounded to whole numbers."""
    return np.rint(values * 2.0**bits).astype(np.float32)


def feature_blocks(atoms: NDArray[np.float64], views: Sequence[ViewRows]) -> list[Block]:
    """Return what all rows see of the atoms, (N, d), cut into blocks."""
    blocks = []
    for number, view in enumerate(views):
        features, trust = view.features(atoms), (1 / view.deviations[:, None]).astype(np.float32)
        for start in range(0, features.shape[1], _BLOCK):
            rows = slice(start, start + _BLOCK)
            blocks.append(Block(number, rows, np.ascontiguousarray(features[:, rows]), trust[rows]))
    return blocks


def clear_cells(views: Sequence[ViewRows]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cells that stand clear by themselves: shrunk means in the frame, (m, d), and shares, (m,).

    A cell of share f has Y = f·w̄ + noise, |w̄| ≤ 1 and nearly 1 for a tight one: |Y| less its noise is the
    share.
    """
    dimension = views[0].lift.dimension
    points, shares = [np.empty((0, dimension))], [np.empty(0)]
    for view in views:
        if view.halfspaces:
            continue
        noise = float(view.deviations[0]) ** 2
        squares = np.einsum("ij,ij->i", view.vectors, view.vectors)
        size = view.vectors.shape[1]  # D
        clear = squares > noise * chi2.isf(_FALSE_CELL, size)
        share = np.sqrt(np.maximum(squares[clear] - size * noise, noise))
        means = view.vectors[clear, :dimension] / (view.lift.point * share)[:, None]
        wrong = noise / (view.lift.point * share) ** 2
        lengths = np.maximum(np.einsum("ij,ij->i", means, means), 1e-12)
        keep = np.maximum(0.0, 1 - max(dimension - 2, 0) * wrong / lengths)
        points.append(view.frame.shift + view.frame.scale * into_ball(keep[:, None] * means))
        shares.append(share * np.maximum(keep, 1e-3))
    return np.concatenate(points), np.concatenate(shares)


def shrunk_mean(views: Sequence[ViewRows]) -> NDArray[np.float64]:
    """Return the mean of everybody as far as it stands clear of its noise: (d,)."""
    mean, deviation = everybody(views)
    factor = max(0.0, 1 - len(mean) * deviation**2 / max(float(mean @ mean), 1e-12))
    shrunk: NDArray[np.float64] = into_ball((factor * mean)[None])[0]
    return shrunk


def _squares(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return squared lengths: (n, d) -> (n,)."""
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", points, points)
    return squares


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    normal: NDArray[np.float64] = weights / weights.sum()
    return normal
