"""The paper's claims, and ours, each as a named check on the tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from benchmarks.reproduction.studies import NAIVE
from benchmarks.reproduction.tables import MARK, Point, curve

_STEP: Final = 1.0  # standard errors by which a later point may lie on the wrong side, by chance
_NEAR: Final = 0.15  # what "essentially as good" may cost, objective beyond the non-private one

_SAME: Final = 2.0  # t below which two means are not told apart

Tables = Mapping[str, list[Point]]  # by sweep


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement and whether the data bear it out; None where the tables have nothing to decide it by."""

    name: str
    statement: str
    holds: bool | None
    figures: str
    clear: bool = True  # False: only by our loose reading of the paper's words

    @property
    def verdict(self) -> str:
        """The answer in words: yes, not clearly, no, or no data."""
        if self.holds is None:
            return "no data"
        return ("yes" if self.clear else "not clearly") if self.holds else "no"


def check_claims(tables: Tables) -> list[Claim]:
    """Check every claim against the tables of the sweeps; one that former runs bear is marked."""
    claims = [
        _monotone(tables, "falls-with-users", "users", "falls as n grows", falls=True),
        _monotone(tables, "falls-with-epsilon", "epsilon", "falls as ε grows", falls=True),
        _monotone(tables, "rises-with-clusters", "clusters", "rises with k", falls=False),
        _separation(tables),
        _naive(tables),
        _codeword(tables),
    ]
    former = {point.method for points in tables.values() for point in points if point.is_former}
    about = {"naive-finds-nothing": {*NAIVE, "one-center"}, "codeword-at-or-below": {"codeword", "lsh-tree"}}
    return [
        replace(claim, figures=f"{claim.figures} {MARK}")
        if claim.holds is not None and about.get(claim.name, {"lsh-tree"}) & former
        else claim
        for claim in claims
    ]


def ratios(points: list[Point]) -> dict[str, float]:
    """Return lsh-tree's mean over codeword's, by value."""
    ours = {point.value: point.mean for point in curve(points, "codeword")}
    return {
        point.value: point.mean / ours[point.value]
        for point in curve(points, "lsh-tree")
        if ours.get(point.value)
    }


def _error(point: Point) -> float:
    return float(point.deviation / max(point.runs, 1) ** 0.5)


def _monotone(tables: Tables, name: str, sweep: str, words: str, *, falls: bool) -> Claim:
    points = sorted(curve(tables.get(sweep, []), "lsh-tree"), key=lambda point: float(point.value))
    statement = f"lsh-tree: the objective {words}"
    if len(points) < 2:
        return Claim(name, statement, None, "no data")
    sign = 1 if falls else -1
    steps = all(
        sign * (later.mean - earlier.mean) <= _STEP * (_error(later) + _error(earlier))
        for earlier, later in pairwise(points)
    )
    ends = sign * (points[-1].mean - points[0].mean) < 0
    return Claim(name, statement, steps and ends, " → ".join(f"{point.mean:.3f}" for point in points))


def _separation(tables: Tables) -> Claim:
    name, words = "separation-8-is-enough", "lsh-tree: at k = 8, r ≥ 8 is about as good as r = 100 (large n)"
    points = tables.get("separation-large", [])
    free = {point.value: point.mean for point in curve(points, "non-private")}
    excess = {p.value: p.mean - free[p.value] for p in curve(points, "lsh-tree") if p.value in free}
    best = excess.get("100")
    enough = {value: loss for value, loss in excess.items() if float(value) >= 8}
    if best is None or len(enough) < 2:
        return Claim(name, words, None, "no data")
    figures = ", ".join(f"r={value}: {loss:.3f}" for value, loss in enough.items())
    held = all(loss - best <= _NEAR for loss in enough.values())
    here = {point.value: point for point in curve(points, "lsh-tree")}
    spread = math.hypot(_error(here["8"]), _error(here["100"])) if "8" in here else 0.0
    apart = (here["8"].mean - here["100"].mean) / spread if spread else 0.0  # t of the objectives
    return Claim(
        name,
        f"{words}: within {_NEAR} beyond the non-private objective",
        held,
        f"{figures}; r = 8 and r = 100 differ by t = {apart:.1f}",
        clear=apart <= _SAME,
    )


def _naive(tables: Tables) -> Claim:
    name, words = "naive-finds-nothing", "noise on every point, then k-means++, is no better than one center"
    points = tables.get("users", [])
    largest = max((point for point in points), key=lambda point: float(point.value), default=None)
    if largest is None:
        return Claim(name, words, None, "no data")
    where = "1e+06" if any(point.value == "1e+06" for point in points) else largest.value
    here = {point.method: point.mean for point in points if point.value == where}
    found = {method: here[method] for method in NAIVE if method in here}
    if not found or "one-center" not in here:
        return Claim(name, words, None, "no data")
    figures = ", ".join(f"{method}: {cost:.3f}" for method, cost in found.items())
    held = all(cost >= 0.95 * here["one-center"] for cost in found.values())
    return Claim(name, f"{words} (n = {where})", held, f"{figures}; one center: {here['one-center']:.3f}")


def _codeword(tables: Tables) -> Claim:
    name, words = "codeword-at-or-below", "codeword at or below lsh-tree at every point of every sweep"
    every = [
        (ratio, f"{sweep} {value}")
        for sweep, points in tables.items()
        for value, ratio in ratios(points).items()
    ]
    if not every:
        return Claim(name, words, None, "no data")
    least, most = min(every), max(every)
    figures = f"ratio from {least[0]:.2f} ({least[1]}) to {most[0]:.1f} ({most[1]})"
    return Claim(name, words, least[0] >= 1.0, figures)
