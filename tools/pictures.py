"""Draw the pictures of README and the pages with the library's own figures: `python -m tools.pictures`.

The people are those of the demo, the coins are seeded, so that the same source draws the same pictures. Each
file carries a digest of what drew it; tests/architecture/test_pictures.py fails where a picture is older than
its source.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
PEOPLE = 200_000
NAMES = ("groups", "profile", "choices", "forecast", "waves", "comparison")


def digest() -> str:
    """Return the SHA-256 of the source that draws the pictures."""
    drawn_by = sorted((ROOT / "src/coterie/plots").glob("*.*"))  # and the style sheet
    joined = b"\0".join(path.read_bytes() for path in [*drawn_by, Path(__file__)])
    return hashlib.sha256(joined).hexdigest()


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
    }
    for name in NAMES:
        made = {"Source": digest(), "Software": None}
        figures[name].savefig(IMAGES / f"{name}.png", dpi=150, bbox_inches="tight", metadata=made)
        print(f"docs/images/{name}.png")


if __name__ == "__main__":
    main()
