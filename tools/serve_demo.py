"""A whole study through HTTP, on this machine: `make serve-demo`.

Starts a collector on an embedded store, lets simulated people encode and send through HTTP, closes, decodes,
checks the manifest, and prints where the study can be looked at. The collector runs on until Ctrl+C.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from coterie.coins import SimulationCoins
from coterie.engines import engine
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.remote import RemoteCollector
from coterie.service.verify import verify
from coterie.show.people import HABITS, SCHEMA, draw_people

PEOPLE = 50_000


def main(argv: list[str] | None = None) -> int:
    """Play the study; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--port", type=int, default=8787, help="0 takes a free one")
    parser.add_argument("--data", type=Path, help="folder of the collector; default: a temporary one")
    parser.add_argument("--once", action="store_true", help="stop when the study is decoded")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="coterie-serve-") as temporary:
        data: Path = options.data or Path(temporary)
        command = ["serve", "--data", str(data), "--port", str(options.port)]
        with subprocess.Popen(  # noqa: S603  # this interpreter, this package
            [sys.executable, "-c", "from coterie.cli import main; main()", *command],
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            try:
                return _play(server, data, options.people, options.once)
            except KeyboardInterrupt:
                return 0
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(60)


def _play(server: subprocess.Popen[str], data: Path, people: int, once: bool) -> int:
    url = _address(server)
    token = (data / "operator-token").read_text(encoding="ascii").strip()
    plan = Plan.design(
        features=SCHEMA,
        clusters=len(HABITS),
        epsilon=2.0,
        expected_users=people,
        seed=int(time.time()),  # a study of its own, each time
        collection=Collection(minimum=people // 2),
    )
    records, habits = draw_people(people, np.random.default_rng(0))
    points = SCHEMA.points(records)
    centers = np.stack([points[habits == each].mean(axis=0) for each in range(len(HABITS))])
    with RemoteCollector(url, token=token) as collector:
        collector.put_plan(plan)
        print(f"collector {url}, plan {plan.id}", flush=True)
        started, sent = time.perf_counter(), 0
        for part in engine("inline").encode(plan, points, SimulationCoins(0)):
            sent += collector.send(plan, part.reports).taken
        seconds = time.perf_counter() - started
        print(f"{sent:,} people encoded and sent in {seconds:.1f} s, every report on the disk", flush=True)
        collector.close(plan.id)
        result = collector.decode(plan.id)
        published = collector.result_bytes(plan.id)
        checked = verify(collector.manifest(plan.id), collector.table(plan.id), result=published)
        found = np.array(result["centers"])
        off = [float(np.linalg.norm(found - center, axis=1).min()) for center in centers]
        print(f"decoded: {result['supported']} of {len(HABITS)} groups stand clear of the noise")
        print(f"  each true center has one within {max(off):.3f}, in a ball of radius {plan.radius:.3f}")
        print(f"  recomputed from table and manifest within {checked.away:.1g}")
    print(f"look at the study: {url}/plans/{plan.id}/study", flush=True)
    if not once:
        print("Ctrl+C stops the collector", flush=True)
        server.wait()
    return 0


def _address(server: subprocess.Popen[str]) -> str:
    """Wait until the server says where it listens."""
    lines = []
    for line in server.stderr or ():
        lines.append(line)
        if line.startswith("collecting at "):
            return line.split()[2]
    raise SystemExit("the collector did not start:\n" + "".join(lines))


if __name__ == "__main__":
    sys.exit(main())
