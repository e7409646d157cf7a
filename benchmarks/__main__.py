"""Run one experiment, or all of them one after the other: `python -m benchmarks [NAME] [options]`.

    python -m benchmarks [--workers N] [--seeds N] [--data DIR]      all, each in a process of its own
    python -m benchmarks NAME --help                                 one

Speed first, while the machine is quiet. The others resume where they stopped. Real data are fetched if they
are not there yet. Decoding takes most of the time: some 2,000 runs of 10 to 40 s on one core each, shared
among the workers.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import subprocess
import sys
from pathlib import Path

GRIDS = (
    "few_dimensions",
    "accuracy",
    "scaling",
    "statements",
    "medians",
    "waves",
    "poisoned_waves",
    "follow_up",
    "confirm",
    "compare",
    "shuffle",
    "peers",
    "forecast",
    "records",
    "tuning",
    "embeddings",
    "reproduction",
)
ALONE = (
    *("speed", "scale", "spark", "audit_time", "service_load", "service_attack", "hostile_plans", "timing"),
    *("net_tree", "theorem_2", "guarantees", "poisoning", "cramer_rao", "decoder_size", "constants"),
    "processors",
)
NAMES = ("real_data", "ablations", *ALONE, *GRIDS)


def main() -> int:
    """Run one experiment, or return how many of all failed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: a run that ends so has not failed
    if sys.argv[1:] and sys.argv[1] in NAMES:
        name = sys.argv.pop(1)
        sys.argv[0] = f"python -m benchmarks {name}"
        try:
            module = importlib.import_module(f"benchmarks.{name}")
            if hasattr(module, "main"):
                module.main()
            else:
                from benchmarks import harness

                harness.main(module.BENCHMARK, module.__doc__)
        except KeyboardInterrupt:
            print("interrupted: the same command goes on from here", file=sys.stderr)
            return 130
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"Names: {', '.join(NAMES)}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workers", default="2")
    parser.add_argument("--seeds", help="of each study, at most; as each benchmark promises unless said")
    parser.add_argument("--data", type=Path, help="folder of real data")
    options = parser.parse_args()
    from benchmarks import real_data

    data = options.data or real_data.default_folder()
    failed = 0
    if not all((data / name).exists() for name in real_data.FILES):
        failed += _run("real_data", "--out", str(data))
    for name in ALONE:
        failed += _run(name)
    seeds = ["--seeds", options.seeds] if options.seeds else []
    for name in GRIDS:
        failed += _run(name, "--workers", options.workers, "--data", str(data), *seeds)
    return failed


def _run(name: str, *options: str) -> bool:
    print(f"\n## {name}\n", flush=True)
    return subprocess.run([sys.executable, "-m", "benchmarks", name, *options]).returncode != 0  # noqa: S603


if __name__ == "__main__":
    raise SystemExit(main())
