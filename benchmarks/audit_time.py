"""How long the audit of every protocol takes: `python -m benchmarks audit_time [--quick]`.

One whole audit per protocol and model, as `coterie audit` runs it, and the broken clients once. Promised: all
pass, every broken client is caught, and the longest audit with its broken clients takes at most ten minutes
of the clock on two cores that do nothing else. Beside each stand the processor's seconds, which on a machine
that is shared say how busy it was, and what the audit would have caught.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS as FOLDER
from benchmarks.harness import machine, write_json
from coterie.audit import audit
from coterie.audit.canaries import CANARIES, check_canary
from coterie.plan import Plan

RESULTS = FOLDER / "audit_time.json"
MOST_SECONDS = 600.0  # of the clock
SUMS: dict[str, Any] = {"protocol": "vector-sums", "delta": 1e-6, "cells": 4}
PLANS: dict[str, dict[str, Any]] = {
    "codeword": {"users": 1000, "epsilon": 2.0},
    "codeword, ids from tokens": {"users": 1000, "epsilon": 2.0, "ids": "token"},
    "codeword, amplified": {"users": 1000, "epsilon": 1.0, "model": "shuffle", "delta": 1e-6},
    "net-tree": {"users": 1000, "epsilon": 2.0, "protocol": "net-tree", "levels": 3},
    "net-tree, codeword": {"users": 1000, "epsilon": 2.0, "protocol": "net-tree", "randomizer": "codeword"},
    "lsh-tree": {"users": 1000, "epsilon": 2.0, "protocol": "lsh-tree", "split": "budget"},
    "lsh-tree, privunit": {"users": 1000, "epsilon": 2.0, "protocol": "lsh-tree", "randomizer": "privunit"},
    "vector-sums": {"users": 200, "epsilon": 1.0, "model": "shuffle", **SUMS},
    "vector-sums, columns": {"users": 2000, "epsilon": 1.0, "model": "shuffle", "layout": "column", **SUMS},
    "vector-sums, central": {"users": 200, "epsilon": 1.0, "model": "central", **SUMS},
    "net-tree-sums": {
        "users": 100,
        "epsilon": 1.0,
        "protocol": "net-tree-sums",
        "model": "shuffle",
        "delta": 1e-6,
        "levels": 2,
        "buckets": 20,
    },
}


def main() -> int:
    """Print a line per protocol and the longest; return how many promises are broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples, as `coterie audit --quick`")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the figures (%(default)s)")
    options = parser.parse_args()
    failed, longest, lines = 0, 0.0, []

    def spent(name: str, passed: bool, since: tuple[float, float], words: str = "") -> float:
        clock, processor = time.monotonic() - since[0], time.process_time() - since[1]
        kept = "passed" if passed else "FAILED"
        print(f"{name:28} {kept}  {clock:6.1f} s  {processor:6.1f} s  {words}", flush=True)
        line = {"audit": name, "passed": passed, "clock s": clock, "processor s": processor, "power": words}
        lines.append(line)
        return clock

    print(f"{'':28} {'':6}     clock  processor")
    for name, settings in PLANS.items():
        since = time.monotonic(), time.process_time()
        wanted = dict(settings)
        plan = Plan.design(3, 2, wanted.pop("epsilon"), wanted.pop("users"), **wanted)
        found = audit(plan, quick=options.quick, with_canaries=False)
        failed += not found.passed
        power = next((check.found for check in found.checks if check.name == "power"), "")
        longest = max(longest, spent(name, found.passed, since, power))
        for check in found.failures:
            print(f"    {check.name}: {check.found}")
    since, caught = (time.monotonic(), time.process_time()), 0
    for name in CANARIES:
        caught += check_canary(name).passed
    failed += caught != len(CANARIES)
    longest += spent(f"{caught} of {len(CANARIES)} broken clients", caught == len(CANARIES), since)
    kept = longest <= MOST_SECONDS
    print(
        f"the longest audit and its broken clients: {longest:.0f} s of the clock; promised "
        f"{MOST_SECONDS:.0f}: {'kept' if kept else 'NOT kept'}"
    )
    figures = {"longest s": longest, "promised s": MOST_SECONDS, "failed": failed, "audits": lines}
    write_json(options.out, {"machine": machine(), "quick": options.quick, **figures})
    return failed + (not kept)


if __name__ == "__main__":
    raise SystemExit(main() > 0)
