"""Embeddings of texts and images: what is found in 256 to 1,536 dimensions, whole and projected.

    python -m benchmarks embeddings [--seeds 1] [--only NAME …] [--workers N] [--out FILE]

Invented vectors of length 1 that are like real ones: a quarter of the square is common to all, a quarter
tells eight groups apart, and a half scatters inside them, most of it in few directions (deviations fall like
1/√i). k = 8. Rows are drawn from their law (`protocol.drawn_rows`), which takes the time of a decode whatever
n is; error radii are not asked for. `whole` sends the vector as it is, `projected-m` from m public random
directions (`Embedding(…, projected=m)`). `sums-m` is the paper's way to whole centers, as a design study:
half of the people answer a projected plan; the other half, afterwards, a plan of whole vectors whose cells
are the groups that were found, and the centers are the cells' means, drawn to everybody's by as much as noise
alone would have moved them. `reports` and `reports-m` play real people through the encoder, whole and
projected, and ask for error radii.

*Same groups* is the adjusted Rand index of the vectors' nearest private centers against non-private k-means:
1 is the same partition, 0 is chance; *without privacy* is that of k-means on the projected vectors.
*Recovered* is the part of what k-means gains over one center, in the
space of the whole vectors; a projected center is the shortest vector that is projected there.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks import harness
from benchmarks.harness import MILLION, RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.populations import one_center
from benchmarks.protocol import drawn_rows
from coterie import Plan, decode
from coterie.centers.explain import explain
from coterie.coins import SimulationCoins
from coterie.engines import play as play_everybody
from coterie.features import Embedding, Schema
from coterie.metrics import normalized_objective, recovered
from coterie.protocols.codeword.oracles.rows import Lift
from coterie.protocols.codeword.parameters import CodewordParameters

GROUPS = 8
DIMENSIONS = (256, 384, 768, 1536)
USERS = (MILLION // 10, MILLION, 10 * MILLION)
EPSILONS = (1.0, 2.0, 4.0, 8.0)
PROJECTED = (64, 128)
SAMPLE = 4000  # vectors that people are like
COMMON, BETWEEN = 0.25, 0.25  # of the square


def _study(method: str, dimension: int, users: int, epsilon: float) -> Study:
    name = f"{method}-{dimension}-{epsilon:g}-{users:.0e}".replace("e+0", "e")
    return Study(name, "embeddings", users, GROUPS, epsilon, dimension=dimension, method=method)


GRID = (
    *(
        _study(method, dimension, users, epsilon)
        for method in ("whole", *(f"projected-{m}" for m in PROJECTED), "sums-64")
        for dimension in DIMENSIONS
        for epsilon in EPSILONS
        for users in USERS
    ),
    _study("reports-64", 1536, MILLION // 10, 4.0),
    _study("reports", 1536, MILLION // 50, 4.0),
)


@cache
def vectors(dimension: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
    """Return vectors (n, d), their groups by k-means without privacy (n,), and its objective."""
    rng = np.random.default_rng([seed, dimension])
    means = _unit(rng.standard_normal((GROUPS + 1, dimension)))
    spread = 1 / np.sqrt(rng.permutation(dimension) + 1.0)
    scatter = rng.standard_normal((SAMPLE, dimension)) * spread / np.linalg.norm(spread)
    own = np.arange(SAMPLE) % GROUPS
    points = np.sqrt(COMMON) * means[-1] + np.sqrt(BETWEEN) * means[own]
    points = _unit(points + np.sqrt(1 - COMMON - BETWEEN) * scatter)
    start = np.array([points[own == group].mean(axis=0) for group in range(GROUPS)])
    best = KMeans(GROUPS, init=start, n_init=1).fit(points)
    return points, best.labels_.astype(np.int64), normalized_objective(points, best.cluster_centers_)


def _unit(points: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = points / np.linalg.norm(points, axis=1)[:, None]
    return found


@cache
def without_privacy(dimension: int, projected: int | None, seed: int) -> float:
    """Return how much k-means on the projected vectors agrees with k-means on the whole ones."""
    points, groups, _ = vectors(dimension, seed)
    seen = _schema(dimension, projected).points({"vector": points})
    start = np.array([seen[groups == group].mean(axis=0) for group in range(GROUPS)])
    found = KMeans(GROUPS, init=start, n_init=1).fit(seen)
    return float(adjusted_rand_score(groups, found.labels_))


def _schema(dimension: int, projected: int | None) -> Schema:
    return Schema((Embedding("vector", dimension, 1.0, projected=projected),))


def _projected(method: str) -> int | None:
    return int(method.split("-")[1]) if "-" in method else None


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Play one study with one seed."""
    del folder
    points, groups, best = vectors(study.dimension, seed)
    schema = _schema(study.dimension, _projected(study.method))
    plan = Plan.design(
        features=schema, clusters=GROUPS, epsilon=study.epsilon, expected_users=study.users, seed=seed
    )
    seen = schema.points({"vector": points})
    users = study.users // 2 if study.method.startswith("sums") else study.users
    start = time.process_time()
    if study.method.startswith("reports"):
        people = seen[np.random.default_rng([seed, 4]).integers(len(seen), size=study.users)]
        table = play_everybody(plan, people, SimulationCoins(seed))
        encoded = time.process_time()
        result = decode(table, random_state=seed)
        centers, supported = result.centers, result.supported
    else:
        views = drawn_rows(plan, seen / plan.radius, users, np.random.default_rng([seed, 4]))
        encoded = time.process_time()
        solution = explain(views, GROUPS, np.random.default_rng(seed), repeats=0)
        centers, supported = solution.centers * plan.radius, int(solution.supported.sum())
    decoded = time.process_time()
    if study.method.startswith("sums"):
        lifted = _sums(study, points, _nearest(seen, centers), seed)
    else:
        lifted = np.array([schema.record(center)["vector"] for center in centers])
    return {
        "coordinates": plan.dimension,
        "same_groups": float(adjusted_rand_score(groups, _nearest(seen, centers))),
        "recovered": recovered(
            normalized_objective(points, lifted), one_center=one_center(points), non_private=best
        ),
        "supported": supported,
        "encode_seconds": encoded - start,
        "decode_seconds": decoded - encoded,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def _sums(
    study: Study, points: NDArray[np.float64], cells: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Return the centers, (k, d), that half of the people's whole vectors give, summed by cell."""
    plan = Plan.design(study.dimension, GROUPS, study.epsilon, study.users)
    parameters = plan.parameters
    assert isinstance(parameters, CodewordParameters)
    gain = parameters.randomizer.gain(parameters.embedding)
    second = parameters.randomizer.second_gain(parameters.embedding)
    lift = Lift.from_count_weight(parameters.count_weight, study.dimension)
    noise = np.sqrt((1 + second / (study.dimension + 2)) / (study.users / 2)) / gain / lift.point
    rng = np.random.default_rng([seed, 5])
    shares = np.bincount(cells, minlength=GROUPS) / len(points)
    shares = np.maximum(shares + noise * lift.point / lift.count * rng.standard_normal(GROUPS), 1e-3)
    sums = np.array([points[cells == cell].sum(axis=0) for cell in range(GROUPS)]) / len(points)
    sums += noise * rng.standard_normal(sums.shape)
    mean = sums.sum(axis=0)
    mean *= _kept(mean, study.dimension * GROUPS * noise**2)
    away = sums / shares[:, None] - mean
    kept = [
        _kept(one, study.dimension * (noise / share) ** 2) for one, share in zip(away, shares, strict=True)
    ]
    found: NDArray[np.float64] = mean + np.array(kept)[:, None] * away
    return found


def _kept(vector: NDArray[np.float64], noise: float) -> float:
    """Return the part of a vector to keep whose square is expected to hold so much noise."""
    return max(0.0, 1 - noise / max(float(vector @ vector), 1e-12))


def _nearest(points: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    nearest: NDArray[np.int64] = ((centers**2).sum(axis=1) - 2 * points @ centers.T).argmin(axis=1)
    return nearest


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return the same groups, recovered and seconds by method, dimension and people, one column per ε."""
    parts = []
    for title, figure, form in (
        ("Same groups (adjusted Rand index)", "same_groups", ".2f"),
        ("Recovered, whole vectors", "recovered", ".2f"),
        ("Encode and aggregate (or draw), seconds of one core", "encode_seconds", ".1f"),
        ("Decode, seconds of one core", "decode_seconds", ".0f"),
    ):
        rows = []
        for key in dict.fromkeys((study.method, study.dimension, study.users) for study in grid):
            cells = [_cell(grid, runs, (*key, epsilon), figure, form) for epsilon in EPSILONS]
            if figure == "same_groups" and any(cells):
                limit = without_privacy(key[1], _projected(key[0]), harness.FIRST_SEED)
                cells.append(f"{limit:.2f}")
            if any(cells):
                rows.append([key[0], key[1], f"{key[2]:,}", *cells])
        columns = ["vectors", "d", "people", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
        columns += ["without privacy"] if figure == "same_groups" else []
        parts.append(f"{title}\n\n{harness.table(columns, rows)}")
    return "\n\n".join(parts)


def _cell(grid: Sequence[Study], runs: Runs, key: tuple[str, int, int, float], figure: str, form: str) -> str:
    for study in grid:
        if (study.method, study.dimension, study.users, study.epsilon) == key and (some := runs[study.name]):
            return f"{median(run[figure] for run in some):{form}}"
    return ""


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "embeddings.json", seeds=1)
