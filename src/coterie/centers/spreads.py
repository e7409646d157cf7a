"""The surprise of spreads: -2 times the logarithm of their likelihood, the centers integrated out (Laplace).

Chi-square alone prefers too small a spread: sharper signs leave the centers more room to fit noise. So the
logarithm of the matrix's determinant is added, by its mean diagonal element for each center.

What k groups predict has rank 2k, so chi-square needs no array of all rows and coordinates: with the sides
s_k = p_k·φ(z_k), the bulge β = a·Σ p_k·σ_k²·φ'(z_k) along the normal g, and lifted centers w_k,

    |Y - Σ s_k·w_k - β·g|² = |Y|² + Σ_kl s_k·s_l·⟨w_k,w_l⟩ - 2·Σ s_k·⟨Y,w_k⟩
                             + β²·|g|² - 2·β·⟨Y,g⟩ + 2·β·a·Σ s_k·⟨g,μ_k⟩

Of one group alone another spread changes one column of s, one term of β and one coordinate of w, the last:
trying it takes O(rows), taking it O(rows·k), where all of them together take O(rows·k²).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from coterie.centers.blobs import BlobFit

_Column = NDArray[np.float64]  # (M,)


class Spreads:
    """Spreads of k groups whose centers and shares are given, and how surprising they are.

    Parameters
    ----------
    fit : BlobFit
        The rows.
    centers, shares, sigma : ndarray, shapes (k, d), (k,) and (k,)
        The groups.
    apart : float
        Squared distance of centers from the mean of everybody, expected beforehand.
    """

    def __init__(
        self,
        fit: BlobFit,
        centers: NDArray[np.float64],
        shares: NDArray[np.float64],
        sigma: NDArray[np.float64],
        apart: float,
    ) -> None:
        self._fit, self._centers, self._shares, self._apart = fit, centers, shares, apart
        self._heights = fit.normals @ centers.T  # (M, k)
        self._told = fit.view.lift.point * (fit.rows[:, : centers.shape[1]] @ centers.T)  # (M, k)
        self.set_all(sigma)

    def set_all(self, sigma: NDArray[np.float64]) -> None:
        """Take other spreads, (k,)."""
        fit, shares, dimension = self._fit, self._shares, self._centers.shape[1]
        self.sigma = sigma
        signs, slopes = fit.sides(self._heights, sigma, np.zeros(len(sigma)))
        lifted = fit.lifted(self._centers, sigma)
        self._rest = lifted[:, -1].copy()  # (k,)
        self._gram = lifted @ lifted.T  # (k, k)
        self._seen = self._told + fit.rows[:, dimension:] @ lifted[:, dimension:].T  # ⟨Y,w⟩, (M, k)
        self._sides = signs * shares  # s, (M, k)
        self._mixed = self._sides @ self._gram  # (M, k)
        self._bulges = fit.view.lift.point * slopes * (shares * sigma**2)  # (M, k)
        self._bulge = self._bulges.sum(axis=1)  # β, (M,)
        self._product = np.einsum("mk,mk->m", self._sides, self._mixed)
        self._seen_product = np.einsum("mk,mk->m", self._sides, self._seen)
        self._height = np.einsum("mk,mk->m", self._sides, self._heights)
        self._rests = self._sides @ self._rest  # (M,)
        self._curvature = fit.curvature(shares, signs, slopes, self._apart)  # (k,)
        self.surprise = self._total(
            self._bulge, self._product, self._seen_product, self._height, float(np.log(self._curvature).sum())
        )

    def with_one(self, group: int, sigma: float) -> float:
        """Return the surprise if one group had another spread."""
        return self._changed(group, sigma)[0]

    def set_one(self, group: int, sigma: float) -> None:
        """Take another spread of one group."""
        surprise, side, bulge, rest, cross, curvature = self._changed(group, sigma)
        before, step = self._sides[:, group].copy(), rest - self._rest[group]
        row = self._gram[group].copy()
        self._gram[group] += step * self._rest
        self._gram[:, group] = self._gram[group]
        self._gram[group, group] = row[group] + rest**2 - self._rest[group] ** 2
        self._mixed += np.outer(side, self._gram[group]) - np.outer(before, row)
        self._mixed[:, group] = cross + side * self._gram[group, group]
        self._rest[group] = rest
        self._seen[:, group] += step * self._fit.rows[:, -1]
        self._sides[:, group] = side
        self._bulge += bulge - self._bulges[:, group]
        self._bulges[:, group] = bulge
        self._product = np.einsum("mk,mk->m", self._sides, self._mixed)
        self._seen_product = np.einsum("mk,mk->m", self._sides, self._seen)
        self._height += (side - before) * self._heights[:, group]
        self._rests = self._sides @ self._rest
        self._curvature[group] = curvature
        self.sigma = self.sigma.copy()
        self.sigma[group] = sigma
        self.surprise = surprise

    def _changed(self, group: int, sigma: float) -> tuple[float, _Column, _Column, float, _Column, float]:
        """Return the surprise with another spread of one group, and that group's part in it.

        Its side, bulge, last coordinate, product with all other groups, and curvature.
        """
        fit, one = self._fit, slice(group, group + 1)
        spread, share = np.array([sigma]), float(self._shares[group])
        signs, slopes = fit.sides(self._heights[:, one], spread, np.zeros(1))
        rest = float(fit.lifted(self._centers[one], spread)[0, -1])
        side, before = share * signs[:, 0], self._sides[:, group]
        own, step = self._gram[group, group], rest - self._rest[group]
        own_after = own + rest**2 - self._rest[group] ** 2
        cross = self._mixed[:, group] - before * own + step * (self._rests - before * self._rest[group])
        product = self._product - before * (2 * self._mixed[:, group] - before * own)
        product += side * (2 * cross + side * own_after)
        seen = self._seen_product - before * self._seen[:, group]
        seen += side * (self._seen[:, group] + step * fit.rows[:, -1])
        bulge = fit.view.lift.point * share * sigma**2 * slopes[:, 0]
        curvature = float(fit.curvature(self._shares[one], signs, slopes, self._apart)[0])
        volume = float(np.log(self._curvature).sum()) + math.log(curvature / self._curvature[group])
        height = self._height + (side - before) * self._heights[:, group]
        surprise = self._total(self._bulge + bulge - self._bulges[:, group], product, seen, height, volume)
        return surprise, side, bulge, rest, cross, curvature

    def _total(
        self, bulge: _Column, product: _Column, seen: _Column, height: _Column, volume: float
    ) -> float:
        fit = self._fit
        squares = fit.squares + product - 2 * seen
        squares += bulge * (bulge * fit.lengths - 2 * fit.along + 2 * fit.view.lift.point * height)
        found: float = float(fit.weights @ squares) + self._centers.shape[1] * volume
        return found
