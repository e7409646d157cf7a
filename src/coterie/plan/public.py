"""The public part of a plan: the facts of a study that every protocol shares, and their bounds."""

from __future__ import annotations

import math
import sys
from typing import Any, Final

from coterie.errors import PlanError
from coterie.geometry.ball import MAX_STRETCH, SCALE
from coterie.plain.canonical import SAFE_INTEGER, shown
from coterie.plain.checks import (
    MOST_PEOPLE,
    SHA256_HEX,
    checked_choice,
    checked_integer,
    checked_list,
    checked_real,
)
from coterie.privacy import MAX_EPSILON, MODELS
from coterie.protocols import protocols

MAX_DIMENSION: Final = 3000
MAX_CLUSTERS: Final = 4096
MAX_DIRECTIONS: Final = 64
IDS: Final = ("random", "token")  # drawn on the device, or following from a token that the collector issued
MAX_AFTER: Final = 64  # plans whose results went into one

_SMALLEST: Final = sys.float_info.min  # the smallest normal double
_LARGEST: Final = sys.float_info.max


PUBLIC: Final = (  # the fields that every protocol shares
    "protocol", "model", "dimension", "clusters", "epsilon", "expected_users", "center", "radius", "seed",
    "ids", "study", "after",
)  # fmt: skip


def checked_public_part(**given: Any) -> dict[str, Any]:
    """Return the fields of `PUBLIC`, clean, or raise PlanError."""
    dimension = checked_integer("dimension", given["dimension"], 1, MAX_DIMENSION)
    users = checked_integer("expected_users", given["expected_users"], 1, MOST_PEOPLE)
    clusters = checked_integer("clusters", given["clusters"], 1, MAX_CLUSTERS)
    if clusters > users:
        raise PlanError(f"clusters ({clusters}) must not exceed expected_users ({users})")
    model, ids = checked_choice("model", given["model"], MODELS), checked_choice("ids", given["ids"], IDS)
    if ids == "token" and model != "local":
        raise PlanError(
            "ids must be random outside the local model: whoever issued the tokens could tell people apart"
        )
    return {
        "protocol": checked_choice("protocol", given["protocol"], protocols()),
        "model": model,
        "dimension": dimension,
        "clusters": clusters,
        "epsilon": checked_epsilon(given["epsilon"]),
        "expected_users": users,
        "center": _checked_center(given["center"], dimension),
        "radius": checked_real("radius", given["radius"], _SMALLEST, _LARGEST),
        "seed": checked_integer("seed", given["seed"], 0, SAFE_INTEGER),
        "ids": ids,
        "study": None if given["study"] is None else _checked_plan_id("study", given["study"]),
        "after": _checked_after(given["after"]),
    }


def checked_directions(directions: object, dimension: int) -> tuple[tuple[int, ...], ...]:
    """Return directions that sums of integers hold exactly, or raise PlanError."""
    rows = checked_list("directions", directions)
    if not 1 <= len(rows) <= min(MAX_DIRECTIONS, dimension):
        raise PlanError(
            f"directions must be 1 to {min(MAX_DIRECTIONS, dimension)}, at most one a dimension, "
            f"got {len(rows)}"
        )
    longest = MAX_STRETCH * SCALE
    checked = []
    for number, row in enumerate(rows):
        where = f"directions[{number}]"
        entries = [checked_integer(where, x, -longest, longest) for x in checked_list(where, row)]
        if len(entries) != dimension:
            raise PlanError(f"{where} must have {dimension} coordinates, one a dimension, got {len(entries)}")
        if not 0 < sum(x * x for x in entries) <= longest**2:
            raise PlanError(f"{where} must be longer than 0 and at most {longest} long, in steps of 2^-20")
        checked.append(tuple(entries))
    return tuple(checked)


def checked_epsilon(epsilon: object) -> float:
    """Return ε as a float, above 0 and small enough to hide something."""
    value = checked_real("epsilon", epsilon, -math.inf, math.inf)
    if not 0 < value <= MAX_EPSILON:
        why = (
            "nothing can be learned from such reports" if value <= 0 else "such reports hide next to nothing"
        )
        raise PlanError(f"epsilon must be in (0, {MAX_EPSILON:g}], got {value!r}: {why}")
    return value


def _checked_plan_id(where: str, value: object) -> str:
    if not isinstance(value, str) or not SHA256_HEX.fullmatch(value):
        raise PlanError(f"{where} must be the id of a plan, 64 lower-case hex digits, got {shown(value)}")
    return value


def _checked_after(after: object) -> tuple[str, ...]:
    listed = checked_list("after", after)
    if len(listed) > MAX_AFTER:
        raise PlanError(f"after must name at most {MAX_AFTER} plans, got {len(listed)}")
    ids = tuple(_checked_plan_id(f"after[{i}]", plan_id) for i, plan_id in enumerate(listed))
    if len(set(ids)) < len(ids):
        raise PlanError("after names a plan twice; keep one of them")
    return ids


def _checked_center(center: object, dimension: int) -> tuple[float, ...] | None:
    if center is None:
        return None
    if hasattr(center, "tolist"):  # a numpy array
        center = center.tolist()
    listed = checked_list("center", center)
    if len(listed) != dimension:
        raise PlanError(f"center must have {dimension} coordinates, one a dimension, got {len(listed)}")
    values = tuple(checked_real(f"center[{i}]", x, -_LARGEST, _LARGEST) for i, x in enumerate(listed))
    return values if any(values) else None  # the origin has one spelling
