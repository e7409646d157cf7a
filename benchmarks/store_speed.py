"""How fast the stores take reports in and compact them, durably: `python -m benchmarks.store_speed`.

One thread appends batches of 1,000 reports of 13 bytes, a number of batches in each commit, as a service
that merges waiting requests does; then single reports, then many single reports in one commit. Every call
returns after the disk has confirmed. `--postgres` starts a PostgreSQL of its own (tools/postgres.py).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from coterie.plan import Plan
from coterie.store import Store, open_store
from tools.postgres import running

BATCH = 1000
GROUPS = (1, 4, 16, 64, 256)
SECONDS = 2.0


def measure(store: Store, what: str) -> None:
    """Print the figures of one store."""
    plan = Plan.design(dimension=20, clusters=4, epsilon=1.0, expected_users=50_000)
    store.put_plan(plan)
    generator = np.random.default_rng(0)
    total = 0
    for group in GROUPS:
        sent, waits = 0, []
        begin = time.perf_counter()
        while (now := time.perf_counter()) < begin + SECONDS:
            reports = generator.integers(0, 256, (group, BATCH, 13), dtype=np.uint8)
            begin += time.perf_counter() - now  # making them is not the store's work
            now = time.perf_counter()
            assert store.append([(plan.id, rows) for rows in reports]) == [None] * group
            waits.append(time.perf_counter() - now)
            sent += group * BATCH
        total += sent
        rate, longest = sent / sum(waits), 1000 * float(np.quantile(waits, 0.99))
        print(
            f"{what:9}  {group:3} batches of {BATCH:,} a commit   {rate:12,.0f} reports/s"
            f"   p99 {longest:6.1f} ms"
        )
    for group in (1, 1000):
        pairs = [(plan.id, row[None]) for row in generator.integers(0, 256, (group, 13), dtype=np.uint8)]
        begin, commits = time.perf_counter(), 0
        while time.perf_counter() < begin + SECONDS:
            store.append(pairs)
            commits += 1
        total += commits * group
        rate = commits * group / (time.perf_counter() - begin)
        print(f"{what:9}  {group:4} single reports a commit       {rate:12,.0f} reports/s")
    begin = time.perf_counter()
    counts = store.compact(plan.id)
    seconds = time.perf_counter() - begin
    assert counts.received == total
    print(f"{what:9}  compaction                        {total / seconds:12,.0f} reports/s   ({total:,})")
    begin = time.perf_counter()
    read = sum(len(chunk) for chunk in store.reports(plan.id))
    print(
        f"{what:9}  reading                           {read / (time.perf_counter() - begin):12,.0f} reports/s"
    )


def main() -> None:
    """Measure the stores that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true", help="the store in PostgreSQL, too")
    parser.add_argument("--folder", type=Path, default=Path(), help="where the files go (here)")
    words = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="store-speed-", dir=words.folder))
    try:
        with open_store(folder / "store") as store:
            measure(store, "embedded")
    finally:
        shutil.rmtree(folder)
    if words.postgres:
        with running() as server, open_store(server.url()) as store:
            measure(store, "postgres")


if __name__ == "__main__":
    main()
