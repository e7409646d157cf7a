"""k-medians: centers that are near to people, not to their squares, and how near they are.

The centers are medians of the population (`refit`), from the groups that were found. What they cost, the mean
distance of people to the nearest one, is estimated by the halfspaces' signs (`oracles.slices`), with the
population to help:

    estimate = cost on the population + (slices of the rows - slices of the population's own rows)

Whatever the population is, that is unbiased for one center (docs/theory/k-medians.md). For several, the rows
correct what slices see, and the population answers for the rest, its *gap*: cost less sliced cost. The stated
deviation has four parts: the noise of the rows; what other hyperplanes would have said, by drawing them
afresh on the population; a third of the gap, so that three deviations reach down to what is proved; and what
one public rotation of codewords may lean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers.solution import Distance, Solution, into_ball, squared_distances
from coterie.protocols.codeword.decode import codeword_table, rows_of_all
from coterie.protocols.codeword.oracles.rows import joined
from coterie.protocols.codeword.oracles.slices import Slices, turned

_FRESH: Final = 12  # draws of hyperplanes
_SUPPOSED: Final = 1000  # people of the population, on whom those are tried
_LEAN: Final = 0.005  # of the cost: bias of one public rotation (docs/theory/codeword.md)


def mean_distance(
    tables: Sequence[Aggregate], solution: Solution, rng: np.random.Generator
) -> Distance | None:
    """Return the mean distance of people to the nearest center of a solution, in radii of the last ball.

    None where no halfspaces of whole points in that ball were asked about.
    """
    if tables[-1].plan.directions is not None:
        return None
    halves = [view for view in rows_of_all(tables) if view.halfspaces and view.own_ball]
    view = joined(halves) if halves else None
    slices = None if view is None else Slices.of(view, solution.centers)
    if view is None or slices is None:
        return None
    deviation = math.sqrt(solution.scatter / solution.centers.shape[1])
    people = into_ball(solution.points + deviation * rng.standard_normal(solution.points.shape))
    weights = solution.weights / solution.weights.sum()

    def cost(points: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
        return float(shares @ np.sqrt(squared_distances(points, solution.centers).min(axis=1)))

    value = cost(people, weights) + slices.read(view.vectors) - slices.read(view.predicted(people, weights))
    value = max(value, 0.0)
    lifted = view.lifted(people)
    second = max(_second_gain(table) for table in tables)
    noise = slices.variance(view, (lifted * weights[:, None]).T @ lifted, second)

    some = people[rng.choice(len(people), _SUPPOSED, p=weights)]
    even = np.full(_SUPPOSED, 1 / _SUPPOSED)
    tried = []
    for _ in range(_FRESH):
        other = turned(view, rng)
        again = Slices.of(other, solution.centers)
        if again is not None:
            tried.append(again.read(other.predicted(some, even)))
    gap = cost(some, even) - float(np.mean(tried))
    parts = (math.sqrt(noise), float(np.std(tried, ddof=1)), gap / 3, _LEAN * value)
    return Distance(value, math.hypot(*parts))


def _second_gain(table: Aggregate) -> float:
    parameters = codeword_table(table).parameters
    return parameters.randomizer.second_gain(parameters.embedding)
