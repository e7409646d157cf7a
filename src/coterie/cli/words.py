"""The demo's words: what was found, and how its features are spoken of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coterie.plain.words import listed, number_word
from coterie.show.people import HABITS, SCHEMA
from coterie.show.words import Phrase, Wording

if TYPE_CHECKING:
    from coterie.cli.simulation import Study

WORDING: Final = Wording(
    SCHEMA,
    {
        "hour": Phrase("around {figure}", "use around {figure}", "hour"),
        "weekday": Phrase("around {figure}", "use around {figure}", "weekday"),
        "minutes": Phrase("{figure}-minute visits", "visits of {figure} minutes", "min per visit"),
        "visits": Phrase("{figure} visits per week", "{figure} visits per week", "visits per week"),
        "device": Phrase("on the {label}", "{figure} on the {label}", "{label}"),
        "notifications": Phrase("notifications {on}", "notifications on for {figure}", "notifications"),
    },
)


def headline(study: Study) -> str:
    """Return in one line what was found, or that nothing was."""
    people, found, asked = f"{study.result.count:,} people", len(study.found()), len(HABITS)
    if not found:
        return f"Nothing was found among {people}: too few for ε = {study.plan.epsilon:g}"
    width = f"from {study.plan.report_width} private bytes each"
    if found == asked:
        return f"{number_word(found).capitalize()} groups found among {people}, {width}"
    return f"Only {number_word(found)} of {number_word(asked)} groups found among {people}, {width}"


def shortcomings(study: Study) -> list[str]:
    """Return what could not be found and what is wrong, in whole sentences; nothing where all is well."""
    told, found = study.told(), study.found()
    missed = [habit.name for i, habit in enumerate(HABITS) if i not in found.values()]
    words = []
    if missed:
        words.append(f"Not found of the groups that were simulated: {listed(missed)}.")
    if astray := len(told.told) - len(found):
        number = number_word(astray).capitalize()
        verb = "is" if astray == 1 else "are"
        words.append(f"{number} of the groups told below {verb} none of those that were simulated.")
    return [*words, *told.shortcomings]
