"""Which of a result's groups are worth telling, by the reports alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.groups import Group
from coterie.features import Estimate, Schema

ROUGH: Final = 0.5  # of the ball's radius: centers that are less certain are no more than directions


def told_groups(
    groups: Sequence[Group], errors: NDArray[np.float64], radius: float, *, apart: bool = True
) -> tuple[Group, ...]:
    """Return the groups that can be told, the largest first: errors (k,), in the radius's unit.

    Those that stand clear of the noise, are known within half the ball's radius and, where features say in
    what (`apart`), differ from everybody. That needs no truth.
    """
    near = errors < ROUGH * radius  # false for NaN
    known = [group for group in groups if group.share > 0 and near[group.number]]
    return tuple(sorted((one for one in known if one.apart or not apart), key=lambda group: -group.share))


def everybody(told: Sequence[Group], centers: NDArray[np.float64], schema: Schema) -> tuple[Estimate, ...]:
    """Describe the told groups together, by their shares: what each of them is compared with."""
    shares = np.array([group.share for group in told])
    return schema.describe_point(shares @ centers[[group.number for group in told]] / shares.sum())


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


def style() -> str:
    """Return the sheet of styles."""
    from importlib.resources import files

    return files("coterie.show").joinpath("style.css").read_text(encoding="utf-8")
