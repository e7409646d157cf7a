"""The demo's page: one HTML file with everything in it, that opens from disk and calls nobody."""

from __future__ import annotations

from coterie.cli.simulation import Study
from coterie.cli.words import WORDING, headline, shortcomings
from coterie.plain.words import letter
from coterie.show.cards import Truth
from coterie.show.pages import render as fill
from coterie.show.people import HABITS, SCHEMA
from coterie.show.picture import Open
from coterie.show.results import shown
from coterie.wire.layout import ID_BYTES

_WORK = ("encode", "aggregate", "decode")  # the stages that a real study has, too


def render(study: Study) -> str:
    """Return the page as text."""
    plan, told, found = study.plan, study.told(), study.found()
    truths = {group.number: _truth(study, found.get(group.number)) for group in told.told}
    people = Open(study.some_points, study.some_habits, study.true_centers)
    lines = [bytes(report).hex(" ") for report in study.some_reports]
    end = 3 * ID_BYTES - 1  # two digits a byte and a space between
    return fill(
        "demo.html",
        study=study,
        found=shown(told, SCHEMA, wording=WORDING, truths=truths, people=people),
        promise=plan.guarantee,
        plan_id=plan.id,
        headline=headline(study),
        shortcomings=shortcomings(study),
        habits=[habit.name for habit in HABITS],
        letters={true: letter(number) for number, true in found.items()},
        objectives=(
            ("one center for everybody", study.one_center, False),
            (f"coterie, ε = {plan.epsilon:g}", study.private, True),
            ("k-means, all data in the open", study.non_private, False),
        ),
        work=sum(study.seconds[stage] for stage in _WORK),
        id_bytes=ID_BYTES,
        reports=[(line[:end], line[end + 1 :]) for line in lines],
    )


def _truth(study: Study, true: int | None) -> Truth:
    if true is None:
        return Truth(None, "None of the groups that were simulated.", "gx")
    words = f"The simulation calls them {HABITS[true].name}: {study.true_shares[true]:.0%} of people."
    return Truth(SCHEMA.describe_point(study.true_centers[true]), words, f"g{true}")
