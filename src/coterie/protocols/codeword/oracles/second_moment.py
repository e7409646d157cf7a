"""The second moment of everybody's lifted vector, read off a `codeword` table.

Signs cancel in v·vᵀ, so its mean does not know of cells: with w' = R·w the embedded vector,

    E[v·vᵀ] = I + c₂ · offdiag(E[w'·w'ᵀ])

(the diagonal of v·vᵀ is always 1). To undo it, let S be the observed mean of v·vᵀ and G = Rᵀ((S-I)/c₂)R. What
G lacks is the diagonal t of E[w'w'ᵀ]; t = diag(R·G·Rᵀ) + (RRᵀ)∘²·t gives it, and then

    M = G + Rᵀ·diag(t)·R,      E[M] = E[w·wᵀ].

Off its diagonal an entry of M has variance about 1/(c₂²n). The system for t is singular when P = D and well
conditioned from P ≥ 1.25·D on. The top eigenvectors of M span the centers: `coterie.centers.tight.subspace`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.geometry.rotation import Rotation
from coterie.plan.plan import Plan
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.codeword.table import CodewordTable


def embedding_matrix(plan: Plan, parameters: CodewordParameters) -> NDArray[np.float64]:
    """Return R, (P, D) with orthonormal columns: the public embedding of lifted vectors."""
    rotation = Rotation.from_key(plan.randomness_key("embedding"), parameters.embedding)
    return rotation.matrix(plan.coordinates + EXTRA_COORDINATES) / parameters.embedding


class SecondMoment(NamedTuple):
    """A noisy E[w·wᵀ] of all reports."""

    matrix: NDArray[np.float64]  # (D, D), symmetric: M
    deviation: float  # standard deviation of an off-diagonal entry

    def drawn(self, true: NDArray[np.float64], rng: np.random.Generator) -> SecondMoment:
        """Return what as many reports of other people would tell, whose E[w·wᵀ] is known: (D, D)."""
        noise = rng.standard_normal(true.shape)
        return self._replace(matrix=true + self.deviation * (noise + noise.T) / np.sqrt(2))


def second_moment(table: CodewordTable) -> SecondMoment | None:
    """Return the second moment of the lifted vectors, or None where the plan's table keeps none."""
    if table.second is None or table.count == 0:
        return None
    parameters = table.parameters
    gain = parameters.randomizer.second_gain(parameters.embedding)  # c₂
    embed = embedding_matrix(table.plan, parameters)  # R, (P, D)
    excess = table.second / table.count - np.eye(parameters.embedding)
    hollow = embed.T @ excess @ embed / gain  # G
    span = embed @ embed.T
    known = np.einsum("pi,pi->p", embed @ hollow, embed)  # diag(R·G·Rᵀ)
    diagonal = np.linalg.solve(np.eye(parameters.embedding) - span * span, known)  # t
    matrix = hollow + embed.T @ (diagonal[:, None] * embed)
    return SecondMoment((matrix + matrix.T) / 2, 1 / (gain * np.sqrt(table.count)))
