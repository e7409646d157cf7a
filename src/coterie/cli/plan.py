"""`coterie plan`: design a plan and write it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import typer

from coterie.cli.describe import plan_facts, plan_table
from coterie.cli.options import read_options
from coterie.cli.points import mapped_array
from coterie.cli.screen import Force, Outcome, caution, check_output, progress
from coterie.errors import PlanError
from coterie.features import Schema
from coterie.plan import Plan
from coterie.plan.collection import Collection, read_duration, read_time
from coterie.plan.public import MAX_DIMENSION, MAX_DIRECTIONS
from coterie.show.expected import expectations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from coterie.aggregate import Aggregate
    from coterie.centers import Population
    from coterie.plan.follow_up import NextQuestion

_COLLECTED: dict[str, Callable[[Any], int]] = {  # how it is written
    **dict.fromkeys(("opens", "closes"), read_time),
    "minimum": int,
    **dict.fromkeys(("retention", "time_precision"), read_duration),
}
# Words that the functions behind this command take themselves, and what gives them here.
_NOT_OF_A_DESIGN = {
    "expected_users": "the number of people is given as --users",
    "study": "it is given as --study, or is that of --after",
    "result": "what the plan follows up is given as --after",
    "confirm": "whether it confirms is given as --confirm",
    "cls": "there is none of this name",
    "self": "there is none of this name",
    **dict.fromkeys(
        ("collection", *_COLLECTED),
        "how reports are collected is given as --opens, --closes, --minimum, --retention, --time-precision",
    ),
}


class Collected(TypedDict):
    """How reports are collected, as it is written."""

    opens: str | None
    closes: str | None
    minimum: int | None
    retention: str | None
    time_precision: str | None


class Asked(Collected):
    """What a design takes as it is given here."""

    dimension: int | None
    clusters: int | None
    epsilon: float | None
    radius: float | None
    protocol: str | None
    model: str | None
    delta: float | None
    minimum_batch: int | None
    local_cap: float | None
    layout: str | None
    ids: str | None
    study: str | None


def run(
    *,
    users: int,
    out: Path,
    features: Path | None = None,
    center: str | None = None,
    seed: int | None = None,
    directions: Path | None = None,
    option: list[str] | None = None,
    after: list[Path] | None = None,
    confirm: bool = False,
    random_state: Annotated[int | None, typer.Option(min=0)] = None,
    force: Force = False,
    **asked: Unpack[Asked],
) -> Outcome:
    """Design a plan, the public contract that clients and server share.

    Choose ball, epsilon and clusters without looking at the data: a plan is public. A follow-up plan is for
    people who answered none of the study's plans before: one message per person.

    Parameters
    ----------
    users
        Roughly how many people will answer.
    out
        Where to write the plan (JSON).
    dimension
        Coordinates of a point.
    features
        Declared features of people's records (.json or .toml): dimension and ball follow.
    clusters
        Centers to find.
    epsilon
        Privacy of one report, in (0, 16]; smaller is more private.
    radius
        Radius of the public ball. Default: 1.
    center
        Center of the public ball: numbers with commas. Default: the origin.
    seed
        Public; another seed gives other public randomness. Default: 0; with --after TABLE
        the first plan's.
    directions
        Report in these directions alone: an (m, d) array (.npy), m at most 64. Chosen without looking at the
        data, such as the leading ones of a public sample; those of other people can hurt.
    protocol
        The construction. Default: codeword.
    model
        Whom people have to trust: local (nobody; the default), shuffle (a mixer), central.
    delta
        Chance that the promise may fail; 0 in the local model.
    minimum_batch
        Shuffle: the fewest people to be released together.
    local_cap
        Shuffle, codeword: the largest epsilon of a single report.
    layout
        Protocol vector-sums: cells, column or hashed.
    option
        An option of the protocol's design as name=value, such as levels=3; may be given more than once. An
        unknown name is refused with the list of known ones.
    ids
        Where a report's id comes from: random, or token (local model only).
    after
        Follow up, for other people: the first study's table (with its plan's dimension, clusters, epsilon and
        protocol where they are not given), or the population that `coterie decode --population` wrote. Gives
        the ball where none is given. Of several waves, each table, in order.
    confirm
        With --after TABLE: ask about the groups that were found, published in the plan, instead of finding
        others.
    study
        The id of the first plan of a study, where this one is to be beside it under a label.
    opens
        When a collector starts to take reports in: 2027-01-31 or 2027-01-31T18:00Z.
    closes
        When it stops to, written alike.
    minimum
        People without whom nothing is decoded.
    retention
        How long reports are kept after the close: 90d, 12h. Default: until deleted.
    time_precision
        The steps in which a collector keeps time. Default: 1h.
    random_state
        With --after TABLE: seed of decoding it.
    """
    check_output(out, force, [*(after or ()), *(path for path in (features, directions) if path is not None)])
    given = {
        **{name: value for name, value in asked.items() if name not in _COLLECTED},
        "features": None if features is None else Schema.load(features),
        "center": None if center is None else _coordinates(center),
        "directions": None if directions is None else _directions(directions),
        "seed": seed,
        "collection": collection_of(asked),
    }
    options = read_options(option, PlanError)
    for name in options:
        if name in _NOT_OF_A_DESIGN:
            raise PlanError(f"--option is for a protocol's own settings; {_NOT_OF_A_DESIGN[name]}")
        if name in given or name == "after":
            raise PlanError(f"the option {name} is given as --{name.replace('_', '-')}")
    changes = {**{name: value for name, value in given.items() if value is not None}, **options}
    tables, found = _found(after or ())
    if confirm and not tables:
        raise PlanError("--confirm asks about groups that were found: give a first study's table as --after")
    asks: NextQuestion | None = None
    if tables:
        from coterie.centers import decode

        with progress("decoding", None):
            result = decode(tables, random_state=random_state)
        changes["confirm"] = confirm
        asks = tables[-1].plan.next_question(result, users, **changes)
        plan = tables[-1].plan.follow_up(result, users, **changes)
    else:
        if found is not None:
            changes = {"dimension": found.points.shape[1], "after": found, **changes}
            caution(
                "a population tells neither how many people it is of nor how well it is known: give the "
                "first study's table, where there is one"
            )
        needed = ("clusters", "epsilon") if "features" in changes else ("dimension", "clusters", "epsilon")
        if missing := [f"--{name}" for name in needed if name not in changes]:
            raise typer.BadParameter("give it, too", param_hint=" and ".join(missing))
        plan = Plan.design(expected_users=users, **changes)
    plan.save(out, overwrite=force)
    expected = [] if plan.confirms else expectations(plan)
    if expected and all(one.hopeless for one in expected):
        caution(
            f"hopeless: with {users:,} people at epsilon {plan.epsilon:g} noise hides the {plan.clusters} "
            "groups; `coterie power` says how many people or which epsilon it takes"
        )
    facts = {"out": str(out), **plan_facts(plan)}
    lines = [f"\nwrote {out}"]
    if asks is not None:
        facts |= {"asks": asks.asks, "why": asks.why}
        lines.append(str(asks))
    return Outcome(facts, lines, [plan_table(plan), f"\n{plan.guarantee}"])


def _found(paths: Sequence[Path]) -> tuple[list[Aggregate], Population | None]:
    """Return the tables of earlier waves, or the population that was made of them."""
    from coterie.aggregate import Aggregate
    from coterie.aggregate.aggregate import is_table
    from coterie.centers import Population

    if len(paths) == 1 and not is_table(paths[0]):
        return [], Population.load(paths[0])
    return [Aggregate.load(path) for path in paths], None


def collection_of(asked: Mapping[str, Any]) -> Collection | None:
    """Return how the reports are collected, None where nothing is said about it."""
    said = {name: read(asked[name]) for name, read in _COLLECTED.items() if asked[name] is not None}
    return Collection(**said) if said else None


def _directions(path: Path) -> NDArray[np.float64]:
    """Return directions of one's own, (m, d), from a file."""
    import numpy as np

    array = mapped_array(path)
    most = (MAX_DIRECTIONS, MAX_DIMENSION)
    if array.dtype.kind not in "fiu" or array.ndim != 2 or any(np.greater(array.shape, most)):
        raise PlanError(
            f"{path}: directions must be real numbers of shape (m, d), at most {most}, got shape "
            f"{array.shape} of {array.dtype}"
        )
    return np.array(array, dtype=np.float64)


def _coordinates(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise PlanError("center must be numbers with commas between them, such as 0.5,0,-1") from None
