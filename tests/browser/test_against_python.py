"""The browser's client and Python's: the same plans are read, the same coins make the same bytes."""

import itertools
import json
import random
import struct
from dataclasses import replace

import numpy as np
import pytest

from coterie import Plan
from coterie.errors import PlanError
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema
from coterie.plan.collection import Collection
from coterie.privacy.odds import largest_odds

PEOPLE = 60
CHANGES = 300  # of plans

SCHEMA = Schema(
    [
        Number("age", 0, 120, unit="years", weight=1.3, missing="low"),
        Number("income", 100, 1e7, scale="log", outside="missing"),
        Category("plan", ["free", "paid", "Ünïcode ☃", 7], unknown="own", missing="own", weight=0.7),
        Category("two", [-1, 1]),
        Flag("member", missing="false", weight=0.3),
        Cycle("hour", 24, unit="h", weight=0.8),
        Cycle("angle", 0.1),
        Ordinal("size", ["S", "M", "L", "(missing)"], missing="high"),
        Embedding("vector", 3, 2.5, weight=2.0),
    ],
    coverage=0.7,
)


def seeded(seed):
    return random.Random(seed)  # noqa: S311 - test data, nobody's secret


def drawn(rng, plan, people=PEOPLE):
    total = plan.parameters.randomizer.total
    return [rng.randbytes(12) for _ in range(people)], [rng.randrange(total) for _ in range(people)]


def node_reports(node, tmp_path, plan, answers, ids, draws):
    plan.save(tmp_path / "plan.json")
    lines = [
        json.dumps({"answer": answer, "id": identity.hex(), "draw": draw})
        for answer, identity, draw in zip(answers, ids, draws, strict=True)
    ]
    return node("--given", tmp_path / "plan.json", lines=lines)


@pytest.mark.parametrize(
    ("dimension", "epsilon", "users"),
    [
        (1, 0.25, 10**4),
        (2, 1.0, 10**5),
        (5, 4.0, 10**6),
        (20, 1.0, 10**5),
        (100, 2.0, 10**6),
        (300, 1.0, 10**6),
    ],
)
def test_points_become_the_same_bytes(node, python, tmp_path, dimension, epsilon, users):
    rng = seeded(dimension)
    center = [rng.gauss(0, 3) for _ in range(dimension)]
    plan = Plan.design(dimension, 4, epsilon, users, center=center, radius=2.5)
    points = np.random.default_rng(dimension).normal(0, 3, (PEOPLE, dimension)) + center
    points[0], points[1, 0], points[2] = center, 1e300, 0.0
    ids, draws = drawn(rng, plan)
    made = node_reports(node, tmp_path, plan, points.tolist(), ids, draws)
    assert made == python(plan, points, ids, draws)


@pytest.mark.parametrize("dimension", [13, 64])
def test_points_seen_through_directions_become_the_same_bytes(node, python, tmp_path, dimension):
    """Whoever lies within the ball, outside it, and outside that of the directions."""
    rng, sample = seeded(dimension), np.random.default_rng(dimension)
    directions = sample.standard_normal((12, dimension))
    plan = Plan.design(dimension, 4, 2.0, 10**5, radius=2.5, directions=directions)
    stretched = tuple(tuple(3 * step for step in row) for row in plan.directions)
    plan = replace(plan, directions=stretched)
    assert plan.version == 2
    points = sample.standard_normal((PEOPLE, dimension)) * np.linspace(0.01, 1.0, PEOPLE)[:, None]
    ids, draws = drawn(rng, plan)
    made = node_reports(node, tmp_path, plan, points.tolist(), ids, draws)
    assert made == python(plan, points, ids, draws)


def person(rng):
    """Make a record of values, sensible and not; what is missing from JSON is missing."""
    choices = {
        "age": [rng.uniform(-10, 130), 0, 120, 34, -0.0, 1e308, "34", None, True, [3]],
        "income": [10 ** rng.uniform(1, 8), 100, 1e7, 99.99999, 0, -5, 1e-320, None],
        "plan": ["free", "paid", "Ünïcode ☃", "Unicode", 7, 7.0, 8, "", None, False, "7", {}],
        "two": [1, -1, 0, "1", 1.0000000000000002, None],
        "member": [True, False, 1, 0, 1.0, 2, "true", None],
        "hour": [rng.uniform(-48, 48), 8.5, 24, -1e-300, 1e308, None, "8"],
        "angle": [rng.uniform(-9, 9), 0.05, 0.1, 0.30000000000000004, 1e17],
        "size": ["S", "M", "L", "(missing)", "XL", 1, None],
        "vector": [[rng.gauss(0, 2) for _ in range(3)], [1, 2], [1, 2, 3], [1, "3", 2], 5, [1e300, 0, -1]],
    }  # fmt: skip
    return {name: rng.choice(values) for name, values in choices.items() if rng.random() < 0.9}


def test_records_become_the_same_bytes(node, python, tmp_path):
    rng = seeded(5)
    plan = Plan.design(features=SCHEMA, clusters=3, epsilon=1.0, expected_users=10**5)
    people = [person(rng) for _ in range(300)]
    ids, draws = drawn(rng, plan, len(people))
    made = node_reports(node, tmp_path, plan, people, ids, draws)
    assert made == python(plan, SCHEMA.points(people), ids, draws)


def test_odds_are_decided_alike(node):
    """Read plans with the largest odds that ε allows, and with one more, for many ε."""
    rng = seeded(11)
    plan = json.loads(Plan.design(2, 2, 1.0, 1000).to_json())
    texts, expected = [], []
    for _ in range(60):
        epsilon = rng.choice([rng.uniform(1e-6, 16), 2.0 ** rng.uniform(-20, 4), rng.randrange(1, 16) / 2])
        for more in (0, 1):
            parameters = {
                **plan["parameters"],
                "odds": largest_odds(epsilon) + more,
                "codewords": 16,
                "cap": 2,
            }
            texts.append(json.dumps({**plan, "epsilon": epsilon, "parameters": parameters}))
            expected.append(python_reading(texts[-1]))
    assert len(set(expected)) > 40
    assert read(node, texts) == expected


def test_what_mixing_promises_is_decided_alike(node):
    """Read designs of the shuffle model, which go up to their δ, and the same with a little more ε₀."""
    rng = seeded(19)
    texts = []
    for _ in range(40):
        epsilon, delta = 2.0 ** rng.uniform(-4, 1.9), 10.0 ** rng.uniform(-12, -3)
        users = int(10 ** rng.uniform(2, 7))
        plan = Plan.design(2, 2, epsilon, users, model="shuffle", delta=delta)
        texts.append(plan.to_json())
        changed = json.loads(plan.to_json())
        changed["parameters"]["local_epsilon"] = min(1.0001 * plan.parameters.local_epsilon, 16.0)
        texts.append(json.dumps(changed))
    expected = [python_reading(text) for text in texts]
    assert 20 < expected.count("refused") <= 40
    assert read(node, texts) == expected


def test_reports_that_are_mixed_are_the_same_bytes(node, python, tmp_path):
    rng = seeded(23)
    plan = Plan.design(3, 2, 1.0, 10**5, model="shuffle", delta=1e-6)
    points = np.random.default_rng(23).normal(0, 0.5, (PEOPLE, 3))
    ids, draws = drawn(rng, plan)
    assert node_reports(node, tmp_path, plan, points.tolist(), ids, draws) == python(plan, points, ids, draws)


def read(node, texts):
    return node("--read", lines=[json.dumps(text) for text in texts])


def python_reading(text):
    try:
        return Plan.from_json(text).id
    except PlanError:
        return "refused"


VALUES = [
    None, True, False, 0, 1, -1, 2, 3, 7, 64, 128, 256, 4096, 65536, 2**40, 2**53 - 1, 2**53, -(2**20),
    2**20 + 1, 0.5, 1.0, -0.0, 1e-5, 1e-320, 16.0, 1e300, 1.7976931348623157e308,
    "", "local", "token", "random", "shuffle", "codeword", "a" * 64, "A" * 64, "x" * 65,
    "(missing)", "\u0085", "\ud800", "😀" * 64, "😀" * 65, "low", "middle", "own", "log", "clip",
    "public sample", [], [0],
    [0, 0], [0.0, -0.0], [1, 1], ["a", "b"], ["a" * 64], ["a" * 64] * 2, {}, {"cells": "net"},
]  # fmt: skip


def places(value, path=()):
    """Return the paths of everything in a plan; of long lists the first entries."""
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in itertools.islice(children, 16):
        yield from places(child, (*path, key))


def changed(rng, plan):
    """Change one or two things of a plan."""
    plan = json.loads(plan)
    for _ in range(rng.choice([1, 1, 1, 2])):
        path = rng.choice([path for path in places(plan) if path])
        *way, last = path
        at = plan
        for key in way:
            at = at[key]
        action = rng.random()
        if action < 0.1:
            del at[last]
        elif action < 0.2 and isinstance(at, dict):
            at[rng.choice(["x", "__proto__", "weight", "features", "collection", "constructor"])] = (
                rng.choice(VALUES)
            )
        elif action < 0.3 and isinstance(at, list):
            at.append(at[last])
        elif action < 0.5 and isinstance(at[last], int | float) and not isinstance(at[last], bool):
            at[last] += rng.choice([-1, 1, 0.5])
        else:
            at[last] = rng.choice(VALUES)
    text = json.dumps(plan, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def test_changed_plans_are_read_and_refused_alike(node):
    rng = seeded(13)
    plans = [
        Plan.design(2, 2, 1.0, 1000).to_json(),
        Plan.design(3, 2, 2.0, 10**5, center=[1.0, 2.0, 3.0], radius=0.1, ids="token").to_json(),
        Plan.design(features=SCHEMA, clusters=3, epsilon=1.0, expected_users=10**4).to_json(),
        Plan.design(
            features=[Number("a", 0, 1), Category("b", ["x", "y"])],
            clusters=1,
            epsilon=3.0,
            expected_users=5000,
            collection=Collection(opens=7200, closes=10800, minimum=10, retention=86_400),
        ).to_json(),
        Plan.design(2, 2, 1.0, 5000, model="shuffle", delta=1e-6).to_json(),
    ]
    texts = [changed(rng, rng.choice(plans)) for _ in range(CHANGES)]
    expected = [python_reading(text) for text in texts]
    assert 0.03 < sum(one != "refused" for one in expected) / len(texts) < 0.9
    found = read(node, texts)
    assert [
        (text, one, other) for text, one, other in zip(texts, found, expected, strict=True) if one != other
    ] == []


def test_the_command_makes_reports_of_its_own(node, tmp_path):
    plan = Plan.design(2, 2, 1.0, 1000)
    plan.save(tmp_path / "plan.json")
    made = node(tmp_path / "plan.json", lines=["[0.5, 0.5]"] * 20)
    assert len({one[:24] for one in made}) == 20
    assert {len(one) for one in made} == {2 * plan.report_width}


def test_doubles_cross_unharmed(node, python, tmp_path):
    """See that JSON between the two rounds nothing: points whose quantization hangs on the last bit."""
    plan = Plan.design(1, 1, 1.0, 1000, radius=3.0)
    rng = seeded(17)
    halves = [3.0 * (rng.randrange(2**20) + 0.5) / 2**20 for _ in range(PEOPLE)]
    points = [
        [
            struct.unpack(
                ">d", struct.pack(">q", struct.unpack(">q", struct.pack(">d", x))[0] + rng.choice([-1, 0, 1]))
            )[0]
        ]
        for x in halves
    ]
    ids, draws = drawn(rng, plan)
    made = node_reports(node, tmp_path, plan, points, ids, draws)
    assert made == python(plan, points, ids, draws)
