"""What a follow-up plan buys: data that is small and off the middle of its public ball, in one round and two.

    python benchmarks/waves.py [--seeds 3] [--users 1000000]

Handwritten digits, centred, their 99 % length at radius 1, clipped, then halved and moved by half a radius.
One round asks everybody with the public ball; in waves, one person in ten is asked first, and the others with
a ball that follows from what those said. Printed is how much of k-means' gain over one center is recovered.
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import median

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from coterie import LocalKMeans
from coterie.metrics import normalized_objective

CLUSTERS = 10


def small_and_off_the_middle() -> NDArray[np.float64]:
    """Return the digits, (1797, 64), at half their size and half a radius off the middle of the unit ball."""
    points = load_digits().data
    points = points - points.mean(axis=0)
    points = _clipped(points / np.quantile(np.linalg.norm(points, axis=1), 0.99))
    return _clipped(0.5 * points + 0.5 / 8)


def _clipped(points: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped: NDArray[np.float64] = points / np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))
    return clipped


def main() -> None:
    """Print one line a run and the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=50_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 2.0])
    parser.add_argument("--one-round", action="store_true", help="the same without waves, too")
    given = parser.parse_args()
    points = small_and_off_the_middle()
    worst = normalized_objective(points, points.mean(axis=0, keepdims=True))
    centers = KMeans(CLUSTERS, n_init=20, random_state=0).fit(points).cluster_centers_
    best = normalized_objective(points, centers)
    warnings.simplefilter("ignore", UserWarning)  # seeded: a simulation
    for epsilon in given.epsilon:
        for waves in ((0.1, 0.9), None) if given.one_round else ((0.1, 0.9),):
            found = []
            for seed in range(given.first_seed, given.first_seed + given.seeds):
                rows = points[np.random.default_rng(seed).integers(0, len(points), given.users)]
                started = time.perf_counter()
                model = LocalKMeans(CLUSTERS, epsilon=epsilon, radius=1.0, waves=waves, random_state=seed)
                model.fit(rows)
                value = normalized_objective(points, model.cluster_centers_)
                found.append((worst - value) / (worst - best))
                print(
                    f"epsilon {epsilon:g} waves {waves} seed {seed}: recovered {found[-1]:.3f}, "
                    f"radius {model.plan_.radius:.3f}, clipped {model.n_clipped_ / given.users:.3f}, "
                    f"{time.perf_counter() - started:.0f} s",
                    flush=True,
                )
            print(f"epsilon {epsilon:g} waves {waves}: median recovered {median(found):.3f}", flush=True)


if __name__ == "__main__":
    main()
