"""The figures, each from its table alone, as small SVG. Needs matplotlib (`coterie[plot]`)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from benchmarks.reproduction.studies import ABLATION, Setting, Sweep
from benchmarks.reproduction.tables import Point, curve, read_table
from coterie.errors import MissingExtraError

LABELS: Final = {
    "lsh-tree": "lsh-tree (our implementation of the paper)",
    "codeword": "codeword (ours)",
    "codeword-tight": 'codeword (ours, shape="tight")',
    "known-partition": "known partition (linear bound)",
    "non-private": "k-means in the open",
    "one-center": "one center",
    "interactive-budget": "interactive, ε split over 5 rounds",
    "interactive-users": "interactive, people split over 5 rounds",
    "central-tree": "our tree, trusted curator",
    "central-diffprivlib": "diffprivlib, trusted curator",
    "noise-gaussian": "Gaussian noise, then k-means",
    "noise-laplace": "Laplace noise, then k-means",
    "noise-privunit": "PrivUnit points, then k-means",
}
STEPS: Final = dict(
    zip(
        ABLATION,
        (
            "the paper (our lsh-tree)",
            "+ PrivUnit for DJW",
            "+ no split of people",
            "+ joint count",
            "+ no split of ε",
            "+ cells for hyperplanes",
            "+ shrinkage",
            "+ subspace",
            "+ count by length, settling (cells alone)",
        ),
        strict=True,
    )
)
_STRONG: Final = ("lsh-tree", "codeword", "codeword-tight")
_COLORS: Final = {
    "lsh-tree": "#c0392b",
    "codeword": "#1f5fa8",
    "codeword-tight": "#17a2b8",
    "known-partition": "#1f5fa8",
    "non-private": "#222222",
    "one-center": "#888888",
    "interactive-budget": "#76448a",
    "interactive-users": "#c39bd3",
    "central-tree": "#117a65",
    "central-diffprivlib": "#73c6b6",
    "noise-gaussian": "#a04000",
    "noise-laplace": "#d68910",
    "noise-privunit": "#f0b27a",
}


def draw_sweep(folder: Path, sweep: Sweep, pages: Path) -> list[Path]:
    """Draw one sweep from `sweep-<name>.csv` into `pages`; return the files written, if any."""
    plot = pyplot()
    points = read_table(folder / f"sweep-{sweep.name}.csv")
    if not points:
        return []
    figure, axes = plot.subplots(figsize=(7.2, 4.4), layout="constrained")
    for method in sweep.methods:
        found = curve(points, method)
        if not found:
            continue
        strong = method in _STRONG
        axes.errorbar(
            [float(point.value) for point in found],
            [max(point.mean, 1e-5) for point in found],
            yerr=[
                # On a logarithmic axis a bar that reaches below zero would have no lower end.
                [min(point.deviation, 0.95 * max(point.mean, 1e-5)) for point in found],
                [point.deviation for point in found],
            ],
            elinewidth=1.2 if strong else 0.7,
            label=label_of(method),
            color=_COLORS.get(method),
            linestyle="-" if strong else "--" if method == "known-partition" else ":",
            marker="o" if strong else None,
            linewidth=2.2 if strong else 1.3,
            capsize=3 if strong else 1.5,
        )
        former = [point for point in found if point.is_former]
        if former:  # hollow: the line beneath goes through them all the same
            axes.plot(
                [float(point.value) for point in former],
                [max(point.mean, 1e-5) for point in former],
                "o", markerfacecolor="white", markeredgecolor=_COLORS.get(method), markersize=6, zorder=5,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(5e-5, 5)
    axes.set_xlabel(
        {"users": "people n", "epsilon": "ε", "clusters": "clusters k"}.get(sweep.field, "separation r")
    )
    axes.set_ylabel("normalized k-means objective")
    varied, _, fixed = sweep.title.partition(", ")
    axes.set_title(f"Objective against {varied}\n{fixed}", fontsize=10)
    ticks = sorted({float(point.value) for point in points})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    figure.supxlabel(bars_of(points), fontsize=7, color="#555555")
    return [save_figure(plot, figure, pages / f"figure-{sweep.name}.svg")]


def label_of(method: str) -> str:
    """Return a method's words; a method without any is its own name."""
    return LABELS.get(method, method)


def bars_of(points: Iterable[Point]) -> str:
    """Return what the points and the bars of a figure are.

    Examples
    --------
    >>> bars_of([Point("1", "codeword", 0.1, 0.01, 10), Point("1", "lsh-tree", 0.4, 0.1, 10)])
    'mean of 10 runs a point; bars: one standard deviation of a run'
    """
    points = list(points)
    runs = sorted({point.runs for point in points})
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    former = "; hollow: runs of a former design" if any(point.is_former for point in points) else ""
    return f"mean of {count} runs a point; bars: one standard deviation of a run{former}"


def draw_ablation(folder: Path, base: Setting, pages: Path) -> list[Path]:
    """Draw the ablation from `ablation.csv` into `pages`."""
    plot = pyplot()
    points = read_table(folder / "ablation.csv")
    if not points:
        return []
    settings = list(dict.fromkeys(point.value for point in points))
    figure, axes = plot.subplots(figsize=(7.6, 4.2), layout="constrained")
    height = 0.8 / max(len(settings), 1)
    for number, setting in enumerate(settings):
        here = {point.method: point for point in points if point.value == setting}
        places = [place for place, step in enumerate(ABLATION) if step in here]
        axes.barh(
            [place + number * height for place in places],
            [here[ABLATION[place]].mean for place in places],
            height,
            xerr=[here[ABLATION[place]].deviation for place in places],
            label=setting.replace("eps", "ε"),
            color=("#1f5fa8", "#7fb3e6", "#d68910")[number % 3],
            error_kw={"linewidth": 0.8},
            hatch=["///" if here[ABLATION[place]].is_former else "" for place in places],
            edgecolor="white",
        )
    axes.set_yticks(
        [place + 0.4 - height / 2 for place in range(len(ABLATION))], list(STEPS.values()), fontsize=8
    )
    axes.invert_yaxis()
    axes.set_xlabel("normalized k-means objective")
    facts = f"n = {base.users:,}, d = {base.dimension}, k = {base.clusters}"
    axes.set_title(f"From the paper's algorithm to ours, one step at a time\n{facts}", fontsize=10)
    figure.supxlabel(bars_of(points).replace("hollow", "hatched"), fontsize=7, color="#555555")
    axes.legend(fontsize=8, frameon=False)
    return [save_figure(plot, figure, pages / "figure-ablation.svg")]


def save_figure(plot: Any, figure: Any, path: Path) -> Path:
    """Write a figure as SVG, the same bytes from the same table, and return its path."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    plot.close(figure)
    path.write_text(small_svg(drawn.getvalue()), encoding="utf-8")
    return path


def small_svg(drawing: str) -> str:
    r"""Return matplotlib's SVG at less than half its size: four digits a number, one line a group.

    Examples
    --------
    >>> small_svg('<svg><metadata>who</metadata> <g>\n  <path d="M 1.00004 3.0\nL -0.01 2.5"/></g></svg>')
    '<svg>\n<g><path d="M 1 3 L -0.01 2.5"/></g></svg>\n'
    """
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.4g}", drawing)
    drawing = re.sub(r"(?<=>)\s+(?=<)", "", drawing)
    return re.sub(r"\s+", " ", drawing).strip().replace("<g", "\n<g") + "\n"


def pyplot() -> Any:
    """Return matplotlib.pyplot, which draws into files here."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "coterie"
    mpl.rcParams["font.sans-serif"] = ["DejaVu Sans"]  # one name in every text, and the viewer's own after it
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text: smaller, and can be searched
    import matplotlib.pyplot as plt

    return plt
