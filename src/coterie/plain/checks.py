"""Small checks that every part of a plan shares: a value in, the clean value or a PlanError out.

`where` names the field as it stands in the JSON, so that a hand-edited plan can be mended.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, Final, SupportsIndex

from coterie.errors import CoterieError, PlanError
from coterie.plain.canonical import shown

MIN_DELTA: Final = 1e-30
MAX_DELTA: Final = 1e-2
SHA256_HEX: Final = re.compile(r"[0-9a-f]{64}")
MOST_PEOPLE: Final = 1 << 40  # of a study, a batch or a simulation


def checked_integer(where: str, value: object, low: int, high: int) -> int:
    """Return `value` as an int in [low, high]. A bool or a float is not an integer.

    Examples
    --------
    >>> checked_integer("clusters", 8, 1, 4096)
    8
    """
    if type(value) is int:  # nearly always, and a net has many
        number = value
    elif isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise PlanError(f"{where} must be an integer, got {shown(value)}")
    else:
        number = operator.index(value)
    if not low <= number <= high:
        raise PlanError(f"{where} must be in [{low}, {high}], got {shown(number)}")
    return number


def checked_real(where: str, value: object, low: float, high: float) -> float:
    """Return `value` as a float in [low, high], a zero without its sign.

    Examples
    --------
    >>> checked_real("radius", 2, 0.0, 10.0)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise PlanError(f"{where} must be a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:  # an int beyond the doubles
        number = math.inf
    if not low <= number <= high:  # NaN fails too
        allowed = f"in [{low:g}, {high:g}]" if math.isfinite(high - low) else "a number"
        raise PlanError(f"{where} must be {allowed}, got {shown(number)}")
    return number + 0.0  # JSON has no negative zero, and equal plans must be written alike


def checked_delta(model: str, delta: object) -> float:
    """Return δ clean: 0 in the local model, else from 10⁻³⁰ to 10⁻².

    Below, tails are beyond what doubles hold; above, one person in a hundred may be shown whole.
    """
    value = checked_real("delta", delta, 0.0, 1.0)
    if model == "local":
        if value != 0:
            raise PlanError(
                f"delta must be 0 in the local model, got {value!r}; leave it out or choose another model"
            )
    elif not MIN_DELTA <= value <= MAX_DELTA:
        bounds = f"[{MIN_DELTA:g}, {MAX_DELTA:g}]"
        raise PlanError(f"delta must be in {bounds} in the {model} model, got {value!r}; 1e-6 is usual")
    return value


def checked_power_of_two(where: str, value: object, low: int, high: int) -> int:
    """Return `value` as an int in [low, high] that is a power of two."""
    number = checked_integer(where, value, low, high)
    if number & (number - 1) or number < 1:
        raise PlanError(f"{where} must be a power of two, got {number}")
    return number


def checked_choice(where: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of the strings `choices`."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise PlanError(f"{where} must be one of {', '.join(choices)}; got {shown(value)}")
    return value


def checked_match(where: str, value: object, pattern: re.Pattern[str]) -> str:
    """Return `value` if it is text of which all matches a pattern."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise PlanError(f"{where} must be of the form {pattern.pattern}, got {shown(value)}")
    return value


def read_value(text: str) -> int | float | str | None:
    """Read the value of an option that came as text: an integer, a number, none, or a word.

    Examples
    --------
    >>> [read_value(text) for text in ("3", "0.5", "none", "codeword")]
    [3, 0.5, None, 'codeword']
    """
    if text.lower() == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def checked_fields(where: str, data: object, names: Iterable[str]) -> Mapping[str, Any]:
    """Return `data` if it is an object with exactly the keys `names`."""
    if not isinstance(data, Mapping):
        raise PlanError(f"{where} must be a JSON object, got {shown(data)}")
    names = set(names)
    if missing := sorted(names - data.keys()):
        raise PlanError(f"{where} lacks the field {missing[0]!r}; expected {', '.join(sorted(names))}")
    if unknown := sorted(map(str, data.keys() - names)):
        raise PlanError(f"{where} has the unknown field {shown(unknown[0])}; remove it")
    return data


def checked_list(where: str, value: object) -> list[Any] | tuple[Any, ...]:
    """Return `value` if it is a list or a tuple."""
    if not isinstance(value, list | tuple):
        raise PlanError(f"{where} must be a list, got {shown(value)}")
    return value


def checked_options(
    whose: str,
    known: tuple[str, ...],
    options: Mapping[str, Any],
    error: type[CoterieError] = PlanError,
) -> None:
    """Refuse options that are not known, with the list of those that are."""
    if unknown := sorted(set(options) - set(known)):
        listed = f"known: {', '.join(known)}" if known else "it has none"
        raise error(f"{whose} has no option {shown(unknown[0])}; {listed}")
