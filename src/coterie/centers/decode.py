"""Decode: from an aggregate to k centers, by the decoder that the plan's protocol names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from coterie.aggregate import Aggregate
from coterie.centers.codeword import decode_codeword, decode_rows, number_of_groups
from coterie.centers.k_means_decoder import Solver
from coterie.centers.lsh_tree import decode_lsh_tree
from coterie.centers.net_tree import decode_net_tree
from coterie.centers.result import Result
from coterie.centers.vector_sums import decode_vector_sums
from coterie.errors import DecodeError
from coterie.plan.canonical import shown
from coterie.plan.public import MAX_CLUSTERS

AUTO: Final = "auto"  # as many clusters as the reports tell apart

Decoder = Callable[..., Result]  # (Aggregate, clusters, Generator), and solver= for the protocols below

_WITH_SOLVER: Final = frozenset({"net-tree", "net-tree-sums", "lsh-tree"})


def _of_the_plan(decoder: Callable[..., Result]) -> Decoder:
    """Return a decoder that knows the plan's number of clusters only, as one that is told a number."""

    def checked(aggregate: Aggregate, clusters: int, rng: np.random.Generator, **options: Any) -> Result:
        return decoder(_as_planned(aggregate, clusters), rng, **options)

    return checked


DECODERS: Final[dict[str, Decoder]] = {
    "codeword": decode_codeword,
    "net-tree": _of_the_plan(decode_net_tree),
    "vector-sums": decode_vector_sums,
    "lsh-tree": _of_the_plan(decode_lsh_tree),
    "net-tree-sums": _of_the_plan(decode_net_tree),
}


def decode(
    aggregate: Aggregate | Sequence[Aggregate],
    *,
    clusters: int | str | None = None,
    random_state: int | np.random.Generator | None = None,
    solver: Solver | None = None,
) -> Result:
    """Find the k cluster centers that private reports speak of.

    Post-processing: it costs no privacy and may be repeated at will.

    Parameters
    ----------
    aggregate : Aggregate or sequence of Aggregate
        All reports of one plan, or those of several plans of one study, which different people answered
        (protocol "codeword"): a first plan and its follow-ups (`Plan.follow_up`), in that order. They are
        read together, in the ball of the last one.
    clusters : int, "auto" or None
        How many centers to find. None is the plan's number; "auto" finds as many groups as the reports tell
        apart: one more as long as it explains more than noise would, up to 2k + 2 for a plan of k clusters.
    random_state : int, Generator or None
        Seed of the analyst's random choices. The same table and seed give the same result.
    solver : Solver, optional
        For the tree protocols: what clusters the private coreset, a k-means solver in scikit-learn's manner
        (`fit(X, sample_weight=…)`, then `cluster_centers_`). None is their own.

    Returns
    -------
    Result
        Centers (k, d) in the plan's original coordinates, their weights and errors. The guarantee is, of
        several plans, that of the largest epsilon: each person answered one.

    Raises
    ------
    DecodeError
        If an aggregate is empty or of an unknown protocol, several do not belong together, or the protocol
        takes no solver.

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
    tables = _checked_tables(aggregate)
    last = tables[-1]
    wanted = _checked_clusters(clusters, last.plan.clusters)
    options = _checked_options(last.plan.protocol, solver)
    rng = np.random.default_rng(random_state)

    def found(number: int) -> Result:
        if len(tables) > 1:
            return decode_rows(tables, number, rng)
        return DECODERS[last.plan.protocol](last, number, rng, **options)

    # The problems are small: with more threads than one they mostly wait for each other.
    with threadpool_limits(limits=1):
        if wanted is not None:
            return found(wanted)
        told = number_of_groups(tables, rng) if last.plan.protocol == "codeword" else None
        if told is not None:
            return found(told)
        planned = found(last.plan.clusters)
        clear = max(planned.supported, 1)
        return planned if clear == len(planned.centers) else found(clear)


def _checked_options(protocol: str, solver: Solver | None) -> dict[str, Solver]:
    """Return what the protocol's decoder is told besides."""
    if solver is None:
        return {}
    if protocol not in _WITH_SOLVER:
        raise DecodeError(
            f"the decoder of protocol {protocol} is no k-means on a coreset and takes no solver; "
            f"those of {', '.join(sorted(_WITH_SOLVER))} do"
        )
    return {"solver": solver}


def _checked_clusters(clusters: object, planned: int) -> int | None:
    """Return the number of clusters to find, None for one that is to be chosen."""
    if clusters is None:
        return planned
    if isinstance(clusters, str) and clusters == AUTO:
        return None
    if type(clusters) is not int or not 1 <= clusters <= MAX_CLUSTERS:
        raise DecodeError(
            f'clusters must be an integer from 1 to {MAX_CLUSTERS}, "{AUTO}" or None, got {shown(clusters)}'
        )
    return clusters


def _as_planned(aggregate: Aggregate, clusters: int) -> Aggregate:
    """Refuse a number of clusters that the plan's tree was not grown for."""
    if clusters != aggregate.plan.clusters:
        raise DecodeError(
            f"protocol {aggregate.plan.protocol} finds the plan's {aggregate.plan.clusters} clusters only, "
            f"asked for {clusters}; refit({clusters}) of its result finds others"
        )
    return aggregate


def _checked_tables(aggregate: object) -> Sequence[Aggregate]:
    """Return the tables, each of them usable, several only if they belong together."""
    given: list[object] = list(aggregate) if isinstance(aggregate, Sequence) else [aggregate]
    if not given:
        raise DecodeError("decode needs an Aggregate, got none")
    tables = []
    for table in given:
        if not isinstance(table, Aggregate):
            raise DecodeError(
                f"decode needs an Aggregate, got {type(table).__name__}; Aggregate.load reads one"
            )
        if table.count == 0:
            raise DecodeError("the aggregate is empty: add reports (Aggregate.add) before decoding")
        if table.plan.protocol not in DECODERS:
            raise DecodeError(f"no decoder for protocol {table.plan.protocol}; known: {', '.join(DECODERS)}")
        tables.append(table)
    if len(tables) > 1:
        _check_together(tables)
    return tables


def _check_together(tables: Sequence[Aggregate]) -> None:
    """Refuse tables whose reports do not come from different people of one study."""
    plans = [table.plan for table in tables]
    if any(plan.protocol != "codeword" for plan in plans):
        raise DecodeError("only tables of protocol codeword can be decoded together")
    if len({plan.dimension for plan in plans}) > 1:
        raise DecodeError("tables decoded together must have the same number of dimensions")
    if len({plan.model for plan in plans}) > 1:
        raise DecodeError("tables decoded together must be of the same model of trust")
    if len({plan.id for plan in plans}) < len(plans):
        raise DecodeError("two tables are of the same plan: merge them (Aggregate.merge)")
    if len({plan.study_id for plan in plans}) > 1:
        raise DecodeError(
            "the tables' plans belong to different studies, so one person may have answered several of them, "
            "and no promise covers that; Plan.follow_up designs a plan of the same study"
        )
    for table in tables:
        if table.count < table.plan.minimum_batch:
            raise DecodeError(
                f"plan {table.plan.id} releases no batch of fewer than {table.plan.minimum_batch} people and "
                f"{table.count} are in: each table must have its own"
            )
