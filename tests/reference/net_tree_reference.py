"""The `net-tree` report of layout 1 in plain Python, straight from docs/wire-format-trees.md.

Every bit is the likely one. Independent of the package; AES-128 and SHA-256, and the normal quantile, are
taken from elsewhere. The places where floats decide are `subspace`, `closest` and the offsets.
"""

import hashlib
import itertools
import json
import math
import runpy
from pathlib import Path
from statistics import NormalDist

HERE = Path(__file__).parent
Lsh = runpy.run_path(str(HERE / "lsh_tree_reference.py"))
Base, aes, words, deviate = Lsh["Base"], Lsh["aes"], Lsh["words"], Lsh["deviate"]


class NetTree(Base):
    """One plan, given as its canonical JSON text."""

    def __init__(self, plan_json: str) -> None:
        self.plan = json.loads(plan_json)
        p = self.parameters = self.plan["parameters"]
        self.plan_id = hashlib.sha256(plan_json.encode()).digest()
        self.randomness_key = hashlib.sha256(b"coterie/1/public" + self.plan_id).digest()[:16]
        self.d, self.size = self.plan["dimension"], p["projected"]
        self.q, self.levels = p["ratio"], p["levels"]
        n = self.size
        # Helmert's rows: (1, …, 1, -j, 0, …, 0) / √(j(j+1)); basis vectors are its first n columns
        self.frame = [
            [(1 if i < j else -j if i == j else 0) / math.sqrt(j * (j + 1)) for i in range(n + 1)]
            for j in range(1, n + 1)
        ]
        self.covering = math.sqrt(n * (n + 2) / (12 * (n + 1)))
        self.basis = self.subspace()
        self.shift, self.offsets = self.table()

    def public(self, label: str, first: int, count: int) -> bytes:
        key = hashlib.sha256(f"coterie/1/rotation/{label}/".encode() + self.plan_id).digest()[:16]
        return b"".join(aes(key, j.to_bytes(16, "big")) for j in range(first, first + count))

    def subspace(self) -> list[list[float]]:
        """Columns of the orthonormal basis, by Gram and Schmidt."""
        if self.size == self.d:
            return [[float(i == j) for i in range(self.d)] for j in range(self.d)]
        data = words(self.public("subspace", 0, -(-self.d * self.size // 4)), 4)
        normal = [NormalDist().inv_cdf((w + 0.5) / 2**32) for w in data[: self.d * self.size]]
        columns: list[list[float]] = []
        for j in range(self.size):
            v = normal[j :: self.size]
            for _ in range(2):  # twice is enough
                for u in columns:
                    part = sum(a * b for a, b in zip(u, v, strict=True))
                    v = [a - part * b for a, b in zip(v, u, strict=True)]
            length = math.sqrt(sum(a * a for a in v))
            columns.append([a / length for a in v])
        return columns

    def point(self, u: list[int]) -> list[float]:
        return [sum(row[j] * u[j] for j in range(self.size)) for row in self.frame]

    def closest(self, place: list[float]) -> tuple[list[int], float]:
        """The closest lattice point's name, and by how much the next candidate is farther, squared."""
        n = self.size
        y = [sum(place[j] * self.frame[j][i] for j in range(n)) for i in range(n + 1)]
        z = [math.floor(v + 0.5) for v in y]
        rest = [v - r for v, r in zip(y, z, strict=True)]
        order = sorted(range(n + 1), key=lambda i: -rest[i])
        found = []
        for m in range(n + 1):  # the m largest remainders rounded up instead
            up = set(order[:m])
            e = [r - (i in up) for i, r in enumerate(rest)]
            found.append(sum(v * v for v in e) - sum(e) ** 2 / (n + 1))
        best = found.index(min(found))
        up = set(order[:best])
        z = [r + (i in up) for i, r in enumerate(z)]
        two = sorted(found)[:2]
        return [v - z[-1] for v in z[:-1]], two[1] - two[0]

    def table(self) -> tuple[list[float], dict[tuple[int, ...], list[int]]]:
        """τ, drawn until every entry wins clearly, and the offset o[m] of every digit vector m."""
        n, q = self.size, self.q
        blocks = -(-n // 4)
        for attempt in itertools.count():
            data = words(self.public("net", attempt * blocks, blocks), 4)[:n]
            shift = [sum(row[j] * (data[j] / 2**32) for j in range(n)) for row in self.frame]
            offsets, margin = {}, math.inf
            for m in itertools.product(range(q), repeat=n):
                place = [(a - (q - 1) * t) / q for a, t in zip(self.point(list(m)), shift, strict=True)]
                c, clear = self.closest(place)
                offsets[m] = [a - q * b for a, b in zip(m, c, strict=True)]
                margin = min(margin, clear)
            if margin > 1e-9:
                return shift, offsets
        raise AssertionError

    def path(self, quantized: list[int]) -> list[int]:
        x = [v / (1 << 20) for v in quantized]
        place = [self.parameters["scale"] * sum(a * b for a, b in zip(u, x, strict=True)) for u in self.basis]
        if sum(v * v for v in place) > 1:
            place = [0.0] * self.size
        scale = self.covering * self.q**self.levels
        u, _ = self.closest([v * scale - t for v, t in zip(place, self.shift, strict=True)])
        digits = []
        while True:
            m = [v % self.q for v in u]
            digits.append(sum(v * self.q**j for j, v in enumerate(m)))
            if len(digits) == self.levels:
                break
            u = [(v - o) // self.q for v, o in zip(u, self.offsets[tuple(m)], strict=True)]
        root = sum((v // self.q + 8) << (4 * j) for j, v in enumerate(u))
        return [root, *reversed(digits)]

    def truthful(self, x: list[float], report_id: bytes) -> bytes:
        levels, root = self.levels, 4 * self.size
        digit = (self.q**self.size - 1).bit_length()
        head = -(-(2 * levels + root + levels * digit) // 128)
        data = self.stream(report_id, 0, head)
        bits = int.from_bytes(data, "big")

        def take(start: int, count: int) -> int:
            return bits >> (8 * len(data) - start - count) & ((1 << count) - 1)

        q = self.quantize(x)
        path = self.path(q)
        body = [*q, math.isqrt((1 << 40) - sum(v * v for v in q))]
        width = -(-len(body) // 8)
        parity = (take(2 * levels, root) & path[0]).bit_count()
        counts, vectors = [], []
        for i in range(levels):
            parity += (take(2 * levels + root + i * digit, digit) & path[1 + i]).bit_count()
            sign = (-1) ** parity
            direction = [deviate(w, 16) for w in words(self.stream(report_id, head + i * width, width), 2)]
            height = sum(v * u for v, u in zip(body, direction, strict=False))
            counts.append(sign * (-1) ** take(i, 1) > 0)
            vectors.append(sign * (-1) ** take(levels + i, 1) * (1 if height >= 0 else -1) > 0)
        answer = counts + vectors
        return report_id + bytes(
            sum(b << (7 - i) for i, b in enumerate(answer[at : at + 8])) for at in range(0, len(answer), 8)
        )
