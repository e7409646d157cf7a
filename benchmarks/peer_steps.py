"""What a user would pick instead, measured in the peers' own environment: `python peer_steps.py STEP JSON`.

Prints one JSON object with seconds, CPU seconds and the version. Imports nothing of this project, because the
peers' pins differ from its own. DuckDB and Polars read the reports as columns of numbers from Parquet, as
ours are read from a report file; `in_memory` favours them: nothing is read, checked or hashed.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

BINS = 1024
Figures = dict[str, Any]


@contextlib.contextmanager
def measured(figures: Figures, name: str = "") -> Iterator[None]:
    """Put the seconds and CPU seconds of the block into the figures."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.perf_counter()
    yield
    figures[f"{name}seconds"] = time.perf_counter() - begin
    now = resource.getrusage(resource.RUSAGE_SELF)
    figures[f"{name}cpu_s"] = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def pure_ldp(people: int) -> Figures:
    """Hadamard response over 1,024 bins at ε = 1: encode, aggregate and estimate."""
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    figures = Figures(version=version("pure-ldp"))
    values = np.random.default_rng(0).integers(1, BINS + 1, size=people).tolist()
    server = HadamardResponseServer(1.0, BINS)
    client = HadamardResponseClient(1.0, BINS, server.get_hash_funcs())
    with measured(figures):
        reports = [client.privatise(value) for value in values]
    with measured(figures, "aggregate_"):
        for report in reports:
            server.aggregate(report)
        server.estimate_all(range(1, BINS + 1))
    return figures


def multi_freq_ldpy(people: int) -> Figures:
    """Subset selection over 1,024 bins at ε = 1: encode and aggregate."""
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    figures = Figures(version=version("multi-freq-ldpy"))
    values = np.random.default_rng(0).integers(0, BINS, size=people).tolist()
    SS_Client(values[0], BINS, 1.0)  # compiles
    with measured(figures):
        reports = [SS_Client(value, BINS, 1.0) for value in values]
    with measured(figures, "aggregate_"):
        SS_Aggregator_MI(reports, BINS, 1.0)
    return figures


def scikit_learn(points: str, clusters: int, mini_batch: bool, threads: int | None = None) -> Figures:
    """k-means on everybody's points in the open."""
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    rows, figures = np.load(points), Figures(version=version("scikit-learn"))
    model = (MiniBatchKMeans if mini_batch else KMeans)(clusters, n_init=10, random_state=0)
    with threadpool_limits(threads), measured(figures):
        model.fit(rows)
    return {**figures, "objective": float(model.inertia_) / len(rows)}


def diffprivlib(points: str, clusters: int) -> Figures:
    """Central k-means at ε = 1: a curator sees everybody's points."""
    from diffprivlib.models import KMeans

    rows, figures = np.load(points).astype(np.float64), Figures(version=version("diffprivlib"))
    model = KMeans(clusters, epsilon=1.0, bounds=(-1.0, 1.0), random_state=0)
    with measured(figures):
        model.fit(rows)
    return {**figures, "objective": float(model.inertia_) / len(rows)}


def google(points: str, clusters: int) -> Figures:
    """Google's central clustering at ε = 1, where it is installed."""
    from clustering import clustering_algorithm, clustering_params  # of google/differential-privacy

    rows, figures = np.load(points).astype(np.float64), Figures(version="clustering")
    data = clustering_params.Data(rows, radius=1.0)
    with measured(figures):
        found = clustering_algorithm.private_lsh_clustering(
            clusters, data, clustering_params.DifferentialPrivacyParam(1.0, 1e-6)
        )
    return {**figures, "objective": float(found.loss) / len(rows)}


def write_columns(reports: str, width: int, header: int, count: int, out: str) -> Figures:
    """Write reports as columns: the id in two numbers, and the contents."""
    import polars

    rows = np.fromfile(reports, dtype=np.uint8, count=count * width, offset=header).reshape(count, width)
    columns = {
        "hi": np.ascontiguousarray(rows[:, :8]).view("<u8")[:, 0],
        "lo": np.ascontiguousarray(rows[:, 8:12]).view("<u4")[:, 0],
        "body": np.ascontiguousarray(rows[:, 12]),
    }
    polars.DataFrame(columns).write_parquet(out, compression="uncompressed")
    return {}


def duckdb(path: str, in_memory: bool) -> Figures:
    """Each id once, the smaller contents kept: GROUP BY."""
    import duckdb

    figures = Figures(version=version("duckdb"))
    with duckdb.connect() as database:
        make = "CREATE TABLE held AS SELECT" if in_memory else "CREATE VIEW held AS SELECT"
        database.execute(f"{make} * FROM read_parquet('{path}')")
        with measured(figures):
            database.execute(
                "CREATE TABLE once AS SELECT hi, lo, min(body) AS body FROM held GROUP BY hi, lo"
            )
        figures["kept"] = database.execute("SELECT count(*) FROM once").fetchone()[0]
    return figures


def polars(path: str, in_memory: bool) -> Figures:
    """Each id once, the smaller contents kept: group_by."""
    import polars

    figures = Figures(version=version("polars"))
    frame = polars.read_parquet(path).lazy() if in_memory else polars.scan_parquet(path)
    with measured(figures):
        once = frame.group_by("hi", "lo").agg(polars.col("body").min()).collect()
    return {**figures, "kept": len(once)}


STEPS = {
    step.__name__: step
    for step in (pure_ldp, multi_freq_ldpy, scikit_learn, diffprivlib, google, write_columns, duckdb, polars)
}

if __name__ == "__main__":
    found = STEPS[sys.argv[1]](**json.loads(sys.argv[2]))
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))
