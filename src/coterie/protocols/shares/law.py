"""Vector sums without the messages: the decoded table drawn from its law; the central model's curator.

Sending a million messages a person says nothing that their sums do not: what the server reads is the sum of
everybody's vectors plus noise. Here the vectors are added up exactly and the noise is drawn as it would come
out.

- a curator: one discrete Gaussian an entry, exactly the law.
- everyone: a sum of n discrete Gaussians of scale s is drawn as one of scale √n·s (rounded up to a
  64th, or to a whole step where it is large).
  With s ≥ 2 grid steps the log-ratio of the two laws is below 10·n·exp(-π²s²) an entry: 10⁻¹⁵ at s = 2, n =
  100.

Whoever runs this sees the points. With `SystemCoins` and a central plan it *is* the trusted curator; for a
shuffle plan it is a simulation.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from coterie.aggregate import Aggregate
from coterie.coins import Coins
from coterie.plain.pieces import pieces
from coterie.plan import Plan
from coterie.protocols import encoder_of
from coterie.protocols.encoder import checked_people
from coterie.protocols.shares.encode import ShareEncoder
from coterie.protocols.shares.parameters import SCALE_PARTS, ShareParameters
from coterie.protocols.shares.table import VectorSumTable
from coterie.randomizers.discrete_gaussian import DiscreteGaussian

_CHUNK: Final = 1 << 14  # people at a time


def drawn_table(plan: Plan, points: NDArray[Any], coins: Coins) -> tuple[Aggregate, int]:
    """Return the table of all points, drawn from its law, and how many points were clipped (not private).

    Examples
    --------
    >>> from coterie.coins import SystemCoins
    >>> plan = Plan.design(2, 2, 1.0, 100, protocol="vector-sums", model="central", delta=1e-6)
    >>> drawn_table(plan, np.zeros((100, 2)), SystemCoins())[0].count
    100
    """
    parameters = ShareParameters.of(plan)
    encoder = cast("ShareEncoder", encoder_of(plan))
    sums = np.zeros((parameters.rows, parameters.coordinates), dtype=np.int64)
    people = np.zeros(parameters.rows, dtype=np.int64)
    clipped = 0
    for chunk in (points[piece] for piece in pieces(len(points), _CHUNK)):
        rows, vectors, outside = encoder.contributions(*checked_people(chunk, None, plan.dimension, coins))
        served = rows.reshape(len(chunk), -1)  # one row a person, or one a level
        person = np.repeat(np.arange(len(chunk)), served.shape[1])
        members = (np.ones(served.size, dtype=np.int64), (served.ravel(), person))
        sums += np.asarray(csr_array(members, shape=(parameters.rows, len(chunk))) @ vectors, dtype=np.int64)
        people += np.bincount(served.ravel(), minlength=parameters.rows)
        clipped += outside
    if not parameters.by_column:
        people[:] = len(points)
    for count in np.unique(people):
        if adders := int(count) if parameters.noise == "everyone" else 1:
            chosen, noise = np.flatnonzero(people == count), _noise(parameters.noise_scale, adders)
            drawn = noise.sample(len(chosen) * parameters.coordinates, coins)
            sums[chosen] += drawn.reshape(-1, parameters.coordinates)
    if parameters.modulus:
        sums %= parameters.modulus
    messages = np.repeat(people[:, None] * max(parameters.shares, 1), parameters.coordinates, axis=1)
    aggregate = Aggregate(plan)
    aggregate.table = VectorSumTable(plan, sums, messages)
    return aggregate, clipped


def _noise(scale: Fraction, adders: int) -> DiscreteGaussian:
    if adders == 1:
        return DiscreteGaussian(scale)
    # To a 64th of a step, or to a whole step where there are more than 2^17: the sampler's integers.
    parts = SCALE_PARTS if scale * scale * adders < 1 << 34 else 1
    square = scale * scale * adders * parts**2
    return DiscreteGaussian(Fraction(math.isqrt(math.ceil(square) - 1) + 1, parts))
