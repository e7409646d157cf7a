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
from coterie.show.pages import render
from coterie.show.results import Shown
from coterie.show.told import Told

if TYPE_CHECKING:
    from coterie.aggregate import Aggregate
    from coterie.centers.result import Result
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
    result: Result,
    *,
    plans: Sequence[Plan] = (),
    tables: Sequence[Aggregate] = (),
    audit: Mapping[str, Any] | None = None,
    title: str = "",
    commands: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a study's report for programs.

    Parameters
    ----------
    result : Result
        What was found.
    plans : sequence of Plan
        What people answered; those of the tables where none are given. Without any, the forecast is left out.
    tables : sequence of Aggregate
        What it was found from: for the tests of honest reports.
    audit : mapping, optional
        What `coterie audit --json` printed.
    title : str
        What the study is called.
    commands : sequence of str
        That give the same again.
    """
    asked = list(plans) or [table.plan for table in tables]
    promise = result.guarantee
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "asked": [_asked(plan) for plan in asked],
        "promise": {
            **{"epsilon": promise.epsilon, "delta": promise.delta, "spent": promise.spent},
            "model": promise.model,
            "words": list(promise.paragraphs),
            "holds_when": list(promise.conditions),
            "does_not_cover": list(NOT_COVERED),
        },
        "who_sees": [{"who": who, "what": what} for who, what in _SEES[promise.model]],
        "forecast": [words for plan in asked for words in _forecast(plan)],
        "result": result.to_dict(),
        "not_found": Told.of(result.to_dict(), result.radius).shortcomings,
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
        found=Shown.of(told, features),
        promise=promise,
        plan_id=document["result"]["plan_id"],
        report=document,
    )


def _asked(plan: Plan) -> dict[str, Any]:
    features = [] if plan.features is None else plan.features.features
    return {
        "plan_id": plan.id,
        "study_id": plan.study_id,
        "features": [
            {"name": each.name, "kind": each.kind, "unit": each.unit, "description": each.description}
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
    from coterie.errors import PlanError

    if plan.confirms:
        return [plan.confirmation().words]
    try:
        return [plan.expected(kind=kind).words for kind in ("separated", "real")]
    except PlanError:
        return []


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
