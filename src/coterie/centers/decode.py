"""Decode: from a table to k centers, by one of the decoders that the plan's protocol has.

A protocol has one decoder or several, by name; the first that can read the tables is the default. A decoder
returns a `Solution`, and `dress` makes the result of it, the same for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from coterie.aggregate import Aggregate
from coterie.centers.dress import dress
from coterie.centers.result import Result
from coterie.centers.solution import MEDIANS, OBJECTIVES
from coterie.errors import DecodeError
from coterie.plain.canonical import shown
from coterie.plain.checks import checked_options
from coterie.plan import Plan
from coterie.plan.public import MAX_CLUSTERS
from coterie.protocols import PROTOCOLS, Decoder, protocol_of

if TYPE_CHECKING:
    from coterie.protocols.paper.k_means import Solver

AUTO: Final = "auto"  # as many clusters as the reports tell apart


def decoder_options(protocol: str) -> tuple[str, ...]:
    """Return the names of the options that a protocol's decoders take besides a solver.

    Examples
    --------
    >>> decoder_options("codeword")
    ()
    """
    known = PROTOCOLS[protocol].decoders.values()
    return tuple(dict.fromkeys(name for each in known for name in each.options))


def decode(
    aggregate: Aggregate | Sequence[Aggregate],
    *,
    clusters: int | str | None = None,
    random_state: int | np.random.Generator | None = None,
    decoder: str | None = None,
    solver: Solver | None = None,
    objective: str = "means",
    **options: Any,
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
        How many centers to find. None is the plan's number k; "auto" finds the fewest than which no larger
        number, up to 2k + 2, explains more that noise does not, and whose groups can be told apart
        (`Result.choices`).
    random_state : int, Generator or None
        Seed of the analyst's random choices. The same table and seed give the same result.
    decoder : str, optional
        Which of the protocol's decoders. For "codeword": "confirm", what the last table says of the groups
        that its plan published (the default where it published any); "population", weighted points that
        explain all rows (the default where there are halfspaces, or at most twelve dimensions); or "cells",
        for tight groups, from the cells alone. For "vector-sums": "cells". For the tree protocols: "paper".
    solver : Solver, optional
        For the paper's decoders: what clusters the private coreset, a k-means solver in scikit-learn's manner
        (`fit(X, sample_weight=…)`, then `cluster_centers_`). None is their own.
    objective : {"means", "medians"}
        The sum of squared distances, or of distances: medians follow far-off people less. Of medians no radii
        are stated; `Result.distance` is how far people are from the nearest of them, with its deviation,
        where the reports tell it (docs/theory/k-medians.md).
    **options
        What the protocol's decoder takes besides. Net trees: `constants` ("practical", or "theory": the
        paper's decoder to the letter), `alpha`, `expansion`, `rounds`, `strays`
        (`TreeDecoding`). "lsh-tree": `threshold`. An unknown name is refused with the list
        of known ones.

    Returns
    -------
    Result
        Centers (k, d) in the plan's original coordinates, their weights and errors. The guarantee is, of
        several plans, that of the largest epsilon: each person answered one.

    Raises
    ------
    DecodeError
        If an aggregate is empty or of an unknown protocol, several do not belong together, or the decoder
        is unknown, cannot read these tables, or takes no solver.

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
    plan = tables[-1].plan
    wanted = checked_clusters(clusters, plan.clusters)
    chosen = _chosen(tables, decoder)
    _check_asked(chosen, plan, wanted, solver)
    _check_objective(chosen, objective)
    checked_options(f"the decoder of protocol {plan.protocol}", chosen.options, options, DecodeError)
    if solver is not None:
        options["solver"] = solver
    rng, find = np.random.default_rng(random_state), protocol_of(plan).load(chosen.find)

    if wanted is None and chosen.chooses:
        options["choose"] = True
    # The problems are small: with more threads than one they mostly wait for each other.
    with threadpool_limits(limits=1):
        found = find(tables, wanted or plan.clusters, rng, **options)
        if objective == MEDIANS:
            from coterie.centers.refit import medians_of  # few ask for them

            found = medians_of(found)
            if chosen.distance is not None:
                told = protocol_of(plan).load(chosen.distance)(tables, found, rng)
                found = replace(found, distance=told)
        return dress(found, tables)


def _chosen(tables: Sequence[Aggregate], name: str | None) -> Decoder:
    """Return the decoder of this name, or the protocol's first that can read the tables."""
    protocol = tables[-1].plan.protocol
    chosen = PROTOCOLS[protocol]
    decoders = chosen.decoders
    if name is not None and name not in decoders:
        raise DecodeError(f"protocol {protocol} has no decoder {shown(name)}; known: {', '.join(decoders)}")
    refusals = []
    for each in decoders if name is None else [name]:
        unfit = decoders[each].unfit
        why = None if unfit is None else chosen.load(unfit)(tables)
        if why is None and len(tables) > 1 and not decoders[each].several:
            why = "it reads one table, so decode these one by one"
        if why is None:
            return decoders[each]
        refusals.append(f"decoder {each} cannot read this: {why}")
    raise DecodeError("; ".join(refusals))


def _check_asked(decoder: Decoder, plan: Plan, clusters: int | None, solver: Solver | None) -> None:
    """Refuse what the decoder cannot do."""
    if solver is not None and not decoder.takes_solver:
        takers = [
            name
            for name, known in PROTOCOLS.items()
            if any(each.takes_solver for each in known.decoders.values())
        ]
        raise DecodeError(
            f"the decoder of protocol {plan.protocol} is no k-means on a coreset and takes no solver; "
            f"those of {', '.join(takers)} do"
        )
    if clusters not in (None, plan.clusters) and not decoder.any_number:
        raise DecodeError(
            f"protocol {plan.protocol} finds the plan's {plan.clusters} clusters only, "
            f"asked for {clusters}; refit({clusters}) of its result finds others"
        )


def _check_objective(decoder: Decoder, objective: object) -> None:
    """Refuse an objective that is none, or that the decoder cannot serve."""
    if objective not in OBJECTIVES:
        raise DecodeError(f"objective must be one of {', '.join(OBJECTIVES)}, got {shown(objective)}")
    if objective == MEDIANS and not decoder.medians:
        raise DecodeError(
            "a plan that confirms published groups states their means and has no population to take medians "
            "of; decode the tables before it with objective medians"
        )


def checked_clusters(clusters: object, planned: int) -> int | None:
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


def usable(aggregate: object) -> list[Aggregate]:
    """Return the tables, each with at least one report."""
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
        tables.append(table)
    return tables


def _checked_tables(aggregate: object) -> Sequence[Aggregate]:
    """Return the tables, each of them usable, several only if different people of one study answered them."""
    tables = usable(aggregate)
    if len(tables) == 1:
        return tables
    check_alike(tables)
    plans = [table.plan for table in tables]
    if len({plan.id for plan in plans}) < len(plans):
        raise DecodeError(
            "two tables are of the same plan: decode one of them; if they are of different people, merge "
            "them first (`coterie aggregate --disjoint`, Aggregate.merge)"
        )
    if len({plan.study_id for plan in plans}) > 1:
        raise DecodeError(
            "the tables' plans belong to different studies, so one person may have answered several of them, "
            "and no promise covers that; Plan.follow_up designs a plan of the same study, and "
            "coterie.compare compares studies"
        )
    return tables


def check_alike(tables: Sequence[Aggregate]) -> None:
    """Refuse tables that cannot be read together: what their plans ask, and of whom, must be alike."""
    plans = [table.plan for table in tables]
    able = [name for name, protocol in PROTOCOLS.items() if protocol.reads_several]
    if len({plan.protocol for plan in plans}) > 1 or plans[-1].protocol not in able:
        raise DecodeError(f"only tables of protocol {' or '.join(able)} can be decoded together")
    if len({plan.dimension for plan in plans}) > 1:
        raise DecodeError("tables decoded together must have the same number of dimensions")
    if len({plan.features for plan in plans}) > 1:
        raise DecodeError("tables decoded together must declare the same features")
    if len({plan.model for plan in plans}) > 1:
        raise DecodeError("tables decoded together must be of the same model of trust")
    for table in tables:
        if table.count < table.plan.minimum_batch:
            raise DecodeError(
                f"plan {table.plan.id} releases no batch of fewer than {table.plan.minimum_batch} people and "
                f"{table.count} are in: each table must have its own"
            )
