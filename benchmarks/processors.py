"""Whether a result comes out of its table on other processors, to the digit.

    python -m benchmarks processors [--tables 11] [--data DIR] [--out FILE]

OpenBLAS has kernels for several kinds of processors and can be told to use another one's; numpy can be told
to do without the vector instructions that such a processor lacks. Tables of real people and of mixtures are
decoded and signed with each kind, and all of these results are judged here, with this processor's own
(`service/verify.py: judge`): honest ones must pass, doctored ones must not. Doctored are shares by 0.02,
errors halved, a note dropped or added, and two groups exchanged with their words. (A count is the table's own
and compared beforehand.)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import harness
from benchmarks.real_data import default_folder
from benchmarks.statements import CALIBRATION, GRID, people_of
from coterie import Aggregate, Result, decode
from coterie.engines.simulate import simulate
from coterie.errors import ManifestError
from coterie.service.decoder import result_document
from coterie.service.manifest import decoding_seed, make_manifest
from coterie.service.verify import judge
from coterie.wire.manifest import read_manifest

_WIDE: Final = "X86_V4 AVX512_ICL AVX512_SPR"
CORES: Final = {  # kernels of OpenBLAS, and what numpy does without
    "SkylakeX": "",
    "Haswell": _WIDE,
    "Zen": _WIDE,
    "Nehalem": f"X86_V3 {_WIDE}",
}
RESULTS: Final = harness.RESULTS / "processors.json"
SEED: Final = 60_000
TABLES: Final = (
    *("magic-1e5-eps-1", "vehicle-1e5-eps-4", "adult-1e5-eps-2", "r8-1e5-eps-2", "ring-1e5-eps-4"),
    *("mixed-10-1e5-eps-4", "phoneme-1e5-eps-1", "wdbc-1e5-eps-4", "letter-1e5-eps-2", "r100-1e5-eps-1"),
    "digits-1e5-eps-2",
)
_DECODE: Final = """
import sys
from pathlib import Path
from coterie import Aggregate, decode
from coterie.service.decoder import result_document
from coterie.service.manifest import decoding_seed, make_manifest
for path in map(Path, sys.argv[2:]):
    data = path.read_bytes()
    table = Aggregate.from_bytes(data)
    result = result_document(decode(table, random_state=decoding_seed(table.plan)))
    signed = make_manifest(table.plan, data, result, {"counted": table.count}, 3600, bytes(range(32)))
    path.with_suffix("." + sys.argv[1]).write_bytes(signed)
"""


def doctored(result: Result) -> dict[str, Result]:
    """Return what somebody might have made of a result before signing it."""
    step = np.zeros(len(result.weights))
    step[:2] = 0.02, -0.02
    turn = np.arange(len(step))
    turn[:2] = 1, 0
    named = ("centers", "weights", "errors", "weight_errors", "clear")
    return {
        "shares by 0.02": replace(result, weights=result.weights + step),
        "errors halved": replace(result, errors=result.errors / 2),
        "a note dropped or added": replace(result, notes=result.notes[1:] or ("All is well.",)),
        "groups exchanged": replace(result, **{name: getattr(result, name)[turn] for name in named}),
    }


def main() -> None:
    """Make the tables, decode them with each kind of kernels, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", type=int, default=len(TABLES))
    parser.add_argument("--data", type=Path, default=default_folder())
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the figures (%(default)s)")
    options = parser.parse_args()
    studies = {study.name: study for study in (*GRID, *CALIBRATION)}
    rows: list[tuple[str, float]] = []
    refused: list[str] = []
    accepted: list[str] = []
    pairs = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.table" for name in TABLES[: options.tables]]
        for path in paths:
            source, plan = people_of(studies[path.stem], SEED, options.data)
            table = simulate(plan, source.points, studies[path.stem].users, random_state=SEED)
            path.write_bytes(table.to_bytes())
        for core, without in CORES.items():
            environment = os.environ | {"OPENBLAS_CORETYPE": core, "NPY_DISABLE_CPU_FEATURES": without}
            command = [sys.executable, "-c", _DECODE, core, *map(str, paths)]
            subprocess.run(command, env=environment, check=True)  # noqa: S603
        for path in paths:
            table = Aggregate.from_bytes(path.read_bytes())
            seed, radius = decoding_seed(table.plan), table.plan.radius
            again = decode(table, random_state=seed)
            most = 0.0
            for core in CORES:
                manifest = read_manifest(path.with_suffix(f".{core}").read_bytes())
                pairs += 1
                try:
                    most = max(most, judge(manifest, again, radius).away)
                except ManifestError as error:
                    refused.append(f"{path.stem}, {core}: {error}")
                    print(f"refused: {refused[-1]}")
            for name, false in doctored(again).items():
                data = result_document(false)
                signed = make_manifest(
                    table.plan, path.read_bytes(), data, {"counted": table.count}, 3600, bytes(range(32))
                )
                try:
                    judge(read_manifest(signed), again, radius)
                except ManifestError:
                    continue
                accepted.append(f"{path.stem}, {name}")
                print(f"accepted: {accepted[-1]}")
            rows.append((path.stem, most))
            print(f"{path.stem}: {most:.1g}", flush=True)
    shown = [(name, f"{most:.1g}") for name, most in rows]
    print(harness.table(["table", "centers differ by, radii of the ball"], shown))
    print(f"{len(refused)} of {pairs} honest results refused, {len(accepted)} doctored ones accepted")
    found = {"honest": pairs, "refused": refused, "accepted": accepted, "centers differ by": dict(rows)}
    harness.write_json(options.out, {"machine": harness.machine(), "cores": list(CORES), **found})
    raise SystemExit(bool(refused or accepted))
