"""One study from points to centers: by real reports, or by tables or rows drawn from their law.

`by_reports` plays everybody through the encoder, the table and the decoder.

`by_law` draws the tables as they would come out (`coterie.engines.simulate`) and finds the centers without
their errors. It takes the time of a decode, whatever n is.

`drawn_rows` draws what the decoder would read off a table: for every row the mean over the people, exactly,
plus normal noise of the deviation that the decoder itself assumes of it,

    Y_j = E[φ_j(x)·w(x)] + N(0, (1 + c₂/D)/(κ²·n_j)),      n_j how many reports served row j, drawn

where n_j is a whole view's people for a cell.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Study
from benchmarks.populations import Source
from coterie import Aggregate, Plan, decode
from coterie.centers.explain import explain
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.engines.simulate import simulate
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.plan.views import Halfspaces
from coterie.protocols.codeword.decode import not_explained, rows_of_all
from coterie.protocols.codeword.oracles.rows import Frame, Lift, ViewRows
from coterie.protocols.codeword.parameters import CodewordParameters

_PIECE = 8_000  # points predicted at a time


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a study gave."""

    table: Aggregate
    centers: NDArray[np.float64]  # (k, d)
    errors: NDArray[np.float64]  # (k,), stated radii
    supported: NDArray[np.bool_]  # (k,)
    notes: tuple[str, ...]
    encode_seconds: float
    decode_seconds: float


def by_reports(study: Study, points: NDArray[Any], seed: int) -> Outcome:
    """Collect a report from every person and decode."""
    plan = design(study, points.shape, seed)
    start = time.perf_counter()
    table = play(plan, points, SimulationCoins([seed, 0]))
    encoded = time.perf_counter()
    result = decode(table, random_state=seed)
    return Outcome(
        table=table,
        centers=result.centers,
        errors=result.errors,
        supported=result.clear,
        notes=result.notes,
        encode_seconds=encoded - start,
        decode_seconds=time.perf_counter() - encoded,
    )


def design(study: Study, shape: tuple[int, ...], seed: int, **more: Any) -> Plan:
    """Design a study's plan for people of this shape, (n, d), from public facts alone."""
    options = more if study.shape == "broad" else {"shape": study.shape, **more}
    return Plan.design(shape[1], study.clusters, study.epsilon, shape[0], seed=seed, **options)


def choose_clusters(study: Study, points: NDArray[Any], seed: int) -> int:
    """Collect a report from every person, let the decoder choose k, and return it."""
    table = play(design(study, points.shape, seed), points, SimulationCoins(seed))
    try:
        result = decode(table, clusters="auto", random_state=seed)
    except TypeError as error:
        raise RuntimeError(
            f"this version of coterie does not choose k (decode(clusters='auto')): {error}"
        ) from error
    return len(result.centers)


def seconds_without_radii(outcome: Outcome, clusters: int, seed: int) -> float | None:
    """Return how long the decoder takes if nobody asks for error radii; None where it has no such choice."""
    if not_explained([outcome.table]) is not None:
        return None
    views = rows_of_all([outcome.table])
    start = time.perf_counter()
    explain(views, clusters, np.random.default_rng(seed), repeats=0)
    return time.perf_counter() - start


def by_law(study: Study, source: Source, seed: int) -> Outcome:
    """Draw the table of `study.users` people who are like the source, and find centers without errors."""
    start = time.perf_counter()
    plan = design(study, (study.users, source.dimension), seed)
    table = simulate(plan, source.points, study.users, random_state=seed)
    drawn = time.perf_counter()
    centers, supported, notes = _without_errors(table, study.clusters, seed)
    return Outcome(
        table=table,
        centers=centers,
        errors=np.full(len(centers), np.nan),
        supported=supported,
        notes=notes,
        encode_seconds=drawn - start,
        decode_seconds=time.perf_counter() - drawn,
    )


def _without_errors(
    table: Aggregate, clusters: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_], tuple[str, ...]]:
    """Return centers in the original coordinates, which of them stand clear, and notes."""
    if not_explained([table]) is not None:  # by cells alone, which takes no time
        result = decode(table, random_state=seed)
        return result.centers, result.clear, result.notes
    solution = explain(rows_of_all([table]), clusters, np.random.default_rng(seed), repeats=0)
    return solution.centers * table.plan.radius, solution.supported, solution.notes


def drawn_rows(
    plan: Plan, points: NDArray[Any], users: int, rng: np.random.Generator
) -> tuple[ViewRows, ...]:
    """Return rows as `codeword.oracles.rows` reads them off a table of `users` people like these points."""
    parameters = plan.parameters
    assert isinstance(parameters, CodewordParameters)
    assert plan.center is None, "points and plan share the unit ball"
    lifted = plan.dimension + EXTRA_COORDINATES  # D
    second = parameters.randomizer.second_gain(parameters.embedding)  # c₂
    spread = np.sqrt(1 + second / lifted) / parameters.randomizer.gain(parameters.embedding)
    lift = Lift.from_count_weight(parameters.count_weight, plan.dimension)
    tickets = np.array([view.weight for view in parameters.views])
    served = rng.multinomial(users, tickets / tickets.sum())
    drawn = []
    for number, (view, people) in enumerate(zip(parameters.views, served, strict=True)):
        if isinstance(view, Halfspaces):
            counts = rng.multinomial(people, np.full(view.rows, 1 / view.rows))
            kept = np.flatnonzero(counts)
            deviations = spread / np.sqrt(counts[kept])
        else:
            kept = np.arange(view.rows)
            deviations = np.full(view.rows, spread / np.sqrt(people))
        rows = ViewRows(
            vectors=np.zeros((len(kept), lifted)),
            deviations=deviations,
            people=int(people),
            geometry=view.geometry(plan.randomness_key, number, plan.dimension),
            kept=kept,
            frame=Frame(np.zeros(plan.dimension), 1.0),
            lift=lift,
        )
        expected = np.zeros_like(rows.vectors)
        for start in range(0, len(points), _PIECE):
            piece = points[start : start + _PIECE].astype(np.float64)
            expected += rows.predicted(piece, np.full(len(piece), 1 / len(points)))
        noise = deviations[:, None] * rng.standard_normal(expected.shape)
        drawn.append(replace(rows, vectors=expected + noise))
    return tuple(drawn)
