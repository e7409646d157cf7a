"""Whether a published result follows from its table: everything is decoded again and every field is compared.

Arithmetic differs in its last digits from processor to processor, and fits make more of that. So there are
two measures. Where libraries and processor are those that the manifest names, every figure must come out
again, to `DIGITS`. Elsewhere the claimed result is judged by the table:

    order      groups are matched; the claimed ones must come the largest first
    centers    of the recomputed population, the mean of the people nearest to a claimed center lies within
               `CENTERS` of its recomputed radius, and the centers cost no more than `COST` times what the
               recomputed ones do: k-means may have found another answer that is as good
    shares     within `SHARES` of their recomputed errors of the shares of those people; within less, `MOVED`
               times as much as the centers moved of their radii, where they hardly did
    radii      errors, weight_errors and profile within a factor of `FACTOR`, as the shares are
    explained  each end of its interval within `ENDS` of the interval's width
    choices    the same within `CHOICES`, and whether groups stand apart, but for one of them
    others     but for `OTHERS` alternatives
    the rest   counts, notes (but for figures in them), clear, mean, plans, promise: the same

Either way the parts of a result must follow from each other: groups, everybody and words from the figures.
The tolerances were set on what differs between OpenBLAS's kernels (docs/collector.md); a result that was
changed by less than them on purpose is noticed only where the processor is the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.errors import ManifestError
from coterie.plain.canonical import shown
from coterie.service.decoder import result_document
from coterie.service.manifest import EARLIER, IN_WORDS, decoding_seed, environment, read_manifest

if TYPE_CHECKING:
    from coterie.centers import Result

DIGITS: Final = 1e-6  # of a figure, where everything is as it was
CENTERS: Final = 0.75
COST: Final = 1.1
SHARES: Final = 0.5
MOVED: Final = 4.0
FACTOR: Final = 1.5
ENDS: Final = 0.5
CHOICES: Final = 2.0
OTHERS: Final = 3
BEFORE: Final = 0.5  # radii of the ball: centers of version 1, by the present decoder

_ARRAYS: Final = ("centers", "weights", "errors", "weight_errors", "mean", "profile")
_LEAST: Final = 0.01  # of a share, where it scales an error
_STILL: Final = 0.02  # of a share's error, where no center moved
_UNKNOWN: Final = 0.02  # error of a share where none is stated
_FIGURE: Final = re.compile(r"\d[\d,.]*")
_GROUPS: Final = re.compile(r"\b(Groups?) ((?:[A-Z]+(?:, | and )?)+)\b")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found out about a manifest that fits.

    Attributes
    ----------
    manifest : dict
        The manifest.
    away : float
        By how much recomputed centers differ, in radii of the ball.
    to_the_digit : bool
        Whether everything came out again to `DIGITS`, and not only within what another processor may change.
    words : bool
        Whether the result was there, too, and says in words what was stated.
    """

    manifest: dict[str, Any]
    away: float
    to_the_digit: bool
    words: bool

    @property
    def earlier(self) -> bool:
        """Whether an earlier version decoded it: its centers alone were judged, and generously."""
        return bool(self.manifest["version"] == EARLIER)


def verify(data: bytes, table: bytes, key: str | None = None, *, result: bytes | None = None) -> Verdict:
    """Check a manifest against its table: signature, digests, count, and the result, computed again.

    Parameters
    ----------
    data : bytes
        The manifest.
    table : bytes
        The table.
    key : str, optional
        The public key that must have signed it, 64 hex digits.
    result : bytes, optional
        The published result. Without it the figures are judged that the manifest states, and no words.

    Raises
    ------
    ManifestError
        If anything does not fit; it says what.
    """
    from coterie.centers import decode

    manifest = read_manifest(data, key)
    if hashlib.sha256(table).hexdigest() != manifest["table"]:
        raise ManifestError("this is another table: its digest is not the manifest's")
    if result is not None and hashlib.sha256(result).hexdigest() != manifest["result"]:
        raise ManifestError("this is another result: its digest is not the manifest's")
    aggregate = Aggregate.from_bytes(table)
    plan = aggregate.plan
    if plan.id != manifest["plan_id"]:
        raise ManifestError(f"the table is of plan {plan.id}, and the manifest is of another")
    counts, decoding = manifest["counts"], manifest["decoding"]
    if not isinstance(counts, Mapping) or counts.get("counted") != aggregate.count:
        raise ManifestError(f"the table holds {aggregate.count} reports, and the manifest counts others")
    seed = decoding_seed(plan)
    if not isinstance(decoding, Mapping) or decoding.get("random_state") != seed:
        raise ManifestError(f"the seed of decoding must be {seed}, as follows from the plan")
    again = decode(aggregate, random_state=seed)
    if manifest["version"] == EARLIER:
        return Verdict(manifest, _earlier(manifest, again, plan.radius), False, False)
    stated = manifest["stated"]
    claimed = _claimed(stated, again)
    if result is not None:
        _check_words(result, stated, claimed)
    same = all(decoding.get(name) == value for name, value in environment().items())
    order = _matched(claimed.centers, again.centers)
    if same:
        _check_digits(claimed, again)
    else:
        _check_figures(claimed, again, order)
    away = float(np.linalg.norm(claimed.centers - again.centers[order], axis=1).max()) / plan.radius
    return Verdict(manifest, away, same, result is not None)


def _earlier(manifest: Mapping[str, Any], again: Result, radius: float) -> float:
    """Return by how much centers that an earlier version found lie off those of this one, in radii."""
    claimed = _numbers("centers", manifest["centers"], again.centers.shape)
    order = _matched(claimed, again.centers)
    away = float(np.linalg.norm(claimed - again.centers[order], axis=1).max()) / radius
    if not away <= BEFORE:
        raise ManifestError(
            f"recomputed centers differ by {away:.3g} radii of the ball; an earlier version decoded this, so "
            "check it with that one"
        )
    return away


# ---------------------------------------------------------------- what is claimed


def _claimed(stated: object, again: Result) -> Result:
    """Return what a manifest states as a result, whose every other field follows from the table."""
    from coterie.centers.result import Choice

    if not isinstance(stated, Mapping):
        raise ManifestError("what is stated must be an object")
    try:
        profile = stated["profile"]
        claimed = replace(
            again,
            centers=_numbers("centers", stated["centers"], again.centers.shape),
            weights=_numbers("weights", stated["weights"], again.weights.shape),
            errors=_numbers("errors", stated["errors"], again.errors.shape),
            weight_errors=_numbers("weight_errors", stated["weight_errors"], again.weights.shape),
            clear=_numbers("clear", stated["clear"], again.clear.shape) != 0,
            explained=_interval(stated["explained"]),
            mean=_numbers("mean", stated["mean"], again.mean.shape),
            mean_error=_number(stated["mean_error"]),
            profile=None if profile is None else _numbers("profile", profile, again.mean.shape),
            notes=tuple(str(note) for note in stated["notes"]),
            alternatives=tuple(tuple(int(group) for group in cut) for cut in stated["alternatives"]),
            choices=tuple(
                Choice(int(each["clusters"]), _interval(each["explained"]), bool(each["apart"]))
                for each in stated["choices"]
            ),
        )
        follows = json.loads(result_document(claimed))
    except (TypeError, ValueError, KeyError, IndexError, OverflowError):
        raise ManifestError("what is stated is no result of this version") from None
    if (claimed.profile is None) != (again.profile is None):
        _refuse("profile", "in that there is one")
    _check_same(stated, {name: value for name, value in follows.items() if name not in IN_WORDS})
    return claimed


def _check_words(result: bytes, stated: Mapping[str, Any], claimed: Result) -> None:
    """Refuse a result that says something else in words than in figures, or than its manifest."""
    try:
        document = json.loads(result)
    except (ValueError, RecursionError):
        raise ManifestError("the result is no JSON") from None
    follows = json.loads(result_document(claimed))
    if not isinstance(document, dict):
        raise ManifestError("the result is no JSON object")
    _check_same(document, {**follows, **stated})


def _check_same(document: Mapping[str, Any], follows: Mapping[str, Any]) -> None:
    for name in sorted({*document, *follows}):
        if name not in document or name not in follows:
            has = "no" if name in document else "a"
            raise ManifestError(f"a result of this version has {has} field {shown(name)}")
        if not _alike(document[name], follows[name]):
            raise ManifestError(f"{name} does not follow from the table and from what else is claimed")


def _alike(one: Any, other: Any) -> bool:
    """Tell whether two values of JSON are the same, but for the last digits of figures."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if type(one) is float or type(other) is float:
        numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other))
        return numbers and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return type(one) is type(other) and bool(one == other)


def _numbers(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        found = np.array(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError, OverflowError):
        raise ManifestError(f"{name} must be numbers") from None
    if found.shape != shape:
        raise ManifestError(f"the table gives {name} of shape {shape}, not {found.shape}")
    return found


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _interval(fields: Any) -> Any:
    from coterie.centers.result import Interval

    return Interval(*(_number(fields[name]) for name in Interval._fields))


# ---------------------------------------------------------------- compared with what comes out


def _matched(claimed: NDArray[np.float64], again: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return which recomputed center each claimed one is: (k, d), (k, d) -> (k,)."""
    from scipy.optimize import linear_sum_assignment

    from coterie.centers.solution import squared_distances

    if not np.isfinite(claimed).all():
        raise ManifestError("centers must be finite")
    order: NDArray[np.intp] = linear_sum_assignment(squared_distances(claimed, again))[1]
    return order


def _check_digits(claimed: Result, again: Result) -> None:
    """Require every figure to come out again, and every word."""
    how = "though libraries and processor are the same"
    for name in (*_ARRAYS, "mean_error"):
        one, other = getattr(claimed, name), getattr(again, name)
        if other is not None and not np.allclose(one, other, DIGITS, DIGITS * _scale(other), equal_nan=True):
            _refuse(name, how)
    for name, said, found in _intervals(claimed, again):
        if not np.allclose(said, found, 0, DIGITS, equal_nan=True):
            _refuse(name, how)
    apart = [[each.apart for each in one.choices] for one in (claimed, again)]
    for name, same in (
        ("clear", np.array_equal(claimed.clear, again.clear)),
        ("notes", claimed.notes == again.notes),
        ("alternatives", claimed.alternatives == again.alternatives),
        ("choices", apart[0] == apart[1]),
    ):
        if not same:
            _refuse(name, how)


def _scale(values: Any) -> float:
    """Return the size of figures that are compared together."""
    finite = np.abs(np.asarray(values, dtype=np.float64))
    finite = finite[np.isfinite(finite)]
    return float(finite.max()) if finite.size else 0.0


def _check_figures(claimed: Result, again: Result, order: NDArray[np.intp]) -> None:
    """Require every field within what another processor may change."""
    means, shares = _expected(claimed, again, order)
    radii, reach = (_scaled(again, name, shares, order) for name in ("errors", "weight_errors"))
    tiny = DIGITS * _scale(again.centers)
    if not (np.linalg.norm(claimed.centers - means, axis=1) <= CENTERS * radii + tiny).all():
        _refuse("centers", f"by more than {CENTERS:g} of their radii")
    if _cost(claimed.centers, again) > COST * _cost(again.centers, again) + tiny**2:
        _refuse("centers", f"and explain the reports better by more than a factor of {COST:g}")
    moved = float((np.linalg.norm(claimed.centers - again.centers[order], axis=1) / (radii + tiny)).max())
    part = min(SHARES, _STILL + MOVED * moved)
    if not (np.abs(claimed.weights - shares) <= part * np.where(np.isnan(reach), _UNKNOWN, reach)).all():
        _refuse("weights", f"by more than {part:.2g} of their errors")
    for name, other in (("errors", radii), ("weight_errors", reach), ("profile", again.profile)):
        if other is not None and not _within(getattr(claimed, name), other):
            _refuse(name, f"by more than a factor of {FACTOR:g}")
    if (np.diff(again.weights) <= 0).all() and (np.diff(claimed.weights) > DIGITS).any():
        raise ManifestError("the largest group must come first")
    if not np.array_equal(claimed.clear, again.clear[order]):
        _refuse("clear", "of the noise other groups stand")
    for name in ("mean", "mean_error"):
        one, other = np.asarray(getattr(claimed, name)), np.asarray(getattr(again, name))
        if not np.allclose(one, other, rtol=DIGITS, atol=DIGITS * _scale(again.centers), equal_nan=True):
            _refuse(name, "")
    for name, said, found in _intervals(claimed, again):
        width = float(np.nan_to_num(found[2] - found[1]))
        part = ENDS if name == "explained" else CHOICES
        if not np.allclose(said, found, 0, DIGITS + part * width, equal_nan=True):
            _refuse(name, f"by more than {part:g} of the interval's width")
    flips = sum(a.apart != b.apart for a, b in zip(claimed.choices, again.choices, strict=True))
    if flips > 1:
        _refuse("choices", "in which numbers of groups stand apart")
    others = {group for cut in claimed.alternatives for group in cut}
    if abs(len(claimed.alternatives) - len(again.alternatives)) > OTHERS or not others <= set(order.tolist()):
        _refuse("alternatives", f"by more than {OTHERS}")
    named = {int(other): place for place, other in enumerate(order)}
    if [_plain(note, None) for note in claimed.notes] != [_plain(note, named) for note in again.notes]:
        _refuse("notes", "")


def _expected(
    claimed: Result, again: Result, order: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the claimed centers should lie and what their shares should be: (k, d), (k,)."""
    from coterie.centers.repeats import own_means

    if again.coverage is None or not again.supported:  # centers are no means of the population
        return again.centers[order], again.weights[order]
    return own_means((again.population.points, again.population.weights), claimed.centers)


def _scaled(
    again: Result, name: str, shares: NDArray[np.float64], order: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return recomputed errors as they are for groups of these shares: small ones are less sure."""
    values: NDArray[np.float64] = getattr(again, name)[order]
    if again.coverage is None or not again.supported:
        return values
    ratio = np.sqrt(np.maximum(shares, _LEAST) / np.maximum(again.weights[order], _LEAST))
    return values / ratio if name == "errors" else values * ratio


def _cost(centers: NDArray[np.float64], again: Result) -> float:
    """Return the k-means cost of centers on the recomputed population."""
    from coterie.centers.solution import squared_distances

    people = again.population
    return float(people.weights @ squared_distances(people.points, centers).min(axis=1)) + people.scatter


def _within(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether figures are the same within `FACTOR`; where there is none, both have none."""
    both = np.isnan(one) & np.isnan(other)
    small = (np.abs(one) < DIGITS) & (np.abs(other) < DIGITS)
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (one <= FACTOR * other) & (other <= FACTOR * one) & (one > 0)
    return bool((near | both | small).all())


def _intervals(claimed: Result, again: Result) -> list[tuple[str, Sequence[float], Sequence[float]]]:
    """Return the intervals of both, by field."""
    if [each.clusters for each in claimed.choices] != [each.clusters for each in again.choices]:
        _refuse("choices", "in the numbers of groups")
    pairs = zip(claimed.choices, again.choices, strict=True)
    return [
        ("explained", claimed.explained, again.explained),
        *(("choices", one.explained, other.explained) for one, other in pairs),
    ]


def _plain(note: str, named: Mapping[int, int] | None) -> str:
    """Return a note without its figures, its groups in order under other names."""
    from coterie.centers.groups import letter

    places = {letter(other): letter(place) for other, place in (named or {}).items()}

    def rename(found: re.Match[str]) -> str:
        groups = [places.get(name, name) for name in re.findall(r"[A-Z]+", found[2])]
        return f"{found[1]} {' '.join(sorted(groups))}"

    return _FIGURE.sub("#", _GROUPS.sub(rename, note))


def _refuse(name: str, how: str) -> None:
    raise ManifestError(f"recomputed {name} differ {how}".rstrip())
