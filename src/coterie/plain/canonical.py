"""Canonical JSON (RFC 8785) out, strict and bounded JSON in.

A plan is named by the SHA-256 of its canonical bytes, so there must be one spelling: keys sorted, no spaces,
numbers as ECMAScript writes a double. Reading is stricter than Python's `json`: no duplicate keys (two
readers might keep different ones), no NaN or infinity, bounded size, depth and length of numbers.

JSON has one kind of number. Here a literal without fraction or exponent, below 2^53 in size, is read as an
integer, and every other one as a double: so 1 and 1e20, written back canonically, keep their value.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import rfc8785

from coterie.errors import PlanError

MAX_BYTES: Final = 4 << 20  # a plan with the largest allowed net stays below this
MAX_DEPTH: Final = 8  # a plan has six levels: plan, parameters, views, view, points, point
MAX_NUMBER_LENGTH: Final = 32  # characters; the longest canonical double has 25
SAFE_INTEGER: Final = (1 << 53) - 1  # integers up to here are doubles too

# A string that is never closed counts as one, too, so that each character is looked at once.
_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SHOWN: Final = 40  # characters of a foreign text that a message repeats


def canonical_bytes(value: Mapping[str, Any]) -> bytes:
    """Return the RFC 8785 bytes of a JSON object.

    Examples
    --------
    >>> canonical_bytes({"b": 1.0, "a": [0.5, 1e21]})
    b'{"a":[0.5,1e+21],"b":1}'
    """
    return rfc8785.dumps(dict(value))


def parse_object(text: str | bytes, what: str = "a plan") -> dict[str, Any]:
    """Parse one JSON object strictly.

    Parameters
    ----------
    text : str or bytes
        JSON; bytes must be UTF-8.
    what : str
        What it should be, for error messages.

    Returns
    -------
    dict
        Integers below 2^53 in size as int, other numbers as finite float.

    Raises
    ------
    PlanError
        If the text is not one JSON object, or breaks a bound.

    Examples
    --------
    >>> parse_object('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    text = _bounded_text(text, what)
    _check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_double,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        raise PlanError(
            f"not JSON at character {error.pos} (line {error.lineno}): {error.msg}; {what} was expected"
        ) from None
    if not isinstance(value, dict):
        raise PlanError(f"{what} is a JSON object, got a JSON {type(value).__name__}")
    return value


def finite(value: Any) -> Any:
    """Return the same with null for numbers that JSON has no word for.

    Examples
    --------
    >>> finite({"share": [0.5, math.nan]})
    {'share': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shown(value: object) -> str:
    """Return a short, printable form of something foreign, for an error message."""
    text = ascii(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _bounded_text(text: str | bytes, what: str) -> str:
    if not isinstance(text, str | bytes):
        raise PlanError(f"{what} is read from str or bytes, got {type(text).__name__}")
    size = len(text)
    if isinstance(text, str) and size <= MAX_BYTES and not text.isascii():
        size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > MAX_BYTES:
        raise PlanError(f"{what} has at most {MAX_BYTES} bytes, got {size}")
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PlanError(f"{what} is UTF-8 text; byte {error.start} is not") from None


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the recursive parser sees it."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise PlanError(f"JSON nested deeper than {MAX_DEPTH} levels at character {token.start()}")
        elif mark in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise PlanError(f"the key {shown(twice)} appears more than once; keep one of them")
    return result


def _integer(literal: str) -> int | float:
    _check_length(literal)
    value = int(literal)
    return value if abs(value) <= SAFE_INTEGER else float(value)


def _double(literal: str) -> float:
    _check_length(literal)
    value = float(literal)
    if not math.isfinite(value):
        raise PlanError(f"the number {shown(literal)} does not fit a double")
    return value


def _check_length(literal: str) -> None:
    if len(literal) > MAX_NUMBER_LENGTH:
        raise PlanError(f"a number has at most {MAX_NUMBER_LENGTH} characters, got {len(literal)}")


def _constant(name: str) -> float:
    raise PlanError(f"{name} is not JSON; every number is finite")
