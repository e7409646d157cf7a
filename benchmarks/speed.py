"""How fast: encoding and aggregation by both kernels, the floor under them, decoding and the estimator.

    python -m benchmarks speed [--quick] [--out benchmarks/results/speed.json]

Encoding and aggregation are also compared with a plan of the former design (cells only, two views), turn by
turn in the same run: halfspaces must not cost more than a tenth of the rate. Decoding is timed with the error
radii and without.

Prints a table and writes JSON. Rates are the best of several runs, because a shared machine only ever adds
time; the latency of one report is a median. The floors are the parts that cannot be left out, each alone on
one thread and in the same run: AES, reading bits as signs, adding signs to rows, and the second moment.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray
from scipy.sparse import csc_array
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import harness
from coterie import Aggregate, Client, LocalKMeans, Plan, decode
from coterie.centers.explain import explain
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import play
from coterie.plan.views import CrossPolytope
from coterie.protocols.codeword.oracles.rows import rows_of
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.protocols.codeword.table import CodewordTable
from coterie.wire.kernels import VARIABLE
from coterie.wire.rows import Rows
from coterie.wire.stream import SignReader

KERNELS = ["numpy"] + ["numba"] * (importlib.util.find_spec("numba") is not None)
ROOT = Path(__file__).parents[1]
RESULTS = harness.RESULTS / "speed.json"
MEMORY_REPORTS = 10_000_000
MEMORY_PEOPLE = 100_000  # whose table is decoded
FIT_PEOPLE = 1_000_000
LEAST_RATIO = "≥ 0.9"  # of the former design's rate
PIECE = 16_384  # reports at a time for the floors


@dataclass(frozen=True)
class Measurement:
    """One line of the table. `bar` is what the project promises on two cores, where it does."""

    name: str
    kernels: str
    value: float
    unit: str
    bar: str | None = None


def best_seconds(function: Callable[[], object], runs: int) -> float:
    """Return the shortest of `runs` runs, after one that does not count (it may compile)."""
    function()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measure_encoding(plan: Plan, people: int, singles: int, runs: int) -> Iterator[Measurement]:
    """Yield bulk rates by kernel, and the latency of one report."""
    points = np.random.default_rng(0).normal(size=(people, plan.dimension)) / np.sqrt(plan.dimension)
    client = Client(plan)
    for kernels, bar in zip(KERNELS, ("≥ 60,000", "≥ 120,000"), strict=False):
        os.environ[VARIABLE] = kernels
        seconds = best_seconds(lambda: client.encode_many(points), runs)
        yield Measurement("encode_many", kernels, people / seconds, "reports/s", bar)
    os.environ[VARIABLE] = "numpy"
    times = []
    for point in points[:singles]:
        start = time.perf_counter()
        client.encode(point)
        times.append(time.perf_counter() - start)
    yield Measurement("encode, one point (median)", "numpy", 1e6 * float(np.median(times)), "µs", "≤ 300")


def measure_aggregation(plan: Plan, reports: int, runs: int) -> Iterator[Measurement]:
    """Yield rates by kernel."""
    batch = random_reports(plan, reports)
    for kernels, bar in zip(KERNELS, ("≥ 1,500,000", "≥ 8,000,000"), strict=False):
        os.environ[VARIABLE] = kernels
        seconds = best_seconds(lambda: Aggregate(plan).add(batch), runs)
        yield Measurement("Aggregate.add", kernels, reports / seconds, "reports/s", bar)


def measure_ratios(plan: Plan, people: int, reports: int, turns: int) -> Iterator[Measurement]:
    """Yield encoding and aggregation as shares of the former design's rate, by kernel.

    The two designs take turns, so that a busy moment of the machine meets both; the shortest times count.
    """
    points = np.random.default_rng(0).normal(size=(people, plan.dimension)) / np.sqrt(plan.dimension)
    designs = (former_design(plan), plan)
    clients = [Client(one) for one in designs]
    batches = [random_reports(one, reports) for one in designs]
    for kernels in KERNELS:
        os.environ[VARIABLE] = kernels
        encoding: list[Callable[[], object]] = [partial(client.encode_many, points) for client in clients]
        adding: list[Callable[[], object]] = [
            partial(_add, one, batch) for one, batch in zip(designs, batches, strict=True)
        ]
        for name, pair in (("encode_many", encoding), ("Aggregate.add", adding)):
            former, now = best_seconds_in_turns(pair, turns)
            yield Measurement(
                f"{name}, share of the former design's rate", kernels, former / now, "", LEAST_RATIO
            )


def _add(plan: Plan, reports: NDArray[np.uint8]) -> None:
    Aggregate(plan).add(reports)


def former_design(plan: Plan) -> Plan:
    """Return the plan with two views of cells, 128 for three people in four and 256 for the fourth."""
    views = (CrossPolytope(64, 3), CrossPolytope(128, 1))
    return replace(plan, parameters=replace(parameters_of(plan), views=views))


def best_seconds_in_turns(functions: list[Callable[[], object]], turns: int) -> list[float]:
    """Return each function's shortest run, after one that does not count."""
    best = [float("inf")] * len(functions)
    for turn in range(turns + 1):
        for number, function in enumerate(functions):
            start = time.perf_counter()
            function()
            if turn:
                best[number] = min(best[number], time.perf_counter() - start)
    return best


def measure_decoding(plan: Plan, people: int, runs: int) -> Iterator[Measurement]:
    """Yield the time from a finished table to the centers, and the estimator's on as many people."""
    points, _, _ = gaussian_mixture(people, plan.dimension, plan.clusters, 8, 0, dtype=np.float32)
    os.environ[VARIABLE] = "auto"
    table = play(plan, points, SimulationCoins(0))
    seconds = best_seconds(lambda: decode(table, random_state=0), runs)
    yield Measurement(f"decode with error radii, {people:,} reports", "", seconds, "s", "≤ 40")
    assert isinstance(table.table, CodewordTable)
    rows = rows_of(table.table)

    def without_radii() -> None:
        with threadpool_limits(limits=1):  # as `decode` does
            explain(rows, plan.clusters, np.random.default_rng(0), repeats=0)

    seconds = best_seconds(without_radii, runs)
    yield Measurement(f"decode without error radii, {people:,} reports", "", seconds, "s", "≤ 10")
    estimator = LocalKMeans(n_clusters=plan.clusters, epsilon=plan.epsilon, radius=1.0, random_state=0)
    start = time.perf_counter()
    estimator.fit(points)
    took = time.perf_counter() - start
    bar = "≤ 50" if people >= FIT_PEOPLE else None  # encoding, and what a decode may take
    yield Measurement(f"LocalKMeans.fit, {people:,} × {plan.dimension}", "auto", took, "s", bar)


def measure_floors(plan: Plan, runs: int) -> Iterator[Measurement]:
    """Yield nanoseconds a report of each part alone, on one thread."""
    rng = np.random.default_rng(1)
    parameters = parameters_of(plan)
    size = parameters.embedding  # P
    blocks = (1 + size // 128) * PIECE
    encryptor = Cipher(algorithms.AES(plan.randomness_key()), modes.ECB()).encryptor()  # noqa: S305
    plain, encrypted = np.zeros(16 * blocks, dtype=np.uint8), np.empty(16 * blocks + 15, dtype=np.uint8)
    packed = rng.integers(0, 256, size=(PIECE, size // 8), dtype=np.uint8)
    read = SignReader(packed.size)
    signs = read(packed).copy()
    rows = rng.integers(0, parameters.rows, size=PIECE)
    one_a_column = csc_array(
        (np.ones(PIECE, dtype=np.float32), rows, np.arange(PIECE + 1)), shape=(parameters.rows, PIECE)
    )
    parts: dict[tuple[str, str], Callable[[], object]] = {
        ("AES", "numpy"): lambda: encryptor.update_into(plain.data, encrypted.data),
        ("unpack", "numpy"): lambda: read(packed),
        ("add", "numpy"): lambda: one_a_column @ signs,
        ("VᵀV", "numpy"): lambda: signs.T @ signs,
    }
    if "numba" in KERNELS:
        from coterie.protocols.codeword import table_numba as kernels_numba

        layout = Rows.of(parameters)
        places = (layout.tickets, layout.masks, layout.firsts)
        read_blocks = rng.integers(0, 256, size=(PIECE, 16 + size // 8), dtype=np.uint8)
        sums = np.zeros((parameters.rows, size), dtype=np.int32)
        counts = np.zeros(parameters.rows, dtype=np.int64)
        moment = kernels_numba.SecondMoment(size)
        words = read_blocks.view(np.uint64)[:, 2:]
        parts["unpack and add", "numba"] = lambda: kernels_numba.add_to_rows(
            read_blocks, *places, sums, counts
        )
        parts["VᵀV", "numba"] = lambda: moment.add(words)
    with threadpool_limits(limits=1, user_api="blas"):
        for (name, kernels), function in parts.items():
            seconds = best_seconds(function, 5 * runs)
            yield Measurement(f"floor of a report: {name}", kernels, 1e9 * seconds / PIECE, "ns")


def measure_memory(reports: int, people: int) -> Iterator[Measurement]:
    """Yield the most memory that a process needs to add so many reports, and to decode; imports included."""
    for name, option, count, bar in (
        (f"memory for {reports:,} reports", "--memory-of-adding", reports, "< 350"),
        ("memory for decoding", "--memory-of-decoding", people, "< 1,000"),
    ):
        command = [sys.executable, "-m", "benchmarks", "speed", option, str(count)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)  # noqa: S603
        yield Measurement(name, "auto", float(done.stdout.split()[-1]), "MB", bar)


def print_memory_of_adding(reports: int) -> None:
    """Add reports that arrive in batches, as from a file, and print the process's peak in MB."""
    plan = the_plan()
    table = Aggregate(plan)
    for seed, start in enumerate(range(0, reports, 500_000)):
        table.add(random_reports(plan, min(500_000, reports - start), seed))
    print(harness.peak_megabytes())


def print_memory_of_decoding(people: int) -> None:
    """Decode a table, which has one size for any number of people, and print the process's peak in MB."""
    plan = the_plan()
    points, _, _ = gaussian_mixture(people, plan.dimension, plan.clusters, 8, 0, dtype=np.float32)
    decode(play(plan, points, SimulationCoins(0)), random_state=0)
    print(harness.peak_megabytes())


def the_plan() -> Plan:
    """Return the plan that the project's bars are about."""
    return Plan.design(dimension=100, clusters=8, epsilon=1.0, expected_users=1_000_000)


def parameters_of(plan: Plan) -> CodewordParameters:
    """Return the plan's parameters, which are the codeword protocol's."""
    assert isinstance(plan.parameters, CodewordParameters)
    return plan.parameters


def random_reports(plan: Plan, count: int, seed: int = 0) -> NDArray[np.uint8]:
    """Return well-formed reports: (count, width)."""
    return np.random.default_rng(seed).integers(0, 256, size=(count, plan.report_width), dtype=np.uint8)


def machine() -> dict[str, object]:
    """Return what the figures depend on besides this code."""
    packages = ["numpy", "scipy", "cryptography"] + ["numba"] * ("numba" in KERNELS)
    return {**harness.machine(), "packages": {package: version(package) for package in packages}}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description="Measure encoding, aggregation and decoding, and the floor under them."
    )
    parser.add_argument(
        "--quick", action="store_true", help="small batches and few runs: a minute becomes seconds"
    )
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="where the JSON goes (default: %(default)s)"
    )
    parser.add_argument("--memory-of-adding", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--memory-of-decoding", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of_adding:
        print_memory_of_adding(arguments.memory_of_adding)
        return
    if arguments.memory_of_decoding:
        print_memory_of_decoding(arguments.memory_of_decoding)
        return

    plan = the_plan()
    people, singles, reports, runs = (
        (5_000, 200, 200_000, 2) if arguments.quick else (200_000, 2_000, 4_000_000, 5)
    )
    measurements = [
        *measure_encoding(plan, people, singles, runs),
        *measure_aggregation(plan, reports, runs),
        *measure_ratios(plan, people, reports, runs),
        *measure_decoding(plan, 20_000 if arguments.quick else FIT_PEOPLE, 1 if arguments.quick else 3),
        *measure_floors(plan, runs),
        *([] if arguments.quick else measure_memory(MEMORY_REPORTS, MEMORY_PEOPLE)),
    ]
    rows = [
        (m.name, m.kernels, f"{m.value:,.4g}" if m.value < 1000 else f"{m.value:,.0f}", m.unit, m.bar or "")
        for m in measurements
    ]
    print(harness.table(["what", "kernels", "figure", "", "bar"], rows))
    document = {
        "machine": machine(),
        "plan": {
            "dimension": plan.dimension,
            "epsilon": plan.epsilon,
            "rows": parameters_of(plan).rows,
            "codewords": parameters_of(plan).codewords,
            "embedding": parameters_of(plan).embedding,
        },
        "quick": arguments.quick,
        "measurements": [asdict(measurement) for measurement in measurements],
    }
    harness.write_json(arguments.out, document)
