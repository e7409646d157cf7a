"""Words as one says them: lists, small numbers, and the names of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_COUNTS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def letter(place: int) -> str:
    """Name a group by its place, from 0, as columns of a sheet are named.

    Examples
    --------
    >>> [letter(place) for place in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    name = ""
    place += 1
    while place:
        place, last = divmod(place - 1, 26)
        name = chr(ord("A") + last) + name
    return name


def listed(words: Sequence[str]) -> str:
    """Write several things as one says them.

    Examples
    --------
    >>> listed(["one", "two", "three"])
    'one, two and three'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def number_word(number: int) -> str:
    """Write a small number as a word.

    Examples
    --------
    >>> number_word(3), number_word(12)
    ('three', '12')
    """
    return _COUNTS[number] if number < len(_COUNTS) else f"{number:,}"
