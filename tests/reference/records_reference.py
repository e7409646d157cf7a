"""From a record to integers on one page of plain Python, straight from docs/wire-format.md.

For reading beside the page and for checking other implementations; independent of the package. Every
operation on floats is a single one of +, -, ×, ÷, √, fmod or floor, which all languages round alike. AES-128
and SHA-256 are taken from elsewhere.
"""

import hashlib
import json
import math

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

STEPS = 1 << 20  # of the ball's radius
TURN = 1 << 24
ENDS = {"low": -0.5, "middle": 0.0, "high": 0.5}


def as_double(value: object) -> float:
    """The double of a JSON number; NaN for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def integer(literal: str) -> int | float:
    """A literal of a schema: an integer, or a double where it is none that a double holds for sure."""
    return int(literal) if abs(int(literal)) < 1 << 53 else float(literal)


def log2(x: float) -> float:
    e = 0
    while x >= 2:
        x, e = x / 2, e + 1
    while x < 1:
        x, e = x * 2, e - 1
    result, bit = float(e), 0.5
    for _ in range(40):
        x = x * x
        if x >= 2:
            x, result = x / 2, result + bit
        bit /= 2
    return result


def turned(a: float, b: float, c: float, s: float) -> tuple[float, float]:
    return a * c - b * s, a * s + b * c


def circle(n: int) -> tuple[float, float]:
    """Cosine and sine of n/2^24 of a turn."""
    halves = []
    cosine, sine = -1.0, 0.0
    for half in range(2):  # the twelve high bits, then the twelve low ones
        a, b = 1.0, 0.0
        for k in range(12):
            if n >> (23 - 12 * half - k) & 1:
                a, b = turned(a, b, cosine, sine)
            if (half, k) == (0, 0):
                cosine, sine = 0.0, 1.0
            else:
                cosine = math.sqrt((1 + cosine) / 2)
                sine = sine / (2 * cosine)
        halves.append((a, b))
    return turned(*halves[0], *halves[1])


def ball(vector: list[float], radius: float) -> list[int]:
    """'From a point to integers', without a center."""
    z = [v / radius for v in vector]
    z = [max(-1.7976931348623157e308, min(1.7976931348623157e308, v)) for v in z]
    g = max(abs(v) for v in z)
    if g > 1:
        z = [v / g for v in z]
    q = [math.floor(v * STEPS + 0.5) for v in z]
    s = sum(v * v for v in q)
    return [math.trunc(v * (STEPS / math.sqrt(s))) for v in q] if s > STEPS * STEPS else q


def place_among(value: object, values: list) -> int | None:
    """The place of a value, None if it is missing, -1 if it is unknown."""
    if isinstance(value, str):
        if value == "":
            return None
    else:
        value = as_double(value)
        if math.isnan(value):
            return None
    for i, known in enumerate(values):
        if isinstance(known, str) == isinstance(value, str) and known == value:
            return i
    return -1


def number(f: dict, value: object) -> list[float]:
    x = as_double(value)
    if f["outside"] == "missing" and not f["low"] <= x <= f["high"]:
        x = math.nan
    if math.isnan(x):
        return [ENDS[f["missing"]] * f["weight"]]
    low, high = float(f["low"]), float(f["high"])
    x = min(max(x, low), high)
    if f["scale"] == "log":
        low, high, x = log2(low), log2(high), log2(x)
    return [((x - low) / (high - low) - 0.5) * f["weight"]]


def corners(f: dict) -> int:
    return len(f["values"]) + (f["unknown"] == "own") + (f["missing"] == "own")


def category(f: dict, value: object) -> list[float]:
    i = place_among(value, f["values"])
    if i is None:
        i = corners(f) - 1 if f["missing"] == "own" else -1
    elif i == -1 and f["unknown"] == "own":
        i = len(f["values"])
    if i == -1:
        return [0.0] * (corners(f) - 1)
    point = []
    for j in range(1, corners(f)):
        a = f["weight"] / math.sqrt(2 * j * (j + 1))
        point.append(a if i < j else -(j * a) if i == j else 0.0)
    return point


def flag(f: dict, value: object) -> list[float]:
    found = (1.0 if value else 0.0) if isinstance(value, bool) else as_double(value)
    if found not in (0.0, 1.0):
        found = {"false": 0.0, "middle": 0.5, "true": 1.0}[f["missing"]]
    return [(found - 0.5) * f["weight"]]


def ordinal(f: dict, value: object) -> list[float]:
    i = place_among(value, f["levels"])
    if i in (None, -1):
        return [ENDS[f["missing"]] * f["weight"]]
    return [(i / (len(f["levels"]) - 1) - 0.5) * f["weight"]]


def cycle(f: dict, value: object) -> list[float]:
    x = as_double(value)
    if not math.isfinite(x):
        return [0.0, 0.0]
    rest = math.fmod(x, f["period"])
    if rest < 0:
        rest = rest + f["period"]
    n = math.floor(rest / f["period"] * TURN + 0.5) % TURN
    return [f["weight"] * 0.5 * part for part in circle(n)]


def rotated(q: list[int]) -> list[int]:
    """`rotate` of the wire page, with the key of all projections of this dimension."""
    size = 1 << (len(q) - 1).bit_length()
    key = hashlib.sha256(f"coterie/1/projection/{len(q)}".encode()).digest()[:16]
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
    bits = b"".join(cipher.update(j.to_bytes(16, "big")) for j in range(-(-2 * size // 128)))
    y = q + [0] * (size - len(q))
    for turn in range(2):
        signs = [bits[j // 8] >> (7 - j % 8) & 1 for j in range(turn * size, (turn + 1) * size)]
        y = [-v if sign else v for v, sign in zip(y, signs, strict=True)]
        y = [sum(-v if (i & j).bit_count() & 1 else v for j, v in enumerate(y)) for i in range(size)]
    return y


def embedding(f: dict, value: object) -> list[float]:
    vector = [as_double(v) for v in value] if isinstance(value, list) else []
    if len(vector) != f["dimension"] or not all(map(math.isfinite, vector)):
        vector = [0.0] * f["dimension"]
    q = ball(vector, f["norm"])
    if "projected" in f:
        turned, m = rotated(q), f["projected"]
        q = ball([y / math.sqrt(len(turned) * m) for y in turned[:m]], STEPS)
    return [v * (f["weight"] * 0.5 / STEPS) for v in q]


def squared_radius(f: dict) -> float:
    if f["kind"] == "category":
        return f["weight"] * f["weight"] * ((corners(f) - 1) / (2 * corners(f)))
    return f["weight"] * f["weight"] * 0.25


KINDS = {
    "number": number, "category": category, "flag": flag, "ordinal": ordinal, "cycle": cycle,
    "embedding": embedding,
}  # fmt: skip


class Reference:
    """One schema, given as JSON text."""

    def __init__(self, schema_json: str) -> None:
        schema = json.loads(schema_json, parse_int=integer)
        self.features = schema["features"]
        squared = 0.0
        for f in self.features:
            squared = squared + squared_radius(f)
        self.radius = math.sqrt(squared)
        if schema["coverage"] is not None:
            self.radius = self.radius * schema["coverage"]

    def point(self, record: dict) -> list[float]:
        """The point of a record, as doubles."""
        return [x for f in self.features for x in KINDS[f["kind"]](f, record.get(f["name"]))]

    def integers(self, record: dict) -> list[int]:
        """The integers of a record, as every protocol takes them."""
        return ball(self.point(record), self.radius)
