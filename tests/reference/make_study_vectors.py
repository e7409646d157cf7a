"""Vectors from a record to its report, for tests/vectors/studies.json; `make_vectors.py` writes them.

A plan with features, its id, records, and every step on the way: point, integers, row, sign, order, report.
"""

import json
import runpy
from pathlib import Path

HERE = Path(__file__).parent
Codeword = runpy.run_path(str(HERE / "make_vectors.py"))
Records = runpy.run_path(str(HERE / "make_record_vectors.py"))
with_features = runpy.run_path(str(HERE / "make_json_vectors.py"))["with_features"]
canonical, plan, schema = Records["canonical"], Codeword["plan"], Records["schema"]
number, category, flag = Records["number"], Records["category"], Records["flag"]
cross_polytope, halfspaces, net = Codeword["cross_polytope"], Codeword["halfspaces"], Codeword["net"]
cycle, ordinal, embedding = Records["cycle"], Records["ordinal"], Records["embedding"]

APP = schema(
    number("age", 16, 90, unit="years", description="at the last birthday"),
    number("spend", 0.5, 500, "log", unit="€ per month", weight=1.5, missing="low"),
    category("plan", "free", "paid", "team", unknown="own", missing="own"),
    flag("notifications", missing="false", weight=0.5),
    cycle("busiest hour", 24, unit="h"),
    ordinal("size", "S", "M", "L"),
)
APP_RECORDS = [
    '{"age":34,"spend":12.5,"plan":"paid","notifications":true,"busiest hour":21.5,"size":"M"}',
    '{"age":16,"spend":0.5,"plan":"free","notifications":false,"busiest hour":0,"size":"S"}',
    '{"age":130,"spend":1e400,"plan":"gold","notifications":1,"busiest hour":-3,"size":"XL"}',
    '{"age":"34","spend":null,"plan":"","notifications":"yes","busiest hour":"noon","size":3}',
    "{}",
    '{"size":"L","busiest hour":47.25,"notifications":0,"plan":"team","spend":499.99,"age":89.5,"more":1}',
]
TEXT = schema(
    embedding("text", 120, 1, weight=2),
    number("length", 1, 100000, "log"),
    category("language", "en", "de", "日本語"),
)
TEXT_RECORDS = [
    json.dumps({"text": [((37 * i) % 101 - 50) / 500 for i in range(120)], "length": 640, "language": "de"}),
    json.dumps({"text": [1e300 * (-1) ** i for i in range(120)], "length": 0, "language": "日本語"}),
    json.dumps({"text": [0.5] * 119, "length": 10**6, "language": "fr"}),
]
SEEN = schema(embedding("text", 24, 1, projected=7), flag("read", weight=0.25))
SEEN_RECORDS = [
    json.dumps({"text": [((5 * i + j) % 17 - 8) / 40 for i in range(24)], "read": j < 2}) for j in range(3)
]
SHRUNK = schema(number("x", -1, 1), number("y", -1, 1), flag("z"), coverage=0.5, source="public sample")
SHRUNK_RECORDS = ['{"x":1,"y":-1,"z":true}', '{"x":0.25,"y":0,"z":0}', '{"x":0.1}']

half = (1 << 20) // 2

# name: plan with features, records as JSON text
STUDIES = {
    "an app": (
        with_features(plan(3, [halfspaces(*[0, half] * 32, weight=3), cross_polytope(8)]), APP),
        APP_RECORDS,
    ),
    "texts": (with_features(plan(3, [cross_polytope(64)], epsilon=4, cap=20), TEXT), TEXT_RECORDS),
    "texts from a few directions": (
        with_features(plan(3, [cross_polytope(8)], epsilon=2, cap=55), SEEN),
        SEEN_RECORDS,
    ),
    "a part of the ball": (
        with_features(plan(3, [net((0, 0, 0), (half, half, half))], epsilon=2, cap=55), SHRUNK),
        SHRUNK_RECORDS,
    ),
    "a plan that follows another, with a ball of its own": (
        {
            **with_features(plan(3, [cross_polytope(4)]), SHRUNK),
            "center": [0.125, 0, -0.25], "radius": 0.375, "study": "ab" * 32, "after": ["ab" * 32],
        },
        SHRUNK_RECORDS,
    ),
}  # fmt: skip


def sections():
    return {"studies": studies()}


def studies():
    for name, (content, records) in STUDIES.items():
        text = canonical(content)
        reference, schema_ = Codeword["Reference"](text), Records["Reference"](canonical(content["features"]))
        parameters = content["parameters"]
        inside = parameters["cap"] * parameters["odds"]
        total = inside + (parameters["codewords"] - parameters["cap"]) * (1 << 24)
        cases = []
        for i, record in enumerate(records):
            report_id = Codeword["report_id"](name, i)
            draw = [0, total - 1, inside - 1, inside, total // 2, total // 3][i % 6]
            point = schema_.point(json.loads(record))
            steps = reference.steps(point, report_id, draw)
            del steps["scores"], steps["rounded"]  # codeword.json has them
            cases.append({"record": record, "point": point, "id": report_id.hex(), "draw": draw, **steps})
        yield {
            "name": name, "plan": text, "plan_id": reference.plan_id.hex(), "radius": schema_.radius,
            "draw_below": total, "cases": cases,
        }  # fmt: skip
