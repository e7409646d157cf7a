"""The decoder of `shuffle`: the same steps as `codeword`'s on sums with far less noise."""

from __future__ import annotations

import numpy as np

from coterie.aggregate import Aggregate
from coterie.aggregate.vector_sums import VectorSumTable
from coterie.centers.codeword import result_of
from coterie.centers.leaves import Lift
from coterie.centers.result import Result
from coterie.centers.solve import solve
from coterie.errors import DecodeError
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import point_weight
from coterie.oracles.mixed_sums import mixed_leaf_sums


def decode_vector_sums(aggregate: Aggregate, rng: np.random.Generator) -> Result:
    """Find the centers of a `shuffle` aggregate."""
    table, plan = aggregate.table, aggregate.plan
    if not isinstance(table, VectorSumTable):
        raise DecodeError(f"this decoder needs a table of vector sums, got {type(table).__name__}")
    weight = table.numbers.count_weight
    lift = Lift(point_weight(weight), weight / SCALE, plan.dimension)
    return result_of(solve(mixed_leaf_sums(table), None, lift, plan.clusters, rng), aggregate)
