"""Whether a published result follows from its table: everything is decoded again and every field is compared.

Arithmetic differs in its last digits from processor to processor, and fits would make more of that; so
decoding rounds them off where they would grow (`centers/population.py`, `centers/blobs.py`), and every figure
comes out again to `DIGITS`, wherever it is computed (`python -m benchmarks processors`). Then the parts of a
result must follow from each other: groups, everybody and words from the figures.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.errors import DecodeError, ManifestError, PlanError
from coterie.plain.canonical import shown
from coterie.service.decoder import result_document
from coterie.service.following import asked_in, is_same, next_plan
from coterie.service.manifest import IN_WORDS, decoding_seed, environment
from coterie.wire.manifest import CENTERS_ALONE, read_manifest, waves_of

if TYPE_CHECKING:
    from coterie.centers import Result

DIGITS: Final = 1e-6  # of a figure

_SAME: Final = 1e-9  # of a figure that follows from others that are claimed
_DECODED: Final = ("confirmed", "groups")  # of published groups: figures that only the table gives
_ALWAYS: Final = ("centers", "weights", "errors", "weight_errors", "mean")  # figures of every result


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found out about a manifest that fits.

    Attributes
    ----------
    manifest : dict
        The manifest.
    away : float
        By how much recomputed centers differ, in radii of the ball.
    elsewhere : bool
        Whether other libraries or another processor decoded it.
    words : bool
        Whether the result was there, too, and says in words what was stated.
    """

    manifest: dict[str, Any]
    away: float
    elsewhere: bool
    words: bool

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """Ids of the plans that were decoded together, in order; mostly one."""
        return tuple(wave["plan_id"] for wave in waves_of(self.manifest))

    @property
    def count(self) -> int:
        """Reports that were decoded."""
        return sum(wave["counts"]["counted"] for wave in waves_of(self.manifest))


def verify(
    data: bytes, table: bytes | Sequence[bytes], key: str | None = None, *, result: bytes | None = None
) -> Verdict:
    """Check a manifest against its tables: signature, digests, counts, and the result, computed again.

    Of a study of several waves each plan is made again, too, from the tables before it.

    Parameters
    ----------
    data : bytes
        The manifest.
    table : bytes or sequence of bytes
        The table; of several waves all of them, in any order.
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
    if manifest["version"] == CENTERS_ALONE:
        raise ManifestError("this is of version 1, which stated no figures: it cannot be checked")
    waves, decoding = waves_of(manifest), manifest["decoding"]
    tables = _tables_of(waves, [table] if isinstance(table, bytes) else table)
    if result is not None and hashlib.sha256(result).hexdigest() != waves[-1]["result"]:
        raise ManifestError("this is another result: its digest is not the manifest's")
    plan = tables[-1].plan
    seed = decoding_seed(plan)
    if not isinstance(decoding, Mapping) or decoding.get("random_state") != seed:
        raise ManifestError(f"the seed of decoding must be {seed}, as follows from the plan")
    if len(tables) > 1:
        _check_waves(manifest, tables)
    again = decode(tables if len(tables) > 1 else tables[0], random_state=seed)
    return judge(manifest, again, plan.radius, result)


def _tables_of(waves: Sequence[Mapping[str, Any]], given: Sequence[bytes]) -> list[Aggregate]:
    """Return the tables of the waves of a manifest, in order, each the one that it names."""
    if len(given) != len(waves):
        raise ManifestError(f"the manifest is of {len(waves)} tables, and {len(given)} are given")
    by_digest = {hashlib.sha256(table).hexdigest(): table for table in given}
    found = []
    for wave in waves:
        if not isinstance(wave["table"], str) or wave["table"] not in by_digest:
            raise ManifestError("this is another table: its digest is not the manifest's")
        aggregate, counts = Aggregate.from_bytes(by_digest[wave["table"]]), wave["counts"]
        if aggregate.plan.id != wave["plan_id"]:
            raise ManifestError(f"the table is of plan {aggregate.plan.id}, and the manifest is of another")
        if not isinstance(counts, Mapping) or counts.get("counted") != aggregate.count:
            raise ManifestError(f"the table holds {aggregate.count} reports, and the manifest counts others")
        found.append(aggregate)
    return found


def _check_waves(manifest: Mapping[str, Any], tables: Sequence[Aggregate]) -> None:
    """Require each plan but the first to follow from the tables before it, and the study to be theirs."""
    if manifest["study_id"] != tables[0].plan.id or tables[0].plan.study is not None:
        raise ManifestError("a study has the id of its first plan, and the manifest says another")
    for number in range(1, len(tables)):
        plan = tables[number].plan
        try:
            again = next_plan(tables[:number], asked_in(plan))
        except (PlanError, DecodeError) as error:
            raise ManifestError(
                f"no plan of wave {number + 1} follows from the waves before: {error}"
            ) from None
        if not is_same(plan, again):
            raise ManifestError(f"the plan of wave {number + 1} does not follow from the waves before it")


def judge(manifest: dict[str, Any], again: Result, radius: float, result: bytes | None = None) -> Verdict:
    """Compare what a manifest states, and words that go with it, with what comes out of its table."""
    elsewhere = any(manifest["decoding"].get(name) != value for name, value in environment().items())
    stated = manifest["stated"]
    claimed = _claimed(stated, again)
    if result is not None:
        _check_words(result, stated, claimed)
    _check_digits(claimed, again, " (other libraries or another processor decoded it)" * elsewhere)
    away = float(np.linalg.norm(claimed.centers - again.centers, axis=1).max()) / radius
    return Verdict(manifest, away, elsewhere, result is not None)


# ---------------------------------------------------------------- what is claimed


def _claimed(stated: object, again: Result) -> Result:
    """Return what a manifest states as a result, whose every other field follows from the table."""
    from coterie.show.told import choices_of, interval_of, number_of

    if not isinstance(stated, Mapping):
        raise ManifestError("what is stated must be an object")
    try:
        profile = stated["profile"]
        figures: dict[str, Any] = {
            name: _numbers(name, stated[name], getattr(again, name).shape) for name in _ALWAYS
        }
        claimed = replace(
            again,
            **figures,
            clear=_numbers("clear", stated["clear"], again.clear.shape) != 0,
            explained=interval_of(stated["explained"]),
            mean_error=number_of(stated["mean_error"]),
            profile=None if profile is None else _numbers("profile", profile, again.mean.shape),
            notes=tuple(str(note) for note in stated["notes"]),
            alternatives=tuple(tuple(int(group) for group in cut) for cut in stated["alternatives"]),
            choices=choices_of(stated),
        )
        follows = json.loads(result_document(claimed))
    except (TypeError, ValueError, KeyError, IndexError, OverflowError):
        raise ManifestError("what is stated is no result of this version") from None
    if (claimed.profile is None) != (again.profile is None):
        _refuse("profile", " in that there is one")
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
    decoded = _DECODED if "confirmed" in follows else ()
    for name in sorted({*document, *follows}):
        if name not in document or name not in follows:
            has = "no" if name in document else "a"
            raise ManifestError(f"a result of this version has {has} field {shown(name)}")
        if not _alike(document[name], follows[name], DIGITS if name in decoded else _SAME):
            raise ManifestError(f"{name} does not follow from the table and from what else is claimed")


def _alike(one: Any, other: Any, digits: float) -> bool:
    """Return whether two values of JSON are the same, but for the last digits of figures."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name], digits) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other, [digits] * len(one)))
    if type(one) is float or type(other) is float:
        numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other))
        return numbers and math.isclose(one, other, rel_tol=digits, abs_tol=digits / 1000)
    return type(one) is type(other) and bool(one == other)


def _numbers(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        found = np.array(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError, OverflowError):
        raise ManifestError(f"{name} must be numbers") from None
    if found.shape != shape:
        raise ManifestError(f"the table gives {name} of shape {shape}, not {found.shape}")
    return found


# ---------------------------------------------------------------- compared with what comes out


def _check_digits(claimed: Result, again: Result, where: str) -> None:
    """Require every figure to come out again, and every word."""
    for name in (*_ALWAYS, "profile", "mean_error"):
        one, other = getattr(claimed, name), getattr(again, name)
        if other is not None and not np.allclose(one, other, DIGITS, DIGITS * _scale(other), equal_nan=True):
            _refuse(name, where)
    if [each.clusters for each in claimed.choices] != [each.clusters for each in again.choices]:
        _refuse("choices", " in the numbers of groups")
    pairs = zip(claimed.choices, again.choices, strict=True)
    for name, said, found in (
        ("explained", claimed.explained, again.explained),
        *(("choices", one.explained, other.explained) for one, other in pairs),
    ):
        if not np.allclose(said, found, 0, DIGITS, equal_nan=True):
            _refuse(name, where)
    apart = [[each.apart for each in one.choices] for one in (claimed, again)]
    for name, same in (
        ("clear", np.array_equal(claimed.clear, again.clear)),
        ("notes", claimed.notes == again.notes),
        ("alternatives", claimed.alternatives == again.alternatives),
        ("choices", apart[0] == apart[1]),
    ):
        if not same:
            _refuse(name, where)


def _scale(values: Any) -> float:
    """Return the size of figures that are compared together."""
    finite = np.abs(np.asarray(values, dtype=np.float64))
    finite = finite[np.isfinite(finite)]
    return float(finite.max()) if finite.size else 0.0


def _refuse(name: str, where: str) -> None:
    raise ManifestError(f"recomputed {name} differ{where}")
