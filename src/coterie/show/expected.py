"""What to expect of a plan, for two kinds of data, as pages, status and commands tell it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.plan.forecast import Expectation


def expectations(plan: Plan, people: int | None = None) -> list[Expectation]:
    """Return the forecast for groups and for real data; nothing where there is none."""
    try:
        return [plan.expected(people, kind=kind) for kind in ("separated", "real")]
    except PlanError:
        return []


def expected_facts(found: Expectation) -> dict[str, Any]:
    """Return a forecast for programs."""
    return {**asdict(found), "hopeless": found.hopeless}
