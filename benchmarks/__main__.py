"""Run all benchmarks, one after the other, each in a process of its own: `python -m benchmarks`.

    python -m benchmarks [--workers N] [--seeds N] [--data DIR]

Speed first, while the machine is quiet. The others resume where they stopped. Real data are fetched if they
are not there yet. Decoding takes most of the time: some 2,000 runs of 10 to 40 s on one core each, shared
among the workers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
GRIDS = ("few_dimensions", "accuracy", "scaling", "stated_errors")


def main() -> int:
    """Return how many of the benchmarks failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", default="2")
    parser.add_argument("--seeds", help="of each study, at most; as each benchmark promises unless said")
    parser.add_argument("--data", type=Path, help="folder of real data")
    options = parser.parse_args()
    folder = ["--data", str(options.data)] if options.data else []
    seeds = ["--seeds", options.seeds] if options.seeds else []
    sys.path.insert(0, str(HERE))
    import real_data

    data = options.data or real_data.default_folder()
    failed = 0
    if not all((data / f"{name}.dat").exists() for name in real_data.SHAPES):
        failed += _run("real_data", "--out", str(data))
    failed += _run("speed")
    for name in GRIDS:
        failed += _run(name, "--workers", options.workers, *seeds, *folder)
    return failed


def _run(name: str, *options: str) -> bool:
    print(f"\n## {name}\n", flush=True)
    return subprocess.run([sys.executable, str(HERE / f"{name}.py"), *options]).returncode != 0  # noqa: S603


if __name__ == "__main__":
    raise SystemExit(main() > 0)
