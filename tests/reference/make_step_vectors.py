"""Vectors of single steps, for tests/vectors/steps.json; `make_vectors.py` writes them.

The log, the circle and the projection of a record, each by itself, and from random words to the secret draw.
"""

import math
import runpy
from pathlib import Path

HERE = Path(__file__).parent
Records = runpy.run_path(str(HERE / "records_reference.py"))

TOTAL = 6860657961  # T of the worked example
NUMBERS = [
    1.0, 2.0, 1.5, 0.1, 3.0, 1000.0, math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0),
    math.nextafter(2.0, 1.0), math.sqrt(2.0), math.nextafter(math.sqrt(2.0), 2.0), 1e-300, 1e300,
    2.0**-996, 123456789.125,
]  # fmt: skip
TURNS = [0, 1, 2, 4095, 4096, 4097, 1 << 22, 1 << 23, 3 << 22, (1 << 24) - 1, 5592405, 11184811, 2097152]


def logs():
    for x in NUMBERS:
        yield {"x": x, "log": Records["log2"](x)}


def circles():
    for n in TURNS:
        cosine, sine = Records["circle"](n)
        yield {"n": n, "cos": cosine + 0.0, "sin": sine + 0.0}


def projections():
    for q, m in (
        ([1048576], 1), ([600000, -700000, 1], 2), ([-1, 0, 0, 0, 0], 5),
        ([(7919 * i) % 200001 - 100000 for i in range(12)], 3),
    ):  # fmt: skip
        turned = Records["rotated"](q)
        scaled = [y / math.sqrt(len(turned) * m) for y in turned[:m]]
        yield {"q": q, "projected": m, "rotated": turned, "seen": Records["ball"](scaled, 1 << 20)}


def taken(word: int, bits: int) -> bytes:
    """The eight random bytes of a word: of 64 bits, or of 53 in two words of 32, the high one first."""
    if bits == 64:
        return word.to_bytes(8, "little")
    low = 1 << 32
    return (word // low << 11).to_bytes(4, "little") + (word % low).to_bytes(4, "little")


def draws():
    """Random bytes in the order in which they are taken, and the draw that they give."""
    for bits, bound, words in (
        (64, TOTAL, [0]), (64, TOTAL, [1]), (64, TOTAL, [TOTAL]), (64, TOTAL, [0x0123456789ABCDEF]),
        (64, TOTAL, [2**64 - 1, 2**64 // TOTAL * TOTAL, 2**64 // TOTAL * TOTAL - 1]),
        (64, 256, [2**64 - 1]), (64, 3 << 51, [2**64 - 1, 5]),
        (53, TOTAL, [0]), (53, TOTAL, [TOTAL + 7]), (53, TOTAL, [0x0123456789ABCD]),
        (53, TOTAL, [2**53 - 1, 2**53 // TOTAL * TOTAL, 2**53 // TOTAL * TOTAL - 1]),
        (53, 256, [2**53 - 1]),
    ):  # fmt: skip
        limit = 2**bits // bound * bound
        refused = sum(word >= limit for word in words)
        assert refused == len(words) - 1
        assert words[-1] < limit
        data = b"".join(taken(word, bits) for word in words)
        yield {
            "bits": bits, "below": bound, "bytes": data.hex(), "refused": refused, "draw": words[-1] % bound,
        }  # fmt: skip


def sections():
    return {"logs": logs(), "circles": circles(), "projections": projections(), "draws": draws()}
