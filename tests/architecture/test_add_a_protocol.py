"""A toy protocol, added by the tables that ARCHITECTURE.md names and by nothing else, from plan to centers.

A person says on which side of zero the first coordinate lies, by randomized response; the centers are two
public points, and what is learned is their shares.
"""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from coterie import Aggregate, Client, Plan, decode
from coterie.aggregate.arrays import check_same_plan, fill
from coterie.centers.decode import Decoder
from coterie.centers.solution import Solution
from coterie.collect import take_in
from coterie.encode.base import Encoder
from coterie.encode.people import checked_people
from coterie.errors import DecodeError, PlanError, ReportError
from coterie.geometry.ball import quantize
from coterie.plain.checks import checked_integer
from coterie.privacy.odds import BASE_ODDS, largest_odds, odds_allowed, spent_epsilon
from coterie.protocols.base import LocalParameters
from coterie.wire.forms import Form
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

    @property
    def answer_bytes(self):
        return 1

    def spent_epsilon(self):
        return spent_epsilon(self.odds)

    def check_odds(self, epsilon):
        if not odds_allowed(self.odds, epsilon):
            raise PlanError(f"odds {self.odds} spend more than epsilon {epsilon}")

    def check_fit(self, dimension):
        if dimension < 1:
            raise PlanError("sides need a coordinate")


def design(facts, *, caution=1.0):
    return SideParameters(largest_odds(facts.epsilon * caution))


class SideEncoder(Encoder):
    def encode_counting(self, points, ids, coins):
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        quantized, clipped = quantize(points, self._plan.center, self._plan.radius)
        odds = self._plan.parameters.odds
        lies = coins.below_many(odds + BASE_ODDS, len(ids)) >= odds
        told = ((quantized[:, 0] >= 0) ^ lies).astype(np.uint8)
        return np.concatenate([ids, told[:, None]], axis=1), clipped


class SideTable:
    def __init__(self, plan):
        self.plan, self.counts = plan, np.zeros(2, dtype=np.int64)

    zero = classmethod(lambda cls, plan: cls(plan))
    count = property(lambda self: int(self.counts.sum()))
    shapes = classmethod(lambda cls, plan, size: {"counts": (2,)})

    def add(self, reports):
        self.counts += np.bincount(reports[:, -1], minlength=2)

    def merge(self, other):
        check_same_plan(self.plan, other.plan)
        self.counts += other.counts

    def arrays(self):
        return {"counts": self.counts}

    @classmethod
    def from_arrays(cls, plan, arrays):
        table = cls(plan)
        fill(table.arrays(), arrays)
        return table


def side_form(plan):
    del plan
    return Form("there is no such side", lambda rows: rows[:, -1] > 1)


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


ENTRIES = {
    "PARAMETERS": ((NAME, "local"), SideParameters),
    "DESIGNS": ((NAME, "local"), design),
    "ENCODERS": (NAME, SideEncoder),
    "REPORT_FORMS": (NAME, side_form),
    "TABLES": (NAME, SideTable),
    "DECODERS": (NAME, {"sides": Decoder(decode_sides, any_number=False, options=("floor",))}),
}


def named_tables():
    """The tables of "To add a protocol", by name: the page says in which file each is."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## To add a protocol")[1]
    rows = re.findall(r"^\| `([A-Z_]+)` \| `([a-z_/]+)\.py` \|", page, re.M)
    return {
        name: vars(import_module(("coterie/" + file).removesuffix("/__init__").replace("/", ".")))[name]
        for name, file in rows
    }


@pytest.fixture
def registered():
    tables = named_tables()
    assert tables.keys() == ENTRIES.keys()
    for name, (key, entry) in ENTRIES.items():
        tables[name][key] = entry
    yield
    for name, (key, _) in ENTRIES.items():
        del tables[name][key]


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
    with pytest.raises(ReportError, match="there is no such side"):
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
