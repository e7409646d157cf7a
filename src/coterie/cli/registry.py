"""A plan as an entry of a public register of deployments, for machines (after NIST SP 800-226)."""

from __future__ import annotations

from typing import Any

from coterie import __version__
from coterie.plan import Plan


def registry_entry(plan: Plan) -> dict[str, Any]:
    """Return the entry: what is promised to whom, by what, and what has to be trusted.

    Examples
    --------
    >>> entry = registry_entry(Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100))
    >>> entry["guarantee"]["epsilon"], entry["guarantee"]["unit"], entry["trust"]["model"]
    (1.0, "one person's single report", 'local')
    """
    promise = plan.guarantee
    local = None if plan.local_epsilon == float("inf") else plan.local_epsilon
    return {
        "format": "coterie-deployment",
        "version": 1,
        "plan_id": plan.id,
        "study_id": plan.study_id,
        "software": {"name": "coterie", "version": __version__},
        "guarantee": {
            "definition": "pure differential privacy"
            if plan.delta == 0
            else "approximate differential privacy",
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "spent": promise.spent,
            "unit": promise.unit,
            "neighbours": "replace one person's point",
            "local_epsilon": local,
        },
        "trust": {"model": plan.model, "ids": plan.ids, "minimum_batch": plan.minimum_batch},
        "mechanism": {"protocol": plan.protocol, "report_bytes": plan.report_width},
        "collection": {
            "purpose": f"{plan.clusters} cluster centers of points with {plan.dimension} coordinates",
            "expected_people": plan.expected_users,
            "reports_per_person": 1,
            "ball": {"center": None if plan.center is None else list(plan.center), "radius": plan.radius},
            "designed_from": list(plan.after),
            **({} if plan.collection is None else plan.collection.to_dict()),
        },
        "conditions": list(promise.conditions),
    }
