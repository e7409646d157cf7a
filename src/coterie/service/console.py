"""What an operator is told of every study, and what there is to do next: by the page and by `coterie study`.

Counts are those that everybody is told (`status.py`): whoever looks over an operator's shoulder learns no
more than from the study's page.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from coterie.plan import Plan
from coterie.plan.collection import written_time
from coterie.service.pages.views import state_words
from coterie.service.studies import Known

_AS_IT_IS: Final = ("plan_id", "study_id", "model", "ids", "reports", "expected_users", "decoding")
NAMED: Final = 3  # features by which a study without a sheet is called
_ORDER: Final = ("closed", "open", "early", "decoded", "deleted")  # what waits for the operator comes first


class Seen(NamedTuple):
    """What a service knows of one study."""

    known: Known
    status: dict[str, Any]
    sheet: bytes | None = None
    label: str | None = None  # among plans that stand beside each other
    last: bool = False  # the wave that a next one follows
    model: str = "local"  # of the plans whose reports the service takes in

    @property
    def sends_here(self) -> bool:
        """Whether people send reports of this plan to this service."""
        return self.known.plan.model == self.model

    @property
    def state(self) -> str:
        """Where it is, in one word."""
        decoded = self.status["decoded"] and self.status["state"] != "deleted"
        return "decoded" if decoded else str(self.status["state"])


def summaries(found: list[Seen]) -> list[dict[str, Any]]:
    """Return what is told of studies; first what waits."""
    return [summary(each) for each in sorted(found, key=lambda x: (_ORDER.index(x.state), x.known.plan.id))]


def summary(seen: Seen) -> dict[str, Any]:
    """Return what is told of one study: its name, where it is, what to do next, and what can be done."""
    known, status = seen.known, seen.status
    words, actions = next_step(seen)
    return {
        **{name: status[name] for name in _AS_IT_IS},
        "title": title_of(known.plan, seen.sheet),
        "label": seen.label,
        "form": seen.sends_here and seen.state == "open",
        "minimum": known.collection.minimum,
        "state": seen.state,
        "words": state_words(status),
        "next": words,
        "actions": actions,
    }


def title_of(plan: Plan, sheet: bytes | None) -> str:
    """Return what a study is called: by its sheet, else by what it asks for."""
    if sheet is not None:
        read = json.loads(sheet)  # checked when it was kept
        return str(read["languages"][read["language"]]["title"])
    if plan.features is None:
        return f"Points in {plan.dimension} dimensions"
    names = [each.name for each in plan.features.features]
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def next_step(seen: Seen) -> tuple[str, list[str]]:
    """Return what an operator does next with a study, in words, and what can be done with it at all."""
    known, status = seen.known, seen.status
    how, few = known.collection, status["reports"] < known.collection.minimum
    mixes = known.plan.mixed and seen.sends_here  # as a shuffler
    need = f"{how.minimum:,} {'person' if how.minimum == 1 else 'people'}"
    invited = ["invite"] if known.plan.ids == "token" else []
    match seen.state:
        case "early":
            return f"It opens by itself at {written_time(how.opens or 0)}. Hand out its link.", invited
        case "open" if mixes:
            until = "when you close it" if how.closes is None else f"at {written_time(how.closes)}"
            fewest = f"{known.plan.minimum_batch:,} people"
            return f"Hand out its link. From {fewest} on it is mixed and handed over, {until}.", ["close"]
        case "open" if known.plan.mixed:
            return "Its shuffler hands a batch over once it closes there. Close it here then.", ["close"]
        case "open":
            ask = "Invite people" if invited else "Hand out its link"
            enough = f"It is decoded from {need} on." if few else "Enough answered: close it when you like."
            until = "" if how.closes is None else f" It closes by itself at {written_time(how.closes)}."
            return f"{ask}. {enough}{until}", [*invited, "close"]
        case "closed" if mixes:
            return "It is mixed and handed over by itself. What was found, its collector tells.", ["delete"]
        case "closed" if status["decoding"]:
            return "It is being decoded.", []
        case "closed":
            doubt = f" It seems that fewer than {need} answered; then it is refused." if few else ""
            return f"Decode it.{doubt}", ["decode", "delete"]
        case "decoded":
            kept = "" if how.retention is None else " They are deleted by themselves when the retention ends."
            more = " Or ask other people in a next wave." if seen.last else ""
            actions = [*(["next"] if seen.last else []), "delete"]
            return f"Publish its page.{more} Delete the reports once nobody needs them.{kept}", actions
    return f"Nothing: its reports are deleted{'' if mixes else ', and what it found stays'}.", []
