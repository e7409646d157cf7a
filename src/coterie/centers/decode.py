"""Decode: from an aggregate to k centers, by the decoder that the plan's protocol names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from coterie.aggregate import Aggregate
from coterie.centers.codeword import decode_codeword
from coterie.centers.k_means_decoder import Solver
from coterie.centers.lsh_tree import decode_lsh_tree
from coterie.centers.net_tree import decode_net_tree
from coterie.centers.result import Result
from coterie.centers.vector_sums import decode_vector_sums
from coterie.errors import DecodeError

Decoder = Callable[..., Result]  # (Aggregate, Generator), and solver= for the protocols below

_WITH_SOLVER: Final = frozenset({"net-tree", "net-tree-sums", "lsh-tree"})

DECODERS: Final[dict[str, Decoder]] = {
    "codeword": decode_codeword,
    "net-tree": decode_net_tree,
    "shuffle": decode_vector_sums,
    "lsh-tree": decode_lsh_tree,
    "net-tree-sums": decode_net_tree,
}


def decode(
    aggregate: Aggregate,
    *,
    random_state: int | np.random.Generator | None = None,
    solver: Solver | None = None,
) -> Result:
    """Find the k cluster centers that an aggregate of private reports speaks of.

    Post-processing: it costs no privacy and may be repeated at will.

    Parameters
    ----------
    aggregate : Aggregate
        All reports of one plan.
    random_state : int, Generator or None
        Seed of k-means++ on the private summary. The same table and seed give the same result.
    solver : Solver, optional
        For the tree protocols: what clusters the private coreset, a k-means solver in scikit-learn's manner
        (`fit(X, sample_weight=…)`, then `cluster_centers_`). None is their own.

    Returns
    -------
    Result
        Centers (k, d) in the plan's original coordinates, their weights and errors.

    Raises
    ------
    DecodeError
        If the aggregate is empty, of an unknown protocol, or of one that takes no solver.

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
    options: dict[str, Solver] = {}
    if solver is not None:
        if protocol not in _WITH_SOLVER:
            raise DecodeError(
                f"the decoder of protocol {protocol} is no k-means on a coreset and takes no solver; "
                f"those of {', '.join(sorted(_WITH_SOLVER))} do"
            )
        options = {"solver": solver}
    # The problems are small: with more threads than one they mostly wait for each other.
    with threadpool_limits(limits=1):
        return DECODERS[protocol](aggregate, np.random.default_rng(random_state), **options)
