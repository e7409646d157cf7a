"""What the templates of the pages are given: a plan and, of a study, its status and its result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.service.pages.assets import BUNDLE, MIXING, assets
from coterie.service.waves import Part
from coterie.sheet import chosen_language
from coterie.show.changes import changes_of
from coterie.show.pages import render
from coterie.show.results import shown
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


def console_page(public_key: str, role: str = "collector") -> str:
    """Return the page of the server itself: what it is, and the console of whoever has the token."""
    return render("console.html", served=replace(assets(), root=""), public_key=public_key, role=role)


def participate_page(
    plan: Plan,
    sheet: bytes | None = None,
    wanted: str = "",
    *,
    sends_here: bool = True,
    public_key: str = "",
) -> str:
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
    sends_here : bool
        Whether the server takes reports of this plan; a collector takes none that are to be mixed first.
    public_key : str
        Of the server, 64 hex digits.
    """
    given: dict[str, Any] = {"sheet": None, "language": "", "words": None}
    if sheet is not None:
        read = json.loads(sheet)  # checked when it was kept
        language = chosen_language(read, wanted)
        given = {"sheet": read, "language": language, "words": read["languages"][language]}
    scripts = [BUNDLE, *([MIXING] if plan.mixed else [])]
    here = {"sends_here": sends_here, "public_key": public_key}
    return render("participate.html", served=assets(), plan=plan, scripts=scripts, **here, **given)


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
    found = None if result is None else _found(plan.to_json(), result)
    if result is not None:
        # Published exactly, so not told coarsely beside it.
        status = {**status, "reports": json.loads(result)["count"]}
    now, planned = status["expected"]["now"] or [None, None], status["expected"]["planned"]
    return render(
        "study.html",
        served=assets(),
        plan=plan,
        collection=collection,
        status=status,
        found=found,
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


def waves_page(parts: Sequence[Part], told: Sequence[dict[str, Any]], results: Sequence[bytes | None]) -> str:
    """Return the page of all plans of a study: what the waves found together, and what each changed.

    Parameters
    ----------
    parts : sequence of Part
        The plans, in order.
    told : sequence of dict
        Where each is, as `GET /studies/…` answers.
    results : sequence of bytes or None
        The document of each one's result.
    """
    read = [None if each is None else json.loads(each) for each in results]
    decoded = [number for number, each in enumerate(read) if each is not None]
    last = decoded[-1] if decoded and parts[-1].label is None else None
    data = None if last is None else results[last]
    found = None if last is None or data is None else _found(parts[last].plan.to_json(), data)
    waves = [] if last is None else [each for each in read if each is not None]
    return render(
        "waves.html",
        served=assets(),
        plans=parts,
        where=told,
        waves=parts[-1].label is None,
        tables=[(number + 1, parts[number].plan.id) for number in decoded],
        states=[state_words(each) for each in told],
        asked=[asked_words(part.plan) for part in parts],
        results=read,
        found=found,
        promise=parts[-1].plan.guarantee,
        changes=changes_of(waves, parts[-1].plan.radius),
        study_id=parts[0].plan.study_id,
        open_one=next((each for each in reversed(told) if each["state"] == "open"), None),
    )


def asked_words(plan: Plan) -> str:
    """Return in a few words what a plan asks people.

    Examples
    --------
    >>> asked_words(Plan.design(2, 3, 1.0, 100))
    'find 3 groups'
    """
    groups = f"group{'s' * (plan.clusters != 1)}"
    if plan.confirms:
        return f"confirm {plan.clusters} published {groups}"
    directions = "" if plan.directions is None else f", in {len(plan.directions)} directions"
    return f"find {plan.clusters} {groups}{directions}" + (", in a ball that was found" if plan.after else "")


@lru_cache(maxsize=32)  # a result never changes
def _found(plan_json: str, result: bytes) -> dict[str, Any]:
    """Return what is shown of a result."""
    plan = Plan.from_json(plan_json)
    return shown(Told.of(json.loads(result), plan.radius), plan.features)


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
