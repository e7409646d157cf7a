"""What changed from wave to wave of a study: each group that was found, and what earlier waves said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.plain.words import letter
from coterie.show.words import percent


def changes_of(results: Sequence[Mapping[str, Any]], radius: float) -> list[dict[str, Any]]:
    """Return what results of several waves say of each group of the last; nothing of one wave alone.

    Groups are matched from wave to wave so that their centers lie closest. A wave that was asked for another
    number of groups ends the comparison: only the waves after it are told. Of a group of the last wave each
    wave says its share with its interval, the radius stated for its center, in radii of the ball of the last
    plan, and how far the center lies from that of the wave before; of the first: "".

    Parameters
    ----------
    results : sequence of dict
        Of each wave as `Result.to_dict()` has them, in order.
    radius : float
        Of the ball of the last plan.
    """
    same = 1
    while same < len(results) and len(results[-same - 1]["centers"]) == len(results[-1]["centers"]):
        same += 1
    results = results[len(results) - same :] if results else []
    if len(results) < 2:
        return []
    centers = [np.array(result["centers"], dtype=np.float64) for result in results]
    orders = matched(centers)
    changes = []
    for number in range(len(centers[-1])):
        places = [int(order[number]) for order in orders]
        where = [each[place] for each, place in zip(centers, places, strict=True)]
        errors = [result["errors"][place] for result, place in zip(results, places, strict=True)]
        changes.append(
            {
                "name": letter(number),
                "shares": [_share(result, place) for result, place in zip(results, places, strict=True)],
                "radii": ["unknown" if each is None else f"{each / radius:.2f}" for each in errors],
                "moved": ["", *(f"{np.linalg.norm(b - a) / radius:.2f}" for a, b in pairwise(where))],
            }
        )
    return changes


def matched(centers: Sequence[NDArray[np.float64]]) -> list[NDArray[np.intp]]:
    """Return where each wave has the groups of the last, (k, d) of each wave -> (k,) of each wave."""
    from scipy.optimize import linear_sum_assignment

    from coterie.centers.solution import squared_distances

    orders = [np.arange(len(centers[-1]))]
    for earlier, later in zip(reversed(centers[:-1]), reversed(centers[1:]), strict=True):
        nearest = linear_sum_assignment(squared_distances(later, earlier))[1]
        orders.insert(0, nearest[orders[0]])
    return orders


def _share(result: Mapping[str, Any], place: int) -> str:
    share, error = result["weights"][place], result["weight_errors"][place]
    if error is None:
        return percent(share)
    return f"{percent(share)} [{percent(max(share - error, 0.0))}, {percent(min(share + error, 1.0))}]"
