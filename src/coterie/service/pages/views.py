"""What the templates of the pages are given: a plan and, of a study, its status and its result."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.service.pages.assets import BUNDLE, assets
from coterie.sheet import chosen_language
from coterie.show.pages import render
from coterie.show.results import Shown
from coterie.show.told import Told

REASONS: Final = {
    "malformed": "not of the plan’s form",
    "closed": "after the close",
    "early": "before the study opened",
    "full": "over what the service takes",
    "token": "without a valid invitation",
}
STATES: Final = {
    "early": "Not open yet",
    "open": "Open",
    "closed": "Closed, not decoded yet",
    "deleted": "Closed, and its reports deleted",
}
_KINDS: Final = ("if people form clear groups", "if they do not, as most real data")


def console_page(public_key: str) -> str:
    """Return the page of the server itself: what it is, and the console of whoever has the token."""
    return render("console.html", served=replace(assets(), root=""), public_key=public_key)


def participate_page(plan: Plan, sheet: bytes | None = None, wanted: str = "") -> str:
    """Return the page on which somebody takes part. Form and report are the script's.

    The script reads the plan itself and checks that its hash is the id in the address, so the form follows
    from the plan and not from this page.

    Parameters
    ----------
    plan : Plan
        The plan.
    sheet : bytes, optional
        The study's sheet, as it was signed: who asks, and why.
    wanted : str
        The languages that the browser asks for, as Accept-Language has them.
    """
    given: dict[str, Any] = {"sheet": None, "language": "", "words": None}
    if sheet is not None:
        read = json.loads(sheet)  # checked when it was kept
        language = chosen_language(read, wanted)
        given = {"sheet": read, "language": language, "words": read["languages"][language]}
    return render("participate.html", served=assets(), plan=plan, bundle=BUNDLE, **given)


def study_page(
    plan: Plan,
    collection: Collection,
    status: dict[str, Any],
    result: bytes | None = None,
    public_key: str = "",
) -> str:
    """Return the page on which a study fills up, and tells its groups once it is decoded.

    Parameters
    ----------
    plan : Plan
        The plan.
    collection : Collection
        How it is collected.
    status : dict
        As `GET …/status` answers: coarse counts and a forecast.
    result : bytes, optional
        The document of the result.
    public_key : str
        Of the collector, 64 hex digits.
    """
    found, earlier = (None, None) if result is None else _found(plan.to_json(), result)
    if result is not None:
        status = {
            **status,
            "reports": json.loads(result)["count"],
        }  # published exactly, so not told coarsely beside it
    now, planned = status["expected"]["now"] or [None, None], status["expected"]["planned"]
    return render(
        "study.html",
        served=assets(),
        plan=plan,
        collection=collection,
        status=status,
        found=found,
        earlier=earlier,
        promise=plan.guarantee,
        reasons=REASONS,
        public_key=public_key,
        state=state_words(status),
        expected=None
        if planned is None
        else [
            (kind, forecast_words(now[place]), forecast_words(planned[place]))
            for place, kind in enumerate(_KINDS)
        ],
    )


@lru_cache(maxsize=32)  # a result never changes
def _found(plan_json: str, result: bytes) -> tuple[Shown | None, dict[str, Any] | None]:
    """Return what is shown of a result, or of one whose figures mean something else: as it was written."""
    plan, data = Plan.from_json(plan_json), json.loads(result)
    if "version" in data:
        return Shown.of(Told.of(data, plan.radius), plan.features), None
    before = (
        "An earlier version decoded this study. Its radii are not those of this version, so its words stand "
        "here as they were written; figures are in the result."
    )
    return None, {
        "headline": f"Decoded by an earlier version, from {data['count']:,} people",
        "notes": [before, *map(str, data.get("notes", ()))],
        "words": "\n\n".join(map(str, data.get("words", ()))),
    }


def state_words(status: dict[str, Any]) -> str:
    """Return in a few words where a study is.

    Examples
    --------
    >>> state_words({"decoded": False, "decoding": False, "state": "open"})
    'Open'
    """
    if status["decoded"]:
        return "Decoded"
    return "Being decoded" if status["decoding"] else STATES[status["state"]]


def forecast_words(found: dict[str, Any] | None) -> tuple[str, str]:
    """Return what a forecast recovers, and its error; the script writes the same."""
    if found is None:
        return "too few to say", ""
    recovered, low, high = (
        max(found[name], 0.0) for name in ("recovered", "recovered_low", "recovered_high")
    )
    hopeless = ": noise hides the groups" if found["hopeless"] else ""
    error = f"error {found['objective']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    return f"{recovered:.0%} ({low:.0%} to {high:.0%}){hopeless}", error
