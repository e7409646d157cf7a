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
NAMES = ("groups", "profile", "choices", "forecast")


def digest() -> str:
    """Return the SHA-256 of the source that draws the pictures."""
    drawn_by = sorted((ROOT / "src/coterie/plots").glob("*.py"))
    joined = b"\0".join(path.read_bytes() for path in [*drawn_by, Path(__file__)])
    return hashlib.sha256(joined).hexdigest()


def main() -> None:
    """Play the demo's study and draw it."""
    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    from coterie import Plan, decode
    from coterie.coins import SimulationCoins
    from coterie.engines import play
    from coterie.plots import ChoicesDisplay, ForecastDisplay, GroupsDisplay, ProfileDisplay
    from coterie.show.people import SCHEMA, draw_people

    people, _ = draw_people(PEOPLE, np.random.default_rng(0))
    plan = Plan.design(features=SCHEMA, clusters=5, epsilon=1.0, expected_users=PEOPLE)
    result = decode(play(plan, SCHEMA.points(people), SimulationCoins(0)), random_state=0)
    figures = {
        "groups": GroupsDisplay.from_result(result, people=people).figure_,
        "profile": ProfileDisplay.from_result(result, "A").figure_,
        "choices": ChoicesDisplay.from_result(result).figure_,
        "forecast": ForecastDisplay.from_plan(plan).figure_,
    }
    for name in NAMES:
        made = {"Source": digest(), "Software": None}
        figures[name].savefig(IMAGES / f"{name}.png", dpi=150, bbox_inches="tight", metadata=made)
        print(f"docs/images/{name}.png")


if __name__ == "__main__":
    main()
