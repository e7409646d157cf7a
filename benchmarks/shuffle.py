"""What trusting a shuffler buys: local, amplified, split-and-mix and central on the same data.

    python benchmarks/shuffle.py [--seeds 10] [--users 100000 1000000] [--only NAME …] [--out FILE]

The paper's mixture, d = 100, k = 8, r = 100, ε = 1, δ = 10⁻⁶. Local and amplified reports are really
encoded, added up and decoded. Sums of split-and-mix are drawn from their law (real messages are compared
with it in the tests). Seconds are of the whole fit, labels included, on a machine that may be busy. Runs
that the output file already holds are not repeated.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from pathlib import Path
from statistics import mean, median
from typing import Any

from coterie import LocalKMeans, ShuffleKMeans
from coterie.datasets import gaussian_mixture
from coterie.metrics import normalized_objective
from coterie.plan.shares import ShareParameters

RESULTS = Path(__file__).parent / "results" / "shuffle.json"
FIRST_SEED = 70_000  # reported on these, designed on others
COMMON: dict[str, Any] = {"n_clusters": 8, "epsilon": 1.0, "radius": 1.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "local": {},
    "amplified": {"variant": "amplified"},
    "all cells": {"variant": "split-and-mix", "layout": "cells"},
    "one column": {"variant": "split-and-mix", "layout": "column"},
    "net tree": {"variant": "net-tree"},
    "central": {"variant": "central"},
}
AT_MOST = {  # medians
    ("amplified", 10**5): 0.015,
    ("amplified", 10**6): 0.003,
    ("all cells", 10**5): 0.001,
    ("central", 10**5): 0.001,
    ("one column", 10**5): 0.006,
}


def run(name: str, users: int, seed: int) -> dict[str, Any]:
    """Fit one variant to one data set and measure its centers on the points."""
    points = gaussian_mixture(users, 100, 8, separation=100, random_state=FIRST_SEED + seed)[0]
    kind = LocalKMeans if name == "local" else ShuffleKMeans
    started = time.perf_counter()
    model = kind(**COMMON, **VARIANTS[name], random_state=FIRST_SEED + seed).fit(points)
    seconds = time.perf_counter() - started
    parameters = model.plan_.parameters
    shares = isinstance(parameters, ShareParameters)
    return {
        "objective": normalized_objective(points, model.cluster_centers_),
        "seconds": seconds,
        "messages": parameters.cost.messages if shares else 1,
        "bytes": parameters.cost.bytes if shares else model.plan_.report_width,
        "local_epsilon": model.guarantee_.local_epsilon,
    }


def table(results: dict[str, dict[str, Any]]) -> str:
    """Return the results as a table in Markdown."""
    lines = [
        "| n | | seeds | median | mean | worst | at most | messages | bytes | ε₀ if mixing fails | s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for key, result in results.items():
        users, name, _ = key.split("/")
        groups.setdefault((int(users), name), []).append(result)
    for people, name in sorted(groups, key=lambda group: (group[0], list(VARIANTS).index(group[1]))):
        runs = groups[people, name]
        values = [each["objective"] for each in runs]
        left = runs[0]["local_epsilon"]
        promise = "1 (local)" if name == "local" else "none" if left is None else f"{left:.2f}"
        lines.append(
            f"| {people:,} | {name} | {len(values)} | {median(values):.5f} | {mean(values):.5f} | "
            f"{max(values):.5f} | {AT_MOST.get((name, people), '')} | {runs[0]['messages']:,} | "
            f"{runs[0]['bytes']:,} | "
            f"{promise} | {median(each['seconds'] for each in runs):.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, save after each run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--users", type=int, nargs="+", default=[10**5, 10**6])
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    saved = json.loads(chosen.out.read_text()) if chosen.out.exists() else {"results": {}}
    saved["machine"] = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    for users in chosen.users:
        for name in chosen.only:
            for seed in range(chosen.seeds):
                key = f"{users}/{name}/{seed}"
                if key not in saved["results"]:
                    result = run(name, users, seed)
                    result["local_epsilon"] = (
                        None if result["local_epsilon"] in (None, float("inf")) else result["local_epsilon"]
                    )
                    saved["results"][key] = result
                    chosen.out.write_text(json.dumps(saved, indent=1))
                    print(key, f"{result['objective']:.5f}", f"{result['seconds']:.1f} s", flush=True)
    print(table(saved["results"]))


if __name__ == "__main__":
    main()
