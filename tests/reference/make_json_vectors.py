"""Vectors of how plans are read and written, for tests/vectors/plan_json.json; `make_vectors.py` writes them.

`same` are spellings of one plan, with the canonical text and id that all readers find. `bad` must be refused.
What is no text at all is `hex`; what would be long is a `text` and, in its place `…`, so many spaces.
"""

import hashlib
import runpy
from pathlib import Path

HERE = Path(__file__).parent
Codeword = runpy.run_path(str(HERE / "make_vectors.py"))
Records = runpy.run_path(str(HERE / "make_record_vectors.py"))
canonical, plan = Records["canonical"], Codeword["plan"]
cross_polytope, net = Codeword["cross_polytope"], Codeword["net"]
MOST_BYTES = 1 << 22

BASE = plan(3, [cross_polytope(4)])
PEOPLE = Records["schema"](
    Records["number"]("age", 0, 100, unit="years"),
    Records["category"]("plan", "free", 'a "b" \\ c', "Ürün", "\U0001f600", "\u2028", "\ufb33"),
)


def with_features(content, schema):
    reference = Records["Reference"](canonical(schema))
    dimension = len(reference.point({}))
    radius = reference.radius
    radius = int(radius) if radius == int(radius) else radius  # as it is written
    return {**content, "dimension": dimension, "radius": radius, "features": schema}


def spelt(**changes):
    """The base plan's text with literals in place of values, as somebody might write them."""
    text = canonical(BASE)
    for field, literal in changes.items():
        value = BASE.get(field, BASE["parameters"].get(field))
        before = f'"{field}":{canonical(value)}'
        assert text.count(before) == 1, field
        text = text.replace(before, f'"{field}":{literal}')
    return text


def same():
    """Name, how it is spelt, and the canonical text."""
    text = canonical(BASE)
    people = with_features(BASE, PEOPLE)
    yield "canonical", text, text
    yield (
        "spaces and line breaks",
        "\n\t{ " + text[1:-1].replace(",", " ,\r\n ").replace(":", " : ") + " }\n ",
        text,
    )
    backwards = dict(reversed(BASE.items()))
    yield "keys in another order", Codeword["json"].dumps(backwards), text
    yield (
        "escaped keys and texts",
        text.replace('"seed"', '"\\u0073eed"').replace("local", "\\u006c\\u006fcal"),
        text,
    )
    yield "numbers spelt in other ways", spelt(epsilon="1.0", radius="10e-1", delta="0.000"), text
    yield "negative zeros", spelt(seed="-0", delta="-0.0", count_weight="-0"), spelt(count_weight="0")
    yield "a center at the origin", spelt(center="[0,-0.0,0e5]"), text
    yield "a number with 32 characters", spelt(radius="1." + "0" * 30), text
    for literal, written in (
        ("1e21", "1e+21"), ("100000000000000000000", "100000000000000000000"),
        ("1e20", "100000000000000000000"), ("9007199254740993", "9007199254740992"), ("1e-6", "0.000001"),
        ("0.0000001", "1e-7"), ("5E-1", "0.5"), ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("123456789.12345678901234", "123456789.12345679"),
        ("1.7976931348623157e+308", "1.7976931348623157e+308"),
        ("333333333333333333333333", "3.333333333333333e+23"),
    ):  # fmt: skip
        yield f"the radius {literal}", spelt(radius=literal), spelt(radius=written)
    yield "features with texts beyond ASCII", Codeword["json"].dumps(people), canonical(people)
    yield "features that follow a plan", *[canonical({**people, "after": ["0" * 64], "radius": 0.25})] * 2


def bad():
    text = canonical(BASE)
    people = with_features(BASE, PEOPLE)
    for field in (
        "version",
        "dimension",
        "clusters",
        "expected_users",
        "seed",
        "codewords",
        "odds",
        "embedding",
    ):
        value = BASE.get(field, BASE["parameters"].get(field))
        yield f"{field} with a fraction", spelt(**{field: f"{value}.0"})
    yield from {
        "version with an exponent": spelt(version="1e0"),
        "version as text": spelt(version='"1"'),
        "version true": spelt(version="true"),
        "version 0": spelt(version="0"),
        "a dimension with an exponent": spelt(dimension="3e0"),
        "a size with a fraction": text.replace('"size":4', '"size":4.0'),
        "a negative zero with a fraction for an integer": spelt(seed="-0.0"),
        "a seed of 2^53": spelt(seed="9007199254740992"),
        "a seed above 2^53": spelt(seed="9007199254740993"),
        "a flag for a number": spelt(epsilon="true"),
        "a flag for an integer": spelt(seed="false"),
        "null for a number": spelt(radius="null"),
        "text for a number": spelt(radius='"1"'),
        "a list for a number": spelt(radius="[1]"),
        "a number beyond the doubles": spelt(radius="1e309"),
        "a radius that is no normal double": spelt(radius="2.2250738585072e-308"),
        "a number with 33 characters": spelt(radius="1." + "0" * 31),
        "an integer with 33 characters": spelt(radius="1" + "0" * 32),
        "an infinity": spelt(radius="Infinity"),
        "a leading zero": spelt(radius="01"),
        "a leading plus": spelt(radius="+1"),
        "no digit before the point": spelt(radius=".5"),
        "no digit after the point": spelt(radius="1."),
        "a hexadecimal number": spelt(radius="0x1"),
        "an underscore in a number": spelt(expected_users="1_000"),
        "a comma at the end": text[:-1] + ",}",
        "a comma at the end of an array": spelt(after="[,]"),
        "single quotes": text.replace('"', "'"),
        "a comment": text[:-1] + "/* odds */}",
        "nothing": "",
        "an array": f"[{text}]",
        "two objects": text + text,
        "something after the object": text + "0",
        "a byte-order mark": "\ufeff" + text,
        "a line break in a text": spelt(model='"lo\ncal"'),
        "the same key twice": text[:-1] + ',"seed":0}',
        "the same key twice, once escaped": text[:-1] + ',"\\u0073eed":0}',
        "the same key twice in the parameters": text.replace('"cap":89', '"cap":89,"cap":89'),
        "the same key twice in a view": text.replace('"size":4', '"size":4,"size":4'),
        "an unknown field in the parameters": text.replace('"cap":89', '"cap":89,"note":0'),
        "an unknown field in a view": text.replace('"size":4', '"size":4,"note":0'),
        "a view without a size": text.replace('"size":4,', ""),
        "another spelling of a field": text.replace('"seed"', '"Seed"'),
        "nine levels": spelt(after="[[[[[[[[]]]]]]]]"),
        "a study in capitals": spelt(study=f'"{"A" * 64}"'),
        "a study that is short": spelt(study=f'"{"a" * 63}"'),
        "a list of 65 plans": spelt(after=canonical([f"{i:064x}" for i in range(65)])),
        "features null": text.replace('"format"', '"features":null,"format"'),
        "features of another dimension": canonical({**people, "dimension": people["dimension"] + 1}),
        "features of another radius": canonical({**people, "radius": people["radius"] * 2}),
        "features with a center": canonical({**people, "center": [0.5] + [0] * (people["dimension"] - 1)}),
        "features with a field too many": canonical(
            {**people, "features": {**PEOPLE, "note": ""}}
        ),
        "a lone surrogate in a feature's name": canonical(people).replace('"name":"age"', '"name":"\\ud800"'),
        "a feature of another kind": canonical(people).replace('"kind":"number"', '"kind":"numeric"'),
    }.items()  # fmt: skip


def sections():
    def known():
        for name, text, written in same():
            plan_id = hashlib.sha256(written.encode()).hexdigest()
            yield {"name": name, "text": text, "canonical": written, "plan_id": plan_id}
        text = canonical(BASE)
        spaces = MOST_BYTES - len(text)
        plan_id = hashlib.sha256(text.encode()).hexdigest()
        yield {
            "name": "4 MiB of mostly spaces", "text": text[:-1] + "…}", "spaces": spaces,
            "canonical": text, "plan_id": plan_id,
        }  # fmt: skip

    def refused():
        for name, text in bad():
            yield {"name": name, "text": text}
        text = canonical(BASE)
        yield {
            "name": "a byte more than 4 MiB",
            "text": text[:-1] + "…}",
            "spaces": MOST_BYTES - len(text) + 1,
        }
        yield {"name": "a byte that is no UTF-8", "hex": (text[:-1].encode() + b',"\xff":0}').hex()}
        yield {"name": "a text cut inside a character", "hex": text.encode().hex() + "c3"}
        yield {"name": "UTF-16", "hex": text.encode("utf-16").hex()}

    return {"same": known(), "bad": refused()}
