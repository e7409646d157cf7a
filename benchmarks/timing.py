"""Whether time tells what kind of record a device encodes: `python -m benchmarks timing`.

    class of records -> area under the curve of "slower means this class", against usual records

0.5 where time tells nothing. Records of a class and usual ones take turns in random order, in one process,
measured by the processor time of the thread: finer than what anybody outside sees, and undisturbed by what
else runs. Both come from JSON, and a usual record is encoded before each, so that memory holds the same.
The bar is the 99 % quantile of how far the same area lies from 0.5 where there is nothing to tell: random
halves of the same times. So one class in a hundred is told by chance. Codeword at d = 84: two numbers, a
category, a flag, a level, a time of day, an embedding of 1,536 numbers seen from 64 directions.

10,000 records of each class take a quarter of an hour of one core. Needs numpy, scipy, cryptography, rfc8785.

Writes benchmarks/results/timing.csv.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from coterie import Client, Plan
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema
from coterie.plain.files import replacing

RESULTS = Path(__file__).parent / "results" / "timing.csv"
EACH = 10_000  # records of each class
LENGTH = 1536
QUANTILE = 0.99
HALVES = 400  # random ones, for the null

Record = Mapping[str, Any]

SCHEMA = Schema(
    [
        Number("age", 0, 100),
        Number("income", 1, 1e7, scale="log"),
        Category("plan", ["free", "paid", "team"]),
        Flag("member"),
        Ordinal("size", ["S", "M", "L"]),
        Cycle("hour", 24),
        Embedding("text", LENGTH, 1.0, projected=64),
    ]
)


def usual(rng: np.random.Generator) -> dict[str, Any]:
    """Return a record with everything in it."""
    vector = rng.normal(size=LENGTH)
    return {
        "age": float(rng.uniform(0, 100)),
        "income": float(rng.uniform(1, 1e6)),
        "plan": ("free", "paid", "team")[rng.integers(3)],
        "member": bool(rng.integers(2)),
        "size": ("S", "M", "L")[rng.integers(3)],
        "hour": float(rng.uniform(0, 24)),
        "text": (vector / np.linalg.norm(vector) * 0.9).tolist(),
    }


CLASSES: dict[str, Callable[[dict[str, Any]], Record]] = {
    "usual": lambda record: record,
    "no embedding": lambda record: {**record, "text": None},
    "embedding of another length": lambda record: {**record, "text": record["text"][:-1]},
    "embedding outside its ball": lambda record: {**record, "text": [3 * x for x in record["text"]]},
    "embedding with a NaN": lambda record: {**record, "text": [*record["text"][:-1], float("nan")]},
    "nothing at all": lambda record: dict.fromkeys(record),
    "an empty record": lambda record: {},
    "a number missing": lambda record: {**record, "age": None},
    "a number of 400 digits": lambda record: {**record, "age": 10**400},
    "an hour of 10^300": lambda record: {**record, "hour": 1e300},
    "an integer": lambda record: {**record, "age": int(record["age"])},
    "an unknown category": lambda record: {**record, "plan": "other"},
    "all at the ends": lambda record: {**record, "age": 1e9, "income": 0.0, "hour": 24.0},
}


def area(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the chance that one of the first is larger than one of the second."""
    ranks = rankdata(np.concatenate([one, other]))
    return float((ranks[: len(one)].sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(other)))


def measured(encode: Callable[[Record], object], of: Callable[[dict[str, Any]], Record], each: int) -> Any:
    """Return the nanoseconds of a class and of usual records, (each,) and (each,), taken by turns."""
    rng = np.random.default_rng(0)
    spent, before = np.empty((each, 2)), usual(rng)
    for pair in range(-100, each):  # some to warm up
        records = [json.loads(json.dumps(made)) for made in (usual(rng), of(usual(rng)))]
        for kind in rng.permutation(2):
            encode(before)  # so that caches hold the same, however long it took to make a record
            start = time.thread_time_ns()
            encode(records[kind])
            took = time.thread_time_ns() - start
            if pair >= 0:
                spent[pair, kind] = took
    return spent[:, 1], spent[:, 0]


def null(times: NDArray[Any]) -> float:
    """Return the quantile of how far the area of random halves of the same lies from 0.5."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(HALVES):
        turned = rng.permutation(times)
        found.append(abs(area(turned[::2], turned[1::2]) - 0.5))
    return float(np.quantile(found, QUANTILE))


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=EACH, help="records of each class")
    parser.add_argument("--classes", nargs="*", default=list(CLASSES))
    options = parser.parse_args()
    plan = Plan.design(features=SCHEMA, clusters=4, epsilon=1.0, expected_users=100_000)
    client = Client(plan)
    rows = []
    print(
        f"{options.each:,} records of each class and as many usual ones; bar: {QUANTILE:.0%} of halves alike"
    )
    for name in options.classes:
        one, other = measured(client.encode, CLASSES[name], options.each)
        found, bar = area(one, other), null(np.concatenate([one, other]))
        told = abs(found - 0.5) > bar
        rows.append(
            [name, f"{found:.4f}", f"{bar:.4f}", f"{np.median(one) / 1000:.1f}", "yes" if told else "no"]
        )
        print(
            f"{name:28} AUC {found:.4f}, bar 0.5 ± {bar:.4f}: {'TOLD' if told else 'not told'}",
            flush=True,
        )
    if options.each >= EACH and set(options.classes) == set(CLASSES):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([["class", "area", "bar", "microseconds", "told"], *rows])
        with replacing(RESULTS) as file:
            file.write(text.getvalue().encode())
    told_apart = sum(row[-1] == "yes" for row in rows)
    print(f"{told_apart} of {len(rows)} classes told; by chance one in {1 / (1 - QUANTILE):.0f}")
    return told_apart


if __name__ == "__main__":
    raise SystemExit(main() > 0)
