"""A report of a study for people who were not there: one page and one document with the same in it.

What was asked, the promise and what it does not cover, who could see what, the forecast beside the result,
the groups, what could not be found, whether reports look honest, an audit's verdict, versions and commands.
The page is the result's own with these around it.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from coterie import __version__
from coterie.features import Schema
from coterie.privacy import Guarantee
from coterie.show.expected import expectations
from coterie.show.pages import render
from coterie.show.results import shown
from coterie.show.told import Told

if TYPE_CHECKING:
    from coterie.aggregate import Aggregate
    from coterie.plan import Plan

FORMAT: Final = "coterie-report"
VERSION: Final = 1

_SEES: Final = {
    "local": (
        ("the person's device", "the answers"),
        ("the collector", "one private report a person, and where it came from"),
        ("everybody", "plan, table and result: made of private reports alone"),
    ),
    "shuffle": (
        ("the person's device", "the answers"),
        ("the shuffler", "each report beside whoever sent it; it must pass on nothing but mixed messages"),
        ("the collector", "mixed messages, which are nobody's"),
        ("everybody", "plan, table and result"),
    ),
    "central": (
        ("the curator", "everybody's answers: they must be trusted"),
        ("everybody", "plan and noisy results"),
    ),
}
NOT_COVERED: Final = (
    "That a person took part, when, and from where: a report hides what was answered, not who sent it.",
    "What can be said of anybody from what is true of everybody, whether they took part or not.",
    "What a device, or whoever runs it, does with answers besides.",
)


def report_document(
    found: Mapping[str, Any],
    promise: Guarantee,
    radius: float,
    *,
    plans: Sequence[Plan] = (),
    tables: Sequence[Aggregate] = (),
    sheet: Mapping[str, Any] | None = None,
    audit: Mapping[str, Any] | None = None,
    title: str = "",
    commands: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a study's report for programs.

    Parameters
    ----------
    found : mapping
        What was found: `Result.to_dict()`, or its JSON.
    promise : Guarantee
        What was promised.
    radius : float
        Of the ball that holds everybody.
    plans : sequence of Plan
        What people answered; those of the tables where none are given. Without any, the forecast is left out.
    tables : sequence of Aggregate
        What it was found from, wave by wave: for their counts, and the tests of honest reports.
    sheet : mapping, optional
        Who asked, and why, as people read it (`coterie.sheet`); told in its first language.
    audit : mapping, optional
        What `coterie audit --json` printed.
    title : str
        What the study is called; by its sheet where empty.
    commands : sequence of str
        That give the same again.
    """
    asked = list(plans) or [table.plan for table in tables]
    words = None if sheet is None else sheet["languages"][sheet["language"]]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title or ("" if words is None else words["title"]),
        "sheet": None if sheet is None else _told(sheet),
        "asked": [_asked(plan, {} if words is None else words["questions"]) for plan in asked],
        "waves": [{"plan_id": table.plan.id, "people": table.count} for table in tables],
        "promise": {
            **{"epsilon": promise.epsilon, "delta": promise.delta, "spent": promise.spent},
            "model": promise.model,
            "words": list(promise.paragraphs),
            "holds_when": list(promise.conditions),
            "does_not_cover": list(NOT_COVERED),
        },
        "who_sees": [{"who": who, "what": what} for who, what in _SEES[promise.model]],
        "forecast": [words for plan in asked for words in _forecast(plan)],
        "result": dict(found),
        "not_found": Told.of(found, radius).shortcomings,
        "honest": [each for table in tables for each in _tests(table)],
        "audit": None if audit is None else _audited(audit),
        "software": {"coterie": __version__, "python": platform.python_version()},
        "commands": list(commands),
    }


def report_page(
    document: Mapping[str, Any], promise: Guarantee, features: Schema | None, radius: float
) -> str:
    """Return the report as one page that opens from disk, runs nothing and calls nobody."""
    told = Told.of(document["result"], radius)
    return render(
        "report.html",
        found=shown(told, features),
        promise=promise,
        plan_id=document["result"]["plan_id"],
        report=document,
    )


def _told(sheet: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a sheet says of who asks, and by whose key, if it is signed."""
    words = sheet["languages"][sheet["language"]]
    return {
        **{name: words[name] for name in ("title", "purpose", "who", "contact", "consent")},
        "language": sheet["language"],
        "languages": sorted(sheet["languages"]),
        "public_key": sheet.get("public_key"),
    }


def _asked(plan: Plan, questions: Mapping[str, Any]) -> dict[str, Any]:
    features = [] if plan.features is None else plan.features.features
    return {
        "plan_id": plan.id,
        "study_id": plan.study_id,
        "features": [
            {
                **{"name": each.name, "kind": each.kind, "unit": each.unit},
                "description": each.description,
                "question": questions[each.name]["ask"] if each.name in questions else "",
            }
            for each in features
        ],
        "dimension": plan.dimension,
        "clusters": plan.clusters,
        "expected_users": plan.expected_users,
        "protocol": plan.protocol,
        "report_bytes": plan.report_width,
        "confirms": plan.confirms,
    }


def _forecast(plan: Plan) -> list[str]:
    return [plan.confirmation().words] if plan.confirms else [each.words for each in expectations(plan)]


def _tests(table: Aggregate) -> list[dict[str, Any]]:
    from coterie.protocols.codeword.oracles.suspicion import suspicions
    from coterie.protocols.codeword.table import CodewordTable

    if not isinstance(table.table, CodewordTable):
        return []
    return [
        {"plan_id": table.plan.id, "test": one.test, "p_value": one.p_value, "note": one.note}
        for one in suspicions(table.table)
    ]


def _audited(audit: Mapping[str, Any]) -> dict[str, Any]:
    checks = list(audit.get("checks", ()))
    return {
        "claim": str(audit.get("claim", "")),
        "passed": audit.get("verdict") == "passed",
        "checks": len(checks),
        "failed": [str(each.get("name", "")) for each in checks if not each.get("passed")],
    }
