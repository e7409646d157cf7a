"""How cost grows: people from 10⁴ to 10⁹, dimensions to 1,024, groups to 256; and what others take.

    python -m benchmarks scale [--most 1e9] [--parts sizes shapes fits hot peers] [--folder DIR] [--out FILE]

- *sizes*: encode, free of repeated ids (by one thread, and by all), add to a table, and both on all cores
  (`parallel`), for growing streams with 5 % repetitions. They are written to --folder (13 bytes a report, and
  as much again while they are counted) and removed. A billion needs 26 GB.
- *shapes*: decode tables drawn from their law, by dimension and by number of groups.
- *fits*: the whole protocol as an estimator.
- *hot*: `Aggregate.add` against the sum of its floors, with and without the second moment.
- *peers*: what a user would pick instead, in turns with ours, in an environment of their own
  (benchmarks/data/peers, made by pip). One that does not install or fails is named and left out.

Every measurement has a process of its own (`benchmarks/scale_steps.py`, `benchmarks/peer_steps.py`): time,
CPU time of all threads, peak memory. On a busy machine only CPU time means something. The file keeps what it
has: each part can be run alone and replaces its own figures. Prints tables, fitted exponents and bars, and
draws docs/images/scale.svg.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.real_data import default_folder
from benchmarks.reproduction.figures import pyplot, save_figure
from coterie.wire.report_file import HEADER
from tools.markdown import reflowed

RESULTS = harness.RESULTS / "scale.json"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "scale.svg"
PARTS = ("sizes", "shapes", "fits", "hot", "peers")
STREAMED = ("deduplicate", "partitions", "aggregate", "parallel")
BILLION = 10**9
MOST_ENCODED = 10**7
FLAT_FROM = 10**6
DIMENSIONS = (2, 8, 32, 100, 256, 1024)
CLUSTERS = (2, 8, 32, 256)
MANY = 256  # groups
SHAPE_PEOPLE = 10**8
FITS = (10**4, 10**5, 10**6)
HOT_REPORTS = 1 << 21
TURNS = 3
ENVIRONMENT = "peers"
# pure-ldp needs statsmodels without saying so, and a former xxhash
REQUIRED = {
    "pure_ldp": ("pure-ldp", "xxhash<4", "statsmodels"),
    "multi_freq_ldpy": ("multi-freq-ldpy", "xxhash<4"),
    "scikit_learn": ("scikit-learn",),
    "diffprivlib": ("diffprivlib==0.6.5", "scikit-learn<1.7"),  # it imports beside older ones only
    "google": ("absl-py", "dp-accounting", "scikit-learn"),  # its own code is on no index: peers.py
    "duckdb": ("duckdb", "polars"),
    "polars": ("polars",),
}

Figures = dict[str, Any]


def step(name: str, **arguments: object) -> Figures:
    """Measure one of our steps in a process of its own."""
    return _printed([sys.executable, "-m", "benchmarks.scale_steps", name, json.dumps(arguments)])


def _printed(command: Sequence[str], **extra: Any) -> Figures:
    done = subprocess.run(command, capture_output=True, text=True, **extra)  # noqa: S603
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise RuntimeError(said[-1] if said else f"ended with {done.returncode}")
    found: Figures = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def tell(name: str, n: object, figures: Figures) -> None:
    """Print a measurement when it is there."""
    shown = " ".join(f"{key}={value:.4g}" for key, value in figures.items() if isinstance(value, int | float))
    print(f"{name} {n}: {shown}", flush=True)


def sizes(most: int, folder: Path | None, most_encoded: int) -> Iterator[Figures]:
    """Yield what growing streams cost; a step that keeps another number of reports is an error."""
    for power in range(4, round(math.log10(BILLION)) + 1):
        count = 10**power
        if count > most:
            return
        if count <= most_encoded:
            yield {"step": "encode", "n": count, **step("encode", count=count)}
        with tempfile.TemporaryDirectory(prefix="scale-", dir=folder) as place:
            path = str(Path(place) / "stream.coterie")
            made = step("generate", path=path, count=count)
            yield {"step": "generate", "n": count, **made}
            for name in STREAMED:
                found = step(name, path=path)
                expected = count if name == "aggregate" else count - made["repeated"]
                if found["kept"] != expected:
                    raise RuntimeError(f"{name} kept {found['kept']} of {count}, not {expected}")
                yield {"step": name, "n": count, **found}


def shapes(people: int, dimensions: Sequence[int], clusters: Sequence[int]) -> Iterator[Figures]:
    """Yield cost and accuracy of decoding: by dimension with eight groups, by groups in 100 dimensions."""
    pairs = dict.fromkeys([*((d, 8) for d in dimensions), *((100, k) for k in clusters)])
    for dimension, groups in pairs:
        found = step("shape", dimension=dimension, clusters=groups, people=people)
        yield {"step": "decode", "d": dimension, "k": groups, "n": people, **found}
        if groups >= MANY:  # what a user would declare
            found = step("shape", dimension=dimension, clusters=groups, people=people, tight=True)
            yield {"step": "decode, tight", "d": dimension, "k": groups, "n": people, **found}


def fits(most: int) -> Iterator[Figures]:
    """Yield what the whole protocol costs."""
    for people in FITS:
        if people <= most:
            yield {"step": "fit", "n": people, **step("fit", people=people)}


def hot(reports: int) -> Iterator[Figures]:
    """Yield `Aggregate.add` beside its floors."""
    yield {"step": "add", "n": reports, **step("hot_path", reports=reports)}


class Peers:
    """The environment of the others; made on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failed: dict[str, str] = {}

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    def install(self, names: Sequence[str]) -> None:
        """Install each peer apart, so that one that fails leaves the others."""
        if not Path(self.python).exists():
            venv.create(self.folder, with_pip=True)
        for name in names:
            command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            done = subprocess.run([*command, *REQUIRED[name]], capture_output=True, text=True)  # noqa: S603
            if done.returncode:
                errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
                self.failed[name] = errors[-1] if errors else "pip failed"

    def step(self, name: str, needs: str | None = None, **arguments: object) -> Figures | None:
        """Measure one of their steps; None, noted, where it cannot be."""
        who = needs or name
        if who in self.failed:
            return None
        script = str(Path(__file__).with_name("peer_steps.py"))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        try:
            return _printed([self.python, script, name, json.dumps(arguments)], env=environment)
        except RuntimeError as error:
            self.failed[who] = str(error).partition(" (/")[0]  # without a machine's paths
            return None


def best_of(runs: Sequence[Figures]) -> Figures:
    """Return the run with the least CPU time, with the shortest wall time of all."""
    best = min(runs, key=lambda run: run["cpu_s"])
    return {**best, "seconds": min(run["seconds"] for run in runs)}


def in_turns(steps: dict[str, Callable[[], Figures | None]], turns: int) -> Iterator[tuple[str, Figures]]:
    """Yield each step's best run; they take turns, so that a busy moment meets all."""
    runs: dict[str, list[Figures]] = {name: [] for name in steps}
    for _ in range(turns):
        for name, one in steps.items():
            found = one()
            if found is not None:
                runs[name].append(found)
    yield from ((name, best_of(found)) for name, found in runs.items() if found)


def peers(
    folder: Path | None, environment: Path, *, reports: int, people: int, points: int, turns: int
) -> Iterator[Figures]:
    """Yield ours and theirs in turns: histograms, repeated ids, k-means."""
    others = Peers(environment)
    others.install(list(REQUIRED))
    histograms: dict[str, Callable[[], Figures | None]] = {
        "coterie": lambda: step("encode", count=people),
        "pure_ldp": lambda: others.step("pure_ldp", people=people),
        "multi_freq_ldpy": lambda: others.step("multi_freq_ldpy", people=people),
    }
    for name, found in in_turns(histograms, turns):
        yield {"step": "encode", "who": name, "n": people, **found}
    with tempfile.TemporaryDirectory(prefix="scale-", dir=folder) as place:
        path, columns = str(Path(place) / "stream.coterie"), str(Path(place) / "stream.parquet")
        made = step("generate", path=path, count=reports)
        others.step(
            "write_columns",
            needs="polars",
            **{"reports": path, "width": 13, "header": HEADER.size, "count": reports, "out": columns},
        )
        once: dict[str, Callable[[], Figures | None]] = {
            "coterie": lambda: step("partitions", path=path),
            "duckdb": lambda: others.step("duckdb", path=columns, in_memory=False),
            "polars": lambda: others.step("polars", path=columns, in_memory=False),
            "duckdb, in memory": lambda: others.step("duckdb", path=columns, in_memory=True),
            "polars, in memory": lambda: others.step("polars", path=columns, in_memory=True),
        }
        for name, found in in_turns(once, turns):
            if found["kept"] != reports - made["repeated"]:
                raise RuntimeError(f"{name} kept {found['kept']} of {reports}")
            yield {"step": "each id once", "who": name, "n": reports, **found}
        array = str(Path(place) / "points.npy")
        step("write_points", path=array, people=points)
        clustering: dict[str, Callable[[], Figures | None]] = {
            "coterie": lambda: step("from_reports", people=points),
            "scikit_learn": lambda: others.step("scikit_learn", points=array, clusters=8, mini_batch=False),
            "scikit_learn, one thread": lambda: others.step(  # at times the faster
                "scikit_learn", points=array, clusters=8, mini_batch=False, threads=1
            ),
            "scikit_learn, mini-batch": lambda: others.step(
                "scikit_learn", points=array, clusters=8, mini_batch=True
            ),
            "diffprivlib": lambda: others.step("diffprivlib", points=array, clusters=8),
            "google": lambda: others.step("google", points=array, clusters=8),
        }
        for name, one in clustering.items():  # long enough for one turn
            if (outcome := one()) is not None:
                yield {"step": "k-means", "who": name, "n": points, **outcome}
    for name, why in others.failed.items():
        yield {"step": "failed", "who": name, "n": 0, "why": why}


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of log y over log x; NaN of fewer than two points.

    >>> round(exponent([(1, 2), (10, 200)]), 6)
    2.0
    """
    if len(points) < 2:
        return math.nan
    x, y = np.log(np.array(points, dtype=np.float64)).T
    return float(np.polyfit(x, y, 1)[0])


def growth(found: Sequence[Figures], name: str, figure: str, least: int = 0) -> list[tuple[float, float]]:
    """Return (n, figure) of a step, from `least` on."""
    return [(run["n"], run[figure]) for run in found if run["step"] == name and run["n"] >= least]


def at_a_billion(points: Sequence[tuple[float, float]], least: float) -> tuple[float, bool]:
    """Return what a billion takes, and whether it was measured.

    Else by the exponent fitted from 10⁶ up, or by `least` where that is larger: one time per report does not
    fall for ever because small streams are dear.
    """
    by_size = dict(points)
    if BILLION in by_size:
        return by_size[BILLION], True
    large = [point for point in points if point[0] >= FLAT_FROM] or list(points)
    most, value = max(large)
    slope = exponent(large)
    return value * (BILLION / most) ** (least if math.isnan(slope) else max(least, slope)), False


def flatness(points: Sequence[tuple[float, float]]) -> float:
    """Return the largest cost per report over the smallest, from 10⁶ up; NaN where nothing is so large."""
    each = [value / n for n, value in points if n >= FLAT_FROM]
    return max(each) / min(each) if each else math.nan


def bars(document: Figures) -> list[tuple[str, str, str, str]]:
    """Return what is promised: (what, figure, promise, whether kept or how it is known)."""
    rows: list[tuple[str, str, str, str]] = []
    cores = document["machine"]["cores"]

    def row(what: str, value: float, shown: str, bar: harness.Bar, note: str = "") -> None:
        promise = f"≤ {bar.at_most:g}" if math.isfinite(bar.at_most) else f"≥ {bar.at_least:g}"
        rows.append((what, shown, promise, " ".join(filter(None, [harness.tick(bar.met(value)), note]))))

    if found := document.get("sizes"):
        for what, figure, most, least in (
            ("10⁹ by `parallel`, seconds", "seconds", 240, 1.0),
            (f"10⁹ by `parallel`, CPU seconds / {cores} cores", "cpu_s", 240, 1.0),
            ("10⁹ by `parallel`, peak MB", "peak_mb", 1000, 0.0),
        ):
            value, ran = at_a_billion(growth(found, "parallel", figure), least)
            value /= cores if figure == "cpu_s" else 1
            note = "" if ran else "extrapolated"
            row(what, value, f"{value:,.0f}", harness.Bar("", at_most=most), note)
        flat = flatness(growth(found, "parallel", "cpu_s"))
        row("CPU cost per report from 10⁶ up, largest/smallest", flat, f"{flat:.2f}", harness.Bar("", 1.3))
        n, used = max(growth(found, "encode", "cpu_s"))
        rate = cores * n / used
        bar = harness.Bar("", at_least=400_000)
        row(f"encoding, reports/s by CPU time × {cores} cores", rate, f"{rate:,.0f}", bar)
    if found := document.get("hot"):
        over = found[0]["over_floors"]
        row("`Aggregate.add` / sum of its floors", over, f"{over:.2f}", harness.Bar("", at_most=1.5))
    for group, other, judged, least in (
        ("encode", "pure_ldp", "cpu_s", 1.3),
        ("each id once", "duckdb", "seconds", 2.0),
        ("each id once", "duckdb, in memory", "seconds", -math.inf),
        ("k-means", "scikit_learn", "seconds", 3.0),
        ("k-means", "scikit_learn, one thread", "seconds", 3.0),
    ):
        runs = {run["who"]: run for run in document.get("peers", ()) if run["step"] == group}
        if "coterie" in runs and other in runs:
            ratios = {
                figure: runs[other][figure] / runs["coterie"][figure] for figure in ("cpu_s", "seconds")
            }
            shown = f"{ratios['seconds']:.2f} by the clock, {ratios['cpu_s']:.2f} of CPU time"
            what = f"{group}: {other} / ours"
            if math.isinf(least):
                rows.append((what, shown, "", ""))
            else:
                row(what, ratios[judged], shown, harness.Bar("", at_least=least))
    return rows


def tables(document: Figures) -> str:
    """Return everything as Markdown."""
    parts = []
    lines: list[tuple[object, ...]]
    if found := document.get("sizes", []) + document.get("fits", []):
        names = list(dict.fromkeys(run["step"] for run in found))
        lines = [
            (
                run["step"],
                f"10{_raised(run['n'])}",
                f"{run['seconds']:.3g}",
                f"{run['cpu_s']:.3g}",
                f"{1e9 * run['cpu_s'] / run['n']:,.0f}",
                f"{run['peak_mb']:,.0f}",
            )
            for name in names
            for run in found
            if run["step"] == name
        ]
        columns = ["step", "n", "seconds", "CPU seconds", "CPU ns per report", "peak MB"]
        parts.append(harness.table(columns, lines))
        lines = [
            (
                name,
                *(f"{exponent(growth(found, name, f, 10**5)):.2f}" for f in ("seconds", "cpu_s", "peak_mb")),
            )
            for name in names
        ]
        columns = ["exponent of n from 10⁵ up", "seconds", "CPU seconds", "peak memory"]
        parts.append(harness.table(columns, lines))
    if found := document.get("shapes"):
        lines = [
            (
                run["d"],
                f"{run['k']}, tight" if run["step"].endswith("tight") else run["k"],
                f"10{_raised(run['n'])}",
                f"{run['cpu_s']:.3g}",
                f"{run['peak_mb']:,.0f}",
                run["report_bytes"],
                f"{run['table_bytes'] / 1e6:.3g}",
                f"{run['objective']:.4f}",
                f"{run['non_private']:.4f}",
                f"{run['recovered']:.3f}",
            )
            for run in found
        ]
        columns = ["d", "k", "n", "decode, CPU s", "peak MB", "report, bytes", "table, MB"]
        parts.append(harness.table([*columns, "objective", "in the open", "recovered"], lines))
        for letter, other in (("d", "k"), ("k", "d")):
            fixed = 8 if other == "k" else 100
            curve = [
                (run[letter], run["cpu_s"])
                for run in found
                if run[other] == fixed and run["step"] == "decode"
            ]
            parts.append(f"Decoding grows as {letter}^{exponent(curve):.2f} ({other} = {fixed}).")
    if found := document.get("hot"):
        run = found[0]
        floors = ", ".join(f"{name} {value:.1f}" for name, value in run["floors_ns"].items())
        parts.append(
            f"`Aggregate.add`: {run['add_ns']:.1f} CPU ns per report, of which the second moment's share is "
            f"{run['second_moment_share']:.0%} ({run['add_without_second_moment_ns']:.1f} ns without it). "
            f"Floors (ns): {floors}; sum for {run['kernels']} {run['sum_of_floors_ns']:.1f}."
        )
    if found := document.get("peers"):
        lines = [
            (
                run["step"],
                run["who"],
                run.get("version", ""),
                f"10{_raised(run['n'])}",
                f"{run['seconds']:.3g}",
                f"{run['cpu_s']:.3g}",
                f"{run['aggregate_cpu_s']:.3g}" if "aggregate_cpu_s" in run else "",
                f"{run['objective']:.4f}" if "objective" in run else "",
            )
            for run in found
            if run["step"] != "failed"
        ]
        columns = ["what", "who", "version", "n", "seconds", "CPU s", "aggregate, CPU s", "objective"]
        parts.append(harness.table(columns, lines))
        parts += [f"Left out: {run['who']} ({run['why']})." for run in found if run["step"] == "failed"]
    parts.append(harness.table(["bar", "figure", "promised", ""], bars(document)))
    return "\n\n".join(parts)


def _raised(n: int) -> str:
    return str(round(math.log10(n))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def draw(document: Figures, path: Path) -> Path:
    """Draw cost per report by n, and decoding by d and k with what is recovered; return the file."""
    plot = pyplot()
    figure, (left, right) = plot.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
    found = document.get("sizes", [])
    for name in ("encode", *STREAMED):
        curve = growth(found, name, "cpu_s")
        if curve:
            left.plot([n for n, _ in curve], [1e9 * value / n for n, value in curve], marker="o", label=name)
    left.set(xscale="log", yscale="log", xlabel="reports", ylabel="CPU time per report, ns")
    left.set_title("What one report costs among so many", fontsize=10)
    left.grid(alpha=0.3)
    if found:
        left.legend(fontsize=8)
    for letter, other, fixed, words in (
        ("d", "k", 8, "by d, k = 8"),
        ("k", "d", 100, "by k, d = 100"),
    ):
        runs = sorted(
            (run for run in document.get("shapes", []) if run[other] == fixed and run["step"] == "decode"),
            key=lambda run: run[letter],
        )
        if runs:
            xs = [run[letter] for run in runs]
            (line,) = right.plot(xs, [run["cpu_s"] for run in runs], marker="o", label=words)
            for x, run in zip(xs, runs, strict=True):
                right.annotate(
                    f"{run['recovered']:.2f}",
                    (x, run["cpu_s"]),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontsize=7,
                    color=line.get_color(),
                )
    right.set(xscale="log", yscale="log", xlabel="dimensions or groups", ylabel="decoding, CPU seconds")
    right.set_title("Decoding, with the share recovered beside each point", fontsize=10)
    right.grid(alpha=0.3)
    if document.get("shapes"):
        right.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    return save_figure(plot, figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the parts asked for, write, print and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=float, default=1e9, help="reports in the largest stream (%(default)g)")
    parser.add_argument("--most-encoded", type=float, default=MOST_ENCODED, help="people (%(default)g)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    parser.add_argument("--clusters", nargs="+", type=int, default=CLUSTERS)
    parser.add_argument("--people", type=float, default=SHAPE_PEOPLE, help="of each shape (%(default)g)")
    parser.add_argument("--points", type=float, default=1e6, help="that k-means looks at (%(default)g)")
    parser.add_argument("--turns", type=int, default=TURNS, help="of ours and the peers' (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where streams are written (the system's place)")
    parser.add_argument("--peers", type=Path, default=default_folder() / ENVIRONMENT, help="environment")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path, help="file of the picture (docs/images/scale.svg)")
    options = parser.parse_args(arguments)
    most = int(options.most)
    measuring: dict[str, Callable[[], Iterator[Figures]]] = {
        "sizes": lambda: sizes(most, options.folder, int(options.most_encoded)),
        "shapes": lambda: shapes(int(options.people), options.dimensions, options.clusters),
        "fits": lambda: fits(min(most, FITS[-1])),
        "hot": lambda: hot(min(most, HOT_REPORTS)),
        "peers": lambda: peers(
            options.folder,
            options.peers,
            reports=min(most, 10**7),
            people=min(most, 10**5),
            points=int(options.points),
            turns=options.turns,
        ),
    }
    document: Figures = {}
    if options.out.exists():
        document = json.loads(options.out.read_text(encoding="utf-8"))
    document["machine"] = harness.machine()
    for part in options.parts:
        found: list[Figures] = []
        for figures in measuring[part]():
            found.append(figures)
            tell(figures["step"], figures.get("who", figures["n"]), figures)
            document[part] = found
            harness.write_json(options.out, document)
    text = tables(document)
    options.out.with_suffix(".md").write_text(reflowed(f"{text}\n"), encoding="utf-8")
    print(text)
    beside = PICTURE if options.out == RESULTS else options.out.with_suffix(".svg")
    print(f"drew {draw(document, options.picture or beside)}")
