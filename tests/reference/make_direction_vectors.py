"""Vectors of plans with directions, which are of version 2: tests/vectors/directions.json.

From a point to the report with every step, and plans that must be refused. `make_vectors.py` writes them.
"""

import math
import runpy
from pathlib import Path

Codeword = runpy.run_path(str(Path(__file__).with_name("make_vectors.py")))
plan, canonical, SCALE = Codeword["plan"], Codeword["canonical"], Codeword["SCALE"]
cross_polytope, halfspaces, net = Codeword["cross_polytope"], Codeword["halfspaces"], Codeword["net"]


def waves(size, number, stretch):
    """A direction of a space of `size`: a cosine, so long, rounded to integers."""
    row = [math.cos(math.pi * (i + 0.5) * (number + 1) / size) for i in range(size)]
    length = math.sqrt(sum(x * x for x in row))
    return [round(stretch * SCALE * x / length) for x in row]


FEW = [[SCALE, 0, 0], [0, 2 * SCALE, -3]]
MANY = [waves(40, number, 2.5) for number in range(12)]

# name: plan, points
GOOD = {
    "two directions of three": (
        plan(3, [cross_polytope(4)], version=2, directions=FEW),
        [[0.1, -0.2, 0.3], [0, 0, 1], [0.5, 0.5, 0], [-0.6, 0.7, 0.1], [3, -4, 0], [2**-21, 2**-20, 0]],
    ),
    "one direction, as long as may be": (
        plan(2, [halfspaces(*[0, 9] * 32)], version=2, directions=[[0, 8 * SCALE]], codewords=64, cap=22),
        [[0.9, 0.01], [0, 0], [0.2, -0.125], [0, 0.5], [0, 2**-23]],
    ),
    "twelve directions of forty, a center and a radius": (
        plan(
            40,
            [halfspaces(*[(i - 64) * 20000 for i in range(128)], weight=3), net([0] * 12, [500] * 12)],
            version=2, directions=MANY, center=[0.01 * (i + 1) for i in range(40)], radius=3,
            codewords=64, cap=22, study="cd" * 32, after=["cd" * 32],
        ),
        [[((37 * i + 11 * j) % 101 - 50) / 60 for i in range(40)] for j in range(6)],
    ),
}  # fmt: skip


def good_vectors():
    for name, (content, points) in GOOD.items():
        text = canonical(content)
        reference = Codeword["Reference"](text)
        parameters = content["parameters"]
        inside = parameters["cap"] * parameters["odds"]
        total = inside + (parameters["codewords"] - parameters["cap"]) * (1 << 24)
        cases = []
        for number, point in enumerate(points):
            identity = Codeword["report_id"](name, number)
            draw = [0, inside - 1, inside, total - 1, total // 2, total // 3][number % 6]
            steps = reference.steps([float(x) for x in point], identity, draw)
            cases.append({"point": point, "id": identity.hex(), "draw": draw, **steps})
        yield {
            "name": name, "plan": text, "plan_id": reference.plan_id.hex(),
            "randomness_key": reference.randomness_key.hex(), "draw_below": total, "cases": cases,
        }  # fmt: skip


def bad_vectors():
    def edited(**changes):
        whole = {**plan(3, [cross_polytope(4)], version=2, directions=FEW), **changes}
        return canonical({name: value for name, value in whole.items() if value != ...})

    rows = {
        "directions in a plan of version 1": {"version": 1},
        "version 2 without directions": {"directions": ...},
        "directions that are null": {"directions": None},
        "no directions": {"directions": []},
        "more directions than dimensions": {"directions": [[SCALE, 0, 0]] * 4},
        "a direction of another dimension": {"directions": [[SCALE, 0]]},
        "a direction that is no integer": {"directions": [[SCALE, 0.5, 0]]},
        "a direction of no length": {"directions": [[0, 0, 0]]},
        "a direction that is too long": {"directions": [[8 * SCALE, 1, 0]]},
        "an entry that is too large": {"directions": [[8 * SCALE + 1, 0, 0]]},
        "65 directions": {
            "dimension": 100,
            "directions": [[SCALE * (i == j) for i in range(100)] for j in range(65)],
        },
        "a net of the whole dimension": {
            "parameters": plan(3, [net((0, 0, 0), (1, 1, 1))])["parameters"],
        },
        "another version": {"version": 3},
    }
    for name, changes in rows.items():
        yield {"name": name, "plan": edited(**changes)}


def sections():
    return {"good": good_vectors(), "bad": bad_vectors()}
