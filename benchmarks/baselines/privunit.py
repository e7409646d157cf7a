"""PrivUnit (Bhowmick et al. 2018) with the best parameters (Asi, Feldman and Talwar 2022), for comparison.

For a unit vector x: with probability p draw V uniform on the cap {v : ⟨v,x⟩ ≥ t}, else on the rest of the
sphere, and send V/m. With q the share of the sphere that the cap takes and

    p = e^ε·q / (1 - q + e^ε·q)        m = E⟨V,x⟩ = e(t)·(p/q - (1-p)/(1-q)),   e(t) = E[⟨U,x⟩; ⟨U,x⟩ ≥ t]

it is ε-private and unbiased, and ‖V/m‖² = 1/m²: the one number to maximize is m, over t alone. t = 0 is
Duchi, Jordan and Wainwright. e(t) = Γ(D/2)/(2√π·Γ((D+1)/2))·(1-t²)^((D-1)/2).

A vector of floats cannot be exactly private, so no client sends one: the sampler takes an explicit simulation
generator. `coterie.randomizers.codeword` is PrivUnit by exact enumeration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betainc, betaincinv

from coterie.errors import PlanError


@dataclass(frozen=True, slots=True)
class PrivUnit:
    """PrivUnit in D dimensions.

    Examples
    --------
    >>> best = PrivUnit.best(dimension=100, epsilon=1.0)
    >>> round(best.squared_norm - 1)  # E‖z - x‖²; Duchi, Jordan and Wainwright's is 731
    629
    """

    dimension: int  # D
    cap: float  # q, the share of the sphere in the cap
    keep: float  # p, the probability of the cap

    def __post_init__(self) -> None:
        if self.dimension < 2:
            raise PlanError(f"PrivUnit needs at least 2 dimensions, got {self.dimension}")
        if not (0 < self.cap < 1 and 0 < self.keep < 1):
            raise PlanError("PrivUnit's cap and keep are probabilities strictly between 0 and 1")

    @classmethod
    def with_cap(cls, dimension: int, epsilon: float, cap: float) -> PrivUnit:
        """Return the ε-private one with a cap of this share of the sphere."""
        odds = math.exp(epsilon)
        return cls(dimension, cap, odds * cap / (1 - cap + odds * cap))

    @classmethod
    def best(cls, dimension: int, epsilon: float) -> PrivUnit:
        """Return the ε-private one of smallest variance."""
        found = minimize_scalar(
            lambda log_cap: -cls.with_cap(dimension, epsilon, math.exp(log_cap)).gain,
            bounds=(-2 * epsilon - 12, math.log(0.5)),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return cls.with_cap(dimension, epsilon, math.exp(found.x))

    @property
    def threshold(self) -> float:
        """The smallest ⟨v,x⟩ of the cap (t)."""
        # For q ≤ 1/2: q = ½·I_(1-t²)((D-1)/2, ½).
        low = min(self.cap, 1 - self.cap)
        height = math.sqrt(max(0.0, 1 - float(betaincinv((self.dimension - 1) / 2, 0.5, 2 * low))))
        return height if self.cap <= 0.5 else -height

    @property
    def gain(self) -> float:
        """How far V leans towards x on average (m)."""
        d = self.dimension
        cap_mass = math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / (2 * math.sqrt(math.pi))
        cap_mass *= math.pow(1 - self.threshold**2, (d - 1) / 2)
        return cap_mass * (self.keep / self.cap - (1 - self.keep) / (1 - self.cap))

    @property
    def squared_norm(self) -> float:
        """‖z‖² of every answer; E‖z-x‖² is one less."""
        return self.gain**-2

    @property
    def epsilon(self) -> float:
        """What it spends: ln of the largest ratio of densities."""
        return math.log(self.keep * (1 - self.cap) / ((1 - self.keep) * self.cap))

    def simulate(self, vectors: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
        """Draw answers for unit vectors, (n, D) -> (n, D). For simulation: floats are not exactly private."""
        people, d = vectors.shape
        inside = generator.random(people) < self.keep
        # The share of the sphere above the drawn height is uniform on [0, q] inside, on [q, 1] outside.
        above = np.where(
            inside,
            generator.uniform(0, self.cap, people),
            generator.uniform(self.cap, 1, people),
        )
        folded = np.minimum(above, 1 - above)
        heights = np.sqrt(np.clip(1 - betaincinv((d - 1) / 2, 0.5, 2 * folded), 0, 1))
        heights = np.where(above <= 0.5, heights, -heights)
        across = generator.standard_normal((people, d))
        across -= np.einsum("ij,ij->i", across, vectors)[:, None] * vectors
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        drawn = heights[:, None] * vectors + np.sqrt(1 - heights**2)[:, None] * across
        return np.asarray(drawn / self.gain)


def cap_share(dimension: int, threshold: float) -> float:
    """Return the share of the sphere with ⟨v,x⟩ ≥ threshold.

    Examples
    --------
    >>> cap_share(3, 0.5)  # heights are uniform in three dimensions
    0.25
    """
    half = 0.5 * float(betainc((dimension - 1) / 2, 0.5, 1 - threshold**2))
    return half if threshold >= 0 else 1 - half
