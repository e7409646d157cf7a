"""Plans in plain words, for `coterie plan` and `coterie inspect`."""

from __future__ import annotations

import math
from bisect import bisect_left
from contextlib import suppress
from typing import Any, Final

from rich.table import Table

from coterie.cli.screen import counted, facts_table
from coterie.errors import PlanError
from coterie.features.schema import DECLARED, Schema
from coterie.plan import Plan
from coterie.show.expected import expectations, expected_facts

_SHOWN_COORDINATES = 4
_PEOPLE: Final = [round(10 ** (step / 4)) for step in range(12, 49)]  # among whom a bound may begin to speak
_AS_IT_IS = (
    *("protocol", "model", "dimension", "clusters", "epsilon", "delta", "expected_users"),
    *("radius", "center", "seed", "ids", "study", "after"),
)


def plan_table(plan: Plan) -> Table:
    """Return what a plan asks, of whom and how, as rows of words."""
    asks, what = ("asks about", "published group") if plan.confirms else ("asks for", "center")
    points = f"points with {counted(plan.dimension, 'coordinate')}"
    whence = "found by the plans below" if plan.after else "chosen beforehand"
    directions = f"reports speak of {plan.coordinates} directions alone, {whence}; the rest is not asked"
    batch = f"at least {plan.minimum_batch:,} people, mixed by `coterie shuffle` before anyone reads them"
    return facts_table(
        {
            "plan": plan.id,
            asks: f"{counted(plan.clusters, what)} of {points}",
            "directions": None if plan.directions is None else directions,
            "features": None if plan.features is None else _feature_words(plan.features),
            "of": f"about {plan.expected_users:,} people, one report each",
            "expect": expectation_words(plan),
            "report": f"{plan.parameters.report_words} ({plan.protocol} protocol)",
            "batch": batch if plan.mixed else None,
            "ball": f"radius {plan.radius:g} around {_center_words(plan)}; points outside are clipped to it",
            "seed": f"{plan.seed} (public)",
            "ids": "from tokens that the collector issues" if plan.ids == "token" else None,
            "collected": None if plan.collection is None else plan.collection.words,
            "study": plan.study and f"{plan.study}; for people who answered no other plan of it",
            "after": ", ".join(plan.after),
        }
    )


def _feature_words(schema: Schema) -> str:
    words = ", ".join(
        f"{feature.name} ({feature.kind}, weight {feature.weight:g})" for feature in schema.features
    )
    return words if schema.source == DECLARED else f"{words}; from a sample declared public"


def expectation_words(plan: Plan) -> str:
    """Return what to expect of a plan, in one line."""
    if plan.confirms:
        return plan.confirmation().words
    found = expectations(plan)
    if not found:
        return "no forecast for this protocol; try it on made-up points"
    shares = [
        f"{one.recovered:.0%} ({one.recovered_low:.0%} to {one.recovered_high:.0%}) of the gain on {one.kind}"
        for one in found
    ]
    return ("inside the directions " if plan.directions is not None else "") + "; ".join(shares)


def _center_words(plan: Plan) -> str:
    if plan.center is None:
        return "the origin"
    shown = ", ".join(f"{x:g}" for x in plan.center[:_SHOWN_COORDINATES])
    return f"({shown}{', …' if plan.dimension > _SHOWN_COORDINATES else ''})"


def cost_facts(plan: Plan) -> dict[str, Any] | None:
    """Return what is proved of the centers: cost ≤ ratio·OPT + t; None where nothing is.

    One center in the middle costs a squared radius a person, so a larger t says nothing.
    """
    for options in (None, {"constants": "theory"}):
        with suppress(PlanError):

            def each(people: int, options: dict[str, str] | None = options) -> float:
                return plan.approximation(options, people=people).additive / (people * plan.radius**2)

            found = plan.approximation(options)
            if math.isfinite(found.ratio):
                first = bisect_left(_PEOPLE, True, key=lambda people: each(people) < 1)
                return {
                    "decoding": options or {},
                    "ratio": found.ratio,
                    "additive_per_person": each(plan.expected_users),
                    "failure": found.failure,
                    "says_something": each(plan.expected_users) < 1,
                    "says_something_from": _PEOPLE[first] if first < len(_PEOPLE) else None,
                }
    return None


def cost_words(found: dict[str, Any] | None) -> str:
    """Return the same in one line."""
    if found is None:
        return "No guarantee of the cost is proved for this plan."
    least, rate = found["says_something_from"], 1 - found["failure"]
    each = f"{found['additive_per_person']:,.{0 if found['additive_per_person'] >= 10 else 2}f}"
    if found["says_something"]:
        told = "something"
    else:
        would = "nor would it at any" if least is None else f"and would from n = {least:.1e} on"
        told = f"nothing at this number of people, {would}"
    decoded = "Decoded with constants=theory, the" if found["decoding"] else "The"
    return (
        f"{decoded} centers cost at most {found['ratio']:.3g}·OPT + t with probability {rate:.0%}, "
        f"t = {each} squared radii per person: that says {told}."
    )


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return the same for programs."""
    found = [] if plan.confirms else expectations(plan)  # one that confirms finds nothing
    return {
        "plan_id": plan.id,
        **{name: getattr(plan, name) for name in _AS_IT_IS},
        **({} if plan.published is None else {"published": plan.published.tolist()}),
        "report_bytes": plan.report_width,
        "expected": [expected_facts(each) for each in found],
        "minimum_batch": plan.minimum_batch,
        **({} if plan.features is None else {"features": plan.features.to_dict()}),
        **({} if plan.collection is None else {"collection": plan.collection.to_dict()}),
        "promise": str(plan.guarantee),
    }
