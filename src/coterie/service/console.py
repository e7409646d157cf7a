"""What an operator is told of every study, and what there is to do next: by the page and by `coterie study`.

Counts are those that everybody is told (`status.py`): whoever looks over an operator's shoulder learns no
more than from the study's page.
"""

from __future__ import annotations

import json
from typing import Any, Final

from coterie.plan import Plan
from coterie.plan.collection import written_time
from coterie.service.pages.views import state_words
from coterie.service.studies import Known

_AS_IT_IS: Final = ("plan_id", "study_id", "model", "ids", "reports", "expected_users", "decoding")
NAMED: Final = 3  # features by which a study without a sheet is called
_ORDER: Final = ("closed", "open", "early", "decoded", "deleted")  # what waits for the operator comes first


def summaries(found: list[tuple[Known, dict[str, Any], bytes | None]]) -> list[dict[str, Any]]:
    """Return what is told of studies, given the plan, the status and the sheet of each; first what waits."""
    told = sorted(found, key=lambda each: (_ORDER.index(_state(each[1])), each[0].plan.id))
    return [summary(*each) for each in told]


def summary(known: Known, status: dict[str, Any], sheet: bytes | None) -> dict[str, Any]:
    """Return what is told of one study: its name, where it is, what to do next, and what can be done."""
    words, actions = next_step(known, status)
    return {
        **{name: status[name] for name in _AS_IT_IS},
        "title": title_of(known.plan, sheet),
        "minimum": known.collection.minimum,
        "state": _state(status),
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


def next_step(known: Known, status: dict[str, Any]) -> tuple[str, list[str]]:
    """Return what an operator does next with a study, in words, and what can be done with it at all."""
    how, few = known.collection, status["reports"] < known.collection.minimum
    need = f"{how.minimum:,} {'person' if how.minimum == 1 else 'people'}"
    invited = ["invite"] if known.plan.ids == "token" else []
    match _state(status):
        case "early":
            return f"It opens by itself at {written_time(how.opens or 0)}. Hand out its link.", invited
        case "open" if known.plan.mixed:
            return "Its shuffler hands a batch over once it closes there. Close it here then.", ["close"]
        case "open":
            ask = "Invite people" if invited else "Hand out its link"
            enough = f"It is decoded from {need} on." if few else "Enough answered: close it when you like."
            until = "" if how.closes is None else f" It closes by itself at {written_time(how.closes)}."
            return f"{ask}. {enough}{until}", [*invited, "close"]
        case "closed" if status["decoding"]:
            return "It is being decoded.", []
        case "closed":
            doubt = f" It seems that fewer than {need} answered; then it is refused." if few else ""
            return f"Decode it.{doubt}", ["decode", "delete"]
        case "decoded":
            kept = "" if how.retention is None else " They are deleted by themselves when the retention ends."
            return f"Publish its page. Delete the reports once nobody needs them.{kept}", ["delete"]
    return "Nothing: its reports are deleted, and what it found stays.", []


def _state(status: dict[str, Any]) -> str:
    decoded = status["decoded"] and status["state"] != "deleted"
    return "decoded" if decoded else str(status["state"])
