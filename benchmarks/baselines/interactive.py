"""Lloyd's iteration under local privacy: several rounds, in each of which everybody hears the last centers.

    start from public random centers; each round: nearest center -> noisy sums and counts -> new centers

Interaction adapts the partition to the data, which one round cannot; the price is that the rounds share what
there is: each of R rounds gets ε/R of everybody ("budget"), or all of ε of one R-th of the people ("users").
A bad start stays bad: Lloyd's steps do not move a center to another cluster.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.sums import local_sums
from coterie.metrics import nearest

ROUNDS: Final = 5


def lloyd_in_rounds(
    points: NDArray[Any],
    clusters: int,
    epsilon: float,
    generator: np.random.Generator,
    *,
    rounds: int = ROUNDS,
    split: Literal["budget", "users"] = "budget",
) -> NDArray[np.float64]:
    """Return the centers after some rounds, (n, d) -> (k, d); ε-local in all.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> lloyd_in_rounds(np.repeat([[0.9, 0.0], [-0.9, 0.0]], 5000, axis=0), 2, 4.0, rng).shape
    (2, 2)
    """
    centers = generator.standard_normal((clusters, points.shape[1]))
    centers /= 2 * np.linalg.norm(centers, axis=1, keepdims=True)  # public, half way to the sphere
    turns = np.arange(len(points)) % rounds if split == "users" else None
    for turn in range(rounds):
        asked = points if turns is None else points[turns == turn]
        share = epsilon / rounds if turns is None else epsilon
        labels = nearest(asked, centers)[0]
        sums, counts = local_sums(asked, labels, clusters, share, generator)
        heard = counts > 0.1 * len(asked) / clusters  # a center that nobody seems to follow stays
        moved = sums / np.maximum(counts, 1.0)[:, None]
        moved /= np.maximum(1.0, np.linalg.norm(moved, axis=1, keepdims=True))
        centers[heard] = moved[heard]
    return centers
