"""A study from plan to result, as somebody writes it who checks types strictly."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import coterie
from coterie import (
    Aggregate,
    Client,
    ClippedPointsWarning,
    Comparison,
    CoterieError,
    DataDependentBallWarning,
    DataDependentScaleWarning,
    LocalKMeans,
    Plan,
    Policy,
    Population,
    RecordKeysWarning,
    RemoteCollector,
    Result,
    SeededFitWarning,
    ShuffleKMeans,
    UnreadColumnsWarning,
    UnsupportedCentersWarning,
    compare,
    decode,
    errors,
    simulate,
    write_reports,
)
from coterie.audit import audit
from coterie.centers import Choice, Interval
from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines import engine, growing, play
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema
from coterie.metrics import normalized_objective
from coterie.plan.collection import Collection
from coterie.store import open_store

Points = NDArray[np.float64]


def of_records() -> Plan:
    """A plan whose points come from declared features."""
    schema = Schema(
        [
            Number("age", 0, 100, unit="years"),
            Category("plan", ["free", "paid"], unknown="own"),
            Cycle("hour", 24),
            Flag("member"),
            Ordinal("size", ["small", "large"]),
            Embedding("text", 3, norm=1.0),
        ]
    )
    collection = Collection(minimum=10)
    return Plan.design(features=schema, clusters=2, epsilon=1.0, expected_users=100, collection=collection)


def answered(plan: Plan, folder: Path) -> bytes:
    """One person's report."""
    client = Client(plan, ledger=folder / "answers", policy=Policy(max_epsilon=2.0))
    return client.encode({"age": 34, "plan": "paid"})


def counted(plan: Plan, people: Points, folder: Path) -> Aggregate:
    """Everybody's reports, in a table."""
    reports = Client(plan).encode_many(people)
    write_reports(folder / "reports", plan, reports)
    table = engine("inline").count(plan, [folder / "reports"]).table
    other = Aggregate(plan)
    other.add([])
    table.merge(other)
    table.save(folder / "table")
    return Aggregate.load(folder / "table")


def told(result: Result) -> list[str]:
    """What a result says, in lines."""
    explained: Interval | None = result.explained
    choices: tuple[Choice, ...] = result.choices
    population: Population | None = result.population
    centers: Points = result.centers
    lines = [result.describe(), str(explained), str(len(choices)), str(population is None)]
    return [*lines, *(f"{group.share:.2f}" for group in result.groups), str(centers.shape), *result.notes]


def fitted(points: Points) -> Points:
    """Centers as scikit-learn's users find them."""
    model = LocalKMeans(n_clusters=2, epsilon=4.0, radius=1.0).fit(points)
    shares: Points = model.result_.weights
    labels: NDArray[np.int64] = model.predict(points)
    sibling = ShuffleKMeans(2, epsilon=1.0, delta=1e-6, radius=1.0).fit(points)
    print(shares, labels, model.guarantee_, normalized_objective(points, sibling.cluster_centers_))
    centers: Points = model.cluster_centers_
    return centers


def kept(plan: Plan, folder: Path, report: bytes) -> int:
    """How many reports a store and a growing table count."""
    with open_store(folder / "store") as store:
        store.put_plan(plan)
        store.append([(plan.id, np.frombuffer(report, dtype=np.uint8)[None])])
        received = store.study(plan.id).counts.received
    with growing(folder / "study", plan) as days:
        return received + days.add([folder / "reports"]).count


def sent(plan: Plan, report: bytes) -> None:
    """A report on its way to a collector that is not there."""
    collector = RemoteCollector("http://127.0.0.1:1", token="0" * 32, attempts=1)
    try:
        collector.put_plan(plan)
        print(collector.send(plan, [report]))
    except CoterieError as error:
        print(type(error).__name__)
    finally:
        collector.disconnect()


def audited(plan: Plan) -> list[str]:
    """What an audit of the client found wrong; it takes a while, so `main` has none."""
    return [check.name for check in audit(plan, quick=True).failures]


def main(folder: Path) -> None:
    """Play it all."""
    points, _, _ = gaussian_mixture(1000, 2, 2, separation=8, random_state=0)
    plan = Plan.design(dimension=2, clusters=2, epsilon=4.0, expected_users=1000)
    plan.save(folder / "plan.json")
    result = decode(counted(Plan.load(folder / "plan.json"), points, folder), random_state=0)
    print(*told(result), coterie.__version__, fitted(points).shape, sep="\n")
    years: Comparison = compare([simulate(plan, points, people=10**5, random_state=i) for i in (0, 1)])
    print(years.labels, years.moved)
    print(simulate(plan, points, people=10**8).count, play(plan, points, SimulationCoins(0)).count)
    report = answered(of_records(), folder)
    print(kept(plan, folder, Client(plan).encode(points[0])), len(report))
    sent(plan, report)
    for warning in (
        ClippedPointsWarning,
        DataDependentBallWarning,
        DataDependentScaleWarning,
        RecordKeysWarning,
        SeededFitWarning,
        UnreadColumnsWarning,
        UnsupportedCentersWarning,
    ):
        warnings.simplefilter("error", warning)
    assert issubclass(errors.PlanError, CoterieError)


if __name__ == "__main__":
    main(Path())
