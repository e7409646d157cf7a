"""Reports are read back to the places that were drawn, for every protocol; and people try a client."""

import json

import numpy as np
import pytest

from coterie.audit.canaries import sender
from coterie.audit.command import _written
from coterie.audit.empirical import check_client
from coterie.audit.laws import ScriptedCoins
from coterie.audit.probes import Probes
from coterie.audit.reading import Reading
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal
from coterie.plan import Plan
from coterie.protocols import encoder_of
from coterie.wire.forms import report_form
from tests.plans import plans_of

PLANS = plans_of(
    {
        "codeword": (3, 2, 2.0, 1000, {"center": [1.0, 0.0, -2.0], "radius": 2.0}),
        "net-tree": (3, 2, 2.0, 1000, {"protocol": "net-tree", "levels": 3}),
        "codewords of a tree": (2, 2, 2.0, 10_000, {"protocol": "net-tree", "randomizer": "codeword"}),
        "lsh-tree": (3, 2, 2.0, 1000, {"protocol": "lsh-tree", "split": "budget"}),
        "privunit": (3, 2, 2.0, 1000, {"protocol": "lsh-tree", "randomizer": "privunit"}),
    }
)
RECORDS = Plan.design(
    features=[
        Number("age", 0, 100),
        Category("plan", ("free", "paid", "trial")),
        Flag("member"),
        Cycle("hour", 24),
        Ordinal("size", ("S", "M", "L")),
        Embedding("taste", 4, 1.0),
    ],
    clusters=2,
    epsilon=1.0,
    expected_users=1000,
)


@pytest.mark.parametrize("name", PLANS)
def test_places_are_those_that_were_drawn(name):
    plan = PLANS[name]
    reading, generator = Reading(plan), np.random.default_rng(1)
    points, _ = Probes(plan).people(300)
    ids = generator.integers(0, 256, (300, 12), dtype=np.uint8)
    drawn = np.stack([generator.integers(0, part.values, 300) for part in reading.parts], axis=1)
    starts = [np.concatenate([[0], np.cumsum(part.places)]) for part in reading.parts]
    draws = np.stack([starts[j][drawn[:, j]] for j in range(len(starts))], axis=1)
    rows = encoder_of(plan).encode(points, ids, ScriptedCoins(draws, reading.parts))
    assert not report_form(plan).foreign(rows).any()
    places = reading.places(points, ids, reading.values(rows))
    assert (places == drawn).all()
    assert all(each.sum() == pytest.approx(300) for each in reading.expected)
    cells = np.concatenate(reading.read(points, rows), axis=1)
    assert sorted(cells[0].tolist()) == sorted(drawn[0].tolist())
    assert all(seen.sum() == 300 for seen in reading.seen)


def test_bits_that_belong_to_no_answer_are_counted():
    plan = Plan.design(3, 2, 2.0, 1000, protocol="net-tree", levels=1)  # two bits of a byte
    honest = sender(plan)

    def send(points):
        rows = honest(points)
        rows[0, -1] |= 1
        return rows

    (form,) = check_client(plan, send, reports=40)
    assert not form.passed
    assert "hold more than their answers" in form.found


def test_laws_are_of_places_in_order():
    (law,) = Reading(PLANS["codeword"]).laws
    assert law.chances.sum() == pytest.approx(1)
    assert (np.diff(law.chances) <= 0).all()
    assert (np.diff(law.coarse) >= 0).all()
    # First and last place of the cap and of the others stand alone.
    counts = np.bincount(law.coarse)
    assert [counts[law.coarse[i]] for i in (0, law.cap - 1, law.cap, -1)] == [1, 1, 1, 1]
    assert "in the cap" in law.cell(0)
    assert "outside" in law.cell(law.cap)


@pytest.mark.parametrize("plan", [PLANS["codeword"], RECORDS], ids=["points", "records"])
def test_half_of_the_people_are_fixed_and_all_are_told_apart(plan):
    probes = Probes(plan)
    people, which = probes.people(4000, run=3)
    assert len(people) == len(which) == 4000
    assert 0.4 < (which == len(probes.names) - 1).mean() < 0.6
    assert set(range(len(probes.names))) <= set(which.tolist())
    points = probes.points(people)
    assert points.shape == (4000, plan.dimension)
    assert np.isfinite(points).all()
    labels = probes.labels(people, points)
    assert all(label.shape == (4000,) for label in labels.values())
    assert len(set(labels["length"].tolist())) >= 3


def test_records_miss_values_and_can_be_written():
    probes = Probes(RECORDS)
    people, _ = probes.people(2000)
    written = [_written(each) for each in people]
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert np.array_equal(probes.points(written), probes.points(people))
    labels = probes.labels(people, probes.points(people))
    assert set(labels["kind of age:"].tolist()) == set(
        range(8)
    )  # usual, missing, both ends, four strange ones
    assert set(labels["kind of plan:"].tolist()) == {
        1,
        2,
        3,
        4,
        5,
        6,
        8,
    }  # of its own, the first and last are ends
    for feature in ("age", "plan", "member", "hour", "size", "taste"):
        assert f"no {feature}" in probes.names
        assert f"strange {feature}" in probes.names
        assert 0.05 < (labels[f"kind of {feature}:"] == 1).mean() < 0.4
