"""Blobs: k round groups, fitted at once to all halfspace rows of the frame's own ball.

A group of share p around μ with deviation σ in each coordinate adds to the row of the halfspace (g, t)

    p·[φ(z)·w(μ) + φ'(z)/s·σ²·g],     z = (g·μ - t)/s,  s = ω·|g|,  φ(z) = erf(z/√2)

so a row tells two things about a group: where it is (the vector) and on which side of the halfspace it lies
(the sign). Fitting both does better than knowing the partition would; leaving the sign's derivative out
diverges, because errors along the other centers feed back with gain about 1. What is not known about μ blurs
the signs besides σ: ω² = σ² + errors/d.

In turns, until little changes:

- centers and shares minimise chi-square/2 and what is believed beforehand: centers lie around the mean of
  everybody as far as the others do (`apart`, by expectation maximization), shares are 1/k ± 1/k;
- spreads minimise, centers and shares as they are, chi-square/2 + ½·d·Σ log curvature: the centers integrated
  out (Laplace), because chi-square alone prefers too small a spread, sharper signs leaving the centers more
  room to fit noise. All of them grow and shrink together, unless each is asked for by itself.

A start is as wide as the population around it, so that far-off centers see smooth signs first. Factors of
the large products are rounded before (`exact`), so that every processor takes the same steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from coterie.centers.exact import coarse, on_grid
from coterie.centers.least import least
from coterie.centers.population import Cloud
from coterie.centers.solution import LEAST_SHARE, Weighted, into_ball, squared_distances
from coterie.geometry.ball import SCALE
from coterie.protocols.codeword.oracles.rows import ViewRows

_LEAST_REST: Final = 0.02  # of rest²: its slope is unbounded at the surface of the ball
_BETTER: Final = 20.0  # chi-square by which another arrangement must be better
_ROUNDS: Final = 8  # at the most

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Blobs:
    """k round groups of the unit ball."""

    centers: _Array  # (k, d)
    shares: _Array  # (k,), sum 1
    sigma: _Array  # (k,), deviation of a coordinate inside a group
    errors: _Array  # (k,), expected squared distance from the truth, if groups are round
    apart: float  # squared distance of centers from the mean of everybody, as far as the rows tell
    chi: float  # chi-square less the number of numbers

    def drawn(self, rng: np.random.Generator) -> Blobs:
        """Return the groups where they may as well be."""
        wrong = np.sqrt(self.errors / self.centers.shape[1])[:, None] * rng.standard_normal(
            self.centers.shape
        )
        return replace(self, centers=self.centers + wrong, errors=np.zeros_like(self.errors))

    def atoms(
        self, each: int, rng: np.random.Generator, basis: _Array | None = None
    ) -> tuple[_Array, _Array]:
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


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What k groups look like from the hyperplanes."""

    heights: _Array  # z, (M, k)
    signs: _Array  # φ(z), (M, k)
    bells: _Array  # φ'(z), (M, k)
    wide: _Array  # ω, (k,)
    lifted: _Array  # w, (k, D)
    free: NDArray[np.bool_]  # (k,): the last coordinate is no smaller than it may be
    rows: _Array  # (M, D)
    miss: _Array  # (M, D), what they are more than the reports say, rounded
    pull: _Array  # (M, D), by how far each of its directions is to be trusted


@dataclass(frozen=True, slots=True, eq=False)
class _Slopes:
    """Of a loss, by what is fitted."""

    centers: _Array  # (k, d)
    shares: _Array  # (k,)
    sigma: _Array  # (k,)


class BlobFit:
    """Fits blobs to one view of halfspaces, in the coordinates of that view's ball."""

    def __init__(self, view: ViewRows, middle: _Array, supposed: Weighted | None = None) -> None:
        self.view = view
        self.middle = middle  # (d,): before looking, centers lie around the mean of everybody
        self.trust = np.eye(view.vectors.shape[1])  # (D, D), in units of a row's weight; alike everywhere
        if supposed is not None:  # noise is larger along the people
            noise = view.noise_covariance(*supposed, view.predicted(*supposed))
            self.trust = coarse(np.asarray(np.linalg.inv(noise)))
        self.rows = on_grid(view.vectors)
        self.normals = view.geometry.normals[view.kept]
        self.offsets = view.geometry.offsets[view.kept]
        self.lengths = np.maximum(np.linalg.norm(self.normals, axis=1), 1e-6)
        self.weights = 1 / view.deviations**2

    def predicted(self, blobs: Blobs) -> _Array:
        """Return the rows of k groups: (M, D)."""
        return self.seen(blobs.centers, blobs.shares, blobs.sigma, blobs.errors).rows

    def residual(self, blobs: Blobs, points: _Array) -> _Array:
        """Return how much a further small group at each point would explain, in deviations: (n,)."""
        seen, lifted = (
            self.seen(blobs.centers, blobs.shares, blobs.sigma, blobs.errors),
            self.view.lifted(points),
        )
        lacking = self.view.features(points) @ -seen.pull.astype(np.float32)
        scores = np.einsum("nd,nd->n", lacking, lifted)
        noise = float(self.weights.sum()) * np.einsum("ni,ij,nj->n", lifted, self.trust, lifted)
        peaks: _Array = scores / np.sqrt(noise)
        return peaks

    def _pull(self, miss: _Array) -> _Array:
        """Return what rows miss, rounded, by how far each of its directions is to be trusted: (M, D)."""
        return np.asarray(miss @ self.trust * self.weights[:, None])

    def fit(
        self, centers: _Array, shares: _Array, sigma: _Array, *, apart: float = 1.0, own_spreads: bool = False
    ) -> Blobs:
        """Fit from a start: (k, d), (k,), (k,).

        Spreads of their own need centers that are nearly right: a wide one soon swallows its neighbours.
        """
        dimension, last = centers.shape[1], math.inf
        sigma, shares = np.maximum(sigma, 1 / SCALE), np.maximum(shares, LEAST_SHARE)
        shares = shares / shares.sum()
        errors = self._errors(self.seen(centers, shares, sigma, 0 * sigma), shares, dimension / apart)
        for _ in range(_ROUNDS):
            prior = dimension / apart  # precision of a center's coordinate
            centers, shares = self._places(centers, shares, sigma, errors, prior)
            sigma = self._spreads(centers, shares, sigma, errors, prior, own_spreads)
            seen = self.seen(centers, shares, sigma, errors)
            surprise = self._chi(seen) / 2 + self._volume(seen, shares, prior)[0]
            squares = ((centers - self.middle) ** 2).sum(axis=1)
            errors = self._errors(seen, shares, prior)
            apart = float((squares + np.minimum(errors, 1.0)).mean())
            if abs(last - surprise) < 1:
                break
            last = surprise
        shares = on_grid(shares)
        groups = on_grid(into_ball(centers)), shares / shares.sum(), on_grid(sigma), on_grid(errors)
        return Blobs(*groups, apart, self._chi(self.seen(*groups)) - self.rows.size)

    def one_more(self, blobs: Blobs, center: _Array) -> Blobs:
        """Fit with one group more, that starts at a center, (d,)."""
        clusters = len(blobs.shares) + 1
        return self.fit(
            np.vstack([blobs.centers, center]),
            np.append(blobs.shares * (1 - 1 / clusters), 1 / clusters),
            np.append(blobs.sigma, np.median(blobs.sigma)),
            apart=blobs.apart,
        )

    def one_less(self, blobs: Blobs, first: int, second: int) -> Blobs:
        """Fit with one group in place of two, the first of which has the lower number."""
        pair, both = [first, second], float(blobs.shares[[first, second]].sum())
        centers, shares = blobs.centers.copy(), blobs.shares.copy()
        centers[first], shares[first] = blobs.shares[pair] @ blobs.centers[pair] / both, both
        rest = np.delete(np.arange(len(shares)), second)
        return self.fit(centers[rest], shares[rest], blobs.sigma[rest], apart=blobs.apart, own_spreads=True)

    def seen(self, centers: _Array, shares: _Array, sigma: _Array, errors: _Array) -> Seen:
        """Return what k groups, (k, d), (k,), (k,), look like whose squared errors are (k,)."""
        lift, dimension = self.view.lift, centers.shape[1]
        wide = np.sqrt(sigma**2 + errors / dimension)
        heights = self.normals @ on_grid(centers).T - self.offsets[:, None]
        heights /= self.lengths[:, None] * wide
        signs = on_grid(erf(heights / math.sqrt(2)))
        bells = on_grid(math.sqrt(2 / math.pi) * np.exp(-heights * heights / 2))
        squares = np.einsum("ij,ij->i", centers, centers) + dimension * sigma**2
        room = 1 - lift.count**2 - lift.point**2 * squares
        rest = np.sqrt(np.maximum(room, _LEAST_REST))
        lifted = np.column_stack([lift.point * centers, np.full(len(centers), lift.count), rest])
        lifted = on_grid(lifted)
        rows = on_grid(signs * shares) @ lifted
        bulges = bells @ coarse(shares * sigma**2 / wide) / self.lengths  # (M,)
        rows[:, :dimension] += lift.point * bulges[:, None] * self.normals
        miss = coarse(rows - self.rows)
        return Seen(heights, signs, bells, wide, lifted, room > _LEAST_REST, rows, miss, self._pull(miss))

    def _chi(self, seen: Seen) -> float:
        return float(np.einsum("ij,ij->", seen.miss, seen.pull))

    def _curvature(self, seen: Seen, shares: _Array, prior: float) -> _Array:
        """Return the mean diagonal element of each center's block of the normal equations: (k,)."""
        sides = self.view.lift.point**2 * (self.weights @ seen.signs**2)
        slopes = self.weights @ seen.bells**2 / (seen.wide**2 * self.normals.shape[1])
        curvature: _Array = shares**2 * (sides + slopes) + prior
        return curvature

    def _errors(self, seen: Seen, shares: _Array, prior: float) -> _Array:
        """Return about how far centers are from the truth, squared: (k,).

        Signs are taken to tell as much again as vectors do. They tell more the sharper they are; but if that
        counted, a group at one place would grow sharper still, until it fits noise and the gain's bias.
        """
        told = self.view.lift.point**2 * (self.weights @ seen.signs**2)
        return np.asarray(self.normals.shape[1] / (2 * shares**2 * told + prior))

    def _slopes(self, seen: Seen, shares: _Array, sigma: _Array, volume: _Array | None = None) -> _Slopes:
        """Return how chi-square/2 falls with centers, shares and spreads.

        `volume` is how much it counts that signs and bells change the curvature, (k,).
        """
        point, dimension = self.view.lift.point, self.normals.shape[1]
        miss = coarse(seen.pull)
        lifted, bulge = seen.lifted, sigma**2 / seen.wide
        told = on_grid(seen.signs * shares).T @ miss  # by the lifted centers, (k, D)
        along = coarse(miss @ lifted.T)  # (M, k)
        across = point * np.einsum("ij,ij->i", miss[:, :dimension], self.normals) / self.lengths  # (M,)
        bells = coarse(across) @ seen.bells  # (k,)
        by_sign, by_bell = shares * along, np.outer(across, shares * bulge)
        if volume is not None:
            by_sign += volume * point**2 * self.weights[:, None] * seen.signs
            by_bell += volume / (seen.wide**2 * dimension) * self.weights[:, None] * seen.bells
        by_height = seen.bells * (by_sign - by_bell * seen.heights)
        rest = told[:, -1] * seen.free * point**2 / lifted[:, -1]
        by_wide = -np.einsum("mk,mk->k", by_height, seen.heights) / seen.wide
        by_wide -= shares * bells * bulge / seen.wide
        if volume is not None:
            by_wide -= volume * (self.weights @ seen.bells**2) / (dimension * seen.wide**3)
        return _Slopes(
            coarse(by_height / (self.lengths[:, None] * seen.wide)).T @ self.normals
            + point * told[:, :dimension]
            - rest[:, None] * lifted[:, :dimension] / point,
            np.einsum("mk,mk->k", seen.signs, along) + bells * bulge,
            2 * shares * bells * sigma / seen.wide + by_wide * sigma / seen.wide - rest * dimension * sigma,
        )

    def _places(
        self, centers: _Array, shares: _Array, sigma: _Array, errors: _Array, prior: float
    ) -> tuple[_Array, _Array]:
        """Return likelier centers and shares, in steps of about what is not known of them."""
        clusters, dimension = centers.shape
        first = self.seen(centers, shares, sigma, errors)
        scale = np.sqrt(self._curvature(first, shares, prior))[:, None]
        told = shares * np.sqrt(self.weights @ first.signs**2 + 1)
        logits = np.log(shares)

        def at(place: _Array) -> tuple[_Array, _Array]:
            moved = logits + place[-clusters:] / told
            tried = np.exp(moved - moved.max())
            return centers + place[:-clusters].reshape(clusters, dimension) / scale, tried / tried.sum()

        def loss(place: _Array) -> tuple[float, _Array]:
            tried, theirs = at(place)
            seen = self.seen(tried, theirs, sigma, errors)
            slopes, away = self._slopes(seen, theirs, sigma), tried - self.middle
            uneven = clusters * theirs - 1
            value = (self._chi(seen) + prior * float((away**2).sum()) + float((uneven**2).sum())) / 2
            by_share = slopes.shares + clusters * uneven
            by_logit = theirs * (by_share - float(theirs @ by_share))
            return value, np.concatenate([((slopes.centers + prior * away) / scale).ravel(), by_logit / told])

        centers, shares = at(least(loss, np.zeros(centers.size + clusters)))
        shares = np.maximum(shares, LEAST_SHARE)
        return centers, shares / shares.sum()

    def _volume(self, seen: Seen, shares: _Array, prior: float) -> tuple[float, _Array]:
        """Return ½·d·Σ log curvature, and how much squares of signs and bells count in it: (k,)."""
        curvature = self._curvature(seen, shares, prior)
        dimension = self.normals.shape[1]
        return dimension / 2 * float(np.log(curvature).sum()), dimension * shares**2 / curvature

    def _spreads(
        self, centers: _Array, shares: _Array, sigma: _Array, errors: _Array, prior: float, own: bool
    ) -> _Array:
        """Return likelier spreads, (k,): all of them wider or narrower, or each for itself."""
        first, point = self.seen(centers, shares, sigma, errors), self.view.lift.point
        dimension = centers.shape[1]
        by_side = (sigma / first.wide) ** 4 * (self.weights @ (first.heights * first.bells) ** 2)
        by_rest = (point**2 * dimension * sigma**2 / first.lifted[:, -1]) ** 2 * (
            self.weights @ first.signs**2
        )
        scale = shares * np.sqrt(by_side + by_rest + 1)
        if not own:
            scale = np.full(1, np.linalg.norm(scale))

        def at(place: _Array) -> _Array:
            wider: _Array = np.exp(np.clip(np.log(sigma) + place / scale, math.log(1 / SCALE), 0.0))
            return wider

        def loss(place: _Array) -> tuple[float, _Array]:
            tried = at(place)
            seen = self.seen(centers, shares, tried, errors)
            volume, counts = self._volume(seen, shares, prior)
            slope = self._slopes(seen, shares, tried, counts).sigma * tried
            return self._chi(seen) / 2 + volume, (slope if own else slope.sum(keepdims=True)) / scale

        return at(least(loss, np.zeros(len(scale))))


def search(fit: BlobFit, population: Cloud, centers: _Array, shares: _Array, tries: int = 8) -> Blobs:
    """Fit from a start, then move the least useful center to where the rows are explained worst.

    A center that shares its group with another, or has few people, is tried there; the move stays if
    chi-square falls by `_BETTER`. At the end each group has a spread of its own, if it falls as much by that.
    """
    spread = float(population.weights @ squared_distances(population.atoms, centers).min(axis=1))
    best = fit.fit(centers, shares, np.full(len(centers), math.sqrt(spread / centers.shape[1])))
    failed: list[int] = []
    while len(failed) < min(3, len(best.shares)) and tries and len(best.shares) > 1:
        tries -= 1
        moved = _least_useful(best, failed)
        centers = best.centers.copy()
        centers[moved] = population.inner[fit.residual(best, population.inner).argmax()]
        shares = np.maximum(best.shares, 0.3 / len(centers))
        other = fit.fit(centers, shares / shares.sum(), best.sigma, apart=best.apart)
        if other.chi < best.chi - _BETTER:
            best, failed = other, []
        else:
            failed.append(moved)
    own = fit.fit(best.centers, best.shares, best.sigma, apart=best.apart, own_spreads=True)
    return own if own.chi < best.chi - _BETTER else best


def _least_useful(blobs: Blobs, besides: list[int]) -> int:
    """Return the center whose loss would cost least: little share, or near another."""
    apart = squared_distances(blobs.centers, blobs.centers)
    np.fill_diagonal(apart, np.inf)
    use = blobs.shares * np.minimum(apart.min(axis=1), 1.0)
    use[besides] = np.inf
    return int(use.argmin())
