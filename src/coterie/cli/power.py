"""`coterie power`: what a study would be worth, before anybody is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Annotated, Any

import typer

from coterie.cli.screen import Outcome, figures_table
from coterie.errors import SettingError
from coterie.plain.checks import checked_real
from coterie.plan import Plan
from coterie.plan.forecast import READ, Expectation, Shift, epsilon_needed, kind_of, people_needed, target
from coterie.show.expected import expected_facts

_PEOPLE = (0.1, 0.3, 1, 3, 10)  # of the table, in multiples of what is asked about
_EPSILONS = (0.25, 0.5, 1, 2, 4)
_MOST_EPSILON = 16.0
_FIRST_WAVES = (0.2, 0.35, 0.5, 0.65, 0.8)  # shares of the people
_LEAST_SHIFT = 0.01  # points
_NEARLY = 0.95  # of what everybody would find: enough for a first wave


def run(
    *,
    dimension: int,
    clusters: int,
    epsilon: float = 1.0,
    users: int = 1000000,
    kind: str = "separated",
    recovered: Annotated[float | None, typer.Option("--target")] = None,
    objective: float | None = None,
    shape: str | None = None,
    model: str | None = None,
    delta: float | None = None,
    waves: bool = False,
    compare: bool = False,
    shift: float | None = None,
) -> Outcome:
    """Forecast a study: the objective, the recovered share, how many people and which epsilon it takes.

    Nothing is asked of anybody: the forecast follows from the noise of the reports, measured on kinds of data
    that are named. Yours will differ.

    Parameters
    ----------
    dimension
        Coordinates of a point.
    clusters
        Centers to find.
    epsilon
        Privacy of one report, in (0, 16].
    users
        People who would answer.
    kind
        What people's points are like: tight, separated, broad or real.
    recovered
        Share of the non-private gain that is wanted. Default: 0.9.
    objective
        Instead: the objective that is wanted, in squared radii.
    shape
        Of the design: broad, or tight for many tight groups or few people.
    model
        local (the default), or shuffle with --delta.
    delta
        Chance that the promise may fail.
    waves
        How many to ask first, if the others are to confirm what those have found.
    compare
        Which change of a share two labels would show, instead.
    shift
        With --compare: the change that is wanted, in points. Default: 5.
    """
    wanted = target(
        recovered=0.9 if recovered is None and objective is None else recovered, objective=objective
    )
    given = {"shape": shape, "model": model, "delta": delta}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

    @cache
    def designed(spent: float, people: int) -> Plan:
        return Plan.design(dimension, clusters, spent, people, **options)

    def at(spent: float, people: int) -> Expectation:
        # Only other designs than the default one depend on how many people are expected.
        return designed(spent, max(people, clusters) if options else users).expected(people, kind)

    if shift is not None and not compare:
        raise SettingError("--shift says which change a comparison is to show: give --compare as well")
    if clusters < 2:
        raise SettingError(
            "one group has everybody: nothing to recover, no share that could change; ask for two or more"
        )
    if compare:
        points = checked_real("shift", 5.0 if shift is None else shift, _LEAST_SHIFT, 100.0)
        return _shifts(designed(epsilon, users), users, points)
    if waves:
        return _waves(designed(epsilon, users), users, at)
    here = at(epsilon, users)
    people = people_needed(lambda count: at(epsilon, count), wanted)
    least = epsilon_needed(lambda spent: at(spent, users), wanted)
    rows = [max(int(users * factor), 1) for factor in _PEOPLE]
    columns = [min(epsilon * factor, _MOST_EPSILON) for factor in _EPSILONS]
    grid = {(count, spent): at(spent, count) for count in rows for spent in columns}
    share = 90 if recovered is None else 100 * recovered
    words = f"{share:.6g}% recovered" if objective is None else f"an objective of {objective:g}"
    title, heads = f"recovered, objective: {kind_of(kind).name}", [f"ε = {spent:g}" for spent in columns]
    lines = ([f"{count:,}", *(_cell(grid[count, spent]) for spent in columns)] for count in rows)
    enough = "no number of people is enough" if people is None else f"{people:,} people"
    spend = "no ε is enough" if least is None else f"ε = {least:g}"
    facts = {
        **{"dimension": dimension, "clusters": clusters, "epsilon": epsilon},
        "expected": expected_facts(here),
        "target": words,
        "people_needed": people,
        "epsilon_needed": least,
        "table": [{"epsilon": spent, **expected_facts(found)} for (_, spent), found in grid.items()],
    }
    said = [
        f"{users:,} people, ε = {epsilon:g}, {here.words}",
        f"for {words} at ε = {epsilon:g}: {enough}",
        f"for {words} from {users:,} people: {spend}",
    ]
    return Outcome(facts, said, [figures_table(title, ["people", *heads], lines)])


def _waves(plan: Plan, users: int, at: Callable[[float, int], Expectation]) -> Outcome:
    """Return what first waves of several sizes would find and the others confirm, and which to take."""
    asking = plan.parameters.asking_about([[0] * plan.dimension] * plan.clusters)
    confirming = replace(plan, parameters=asking)
    whole = at(plan.epsilon, users).recovered
    parts = [(share, max(int(users * share), plan.clusters)) for share in _FIRST_WAVES]
    rows = [
        (share, at(plan.epsilon, first), confirming.confirmation(max(users - first, 1)))
        for share, first in parts
    ]
    enough = [share for share, found, _ in rows if found.recovered >= _NEARLY * whole]
    best = enough[0] if enough else _FIRST_WAVES[-1]
    columns = ("first", "people", "recovered", "others", "shares within", "means within")
    lines = (
        (
            *(f"{share:.0%}", f"{found.people:,}", f"{found.recovered:.0%}", f"{told.people:,}"),
            *(f"±{told.share:.1%}", f"±{told.mean:.2g} radii"),
        )
        for share, found, told in rows
    )
    waves = [
        {"first": share, "found": expected_facts(found), "confirmed": asdict(told)}
        for share, found, told in rows
    ]
    advice = (
        f"ask {best:.0%} first: the fewest who find nearly what all {users:,} would ({whole:.0%} recovered); "
        "intervals at 90%, of groups of equal shares"
    )
    table = figures_table("a first wave finds, the others confirm", columns, lines)
    return Outcome({"first": best, "waves": waves}, [advice], [table])


def _shifts(plan: Plan, users: int, points: float) -> Outcome:
    """Return which change of a share two labels would show, and how many people under each it takes."""

    def at(people: int, kind: str) -> Shift:
        return plan.comparison(people, kind=kind)

    counts = [max(round(users * factor), plan.clusters) for factor in _PEOPLE]
    needed = {
        kind: people_needed(partial(at, kind=kind), lambda found: 100 * found.seen <= points) for kind in READ
    }
    title = "a change of a share that is seen in four cases of five, points"
    columns = ["people under each label", *(kind_of(kind).name for kind in READ)]
    lines = ([f"{count:,}", *(f"{100 * at(count, kind).seen:.1f}" for kind in READ)] for count in counts)
    table = [{"kind": kind, **asdict(at(count, kind))} for kind in READ for count in counts]
    enough = {
        kind: "no number of people is enough" if people is None else f"{people:,} people under each label"
        for kind, people in needed.items()
    }
    said = [
        *(f"for {points:g} points, {kind_of(kind).name}: {words}" for kind, words in enough.items()),
        "of all shares together, at most 5 comparisons in 100 without a change would say that one moved",
    ]
    facts = {"shift": points / 100, "people_needed": needed, "table": table}
    return Outcome(facts, said, [figures_table(title, columns, lines)])


def _cell(found: Expectation) -> str:
    style = "red" if found.hopeless else "yellow" if found.lost > 0.1 or found.recovered < 0.5 else "green"
    return f"[{style}]{found.recovered:.0%}[/] {found.objective:.2g}"
