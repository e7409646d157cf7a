"""Decode: from an aggregate to k centers, by the decoder that the plan's protocol names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from coterie.aggregate import Aggregate
from coterie.centers.codeword import decode_codeword
from coterie.centers.lsh_tree import decode_lsh_tree
from coterie.centers.net_tree import decode_net_tree
from coterie.centers.result import Result
from coterie.centers.vector_sums import decode_vector_sums
from coterie.errors import DecodeError

Decoder = Callable[[Aggregate, np.random.Generator], Result]

DECODERS: Final[dict[str, Decoder]] = {
    "codeword": decode_codeword,
    "net-tree": decode_net_tree,
    "shuffle": decode_vector_sums,
    "lsh-tree": decode_lsh_tree,
}


def decode(aggregate: Aggregate, *, random_state: int | np.random.Generator | None = None) -> Result:
    """Find the k cluster centers that an aggregate of private reports speaks of.

    Post-processing: it costs no privacy and may be repeated at will.

    Parameters
    ----------
    aggregate : Aggregate
        All reports of one plan.
    random_state : int, Generator or None
        Seed of k-means++ on the private summary. The same table and seed give the same result.

    Returns
    -------
    Result
        Centers (k, d) in the plan's original coordinates, their weights and errors.

    Raises
    ------
    DecodeError
        If the aggregate is empty or of an unknown protocol.

    Examples
    --------
    >>> from coterie import Client, Plan
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=2000)
    >>> points = np.repeat([[0.8, 0.0], [-0.8, 0.0]], 1000, axis=0)
    >>> table = Aggregate(plan)
    >>> table.add(Client(plan).encode_many(points))
    >>> result = decode(table, random_state=0)
    >>> result.centers.shape, result.supported
    ((2, 2), 2)
    """
    if not isinstance(aggregate, Aggregate):
        raise DecodeError(
            f"decode needs an Aggregate, got {type(aggregate).__name__}; Aggregate.load reads one"
        )
    if aggregate.count == 0:
        raise DecodeError("the aggregate is empty: add reports (Aggregate.add) before decoding")
    protocol = aggregate.plan.protocol
    if protocol not in DECODERS:
        raise DecodeError(f"no decoder for protocol {protocol}; known: {', '.join(DECODERS)}")
    # The problems are small: with more threads than one they mostly wait for each other.
    with threadpool_limits(limits=1):
        return DECODERS[protocol](aggregate, np.random.default_rng(random_state))
