"""Write the files of tests/vectors from the references: `python tests/reference/make_vectors.py`.

This file makes the vectors of `codeword`; its siblings, named in `OTHERS`, those of the rest of the page.
Good vectors carry every intermediate value, so that another implementation finds its first difference at
once. Bad ones name the kind of error that a reader must answer with: "plan", "point" or "report".
"""

import hashlib
import json
import runpy
from pathlib import Path

Reference = runpy.run_path(str(Path(__file__).with_name("codeword_reference.py")))["Reference"]
TARGET = Path(__file__).parents[1] / "vectors"
OTHERS = {  # what each is about, and the sibling whose sections it has
    "collector": "make_collector_vectors.py",
    "directions": "make_direction_vectors.py",
    "files": "make_file_vectors.py",
    "plan_json": "make_json_vectors.py",
    "promises": "make_promise_vectors.py",
    "records": "make_record_vectors.py",
    "shuffle": "make_shuffle_vectors.py",
    "steps": "make_step_vectors.py",
    "studies": "make_study_vectors.py",
}

SCALE = 1 << 20
LARGEST_ODDS = {0.5: 27660952, 1: 45605201, 2: 123967790, 4: 916004956}  # ⌊e^ε·2^24⌋


def canonical(value: object) -> str:
    """RFC 8785 for what occurs here: ASCII, integers, and doubles that Python prints as ECMAScript does."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def plan(dimension, views, *, epsilon=1, codewords=256, cap=89, embedding=128, weight=419430, **public):
    parameters = {
        "codewords": codewords, "cap": cap, "odds": LARGEST_ODDS[epsilon], "embedding": embedding,
        "count_weight": weight, "views": views,
    }  # fmt: skip
    return {
        "format": "coterie-plan", "version": 1, "protocol": "codeword", "model": "local",
        "dimension": dimension, "clusters": 2, "epsilon": epsilon, "delta": 0, "expected_users": 1000,
        "center": None, "radius": 1, "seed": 0, "ids": "random", "study": None, "after": [],
        "parameters": parameters, **public,
    }  # fmt: skip


def cross_polytope(size, weight=1):
    return {"cells": "cross-polytope", "size": size, "weight": weight}


def net(*points, weight=1):
    return {"cells": "net", "points": [list(point) for point in points], "weight": weight}


def halfspaces(*offsets, weight=1):
    return {"cells": "halfspaces", "rows": len(offsets), "offsets": list(offsets), "weight": weight}


def report_id(name: str, number: int) -> bytes:
    """Any twelve bytes; real ids are random."""
    return bytes((7 * len(name) + 31 * number + 11 * i * i) % 256 for i in range(12))


def around_hyperplanes(name, content, steps):
    """Points of dimension 1, each so many grid steps above the hyperplane of its report's row; 0 ties."""
    reference = Reference(canonical(content))
    points = []
    for number, step in enumerate(steps):
        view, mask, _ = reference.choices(report_id(name, number))
        slope = reference.height([1], view, mask)
        place, rest = divmod(content["parameters"]["views"][view]["offsets"][mask], slope)
        assert rest == 0, f"no tie in row {mask}: its slope is {slope}"
        points.append([(place + (step if slope > 0 else -step)) / SCALE])
    return points


CORNERS = net((SCALE // 2, 0), (0, SCALE // 2), (-SCALE // 2, 0), (0, -SCALE // 2))
OFF_CENTER = net((0, 0), (700000, 700000), (-700000, 700000), (1, -1048576))

LINE = "halfspaces of a line, points beside and on their hyperplanes"
# Offsets that most slopes, small even numbers, divide.
LINE_PLAN = plan(1, [halfspaces(*[720720, -720720, 0, 1441440] * 64)], codewords=64, cap=22)

# name: plan, points
GOOD = {
    "cross-polytope": (
        plan(3, [cross_polytope(4)]),
        [[0.1, -0.2, 0.3], [0, 0, 0], [1, 0, 0], [0, -3, 0], [0.6, 0.6, 0.6], [1e300, -1e300, 2e299]],
    ),
    "no counting coordinate, scores that tie": (
        plan(2, [cross_polytope(2)], weight=0),
        [[0, 0], [0, 0], [1, 0], [0.5, 0.5], [0, 0], [0, 0], [0, 0], [0, 0]],
    ),
    "two nets, a center and a radius": (
        plan(2, [CORNERS, OFF_CENTER], epsilon=2, cap=55, center=[0.25, -1.5], radius=2.5),
        [[0.25, -1.5], [2, -1.5], [0.3, 0.7], [-40, 7.5], [0.1, 0.1]],
    ),
    "four views, longer codewords, a two-byte index": (
        plan(5, [cross_polytope(8)] * 4, epsilon=4, codewords=300, cap=20, embedding=256, weight=209715),
        [[0.1, 0.2, 0.3, 0.4, 0.5], [-0.9, 0, 0, 0, 0.9]],
    ),
    "views of different sizes and weights": (
        plan(9, [cross_polytope(4, 5), cross_polytope(32, 2), net([0] * 9, [1] * 9, weight=1)]),
        [[0.1 * i - 0.3 * (i % 3) for i in range(9)]]
        + [[-0.3 * (i == j) for i in range(9)] for j in range(5)],
    ),
    "few codewords": (plan(1, [net((0,), (524288,))], epsilon=0.5, codewords=16, cap=6), [[-1], [0.25], [2]]),
    "a hundred dimensions": (
        plan(100, [cross_polytope(128)]),
        [[((37 * i) % 101 - 50) / 400 for i in range(100)], [0.5 * (i == 99) for i in range(100)]],
    ),
    "coordinates that overflow": (
        plan(2, [cross_polytope(2)], center=[-1e308, 0.5], radius=1e-300),
        [[1e308, 0.5], [0, -1e308], [-1e308, 1e10], [1.7e308, -3], [-1e308, 0.5]],
    ),
    LINE: (LINE_PLAN, around_hyperplanes(LINE, LINE_PLAN, [0, 1, -1, 0, -1, 0, 1, 0])),
    "halfspaces through the center beside a net": (
        plan(3, [halfspaces(*[0] * 64, weight=3), net((0, 0, 0), (0, 0, SCALE // 2))], codewords=64, cap=22),
        [[0, 0, 0], [0.1, -0.2, 0.3], [-0.1, 0.2, -0.3], [1, 0, 0], [0, 0, 0], [0, 3, 0], [2**-20, 0, 0]],
    ),
    "halfspaces in a hundred dimensions, two rotations": (
        plan(
            100,
            [cross_polytope(32), halfspaces(*[(i * 7919 - 128 * 7919) * 40 for i in range(256)], weight=7)],
            codewords=64,
            cap=22,
        ),
        [[((37 * i + 11 * j) % 101 - 50) / 400 for i in range(100)] for j in range(8)],
    ),
    "how it is collected": (
        plan(3, [cross_polytope(4)], collection={
            "opens": 1798761600, "closes": None, "time_precision": 3600, "minimum": 500, "retention": 7776000,
        }),
        [[0.1, -0.2, 0.3]],
    ),
    "one halfspace that holds everything, one that holds nothing": (
        plan(200, [halfspaces(-256 * SCALE), halfspaces(256 * SCALE)], codewords=16, cap=6, embedding=256),
        [[(-1) ** i / 15 for i in range(200)], [0.01] * 200, [0] * 200, [1.0 * (i == 7) for i in range(200)]],
    ),
}  # fmt: skip


def good_vectors():
    for name, (content, points) in GOOD.items():
        text = canonical(content)
        reference = Reference(text)
        parameters = content["parameters"]
        inside = parameters["cap"] * parameters["odds"]
        total = inside + (parameters["codewords"] - parameters["cap"]) * (1 << 24)
        draws = [0, inside - 1, inside, total - 1, total // 2, total // 3]
        cases = []
        for number, point in enumerate(points):
            draw = draws[number % len(draws)]
            steps = reference.steps([float(x) for x in point], report_id(name, number), draw)
            cases.append({"point": point, "id": report_id(name, number).hex(), "draw": draw, **steps})
        sums, counts, second = reference.table([bytes.fromhex(case["report"]) for case in cases])
        rows = sorted(row for row, count in enumerate(counts) if count)
        table = {
            "rows": {str(row): {"count": counts[row], "sum": sums[row]} for row in rows},  # all others are 0
            "second_first_row": second[0],
        }
        yield {
            "name": name, "plan": text, "plan_id": reference.plan_id.hex(),
            "randomness_key": reference.randomness_key.hex(), "draw_below": total,
            "cases": cases, "table": table,
        }  # fmt: skip


def token_vectors():
    """Ids and marks that follow from tokens."""
    text = canonical(plan(3, [cross_polytope(4)], ids="token"))
    plan_id = hashlib.sha256(text.encode()).digest()
    for token in (bytes(16), bytes(range(16)), b"\xff" * 16):
        identity = hashlib.sha256(b"coterie/1/token-id" + plan_id + token).digest()[:12]
        mark = hashlib.sha256(b"coterie/1/token-spent" + plan_id + token).hexdigest()
        yield {"plan": text, "token": token.hex(), "id": identity.hex(), "mark": mark}


def bad_vectors():
    base = plan(3, [cross_polytope(4)], codewords=200)
    text = canonical(base)

    def edited(**changes):
        parameters = {**base["parameters"], **changes.pop("parameters", {})}
        return canonical({**base, "parameters": parameters, **changes})

    def collected(**changes):
        fields = {"opens": None, "closes": None, "time_precision": 3600, "minimum": 1, "retention": None}
        return edited(
            collection={name: value for name, value in {**fields, **changes}.items() if value != ...}
        )

    def without(field):
        return canonical({key: value for key, value in base.items() if key != field})

    plans = {
        "odds one above e^ε·2^24": edited(parameters={"odds": 45605202}),
        "odds that carry nothing": edited(parameters={"odds": 1 << 24}),
        "a cap of all codewords": edited(parameters={"cap": 200}),
        "an empty cap": edited(parameters={"cap": 0}),
        "an embedding that is no power of two": edited(parameters={"embedding": 192}),
        "an embedding too short for the dimension": edited(dimension=127),
        "a count weight above 2^20": edited(parameters={"count_weight": SCALE + 1}),
        "no views": edited(parameters={"views": []}),
        "weights that sum to three": edited(parameters={"views": [cross_polytope(4)] * 3}),
        "a weight of nothing": edited(parameters={"views": [cross_polytope(4, 0), cross_polytope(4)]}),
        "weights that sum to 512": edited(parameters={"views": [cross_polytope(4, 256)] * 2}),
        "a view without a weight": edited(parameters={"views": [{"cells": "cross-polytope", "size": 4}]}),
        "a view whose size is no power of two": edited(parameters={"views": [cross_polytope(6)]}),
        "a net of three points": edited(parameters={"views": [net((0, 0, 0), (1, 1, 1), (2, 2, 2))]}),
        "a net of another dimension": edited(parameters={"views": [net((0, 0), (1, 1))]}),
        "a net point outside the cube": edited(parameters={"views": [net((0, 0, 0), (0, 0, SCALE + 1))]}),
        "unknown cells": edited(parameters={"views": [{"cells": "voronoi", "size": 4, "weight": 1}]}),
        "an offset out of reach": edited(parameters={"views": [halfspaces(0, 128 * SCALE + 1)]}),
        "an offset out of reach below": edited(parameters={"views": [halfspaces(-128 * SCALE - 1, 0)]}),
        "an offset less than rows": edited(parameters={"views": [{**halfspaces(0, 0), "rows": 4}]}),
        "an offset more than rows": edited(parameters={"views": [{**halfspaces(0, 0), "rows": 1}]}),
        "three halfspaces": edited(parameters={"views": [halfspaces(0, 0, 0)]}),
        "no halfspaces": edited(parameters={"views": [halfspaces()]}),
        "offsets that are no integers": edited(parameters={"views": [halfspaces(0, 0.5)]}),
        "offsets that are no array": edited(parameters={"views": [{**halfspaces(0), "offsets": 0}]}),
        "halfspaces without rows": edited(
            parameters={"views": [{"cells": "halfspaces", "offsets": [0], "weight": 1}]}
        ),
        "halfspaces with a size": edited(parameters={"views": [{**halfspaces(0, 0), "size": 1}]}),
        "too many rows in all": edited(
            parameters={
                "views": [cross_polytope(1 << 14), cross_polytope(1 << 14), halfspaces(0, 0, weight=2)]
            }
        ),
        "epsilon 0": edited(epsilon=0),
        "epsilon as text": edited(epsilon="1"),
        "a negative radius": edited(radius=-1),
        "a center of another dimension": edited(center=[0.5, 0.5]),
        "another format": edited(format="coterie-table"),
        "a later version": edited(version=2),
        "an unknown field": edited(note="hello"),
        "no seed": without("seed"),
        "no study": without("study"),
        "a study that is no plan id": edited(study="A" * 64),
        "a plan designed after the same plan twice": edited(after=["0" * 64] * 2),
        "ids from nowhere": edited(ids="fresh"),
        "tokens outside the local model": edited(ids="token", model="shuffle"),
        "a collection that is null": edited(collection=None),
        "a collection without a minimum": collected(minimum=...),
        "a collection with an unknown field": collected(note=1),
        "a minimum of nobody": collected(minimum=0),
        "a minimum above the expected users": collected(minimum=1001),
        "a minimum that is no integer": collected(minimum=1.5),
        "an opening that is no multiple of the precision": collected(opens=3601),
        "a closing that is no multiple of the precision": collected(closes=7201),
        "a closing at the opening": collected(opens=7200, closes=7200),
        "a time as text": collected(opens="2027-01-01T00:00:00Z"),
        "a time before 1970": collected(opens=-3600),
        "a time after the year 9999": collected(closes=253402304400),
        "no time precision": collected(time_precision=0),
        "a negative retention": collected(retention=-1),
        "not JSON": text[:-1],
        "the same key twice": text[:-1] + ',"seed":1}',
        "a number that is not finite": text.replace('"radius":1', '"radius":NaN'),
    }
    reports = {
        "a byte short": "00" * 12,
        "a byte long": "00" * 14,
        "an index at the number of codewords": "00" * 12 + "c8",
        "the largest index": "00" * 12 + "ff",
        "one good report, one bad": "00" * 13 + "11" * 12 + "c8",
    }
    points = {
        "not a number": ["NaN", 0, 0],
        "infinite": [0, "Infinity", 0],
        "negative infinite": [0, 0, "-Infinity"],
        "too few coordinates": [0, 0],
        "too many coordinates": [0, 0, 0, 0],
    }
    for name, content in plans.items():
        yield {"name": name, "plan": content, "error": "plan"}
    for name, content in reports.items():
        yield {"name": name, "plan": text, "reports": content, "error": "report"}
    for name, content in points.items():
        yield {"name": name, "plan": text, "point": content, "error": "point"}


def sections():
    return {"good": good_vectors(), "tokens": token_vectors(), "bad": bad_vectors()}


def written(head: dict[str, object], parts: dict[str, object]) -> str:
    """One JSON document with an entry a line."""
    lines = [f'"{key}":{json.dumps(value)}' for key, value in {"format": "coterie-vectors", **head}.items()]
    for kind, entries in parts.items():
        rows = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        lines.append(f'"{kind}":[\n{rows}\n]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def vectors(about: str) -> str:
    """The text of one file of vectors, by its name without the ending."""
    if about == "codeword":
        return written({"protocol": "codeword", "version": 1}, sections())
    sibling = runpy.run_path(str(Path(__file__).with_name(OTHERS[about])))
    return written({"about": about, "version": 1}, sibling["sections"]())


if __name__ == "__main__":
    for about in ("codeword", *OTHERS):
        (TARGET / f"{about}.json").write_text(vectors(about), encoding="utf-8")
