"""What a study tells about itself to anyone who asks: coarsely, so that nobody's arrival shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.service.studies import Known
from coterie.store import Study, StudyState


def coarse(number: int) -> int:
    """Return a count as it is told: two significant digits, and never finer than ten.

    Examples
    --------
    >>> [coarse(number) for number in (9, 57, 123, 45_678)]
    [0, 50, 120, 45000]
    """
    step = max(10, int(10 ** (len(str(number)) - 2)))
    return number // step * step


def expectation(plan: Plan, people: int) -> list[dict[str, Any]] | None:
    """Return the forecast for so many people, for groups and for real data; None where there is none."""
    if people < 1:
        return None
    try:
        found = [plan.expected(people, kind=kind) for kind in ("separated", "real")]
    except PlanError:
        return None
    return [{**asdict(each), "hopeless": each.hopeless, "words": each.words} for each in found]


def phase(known: Known, state: StudyState, now: float) -> str:
    """Say in one word where a study is: early, open, closed or deleted."""
    if state is not StudyState.OPEN:
        return str(state)
    if known.collection.is_early(now):
        return "early"
    return "closed" if known.collection.is_late(now) else "open"


def status_document(
    known: Known, study: Study, now: float, *, decoded: bool, decoding: bool
) -> dict[str, Any]:
    """Return the status: where the study is, its window, coarse counts, the error to expect."""
    plan = known.plan
    reports = coarse(study.counts.counted or study.counts.received)
    return {
        "plan_id": plan.id,
        "study_id": plan.study_id,
        "model": plan.model,
        "ids": plan.ids,
        "state": phase(known, study.state, now),
        "decoded": decoded,
        "decoding": decoding,
        "collection": (plan.collection or known.collection).to_dict(),
        "report_bytes": plan.report_width,
        "upload_bytes": plan.upload_width,
        "expected_users": plan.expected_users,
        "reports": reports,
        "rejected": {reason: coarse(number) for reason, number in known.rejected.items()},
        "expected": {
            "now": expectation(plan, reports),
            "planned": expectation(plan, plan.expected_users),
        },
    }
