"""Blobs: k round groups, fitted to all halfspace rows at once.

A group of share p around μ with deviation σ in each coordinate adds to the row of the halfspace (g, t)

    p·[φ(z)·w(μ) + φ'(z)·σ²·g],     z = (g·μ - t)/s,  s = σ·|g|,  φ(z) = erf(z/√2)

so a row tells two things about a group: where it is (the vector) and on which side of the halfspace it lies
(the sign). Gauss-Newton with both parts in the Jacobian uses all of it, and does better than knowing the
partition would: leaving the sign's derivative out diverges, because errors along the other centers feed back
with gain about 1. What is not known yet about μ widens s, so that far-off starts see smooth signs first; the
inverse of the same matrix says how much that is, and at the end how wrong the centers are.

The steps are solved by conjugate gradients. What k groups predict has rank 2k over rows and coordinates, so a
product with the matrix needs two products of the normals, O(rows·k·d), and no array of all rows and
coordinates; likewise chi-square for another spread (`centers/spreads.py`). Traces of the inverse come from
random signs v, E[v·M⁻¹v] = trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import erf

from coterie.centers.population import Cloud
from coterie.centers.solution import into_ball
from coterie.centers.spreads import Spreads
from coterie.protocols.codeword.oracles.rows import ViewRows

_STEP: Final = 0.7  # of a Gauss-Newton step
_CALMER: Final = 0.75  # how fast the assumed uncertainty falls, a round
_SIGMA_FACTORS: Final = (0.8, 0.9, 1.1, 1.25)  # tried each round
_SIGMA_FROM: Final = 6  # rounds before the spread is fitted
_OWN_SIGMA_FROM: Final = 2  # the same where each group has its own
_START_SIGMA: Final = 0.09  # σ·√d
_LEAST_REST: Final = 0.02  # of rest²: its slope is unbounded at the surface of the ball
_LEAST_SHARE: Final = 1e-3
_BETTER: Final = 20.0  # chi-square by which another arrangement must be better
_ROUNDS: Final = 10  # from a start that is nearly right, or holds all groups but one
_MOVED_UNSURE: Final = 0.35
_POLISHED: Final = 8  # times at the most
_TOLERANCE: Final = 1e-2
_OF_DOUBT: Final = 0.73  # of the squared doubt about a coordinate ends up in the fitted spread: measured
_MOST_STEPS: Final = 40  # of conjugate gradients
_BITS: Final = 22  # of a product in them: last bits, in which processors differ, would grow step by step
_DECIMALS: Final = 6  # of a round's results, likewise

_Apply = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class Blobs:
    """k round groups of the unit ball."""

    centers: NDArray[np.float64]  # (k, d)
    shares: NDArray[np.float64]  # (k,), sum 1
    sigma: NDArray[np.float64]  # (k,), deviation of a coordinate inside a group
    errors: NDArray[np.float64]  # (k,), expected squared distance from the truth, if groups are round
    unsure: NDArray[np.float64]  # (k,), what the rounds assumed of a coordinate
    apart: float  # squared distance of centers from the mean of everybody, as far as the rows tell
    chi: float  # chi-square less the number of numbers

    def spread_without_doubt(self) -> NDArray[np.float64]:
        """Return the groups' spread less what is not known of their centers: (k,)."""
        squares = self.sigma**2
        spread: NDArray[np.float64] = np.sqrt(
            np.maximum(squares - _OF_DOUBT * self.unsure**2, 0.01 * squares)
        )
        return spread

    def atoms(
        self, each: int, rng: np.random.Generator, basis: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw `each` points of every group, (k·each, d), with weights.

        They scatter as the group does and as its center may be wrong: what a fresh person is expected to be.
        With a basis, (d, r), they scatter in that subspace only.
        """
        clusters, dimension = self.centers.shape
        scatter = rng.standard_normal((clusters * each, dimension))
        if basis is not None:
            scatter = scatter @ basis @ basis.T
        wide = np.sqrt(self.sigma**2 + self.errors / dimension)
        points = into_ball(np.repeat(self.centers, each, axis=0) + np.repeat(wide, each)[:, None] * scatter)
        return points, np.repeat(self.shares / each, each)


class BlobFit:
    """Fits blobs to one view of halfspaces, in the coordinates of that view's ball."""

    def __init__(self, view: ViewRows, middle: NDArray[np.float64]) -> None:
        self.view = view
        self.middle = middle  # (d,): before looking, centers lie around the mean of everybody
        self.rows = view.vectors
        self.normals = view.geometry.normals[view.kept]
        self.offsets = view.geometry.offsets[view.kept]
        self.lengths = np.maximum(np.einsum("ij,ij->i", self.normals, self.normals), 1e-12)
        self.weights = 1 / view.deviations**2
        self.squares = np.einsum("ij,ij->i", self.rows, self.rows)
        self.along = np.einsum("ij,ij->i", self.rows[:, : len(middle)], self.normals)

    def predicted(
        self,
        centers: NDArray[np.float64],
        shares: NDArray[np.float64],
        sigma: NDArray[np.float64],
        unsure: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows of k groups, (M, D), their signs and slopes, (M, k), and lifted centers, (k, D)."""
        signs, slopes = self.sides(self.normals @ centers.T, sigma, unsure)
        lifted, point = self.lifted(centers, sigma), self.view.lift.point
        rows = (signs * shares) @ lifted
        rows[:, : centers.shape[1]] += point * (slopes @ (shares * sigma**2))[:, None] * self.normals
        return rows, signs, slopes, lifted

    def sides(
        self, heights: NDArray[np.float64], sigma: NDArray[np.float64], unsure: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the signs and slopes of groups at these heights over the hyperplanes, (M, k) each."""
        wide = np.sqrt(self.lengths[:, None] * np.maximum(sigma**2, unsure**2))
        z = (heights - self.offsets[:, None]) / wide
        return erf(z / math.sqrt(2)), math.sqrt(2 / math.pi) * np.exp(-z * z / 2) / wide

    def lifted(self, centers: NDArray[np.float64], sigma: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what people of each group are on average, lifted: (k, d), (k,) -> (k, D)."""
        lift = self.view.lift
        squares = np.einsum("ij,ij->i", centers, centers) + lift.dimension * sigma**2
        rest = np.sqrt(np.maximum(1 - lift.count**2 - lift.point**2 * squares, _LEAST_REST))
        return np.column_stack([lift.point * centers, np.full(len(centers), lift.count), rest])

    def fit(
        self,
        centers: NDArray[np.float64],
        shares: NDArray[np.float64],
        *,
        rounds: int = 14,
        unsure: float = 0.7,
        sigma: NDArray[np.float64] | None = None,
        apart: float | None = None,
        probes: int = 3,
        own_spreads: bool = False,
    ) -> Blobs:
        """Fit from a start whose centers may be off by about `unsure`.

        Centers are drawn to the mean of everybody, the more so the less the rows tell of them and the nearer
        the others lie to it: after every round the squared distance that is expected beforehand, `apart`, is
        that of the centers as they are then believed to be (expectation maximization).

        Spreads grow and shrink together unless `own_spreads` says that each group's is fitted by itself,
        which needs centers that are nearly right: a wide one soon swallows its neighbours.
        """
        clusters, dimension = centers.shape
        signs_of_probes = np.sign(
            np.random.default_rng(clusters).standard_normal((probes, clusters, dimension))
        )
        start = np.full(clusters, _START_SIGMA / math.sqrt(dimension))
        spread = start if sigma is None else sigma
        doubt = np.full(clusters, unsure / math.sqrt(dimension))
        errors = np.full(clusters, unsure**2)
        apart = 1.0 if apart is None else apart
        for turn in range(rounds):
            step, errors, signs, lifted = self._step(centers, shares, spread, doubt, signs_of_probes, apart)
            centers = np.round(into_ball(centers + _STEP * step), _DECIMALS)
            errors = np.round(errors, _DECIMALS)
            apart = self._apart(centers, errors)
            shares = np.round(self._shares(signs, lifted), _DECIMALS)
            shares /= shares.sum()
            doubt = np.maximum(np.sqrt(errors / dimension), _CALMER * doubt)
            if turn >= (_OWN_SIGMA_FROM if own_spreads else _SIGMA_FROM):
                spread = np.maximum(self._spread(centers, shares, spread, apart, own_spreads), 0.25 * doubt)
        chi = self.chi(centers, shares, spread, doubt) - self.rows.size
        return Blobs(centers, shares, spread, errors, doubt, apart, chi)

    def polish(self, blobs: Blobs, start: NDArray[np.float64], probes: int = 1) -> Blobs:
        """Fit once more from centers that are nearly right, (k, d)."""
        return self.fit(
            start,
            blobs.shares,
            rounds=_ROUNDS,
            unsure=0.15,
            sigma=blobs.sigma,
            apart=blobs.apart,
            probes=probes,
            own_spreads=True,
        )

    def one_more(self, blobs: Blobs, center: NDArray[np.float64]) -> Blobs:
        """Fit with one group more, that starts at a center, (d,)."""
        clusters = len(blobs.shares) + 1
        return self.fit(
            np.vstack([blobs.centers, center]),
            np.append(blobs.shares * (1 - 1 / clusters), 1 / clusters),
            rounds=_ROUNDS,
            unsure=_MOVED_UNSURE,
            sigma=np.append(blobs.sigma, np.median(blobs.sigma)),
            apart=blobs.apart,
            probes=1,
        )

    def one_less(self, blobs: Blobs, first: int, second: int) -> Blobs:
        """Fit with one group in place of two, the first of which has the lower number."""
        pair, both = [first, second], float(blobs.shares[[first, second]].sum())
        centers, shares = blobs.centers.copy(), blobs.shares.copy()
        centers[first], shares[first] = blobs.shares[pair] @ blobs.centers[pair] / both, both
        rest = np.delete(np.arange(len(shares)), second)
        fewer = replace(blobs, centers=centers[rest], shares=shares[rest], sigma=blobs.sigma[rest])
        return self.polish(fewer, fewer.centers)

    def chi(
        self,
        centers: NDArray[np.float64],
        shares: NDArray[np.float64],
        sigma: NDArray[np.float64],
        unsure: NDArray[np.float64],
    ) -> float:
        """Return chi-square of the rows."""
        miss = self.rows - self.predicted(centers, shares, sigma, unsure)[0]
        return float(np.einsum("ij,ij,i->", miss, miss, self.weights))

    def _apart(self, centers: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
        squares = ((centers - self.middle) ** 2).sum(axis=1) + np.minimum(errors, 1.0)
        return float(squares.mean())

    def _spread(
        self,
        centers: NDArray[np.float64],
        shares: NDArray[np.float64],
        sigma: NDArray[np.float64],
        apart: float,
        own: bool,
    ) -> NDArray[np.float64]:
        """Return likelier spreads, (k,): all of them wider or narrower and then, if asked, each."""
        spreads = Spreads(self, centers, shares, sigma, apart)
        best, tried = spreads.surprise, sigma
        for factor in _SIGMA_FACTORS:
            spreads.set_all(factor * sigma)
            if spreads.surprise < best:
                best, tried = spreads.surprise, factor * sigma
        if not own:
            return tried
        spreads.set_all(tried)
        for group in range(len(shares)):
            others = [factor * float(spreads.sigma[group]) for factor in _SIGMA_FACTORS]
            surprise, likelier = min((spreads.with_one(group, other), other) for other in others)
            if surprise < spreads.surprise:
                spreads.set_one(group, likelier)
        return spreads.sigma

    def curvature(
        self,
        shares: NDArray[np.float64],
        signs: NDArray[np.float64],
        slopes: NDArray[np.float64],
        apart: float,
    ) -> NDArray[np.float64]:
        """Return the mean diagonal element of each center's block of the matrix: (k,)."""
        dimension = self.normals.shape[1]
        strength = self.view.lift.point**2 * (self.weights @ signs**2)
        strength += (self.weights * self.lengths) @ slopes**2 / dimension
        curvature: NDArray[np.float64] = shares**2 * strength + dimension / apart
        return curvature

    def residual(self, blobs: Blobs, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much a further small group at each point would explain, in deviations: (n,)."""
        rows = self.predicted(blobs.centers, blobs.shares, blobs.sigma, blobs.unsure)[0]
        miss = ((self.rows - rows) * self.weights[:, None]).astype(np.float32)
        scores = np.einsum("nd,nd->n", self.view.features(points) @ miss, self.view.lifted(points))
        peaks: NDArray[np.float64] = scores / math.sqrt(float(self.weights.sum()))
        return peaks

    def _step(
        self,
        centers: NDArray[np.float64],
        shares: NDArray[np.float64],
        sigma: NDArray[np.float64],
        unsure: NDArray[np.float64],
        probes: NDArray[np.float64],
        apart: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return a Gauss-Newton step, (k, d), and the traces of the inverse matrix's blocks, (k,)."""
        point, dimension = self.view.lift.point, centers.shape[1]
        rows, signs, slopes, lifted = self.predicted(centers, shares, sigma, unsure)
        miss = (self.rows - rows) * self.weights[:, None]
        sides, turns = signs * shares, slopes * shares
        falling = -(point**2) * centers / lifted[:, -1:]  # slope of the last coordinate
        prior: float = dimension / apart  # precision of a coordinate

        gram, between = lifted @ lifted.T, (sides.T * self.weights) @ sides  # (k, k) each

        def backward(sums: NDArray[np.float64], along: NDArray[np.float64]) -> NDArray[np.float64]:
            """Return what rows tell of the centers: (c, k, D) by sides, (M, c, k) by slopes -> (c, k, d)."""
            turned = np.matmul((turns[:, None] * along).reshape(len(turns), -1).T, self.normals)
            result: NDArray[np.float64] = (
                point * sums[:, :, :dimension]
                + falling * sums[:, :, -1:]
                + turned.reshape(len(sums), -1, dimension)
            )
            return result

        def matrix(moves: NDArray[np.float64]) -> NDArray[np.float64]:  # (c, k, d) -> (c, k, d)
            count, clusters = moves.shape[:2]
            last = np.einsum("ckd,kd->ck", moves, falling)[:, :, None]
            moved = np.concatenate([point * moves, np.zeros_like(last), last], axis=2)  # (c, k, D)
            heights = (self.normals @ moves.reshape(-1, dimension).T).reshape(-1, count, clusters)
            turned = turns[:, None] * heights  # (M, c, k)
            weighted = (turned * self.weights[:, None, None]).reshape(len(turns), -1)
            mixed = (sides.T @ weighted).reshape(clusters, count, clusters).transpose(1, 0, 2)
            sums = np.matmul(between, moved) + np.matmul(mixed, lifted)
            along = np.tensordot(sides, np.matmul(moved, lifted.T), axes=(1, 1)) + turned @ gram
            return backward(sums, along * self.weights[:, None, None]) + prior * moves

        scale = 1 / self.curvature(shares, signs, slopes, apart)
        told = backward((sides.T @ miss)[None], (miss @ lifted.T)[:, None])
        right = np.concatenate([told - prior * (centers - self.middle), probes])
        solved = _conjugate_gradients(matrix, right, scale[:, None])
        errors = np.maximum(np.einsum("ckd,ckd->k", probes, solved[1:]) / len(probes), 1e-9)
        return solved[0], errors, signs, lifted

    def _shares(self, signs: NDArray[np.float64], lifted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return non-negative shares of sum 1 that explain the rows best, each 1/k ± 1/k beforehand: (k,)."""
        clusters = len(lifted)
        gram = (signs.T * self.weights) @ signs * (lifted @ lifted.T) + clusters**2 * np.eye(clusters)
        right = np.einsum("mk,kd,md->k", signs * self.weights[:, None], lifted, self.rows) + clusters
        together = 1e4 * float(np.diag(gram).max())  # holds the sum at 1
        root = np.linalg.cholesky(gram + together)
        found = np.maximum(nnls(root.T, np.linalg.solve(root, right + together))[0], _LEAST_SHARE)
        shares: NDArray[np.float64] = found / found.sum()
        return shares


def search(
    fit: BlobFit,
    population: Cloud,
    centers: NDArray[np.float64],
    shares: NDArray[np.float64],
    tries: int = 8,
) -> Blobs:
    """Fit from a start, then move the least useful center to where the rows are explained worst.

    A center that shares its group with another, or has few people, is tried there; the move stays if
    chi-square falls.
    """
    best = fit.fit(centers, shares)
    failed: list[int] = []
    while len(failed) < min(3, len(best.shares)) and tries and len(best.shares) > 1:
        tries -= 1
        moved = _least_useful(best, failed)
        centers = best.centers.copy()
        centers[moved] = population.inner[fit.residual(best, population.inner).argmax()]
        shares = np.maximum(best.shares, 0.3 / len(centers))
        other = fit.fit(
            centers,
            shares / shares.sum(),
            rounds=_ROUNDS,
            unsure=_MOVED_UNSURE,
            sigma=best.sigma,
            apart=best.apart,
        )
        if other.chi < best.chi - _BETTER:
            best, failed = other, []
        else:
            failed.append(moved)
    for _ in range(_POLISHED):
        final = fit.polish(best, best.centers, probes=12)
        settled = final.chi >= best.chi - _BETTER
        best = final if final.chi < best.chi + _BETTER else best
        if settled:
            break
    return best


def _least_useful(blobs: Blobs, besides: list[int]) -> int:
    """Return the center whose loss would cost least: little share, or near another."""
    apart = ((blobs.centers[:, None] - blobs.centers[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    use = blobs.shares * np.minimum(apart.min(axis=1), 1.0)
    use[besides] = np.inf
    return int(use.argmin())


def _coarse(values: NDArray[np.float64], axes: tuple[int, ...]) -> NDArray[np.float64]:
    """Return values rounded to `_BITS` of the largest along some axes."""
    unit = np.exp2(np.frexp(np.abs(values).max(axis=axes, keepdims=True))[1] - _BITS)
    coarse: NDArray[np.float64] = np.rint(values / unit) * unit
    return coarse


def _conjugate_gradients(
    matrix: _Apply, right: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve matrix(x) = right for every first index of `right`, preconditioned by a positive diagonal."""
    axes = tuple(range(1, right.ndim))
    left = _coarse(right, axes)
    solved = np.zeros_like(left)
    eased = left * scale
    direction = eased.copy()
    size = (left * eased).sum(axis=axes, keepdims=True)
    enough = _TOLERANCE**2 * size
    for _ in range(_MOST_STEPS):
        image = _coarse(matrix(direction), axes)
        along = size / np.maximum((direction * image).sum(axis=axes, keepdims=True), 1e-300)
        solved += along * direction
        left -= along * image
        eased = left * scale
        new = (left * eased).sum(axis=axes, keepdims=True)
        if (new <= enough).all():
            break
        direction = eased + new / np.maximum(size, 1e-300) * direction
        size = new
    return solved
