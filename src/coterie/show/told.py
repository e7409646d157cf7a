"""What a result tells, as every page shows it: read off the result's own document, nothing computed again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.groups import Group, forging
from coterie.centers.result import Choice, Interval, ask_for, other_answers, too_many
from coterie.features import Estimate
from coterie.plain.words import letter, listed, number_word
from coterie.show.words import percent

ROUGH: Final = 0.5  # of the ball's radius: centers that are less certain are no more than directions


@dataclass(frozen=True, slots=True)
class Told:
    """A result, and which of its groups are worth telling, by the reports alone."""

    centers: NDArray[np.float64]  # (k, d)
    errors: NDArray[np.float64]  # (k,)
    stated: bool  # whether anything is, of their errors
    told: tuple[Group, ...]  # the groups that stand clear and are known within half the ball's radius; or all
    rough: tuple[int, ...]  # those that stand clear and are not
    everybody: tuple[Estimate, ...]  # read off the reports
    explained: Interval
    choices: tuple[Choice, ...]
    alternatives: tuple[tuple[int, ...], ...]
    fragile: NDArray[np.float64]  # (k, 2), NaN where it is not known
    notes: tuple[str, ...]
    count: int
    coverage: float | None
    supported: int
    confirmed: str = ""  # what other people confirm of published groups, in words; empty where none were

    @classmethod
    def of(cls, document: Mapping[str, Any], radius: float) -> Told:
        """Read `Result.to_dict()`, or its JSON, of a study whose ball has this radius."""
        errors = np.array([number_of(each) for each in document["errors"]])
        stated = not bool(np.isnan(errors).all())
        groups = [group for group in map(_group, document["groups"]) if group.share]
        alone = len(groups) == 1 < len(errors)  # the reports tell no groups apart
        clear = [group for group in groups if (group.clear if stated else not alone)]
        known = errors < ROUGH * radius if stated else np.ones(len(errors), dtype=bool)
        fragile = [[number_of(each) for each in both] for both in document["fragile"]]
        return cls(
            centers=np.array(document["centers"], dtype=np.float64),
            errors=errors,
            stated=stated,
            told=tuple(group for group in clear if known[group.number]),
            rough=tuple(group.number for group in clear if not known[group.number]),
            everybody=_estimates(document["everybody"]),
            explained=interval_of(document["explained"]),
            choices=choices_of(document),
            alternatives=tuple(tuple(cut) for cut in document["alternatives"]),
            fragile=np.array(fragile).reshape(-1, 2),
            notes=tuple(document["notes"]),
            count=document["count"],
            coverage=document["coverage"],
            supported=document["supported"],
            confirmed=document.get("confirmed", {}).get("words", ""),
        )

    @property
    def headline(self) -> str:
        """The result in one line."""
        people, told, asked = f"{self.count:,} people", len(self.told), len(self.centers)
        if self.too_many:
            return f"There are groups among {people}, but {number_word(asked)} are too many to tell apart"
        if not told:
            return f"No groups can be told apart among {people}"
        if not self.stated:
            return f"{people} in {number_word(told)} group{'s' * (told != 1)}"
        if told < asked:
            return f"{number_word(told).capitalize()} of {number_word(asked)} groups told among {people}"
        return f"{number_word(told).capitalize()} group{'s' * (told != 1)} among {people}"

    @property
    def too_many(self) -> bool:
        """Whether there are groups, and more were asked for than can be told apart."""
        return too_many(np.array([self.supported > 0]), self.explained)

    @property
    def asking(self) -> str:
        """How many groups to ask for where these are too many."""
        return ask_for(self.choices, len(self.centers))

    @property
    def rings(self) -> NDArray[np.float64]:
        """The radii that pictures draw, (k,): none where none is stated."""
        return np.nan_to_num(self.errors)

    @property
    def shortcomings(self) -> list[str]:
        """What stands clear and is not told all the same, and every caution of the decoder."""
        if not self.rough:
            return list(self.notes)
        names, several = listed([letter(number) for number in self.rough]), len(self.rough) > 1
        words = (
            f"Group{'s' * several} {names} stand{'s' * (not several)} clear of the noise, but "
            f"{'are' if several else 'is'} known too roughly to be told."
        )
        return [words, *self.notes]

    @property
    def is_explained(self) -> bool:
        """Whether it is stated how much the groups explain."""
        some = len(self.centers) > 1 and bool(self.told or self.too_many)  # one explains nothing
        return some and not math.isnan(self.explained.value)

    @property
    def explaining(self) -> str:
        """The one figure for whoever decides; nothing where it is not stated."""
        if not self.is_explained:
            return ""
        if self.explained.is_vague:
            low, high = 100 * self.explained.low, 100 * self.explained.high
            return f"The groups explain between {low:.0f} and {high:.0f}% of how people differ: not known."
        return f"The groups explain {percent(*self.explained)} of how people differ."

    @property
    def forging(self) -> str:
        """Which group forged reports could have made up most easily; nothing where that is not known."""
        told = np.isin(np.arange(len(self.centers)), [group.number for group in self.told])
        return forging(told, self.fragile)

    @property
    def otherwise(self) -> str:
        """Which other answers are as good; nothing where there are none."""
        return other_answers(self.alternatives) if self.told else ""


def _group(fields: Mapping[str, Any]) -> Group:
    return Group(
        number=fields["number"],
        share=fields["share"],
        low=number_of(fields["low"]),
        high=number_of(fields["high"]),
        clear=fields["clear"],
        estimates=_estimates(fields["estimates"]),
        apart=tuple(fields["apart"]),
    )


def _estimates(found: Sequence[Mapping[str, Any]]) -> tuple[Estimate, ...]:
    return tuple(
        Estimate(**{**fields, **{name: number_of(fields[name]) for name in ("value", "low", "high")}})
        for fields in found
    )


def choices_of(document: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Read what other numbers of groups would explain."""
    return tuple(
        Choice(int(each["clusters"]), interval_of(each["explained"]), bool(each["apart"]))
        for each in document["choices"]
    )


def interval_of(fields: Mapping[str, Any]) -> Interval:
    """Read an interval."""
    return Interval(*(number_of(fields[name]) for name in Interval._fields))


def number_of(value: float | None) -> float:
    """Read a figure: JSON has no word for NaN."""
    return math.nan if value is None else float(value)
