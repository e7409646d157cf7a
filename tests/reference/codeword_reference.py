"""The `codeword` protocol on one page, in plain Python integers, straight from docs/wire-format.md.

For reading beside the page and for checking other implementations; thousands of times slower than the package
and independent of it. AES-128 and SHA-256 are the only parts taken from elsewhere.
"""

import hashlib
import json
import math
import sys

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

SCALE = 1 << 20
BASE_ODDS = 1 << 24  # B


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)  # noqa: S305


def bit(data: bytes, j: int) -> int:
    return data[j // 8] >> (7 - j % 8) & 1


def rows_of(view: dict) -> int:
    if view["cells"] == "cross-polytope":
        return 2 * view["size"]
    return len(view["points"] if view["cells"] == "net" else view["offsets"])


class Reference:
    """One plan, given as its canonical JSON text."""

    def __init__(self, plan_json: str) -> None:
        self.plan = json.loads(plan_json)
        self.parameters = self.plan["parameters"]
        self.plan_id = hashlib.sha256(plan_json.encode()).digest()
        self.randomness_key = hashlib.sha256(b"coterie/1/public" + self.plan_id).digest()[:16]
        self.views = self.parameters["views"]
        self.rows_of = [rows_of(view) for view in self.views]  # M
        self.rows = sum(self.rows_of)

    # ---- public randomness

    def stream(self, report_id: bytes, first: int, count: int) -> bytes:
        blocks = (report_id + j.to_bytes(4, "big") for j in range(first, first + count))
        return b"".join(aes(self.randomness_key, block) for block in blocks)

    def choices(self, report_id: bytes) -> tuple[int, int, int]:
        """View, mask and flip of a report."""
        block = self.stream(report_id, 0, 1)
        tickets = [number for number, view in enumerate(self.views) for _ in range(view["weight"])]
        view = tickets[block[5] % len(tickets)]
        return view, int.from_bytes(block[:4], "big") % self.rows_of[view], block[4] & 1

    def codeword(self, report_id: bytes, index: int) -> list[int]:
        size = self.parameters["embedding"]
        bits = self.stream(report_id, 1 + index * size // 128, size // 128)
        return [1 if bit(bits, j) else -1 for j in range(size)]

    def rotate(self, vector: list[int], size: int, label: str) -> list[int]:
        key = hashlib.sha256(f"coterie/1/rotation/{label}/".encode() + self.plan_id).digest()[:16]
        bits = b"".join(aes(key, j.to_bytes(16, "big")) for j in range(-(-2 * size // 128)))
        values = vector + [0] * (size - len(vector))
        for round_ in range(2):
            values = [-v if bit(bits, round_ * size + j) else v for j, v in enumerate(values)]
            half = 1
            while half < size:  # butterflies
                for i in range(size):
                    if not i & half:
                        values[i], values[i + half] = (
                            values[i] + values[i + half],
                            values[i] - values[i + half],
                        )
                half *= 2
        return values

    # ---- the point

    def quantize(self, x: list[float]) -> list[int]:
        center, radius = self.plan["center"], float(self.plan["radius"])
        z = [(v if center is None else v - center[i]) / radius for i, v in enumerate(x)]
        z = [max(-sys.float_info.max, min(sys.float_info.max, v)) for v in z]
        g = max(abs(v) for v in z)
        if g > 1:
            z = [v / g for v in z]
        q = [math.floor(v * SCALE + 0.5) for v in z]
        s = sum(v * v for v in q)
        if s > 1 << 40:
            t = SCALE / math.sqrt(s)
            q = [math.trunc(v * t) for v in q]
        return q

    def project(self, q: list[int]) -> list[int]:
        """What the plan's directions see of a point, drawn back into the ball."""
        sums = [sum(e * v for e, v in zip(row, q, strict=True)) for row in self.plan["directions"]]
        y = [(v + SCALE // 2) >> 20 for v in sums]
        s = sum(v * v for v in y)
        return y if s <= 1 << 40 else [math.trunc(v * (SCALE / math.sqrt(s))) for v in y]

    def lift(self, q: list[int]) -> list[int]:
        b = self.parameters["count_weight"]
        a = math.sqrt((1 << 40) - b * b) / SCALE
        w = [math.trunc(v * a) for v in q] + [b]
        return [*w, math.isqrt((1 << 40) - sum(v * v for v in w))]

    def cell(self, q: list[int], number: int) -> int:
        view = self.views[number]
        if view["cells"] == "net":
            costs = [
                sum(p * p - 2 * v * p for v, p in zip(q, point, strict=True)) for point in view["points"]
            ]
            return costs.index(min(costs))
        size = max(view["size"], 1 << (len(q) - 1).bit_length())
        y = self.rotate(q, size, f"view/{number}")[: view["size"]]
        sizes = [abs(v) for v in y]
        i = sizes.index(max(sizes))
        return 2 * i + (y[i] < 0)

    def height(self, q: list[int], number: int, mask: int) -> int:
        size = max(128, 1 << (len(q) - 1).bit_length())
        return self.rotate(q, size, f"view/{number}/{mask // size}")[mask % size]

    def side(self, q: list[int], number: int, mask: int) -> tuple[dict[str, int], int]:
        """What decides the sign, and the sign before the flip."""
        view = self.views[number]
        if view["cells"] == "halfspaces":
            y = self.height(q, number, mask)
            return {"height": y}, 1 if y >= view["offsets"][mask] else -1
        cell = self.cell(q, number)
        return {"cell": cell}, (-1) ** (cell & mask).bit_count()

    # ---- the report

    def steps(self, x: list[float], report_id: bytes, draw: int) -> dict[str, object]:
        """Everything on the way from a point to its report; `draw` is the secret U."""
        size, count = self.parameters["embedding"], self.parameters["codewords"]
        cap, odds = self.parameters["cap"], self.parameters["odds"]
        q = quantized = self.quantize(x)
        seen = {}
        if "directions" in self.plan:
            q = self.project(q)
            seen = {"projected": q}
        view, mask, flip = self.choices(report_id)
        row = sum(self.rows_of[:view]) + mask
        decided_by, side = self.side(q, view, mask)
        sign = side * (-1) ** flip
        w = self.lift(q)
        y = self.rotate(w, size, "embedding")
        h = math.ceil((3 * (size.bit_length() - 1) - 5) / 2)
        r = [(v + (1 << (h - 1))) >> h for v in y]
        scores = [
            sign * sum(c * v for c, v in zip(self.codeword(report_id, i), r, strict=True))
            for i in range(count)
        ]
        order = sorted(range(count), key=lambda i: (-scores[i], i))
        rank = draw // odds if draw < cap * odds else cap + (draw - cap * odds) // BASE_ODDS
        index = order[rank]
        report = report_id + index.to_bytes(1 if count <= 256 else 2, "big")
        return {
            "quantized": quantized, **seen, "row": row, "flip": flip, **decided_by, "sign": sign, "lifted": w,
            "rounded": r, "scores": scores, "rank": rank, "index": index, "report": report.hex(),
        }  # fmt: skip

    # ---- the table

    def table(self, reports: list[bytes]) -> tuple[list[list[int]], list[int], list[list[int]]]:
        size = self.parameters["embedding"]
        sums, counts = [[0] * size for _ in range(self.rows)], [0] * self.rows
        second = [[0] * size for _ in range(size)]
        for report in reports:
            view, mask, flip = self.choices(report[:12])
            row = sum(self.rows_of[:view]) + mask
            v = self.codeword(report[:12], int.from_bytes(report[12:], "big"))
            counts[row] += 1
            for i in range(size):
                sums[row][i] += (-1) ** flip * v[i]
                for j in range(size):
                    second[i][j] += v[i] * v[j]
        return sums, counts, second
