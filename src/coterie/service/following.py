"""The plan of a study's next wave: it follows from the tables before it and from what the operator asked for.

    next plan = last plan.follow_up(decode(tables so far), what was asked)

What was asked stands in the plan (`asked_in`), so whoever has the tables can make the plan again, and a
manifest of several waves is checked with its plans (`verify`). Figures agree to their last digits but few, as
those of results do; whatever is no figure is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from coterie.aggregate import Aggregate
from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plain.checks import MOST_PEOPLE, checked_integer
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.plan.public import MAX_CLUSTERS, checked_epsilon
from coterie.service.manifest import decoding_seed

ASKED: Final = ("expected_users", "confirm", "epsilon", "clusters", "collection")  # all that may be chosen
DIGITS: Final = 1e-6  # to which a figure comes out again, in radii of the ball


def checked_asked(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked of a next wave, clean; `Plan.follow_up` checks the figures.

    Raises
    ------
    PlanError
        If something is asked that follows from the wave before, or the number of people is missing.

    Examples
    --------
    >>> checked_asked({"expected_users": 1000, "confirm": True})
    {'expected_users': 1000, 'confirm': True}
    """
    if unknown := sorted(asked.keys() - set(ASKED)):
        raise PlanError(f"of a next wave {', '.join(ASKED)} are asked; {unknown[0][:40]} follows or is none")
    checked_integer("expected_users", asked.get("expected_users"), 1, MOST_PEOPLE)
    if "epsilon" in asked:
        checked_epsilon(asked["epsilon"])
    if "clusters" in asked:
        checked_integer("clusters", asked["clusters"], 1, MAX_CLUSTERS)
    if type(asked.get("confirm", False)) is not bool:
        raise PlanError("confirm must be true or false")
    if (collection := asked.get("collection")) is not None:
        Collection.from_dict(collection)
    return dict(asked)


def next_plan(tables: Sequence[Aggregate], asked: Mapping[str, Any]) -> Plan:
    """Return the plan of the wave after those with these tables."""
    return next_step(tables, asked)[0]


def next_step(tables: Sequence[Aggregate], asked: Mapping[str, Any]) -> tuple[Plan, str]:
    """Return that plan, and why it asks what it asks."""
    from coterie.centers import decode

    last, clean = tables[-1].plan, checked_asked(asked)
    result = decode(tables, random_state=decoding_seed(last))
    return last.follow_up(result, **clean), last.next_question(result, **clean).why


def asked_in(plan: Plan) -> dict[str, Any]:
    """Return what was asked of a plan that follows another, as `next_plan` takes it."""
    collection = None if plan.collection is None else plan.collection.to_dict()
    return {
        "expected_users": plan.expected_users,
        "confirm": plan.confirms,
        "epsilon": plan.epsilon,
        "clusters": plan.clusters,
        **({} if collection is None else {"collection": collection}),
    }


def is_asked(plan: Plan, asked: Mapping[str, Any]) -> bool:
    """Return whether a plan is one that this asks for, as far as it says."""
    found = {"collection": None, **asked_in(plan)}
    wanted = {"confirm": False, "collection": None, **checked_asked(asked)}
    if wanted["collection"] is not None:
        wanted["collection"] = Collection.from_dict(wanted["collection"]).to_dict()
    return all(found[name] == value for name, value in wanted.items())


def is_same(plan: Plan, again: Plan) -> bool:
    """Return whether two plans ask the same, but for the last digits of ball, directions and groups.

    Examples
    --------
    >>> plan = Plan.design(2, 2, 1.0, 100, radius=2.0)
    >>> is_same(plan, Plan.design(2, 2, 1.0, 100, radius=2.0 + 1e-9))
    True
    >>> is_same(plan, Plan.design(2, 2, 1.0, 100, radius=2.1))
    False
    """
    if plan.id == again.id:
        return True
    facts, others = ({**each.to_dict(), **_figures(each)} for each in (plan, again))
    if facts.keys() != others.keys():
        return False
    close = {"radius": DIGITS * again.radius, "center": DIGITS * again.radius, "directions": DIGITS}
    close["groups"] = DIGITS + 2 / SCALE
    for name, value in facts.items():
        if name not in close:
            if value != others[name]:
                return False
        elif np.shape(value) != np.shape(others[name]) or not np.allclose(
            value, others[name], DIGITS if name == "directions" else 0, close[name]
        ):
            return False
    return True


def _figures(plan: Plan) -> dict[str, Any]:
    """Return the figures of a plan that come out of a decoding, the origin and groups in their places."""
    parameters = plan.parameters.to_dict()
    groups = plan.parameters.groups(plan.clusters)
    found: dict[str, Any] = {"center": [0.0] * plan.dimension if plan.center is None else list(plan.center)}
    if plan.confirms and groups is not None:
        found["groups"] = np.array(groups, dtype=np.float64) / SCALE
        parameters.pop("views")
    if plan.directions is not None:  # any other basis of the same directions asks the same
        rows = np.array(plan.directions, dtype=np.float64) / SCALE
        found["directions"] = rows.T @ rows
    return {**found, "parameters": parameters}
