"""What others do, by whom a person has to trust: on the same public data, in one run.

    python -m benchmarks peers [--seeds 3] [--only NAME …] [--workers N] [--data DIR] [--out FILE]

People are drawn from UCI's letter and penbased with replacement, ε = 1 (δ = 10⁻⁶ where there is one), k = 10.
*Recovered* is the share of what k-means in the open gains over one center. diffprivlib and Google's clusters
run in an environment of their own (benchmarks/data/peers, made by pip, as in `benchmarks.scale`). Google's is
on no index: put the folder learning/clustering of its repository differential-privacy into the environment's
site-packages. What is not there is named and left out. FastLloyd and FedDP-KMeans need several servers or
rounds of a federation, and were not run: what their authors published stands below the tables, marked as
theirs. Per-feature answers are simulated here as their libraries draw them:

    one feature    each person answers one feature, drawn at random, in 16 bins, by optimized unary encoding
                   at all of ε (as RAPPOR and pure-ldp do); the server has marginals, draws people from them
                   as if features were independent, and runs k-means on those
    every feature  each person answers every feature at ε/d by randomized response in 4 bins; the server runs
                   k-means on what each person said
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness, real_data
from benchmarks.baselines import central, interactive, noisy_points
from benchmarks.baselines.in_the_open import k_means, one_center
from benchmarks.harness import RESULTS, Benchmark, Figures, Runs, Study
from benchmarks.scale import ENVIRONMENT, Peers
from coterie import LocalKMeans, ShuffleKMeans
from coterie.metrics import normalized_objective
from coterie.protocols.shares.parameters import ShareParameters

Points = NDArray[Any]
Centers = Callable[[Points, int, float, np.random.Generator], NDArray[np.float64]]

BINS: Final = 16  # of one feature
FEW_BINS: Final = 4  # of every feature
PEOPLE: Final = 100_000


def one_feature(points: Points, clusters: int, epsilon: float, generator: np.random.Generator) -> Points:
    """Return centers of independent marginals, (n, d) -> (k, d); ε-local, one feature a person."""
    people, dimension = points.shape
    asked = generator.integers(dimension, size=people)
    edges = np.linspace(-1, 1, BINS + 1)
    keep, flip = 0.5, 1 / (math.exp(epsilon) + 1)  # optimized unary encoding
    drawn = np.empty((people, dimension))
    for feature in range(dimension):
        values = points[asked == feature, feature]
        held = np.bincount(np.clip(np.digitize(values, edges) - 1, 0, BINS - 1), minlength=BINS)
        seen = generator.binomial(held, keep) + generator.binomial(len(values) - held, flip)
        shares = np.maximum((seen - len(values) * flip) / (keep - flip), 0)
        bins = generator.choice(BINS, size=people, p=shares / shares.sum())
        drawn[:, feature] = generator.uniform(edges[bins], edges[bins + 1])
    return k_means(drawn, clusters, int(generator.integers(1 << 31)))


def every_feature(points: Points, clusters: int, epsilon: float, generator: np.random.Generator) -> Points:
    """Return centers of what each person said, (n, d) -> (k, d); ε-local, ε/d a feature."""
    edges = np.linspace(-1, 1, FEW_BINS + 1)
    bins = np.clip(np.digitize(points, edges) - 1, 0, FEW_BINS - 1)
    odds = math.exp(epsilon / points.shape[1])
    truth = odds / (odds + FEW_BINS - 1)
    lies = (bins + generator.integers(1, FEW_BINS, size=bins.shape)) % FEW_BINS
    said = np.where(generator.random(bins.shape) < truth, bins, lies)
    middles = (edges[:-1] + edges[1:]) / 2
    gain = truth - (1 - truth) / (FEW_BINS - 1)
    found = k_means(middles[said], clusters, int(generator.integers(1 << 31)))
    mean = middles[said].mean(axis=0)
    unbiased: Points = np.clip(mean / gain + (found - mean), -1, 1)
    return unbiased


# name: (whom a person trusts, centers, bytes a person, rounds)
OTHERS: Final[dict[str, tuple[str, Centers, str, int]]] = {
    "tree with a curator (ours, simulated)": ("a curator", central.central_tree, "the point", 1),
    "noisy points, Gaussian": ("nobody", noisy_points.gaussian, "8·d", 1),
    "noisy points, PrivUnit": ("nobody", noisy_points.privunit, "8·d", 1),
    "Lloyd in five rounds": ("nobody", interactive.lloyd_in_rounds, "8·d a round", 5),
    "one feature each (RAPPOR-like)": ("nobody", one_feature, "3", 1),
    "every feature at ε/d": ("nobody", every_feature, "d/4", 1),
}
OURS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "coterie, vector-sums": ("a curator", {"variant": "central"}),
    "coterie, shares mixed": ("a shuffler", {"variant": "split-and-mix"}),
    "coterie, reports mixed": ("a shuffler", {"variant": "amplified"}),
    "coterie, codeword (default)": ("nobody", {}),
    "coterie, lsh-tree (the paper's experiments)": ("nobody", {"protocol": "lsh-tree"}),
}
OPEN, ONE = "k-means in the open", "one center"
THEIRS: Final = {"diffprivlib": "diffprivlib", "Google's clustering": "google"}  # by their step
PUBLISHED: Final = (  # not run here: (whom a person trusts, method, rounds, what its authors say)
    (
        "the parties that hold people's points, and that the server works with none",
        "FastLloyd (USENIX Security 2025, arXiv:2405.02437)",
        "one an iteration",
        "the utility of the central model, kept and improved; five orders of magnitude faster than secure "
        "computation before it",
    ),
    (
        "the server that aggregates a federation",
        "FedDP-KMeans (ICML 2025, arXiv:2506.05408)",
        "one an iteration, and those of its start",
        "a start from data that the server has, perhaps few and of other people; no figure on these sets",
    ),
)
METHODS: Final = (OPEN, *THEIRS, *OURS, *OTHERS, ONE)
GRID = tuple(
    Study(f"{data}: {method}", data, PEOPLE, 10, method=method)
    for data in ("letter", "penbased")
    for method in METHODS
)


def play(study: Study, seed: int, folder: Path) -> Figures:
    """Find centers one way and measure them on the points."""
    rows = real_data.load(study.data, folder)
    generator = np.random.default_rng(seed)
    points = rows[generator.integers(len(rows), size=study.users)]
    found: Figures = {"bytes": "the point", "rounds": 1, "trusts": "everybody"}
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if study.method in THEIRS:
            found.update(_theirs(THEIRS[study.method], points, study, folder))
        elif study.method in OURS:
            found.update(_ours(points, study, seed))
        else:
            found["objective"] = normalized_objective(points, _centers(points, study, generator, found))
    return {**found, "seconds": found.get("seconds", time.process_time() - started)}


def _centers(points: Points, study: Study, generator: np.random.Generator, found: Figures) -> Points:
    if study.method == OPEN:
        return k_means(points, study.clusters, 0)
    if study.method == ONE:
        found["bytes"] = "0"
        return one_center(points)
    trusts, centers, found["bytes"], found["rounds"] = OTHERS[study.method]
    found["trusts"] = trusts
    return centers(points, study.clusters, study.epsilon, generator)


def _ours(points: Points, study: Study, seed: int) -> Figures:
    trusts, options = OURS[study.method]
    kind = ShuffleKMeans if "variant" in options else LocalKMeans
    model = kind(study.clusters, epsilon=study.epsilon, radius=1.0, random_state=seed, **options).fit(points)
    parameters = model.plan_.parameters
    shares = isinstance(parameters, ShareParameters)
    sent = "the point" if trusts == "a curator" else f"{parameters.cost.bytes if shares else 13:,}"
    return {
        "objective": normalized_objective(points, model.cluster_centers_),
        "bytes": sent,
        "trusts": trusts,
    }


def _theirs(step: str, points: Points, study: Study, folder: Path) -> Figures:
    peers = Peers(folder / ENVIRONMENT)
    peers.install([step])  # nothing to do where it is there
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, points)
        file.flush()
        found = peers.step(step, points=file.name, clusters=study.clusters)
    if found is None:
        return {"objective": math.nan, "trusts": f"a curator ({peers.failed[step]})"}
    return {"objective": found["objective"], "seconds": found["cpu_s"], "trusts": "a curator"}


def tables(grid: Sequence[Study], runs: Runs) -> str:
    """Return one table a data set, by trust, the best first."""
    parts = []
    order = ("everybody", "a curator", "a shuffler", "nobody")
    for data in dict.fromkeys(study.data for study in grid):
        known = {study.method: runs[study.name] for study in grid if study.data == data and runs[study.name]}
        costs = {method: median(run["objective"] for run in some) for method, some in known.items()}
        if OPEN not in costs or ONE not in costs:
            continue
        gain = costs[ONE] - costs[OPEN]
        lines = []
        for method, some in known.items():
            first = some[0]
            place = next((i for i, each in enumerate(order) if first["trusts"].startswith(each)), 0)
            share = (costs[ONE] - costs[method]) / gain
            seconds = f"{median(run['seconds'] for run in some):.1f}"
            cells = [first["trusts"], method, len(some), f"{costs[method]:.4f}", f"{share:.0%}"]
            lines.append((place, -share, [*cells, first["bytes"], first["rounds"], seconds]))
        columns = [
            "a person trusts",
            "method",
            "seeds",
            "objective",
            "recovered",
            "bytes a person",
            "rounds",
            "CPU s",
        ]
        parts.append(
            f"{data}\n\n{harness.table(columns, [line for *_, line in sorted(lines, key=lambda x: x[:2])])}"
        )
    columns = ["a person trusts", "method", "rounds", "its authors say"]
    return "\n\n".join([*parts, f"published, not run here\n\n{harness.table(columns, PUBLISHED)}"])


BENCHMARK = Benchmark(GRID, play, tables, RESULTS / "peers.json", seeds=3, first_seed=80_000)
