"""Draw the pictures of README and the pages with the library's own figures: `python -m tools.pictures`.

The people are those of the demo, the coins are seeded, so that the same source draws the same pictures. Each
file carries a digest of what drew it; tests/architecture/test_pictures.py fails where a picture is older than
its source.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
PEERS = ROOT / "benchmarks/results/peers.json"
PEOPLE = 200_000
NAMES = ("groups", "profile", "choices", "forecast", "waves", "comparison", "peers")


def digest() -> str:
    """Return the SHA-256 of the source that draws the pictures."""
    drawn_by = sorted((ROOT / "src/coterie/plots").glob("*.*"))  # and the style sheet
    joined = b"\0".join(path.read_bytes() for path in [*drawn_by, PEERS, Path(__file__)])
    return hashlib.sha256(joined).hexdigest()


def draw_peers() -> Any:
    """Draw what each method keeps of what clustering gains, by whom a person trusts; return the figure."""
    from matplotlib import pyplot
    from matplotlib.ticker import PercentFormatter

    from benchmarks.peers import BENCHMARK, ONE, OPEN
    from coterie.plots.style import INK, SOFT, color_of, styled

    runs = json.loads(PEERS.read_text(encoding="utf-8"))["runs"]
    costs: dict[str, dict[str, float]] = {}
    trusts: dict[str, str] = {}
    for study in BENCHMARK.grid:
        some = [run for run in runs if run["study"] == study.name]
        costs.setdefault(study.method, {})[study.data] = median(run["objective"] for run in some)
        trusts[study.method] = some[0]["trusts"]
    kept = {
        method: {
            data: (costs[ONE][data] - cost) / (costs[ONE][data] - costs[OPEN][data])
            for data, cost in found.items()
        }
        for method, found in costs.items()
        if method not in (ONE, OPEN)
    }
    order = sorted(
        kept,
        key=lambda each: (("a curator", "a shuffler", "nobody").index(trusts[each]), -kept[each]["letter"]),
    )
    with styled():
        figure, ax = pyplot.subplots(figsize=(8.6, 4.8), layout="constrained")
        places, place, before = [], -0.6, ""
        for method in order:
            if trusts[method] != before:
                place, before = place + 0.6, trusts[method]
                said = {"transform": ax.get_yaxis_transform(), "fontweight": "bold", "fontsize": 9}
                ax.text(0, place, f"trusted: {before}", va="center", color=SOFT, **said)
                place += 1
            for number, (data, share) in enumerate(kept[method].items()):
                where = max(share, -0.04)
                mark = "<" if share < -0.04 else "os"[number]
                label = data if method == order[0] else None
                ax.scatter([where], [place], s=46, marker=mark, color=color_of(number), label=label, zorder=3)
            places.append(place)
            place += 1
        ax.set_yticks(places, order)
        for tick, method in zip(ax.get_yticklabels(), order, strict=True):
            tick.set_color(INK if method.startswith("coterie") else SOFT)
        ax.set_ylim(place - 0.4, -0.8)
        ax.set_xlim(-0.06, 1.02)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_xlabel("recovered of what clustering gains (arrow: worse than one center)")
        ax.set_title("100,000 people, ε = 1, ten groups, 16 features")
        ax.grid(axis="x")
        ax.legend(loc="lower right", frameon=False)
        ax.spines[:].set_visible(False)
    return figure


def main() -> None:
    """Play the demo's study and draw it."""
    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    from coterie import Plan, compare, decode
    from coterie.coins import SimulationCoins
    from coterie.engines import play
    from coterie.plots import (
        ChoicesDisplay,
        ComparisonDisplay,
        ForecastDisplay,
        GroupsDisplay,
        ProfileDisplay,
        WavesDisplay,
    )
    from coterie.show.people import SCHEMA, draw_people

    people, kinds = draw_people(PEOPLE, np.random.default_rng(0))
    points = SCHEMA.points(people)
    plan = Plan.design(features=SCHEMA, clusters=5, epsilon=1.0, expected_users=PEOPLE)
    table = play(plan, points, SimulationCoins(0))
    result = decode(table, random_state=0)
    others = SCHEMA.points(draw_people(PEOPLE, np.random.default_rng(1))[0])
    second = plan.follow_up(result, expected_users=PEOPLE)
    waves = [result, decode([table, play(second, others, SimulationCoins(1))], random_state=0)]
    fewer = np.random.default_rng(2).random(PEOPLE) < np.where(
        kinds == 0, 0.6, 1.0
    )  # of the first kind, later
    later = play(plan, points[fewer], SimulationCoins(2))
    compared = compare([table, later], labels=("May", "June"), random_state=0)
    figures = {
        "groups": GroupsDisplay.from_result(result, people=people).figure_,
        "profile": ProfileDisplay.from_result(result, "A").figure_,
        "choices": ChoicesDisplay.from_result(result).figure_,
        "forecast": ForecastDisplay.from_plan(plan).figure_,
        "waves": WavesDisplay.from_results(waves).figure_,
        "comparison": ComparisonDisplay.from_comparison(compared).figure_,
        "peers": draw_peers(),
    }
    for name in NAMES:
        made = {"Source": digest(), "Software": None}
        figures[name].savefig(IMAGES / f"{name}.png", dpi=150, bbox_inches="tight", metadata=made)
        print(f"docs/images/{name}.png")


if __name__ == "__main__":
    main()
