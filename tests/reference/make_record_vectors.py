"""Vectors from a record to integers, for tests/vectors/records.json; `make_vectors.py` writes them.

A record is JSON text, so that literals such as 9007199254740993 and lone surrogates reach the reader as they
are. `doubles` gives values that JSON has not, by the hex digits of their bits; they replace the record's.
"""

import json
import runpy
import struct
from pathlib import Path

Reference = runpy.run_path(str(Path(__file__).with_name("records_reference.py")))["Reference"]

COMMON = {"weight": 1, "unit": "", "description": ""}
MIDDLE = {"missing": "middle"}
NAN, INFINITE, MINUS_INFINITE = "7ff8000000000000", "7ff0000000000000", "fff0000000000000"


def canonical(value: object) -> str:
    """RFC 8785 for what occurs here: keys of ASCII, and doubles that Python prints as ECMAScript does."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def number(name, low, high, scale="linear", **more):
    own = {"kind": "number", "name": name, "low": low, "high": high, "scale": scale, "outside": "clip"}
    return {**COMMON, **MIDDLE, **own, **more}


def category(name, *values, **more):
    own = {"kind": "category", "name": name, "values": list(values), "unknown": "middle"}
    return {**COMMON, **MIDDLE, **own, **more}


def flag(name, **more):
    return {**COMMON, **MIDDLE, "kind": "flag", "name": name, **more}


def cycle(name, period, **more):
    return {**COMMON, **MIDDLE, "kind": "cycle", "name": name, "period": period, **more}


def ordinal(name, *levels, **more):
    return {**COMMON, **MIDDLE, "kind": "ordinal", "name": name, "levels": list(levels), **more}


def embedding(name, dimension, norm, **more):
    own = {"kind": "embedding", "name": name, "dimension": dimension, "norm": norm}
    return {**COMMON, **MIDDLE, **own, **more}


def schema(*features, coverage=None, source="declared"):
    return {"features": list(features), "coverage": coverage, "source": source}


AGE = number("age", 0, 100, unit="years", weight=2)
ANY = ["34", "null", "true", '"34"', '""', "[]", "{}", "-1e400", "1e400", "0.1", "9007199254740993", "[34]"]
E_ACUTE, E_WITH_ACUTE = "\u00e9", "e\u0301"  # one code point, and two that look alike

# name: schema, records as JSON text; a pair adds doubles by their bits
GOOD = {
    "a number": (
        schema(AGE),
        [f'{{"age":{value}}}' for value in ANY]
        + ["{}", '{"Age":34}', '{"age":100}', '{"age":-0.0}', '{"age":34,"other":[1,{"age":3}]}']
        + [("{}", {"age": bits}) for bits in (NAN, INFINITE, MINUS_INFINITE, "0000000000000001")],
    ),
    "numbers that go missing outside": (
        schema(number("x", -3.5, 1e300, outside="missing", missing="high"),
               number("y", 0.1, 0.3, missing="low")),
        ['{"x":-3.5,"y":0.1}', '{"x":-3.6,"y":null}', '{"x":1e301,"y":0.30000000000000004}',
         '{"x":5e299,"y":0.2}', ("{}", {"x": NAN, "y": INFINITE}), ("{}", {"x": INFINITE, "y": NAN})],
    ),
    "logarithms": (
        schema(number("price", 0.01, 10000, "log", weight=3), number("near", 1, 1.02, "log"),
               number("far", 1e-300, 1e300, "log", weight=0.7)),
        [f'{{"price":{p},"near":{n},"far":{f}}}' for p, n, f in (
            (0.01, 1, 1e-300), (10000, 1.02, 1e300), (1, 1.01, 1), (3, 1.005, 2), (0, 0, 0), (-5, 7, -1e300),
            (99.99, 1.0000001, 6.02e23), (1e-320, 1.019999999, 5e-324),
            ("9007199254740993", 1.0199999999999998, 0.1))]
        + ['{"price":"1"}'],
    ),
    "a category": (
        schema(category("plan", "free", "paid", "Ürün", E_ACUTE, "x y", 3, -9007199254740991)),
        [f'{{"plan":{value}}}' for value in (
            '"free"', '"paid"', '"Free"', '"free "', '"\\u00dcr\\u00fcn"', '"Ürün"', f'"{E_ACUTE}"',
            f'"{E_WITH_ACUTE}"', '"\\ud800"', '"\\ud83d\\ude00"', '"free\\u0000"', '"3"', "3", "3.0", "30e-1",
            "3.0000000000000004", "true", "null", '""', "[3]", '["free"]', '{"free":1}', "-9007199254740991",
            "-9007199254740993", "1e400")] + ["{}", ("{}", {"plan": NAN})],
    ),
    "corners of their own": (
        schema(category("both", "a", "b", unknown="own", missing="own", weight=2.5),
               category("one", 1, unknown="own"), category("gone", 0, missing="own", weight=0.001)),
        ['{"both":"a","one":1,"gone":0}', '{"both":"b","one":2,"gone":1}',
         '{"both":"c","one":"1","gone":"0"}', '{"both":null,"one":null,"gone":null}',
         '{"both":"(unknown)","one":"(missing)"}', '{"both":false}'],
    ),
    "many corners": (
        schema(category("code", *range(40), weight=7)),
        [f'{{"code":{i}}}' for i in (0, 1, 2, 20, 38, 39, 40, -1)],
    ),
    "flags": (
        schema(flag("a"), flag("b", missing="true", weight=0.3), flag("c", missing="false")),
        [f'{{"a":{v},"b":{v},"c":{v}}}' for v in
         ("true", "false", "1", "0", "1.0", "-0.0", "2", "0.5", '"true"', '"1"', "null", "[]")]
        + ["{}", ("{}", {"a": NAN, "b": NAN, "c": NAN})],
    ),
    "levels": (
        schema(ordinal("size", "S", "M", "L", "XL"), ordinal("stars", 1, 2, 3, missing="high", weight=4),
               ordinal("school", "none", "some", "much", missing="low")),
        ['{"size":"S","stars":1,"school":"none"}', '{"size":"M","stars":2,"school":"some"}',
         '{"size":"L","stars":3.0,"school":"much"}', '{"size":"XL","stars":4,"school":""}',
         '{"size":"xl","stars":"3","school":true}', '{"size":null,"stars":null,"school":null}', "{}"],
    ),
    "cycles": (
        schema(cycle("hour", 24, weight=2), cycle("day", 7), cycle("odd", 0.1, weight=0.5)),
        [f'{{"hour":{h},"day":{d},"odd":{o}}}' for h, d, o in (
            (0, 0, 0), (6, 1, 0.025), (12, 2, 0.05), (18, 3, 0.075), (24, 7, 0.1), (23.999999999, 6.5, 0.3),
            (-6, -1, -1e-30), (1e300, "9007199254740993", 1e-320), (3, 3.5, 0.0125), (13.37, 5, 1),
            (-1e-300, -7, -0.1), ("1e400", '"3"', "null"))] + [("{}", {"hour": NAN, "day": INFINITE})],
    ),
    "vectors": (
        schema(embedding("text", 3, 1), embedding("image", 2, 255.5, weight=3)),
        [f'{{"text":{t},"image":{i}}}' for t, i in (
            ("[0,0,0]", "[0,0]"), ("[1,0,0]", "[255.5,0]"), ("[0.6,0.6,0.6]", "[-255,-255]"),
            ("[1e300,-1e300,3]", "[1e-300,100.25]"), ("[1,2]", "[1,2,3]"), ("[1,2,null]", "[1,true]"),
            ('"abc"', '[1,"2"]'), ("[0.1,1e400,0]", "null"), ("[[1,0,0]]", "{}"),
            ("[0.1,-0.2,0.3]", "[9007199254740993,1]"))]
        + ["{}"],
    ),
    "vectors that are projected": (
        schema(embedding("text", 20, 1, projected=6), embedding("one", 1, 2, projected=1),
               embedding("all", 8, 1, weight=0.5, projected=8)),
        [f'{{"text":{t},"one":{o},"all":{a}}}' for t, o, a in (
            (json.dumps([0.1 * (-1) ** i for i in range(20)]), "[1]", json.dumps([1, 0, 0, 0, 0, 0, 0, 0])),
            (json.dumps([((7 * i) % 11 - 5) / 30 for i in range(20)]), "[-2]", json.dumps([0.25] * 8)),
            (json.dumps([1] + [0] * 19), "[1e400]", json.dumps([0, 0, 0, 0, 0, 0, 0, -3])),
            (json.dumps([0] * 20), "[0.3]", json.dumps([0.1, -0.2, 0.3, -0.4, 0.3, -0.2, 0.1, 0])),
            (json.dumps([0.5] * 19), "null", "[]"))]
        + ["{}"],
    ),
    "everything, of which the ball covers a part": (
        schema(AGE, category("plan", "free", "paid", "team", unknown="own", weight=1.5), flag("member"),
               cycle("hour", 24), ordinal("size", "S", "M", "L"), number("spend", 1, 1000, "log", unit="€"),
               embedding("text", 4, 2, weight=1.25), coverage=0.6, source="public sample"),
        ['{"age":34,"plan":"paid","member":true,"hour":8.5,"size":"M","spend":49.9,"text":[0.5,-0.5,1,0]}',
         '{"age":100,"plan":"gold","member":false,"hour":23,"size":"L","spend":1000,"text":[2,0,0,0]}',
         '{"age":0,"plan":"team","member":true,"hour":3,"size":"S","spend":1,"text":[0,0,0,-5]}', "{}"],
    ),
}  # fmt: skip


def good_vectors():
    for name, (content, records) in GOOD.items():
        text = canonical(content)
        reference = Reference(text)
        cases = []
        for case in records:
            record, doubles = case if isinstance(case, tuple) else (case, {})
            values = json.loads(record)
            for key, bits in doubles.items():
                values[key] = struct.unpack(">d", bytes.fromhex(bits))[0]
            cases.append(
                {
                    "record": record,
                    **({"doubles": doubles} if doubles else {}),
                    "point": reference.point(values),
                    "quantized": reference.integers(values),
                }
            )
        yield {"name": name, "schema": text, "radius": reference.radius, "cases": cases}


def bad_vectors():
    """Texts that must be refused, each with the word for which: the field that is wrong."""

    def edited(feature, literal=None, **changes):
        """Change fields; a literal then replaces the last of them, for what Python would not write."""
        text = canonical(schema({**feature, **changes}))
        return next(iter(changes)), text if literal is None else text.replace(*literal)

    def without(feature, key):
        return key, canonical(schema({k: v for k, v in feature.items() if k != key}))

    plan, hour, size, text = (
        category("p", "a", "b"),
        cycle("h", 24),
        ordinal("s", "a", "b"),
        embedding("e", 2, 1),
    )
    price = number("price", 1, 10, "log")
    good = schema(AGE)
    return {
        "not JSON": ("JSON", "{"),
        "not an object": ("object", "[]"),
        "no features": ("coordinates", canonical(schema())),
        "features missing": ("features", canonical({"coverage": None, "source": "declared"})),
        "coverage missing": ("coverage", canonical({"features": [AGE], "source": "declared"})),
        "source missing": ("source", canonical({"features": [AGE], "coverage": None})),
        "an unknown field": ("center", canonical({**good, "center": None})),
        "features no list": ("features", canonical({**good, "features": {"age": AGE}})),
        "a feature no object": ("object", canonical({**good, "features": ["age"]})),
        "a name twice": ("names", canonical(schema(AGE, flag("age")))),
        "coverage zero": ("coverage", canonical({**good, "coverage": 0})),
        "coverage too small": ("coverage", canonical({**good, "coverage": 0.09})),
        "coverage above one": ("coverage", canonical({**good, "coverage": 1.01})),
        "coverage true": ("coverage", canonical({**good, "coverage": True})),
        "an unknown source": ("source", canonical({**good, "source": "survey"})),
        "no kind": without(AGE, "kind"),
        "an unknown kind": edited(AGE, kind="Number"),
        "a kind that is no text": edited(AGE, kind=["number"]),
        "no weight": without(AGE, "weight"),
        "no missing": without(AGE, "missing"),
        "a field of another kind": edited(AGE, values=["a", "b"]),
        "weight zero": edited(AGE, weight=0),
        "weight negative": edited(AGE, weight=-1),
        "weight too large": edited(AGE, weight=1000001),
        "weight a text": edited(AGE, weight="1"),
        "weight true": edited(AGE, weight=True),
        "name empty": edited(AGE, name=""),
        "name too long": edited(AGE, name="x" * 65),
        "name no text": edited(AGE, name=3),
        "name with a line break": edited(AGE, name="a\nb"),
        "name with a control character": edited(AGE, name="a\u0085b"),
        "name with a lone surrogate": edited(AGE, ('"AGE"', '"\\ud800"'), name="AGE"),
        "unit too long": edited(AGE, unit="x" * 65),
        "description too long": edited(AGE, description="x" * 501),
        "bounds equal": edited(AGE, low=5, high=5),
        "bounds turned round": edited(AGE, low=5, high=4),
        "a bound too large": edited(AGE, high=2e300),
        "a bound null": edited(AGE, low=None),
        "a bound that does not fit a double": ("double", canonical(good).replace("100", "1e400")),
        "an unknown scale": edited(AGE, scale="logarithmic"),
        "log from zero": edited(price, low=0),
        "log from below zero": edited(price, low=-1),
        "log of bounds too near": edited(price, low=1, high=1.005),
        "missing elsewhere": edited(AGE, missing="own"),
        "missing a number": edited(AGE, missing=0),
        "outside elsewhere": edited(AGE, outside="middle"),
        "no values": edited(plan, values=[]),
        "one value alone": edited(plan, values=["a"]),
        "a value twice": edited(plan, values=["a", "b", "a"]),
        "an empty value": edited(plan, values=["a", ""]),
        "a value that is no integer": edited(plan, values=["a", 1.5]),
        "a value that is 1.0": edited(plan, ('"b"', "1.0"), values=["a", "b"]),
        "a value true": edited(plan, values=["a", True]),
        "a value null": edited(plan, values=["a", None]),
        "a value beyond the doubles' integers": edited(plan, values=["a", 9007199254740992]),
        "a value too long": edited(plan, values=["a", "x" * 129]),
        "a value with a reserved name": edited(plan, values=["a", "(unknown)"]),
        "values a text": edited(plan, values="ab"),
        "unknown elsewhere": edited(plan, unknown="clip"),
        "too many coordinates": edited(plan, values=list(range(3002)), unknown="own"),
        "too many coordinates together": (
            "coordinates",
            canonical(schema(embedding("a", 3000, 1), flag("b"))),
        ),
        "flag missing elsewhere": edited(flag("f"), missing="low"),
        "period zero": edited(hour, period=0),
        "period negative": edited(hour, period=-24),
        "cycle missing elsewhere": edited(hour, missing="low"),
        "one level": edited(size, levels=["a"]),
        "a level twice": edited(size, levels=["a", "a"]),
        "embedding without coordinates": edited(text, dimension=0),
        "embedding of a broken dimension": edited(text, (":2,", ":2.0,"), dimension=2),
        "norm zero": edited(text, norm=0),
        "projected to nothing": edited(text, projected=0),
        "projected to more than there is": edited(text, projected=3),
        "projected null": edited(text, projected=None),
        "projected to a fraction": edited(text, (":1.5", ":1.0"), projected=1.5),
        "a number that is projected": edited(AGE, projected=1),
        "a key twice": (
            "coverage",
            canonical(good).replace('"coverage":null', '"coverage":null,"coverage":null'),
        ),
    }


def repeated_keys():
    """Records whose JSON text has a key twice: the last one counts, whatever the first one was."""
    text = canonical(schema(AGE, flag("member")))
    for record in (
        '{"age":1,"age":99}', '{"age":1,"\\u0061ge":null}', '{"member":true,"age":5,"member":false}',
    ):  # fmt: skip
        yield {"schema": text, "record": record, "point": Reference(text).point(json.loads(record))}


def sections():
    bad = ({"name": name, "schema": text, "about": about} for name, (about, text) in bad_vectors().items())
    return {"good": good_vectors(), "bad": bad, "repeated_keys": repeated_keys()}
