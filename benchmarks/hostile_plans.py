"""What a plan made to hurt costs a client: `python -m benchmarks hostile_plans`.

Each plan is read, checked and answered once in a process of its own, as on a device, and what that took is
printed: bytes of the plan, seconds in all, and memory beyond what the imports take. Plans are as large as
their protocol allows; views also as large as the default policy allows.

Promised for every plan that the default policy accepts: 5 seconds and 300 MiB.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS as FOLDER
from benchmarks.harness import machine, peak_megabytes, write_json
from coterie import Client, Plan, Policy
from coterie.errors import PolicyError
from coterie.features import Category, Feature, Number
from coterie.geometry.ball import SCALE
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.privacy.odds import BASE_ODDS

RESULTS = FOLDER / "hostile_plans.json"
MOST_SECONDS = 5.0
MOST_MIB = 300
DIMENSION = 3000


def _codeword(dimension: int = DIMENSION, **changes: Any) -> Plan:
    plan = Plan.design(dimension, 2, 1.0, 10**6)
    return dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, **changes))


def _halfspaces(views: int, rows: int) -> tuple[Halfspaces, ...]:
    return tuple(Halfspaces(rows, (0,) * rows) for _ in range(views))


def _net() -> Plan:
    points = np.random.default_rng(0).integers(-SCALE // 64, SCALE // 64, (4096, 64))
    return _codeword(64, views=(Net(tuple(map(tuple, points.tolist()))),))


def _net_tree() -> Plan:
    plan = Plan.design(15, 2, 1.0, 10**6, protocol="net-tree")
    odds = math.floor(math.exp(1 / 48) * BASE_ODDS) - 1  # of each of 48 bits
    changes = {"levels": 24, "ratio": 3, "projected": 10, "count_odds": odds, "vector_odds": odds}
    return dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, **changes))


def _directions() -> Plan:
    plan = Plan.design(
        DIMENSION, 2, 1.0, 10**6, directions=np.random.default_rng(0).standard_normal((64, DIMENSION))
    )
    changes = {"views": _halfspaces(256, 256)}
    return dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, **changes))


def _records(*features: Feature) -> Plan:
    return Plan.design(features=features, clusters=2, epsilon=1.0, expected_users=10**6)


def _numbers() -> Plan:
    names = [f"{number:04}{'x' * 60}" for number in range(DIMENSION)]
    return _records(*(Number(name, 1.0, 1e6, scale="log", description="d" * 500) for name in names))


def _category() -> Plan:
    return _records(Category("c", [f"{value:04}{'x' * 124}" for value in range(DIMENSION)], missing="own"))


PLANS: dict[str, Callable[[], Plan]] = {
    "as designed, d = 3": lambda: _codeword(3),
    "as designed, d = 3,000": _codeword,
    "256 views of 256 halfspaces": lambda: _codeword(views=_halfspaces(256, 256)),
    "one view of 65,536 halfspaces": lambda: _codeword(views=_halfspaces(1, 1 << 16)),
    "largest views of halfspaces": lambda: _codeword(views=_halfspaces(16, 256)),
    "65,536 halfspaces, d = 256": lambda: _codeword(256, views=_halfspaces(256, 256)),
    "256 rotations": lambda: _codeword(views=(CrossPolytope(8),) * 256),
    "one rotation, d = 256": lambda: _codeword(256, views=(CrossPolytope(1 << 15),)),
    "largest net": _net,
    "most and longest codewords": lambda: _codeword(codewords=4096, cap=1400, embedding=4096),
    "the same, mixed": lambda: Plan.design(DIMENSION, 2, 1.0, 10**5, model="shuffle", delta=1e-6),
    "lsh-tree of 14 levels": lambda: Plan.design(DIMENSION, 2, 1.0, 10**6, protocol="lsh-tree", levels=14),
    "net-tree of 24 levels": _net_tree,
    "64 directions, 65,536 halfspaces": _directions,
    "3,000 numbers by name": _numbers,
    "category of 3,000 values": _category,
}


def _answer(path: str) -> dict[str, Any]:
    """Read a plan and answer it, once."""
    Client(Plan.design(2, 2, 1.0, 100)).encode([0.0, 0.0])  # whatever imports and first calls take
    before, start = peak_megabytes(), time.perf_counter()
    plan = Plan.load(path)
    client, refused = Client(plan, policy=Policy(shufflers=("00" * 32,))), ""
    person: Any = np.full(plan.dimension, 0.3 / plan.dimension**0.5)
    if plan.features is not None:
        person = {feature.name: 2.0 for feature in plan.features.features}
    try:
        client.encode(person)
    except PolicyError as error:
        refused = str(error)
    spent = time.perf_counter() - start
    return {"seconds": spent, "mib": round(peak_megabytes() - before), "refused": refused, "size": plan.size}


def measure(plan: Plan) -> dict[str, Any]:
    """Return what a plan costs a client of its own process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        plan.save(path)
        command = [sys.executable, "-m", "benchmarks.hostile_plans", "--answer", str(path)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
        return {**json.loads(done.stdout), "bytes": path.stat().st_size}


def main() -> int:
    """Print the figures; return how many promises are broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the figures (%(default)s)")
    options = parser.parse_args()
    if options.answer is not None:
        print(json.dumps(_answer(options.answer)))
        return 0
    broken, lines = 0, []
    print(f"{'':32}{'bytes':>12}{'rows × d':>14}{'seconds':>10}{'MiB':>8}")
    for name, make in PLANS.items():
        found = measure(make())
        lines.append({"plan": name, **found})
        accepted = not found["refused"]
        broken += accepted and (found["seconds"] > MOST_SECONDS or found["mib"] > MOST_MIB)
        figures = f"{found['bytes']:12,}{found['size']:14,}{found['seconds']:10.2f}{found['mib']:8,}"
        print(f"{name:32}{figures}  {'' if accepted else 'refused'}", flush=True)
    print(f"\npromised for what is accepted: {MOST_SECONDS:g} s, {MOST_MIB} MiB: {broken} broken")
    promised = {"most seconds": MOST_SECONDS, "most MiB": MOST_MIB, "broken": broken}
    write_json(options.out, {"machine": machine(), "promised": promised, "plans": lines})
    return broken


if __name__ == "__main__":
    sys.exit(main())
