"""What is doubtful about an answer, in words that a user can act on, the worst first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.centers.evidence import PEAK
from coterie.centers.repeats import Found, pairs_in_doubt
from coterie.plain.words import letter, listed


def doubts(found: Found | None, radii: NDArray[np.float64] | None = None) -> tuple[str, ...]:
    """Return the cautions about an answer, (k,) radii of whose groups are stated; None is one group."""
    if found is None:
        return (
            "The reports tell no groups apart: what is shown is the mean of everybody. Collect more reports, "
            "allow a larger epsilon, or ask about fewer features.",
        )
    notes = []
    if found.peak > PEAK:
        notes.append(
            "The reports speak of a group that none of the centers explains, or of two that one center "
            f"stands for ({found.peak:.0f} deviations of the noise): ask for more clusters."
        )
    pairs = [] if radii is None else pairs_in_doubt(found.answer.centers, radii)
    if found.spare is not None:
        pairs.append(found.spare)
    notes += [may_be_fewer(family) for family in families(pairs)]
    return tuple(notes)


def families(pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Return the groups that pairs connect, those of the largest number first."""
    families: list[set[int]] = []
    for pair in pairs:
        joined = set(pair).union(*(family for family in families if family & set(pair)))
        families = [family for family in families if not family & set(pair)] + [joined]
    return sorted((sorted(family) for family in families), key=lambda family: (-len(family), family))


def may_be_fewer(family: list[int]) -> str:
    """Return the caution about groups that may be one, or fewer than they are."""
    names = listed([letter(number) for number in family])
    fewer = "one" if len(family) == 2 else "fewer"
    return (
        f"Groups {names} may be {fewer}: noise alone can hold them apart. Ask for fewer clusters, or take "
        "them together."
    )
