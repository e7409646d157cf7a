"""A small protocol, added by the one object that ARCHITECTURE.md names, from plan to centers.

A person says on which side of zero the first coordinate lies, by randomized response; the centers are two
public points, and what is learned is their shares.
"""

import re
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from coterie import Aggregate, Client, Plan, decode
from coterie.centers import Solution
from coterie.collect import take_in
from coterie.errors import DecodeError, PlanError, ReportError
from coterie.plain.checks import checked_integer
from coterie.protocols import (
    BASE_ODDS,
    PROTOCOLS,
    Decoder,
    Encoder,
    LocalParameters,
    Part,
    Protocol,
    Table,
    checked_people,
    largest_odds,
)
from coterie.wire.report_file import writing_reports

ROOT = Path(__file__).parents[2]
NAME = "sides"
PEOPLE = 20_000
RIGHT = 0.7  # share of people on the right
FAR = 0.05  # ten deviations of the estimate at this many people


@dataclass(frozen=True, slots=True)
class SideParameters(LocalParameters):
    odds: int

    def __post_init__(self):
        self._set(odds=checked_integer("odds", self.odds, BASE_ODDS + 1, 1 << 48))

    def parts(self):
        return (Part(2, 1, self.odds, 0, 8),)

    def check_fit(self, dimension):
        if dimension < 1:
            raise PlanError("sides need a coordinate")


def design(facts, *, caution=1.0):
    return SideParameters(largest_odds(facts.epsilon * caution))


class SideEncoder(Encoder):
    def encode_counting(self, points, ids, coins):
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        quantized, clipped = self.quantize(points)
        odds = self._plan.parameters.odds
        lies = coins.below_many(odds + BASE_ODDS, len(ids)) >= odds
        told = ((quantized[:, 0] >= 0) ^ lies).astype(np.uint8)
        return np.concatenate([ids, told[:, None]], axis=1), clipped


class SideTable(Table):
    def __init__(self, plan):
        self.plan, self.counts = plan, np.zeros(2, dtype=np.int64)

    zero = classmethod(lambda cls, plan: cls(plan))
    count = property(lambda self: int(self.counts.sum()))

    def add(self, reports):
        self.counts += np.bincount(reports[:, -1], minlength=2)

    def arrays(self):
        return {"counts": self.counts}


def decode_sides(tables, clusters, rng, *, floor=0.01):
    del rng
    aggregate = tables[-1]
    plan, odds = aggregate.plan, aggregate.plan.parameters.odds
    told = aggregate.table.counts / aggregate.count
    shares = np.clip((told * (odds + BASE_ODDS) - BASE_ODDS) / (odds - BASE_ODDS), floor, 1 - floor)
    centers = np.zeros((clusters, plan.dimension))
    centers[:, 0] = -0.5, 0.5
    shares /= shares.sum()
    return Solution(centers, shares, np.full(2, 0.1), np.ones(2, dtype=bool), centers, shares)


SIDES = Protocol(
    models={"local": SideParameters},
    designs={"local": design},
    encoder=SideEncoder,
    table=SideTable,
    decoders={"sides": Decoder(decode_sides, any_number=False, options=("floor",))},
)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(PROTOCOLS, NAME, SIDES)


def test_the_page_names_what_a_protocol_is_asked_for():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## To add a protocol")[1]
    named = re.findall(r"^- `([a-z_]+)`:", page, re.M)
    assert named == [field.name for field in fields(Protocol) if field.name != "package"]


def test_a_protocol_is_written_with_four_modules():
    page = (ROOT / "docs" / "write-a-protocol.md").read_text(encoding="utf-8")
    modules = set(re.findall(r"^(?:from|import) (coterie[.a-z_]*)", page, re.M))
    assert len(modules) <= 4


@pytest.mark.usefixtures("registered")
def test_a_protocol_goes_from_plan_to_centers(tmp_path):
    plan = Plan.design(3, 2, 1.0, PEOPLE, protocol=NAME, radius=2.0)
    plan.save(tmp_path / "plan.json")
    plan = Plan.load(tmp_path / "plan.json")
    points = np.zeros((PEOPLE, 3))
    points[:, 0] = np.where(np.arange(PEOPLE) < RIGHT * PEOPLE, 1.0, -1.0)
    with writing_reports(tmp_path / "reports", plan) as writer:
        writer.append(Client(plan).encode_many(points))
    table = Aggregate(plan)
    with take_in([tmp_path / "reports"], plan) as intake:
        for chunk in intake.chunks():
            table.add(chunk)
    table.save(tmp_path / "table")
    result = decode(Aggregate.load(tmp_path / "table", plan), random_state=0)
    assert result.weights[1] == pytest.approx(RIGHT, abs=FAR)
    assert result.centers[:, 0].tolist() == [-1.0, 1.0]  # in the plan's ball
    assert result.guarantee.spent <= 1.0
    with pytest.raises(ReportError, match="the index is not below 2"):
        table.add(bytes(12) + b"\x02")
    assert decode(table, floor=0.5).weights.tolist() == [0.5, 0.5]
    with pytest.raises(DecodeError, match="has no option 'ceiling'; known: floor"):
        decode(table, ceiling=0.5)


@pytest.mark.usefixtures("registered")
def test_its_options_and_its_promise_are_checked_as_all_others_are():
    plan = Plan.design(3, 2, 1.0, PEOPLE, protocol=NAME, caution=0.5)
    assert plan.guarantee.spent <= 0.5
    with pytest.raises(PlanError, match=r"has no option 'courage'; known: caution"):
        Plan.design(3, 2, 1.0, PEOPLE, protocol=NAME, courage=2)
    with pytest.raises(PlanError, match="spend more than epsilon"):
        Plan.design(3, 2, 1.0, PEOPLE, protocol=NAME, caution=1.01)
    with pytest.raises(PlanError, match="does not run in the shuffle model; it needs model local"):
        Plan.design(3, 2, 1.0, PEOPLE, protocol=NAME, model="shuffle", delta=1e-6)


def test_without_its_entries_the_name_means_nothing():
    with pytest.raises(PlanError, match="protocol must be one of codeword"):
        Plan.design(3, 2, 1.0, PEOPLE, protocol=NAME)
