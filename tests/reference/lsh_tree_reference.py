"""The `lsh-tree` report on one page of plain Python, straight from docs/wire-format-trees.md.

Every bit is the likely one (`truthful`): the coins of a real client turn some of them. Independent of the
package; AES-128 and SHA-256, and the normal quantile, are taken from elsewhere.
"""

import math
import runpy
from pathlib import Path
from statistics import NormalDist

HERE = Path(__file__).parent
Codeword = runpy.run_path(str(HERE / "codeword_reference.py"))
Base, aes, bit = Codeword["Reference"], Codeword["aes"], Codeword["bit"]


def deviate(word: int, bits: int) -> int:
    """A standard normal deviate in steps of 2^-12, of an unsigned word."""
    half = 1 << (bits - 1)
    if word < half and bits == 16:
        return -deviate((1 << bits) - 1 - word, bits)  # odd by construction
    return round(4096 * NormalDist().inv_cdf((word + 0.5) / (1 << bits)))


def words(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[at : at + size], "big") for at in range(0, len(data), size)]


class LshTree(Base):
    """One plan, given as its canonical JSON text."""

    def __init__(self, plan_json: str) -> None:
        import hashlib
        import json

        self.plan = json.loads(plan_json)
        self.parameters = self.plan["parameters"]
        self.plan_id = hashlib.sha256(plan_json.encode()).digest()
        self.randomness_key = hashlib.sha256(b"coterie/1/public" + self.plan_id).digest()[:16]
        key = hashlib.sha256(b"coterie/1/rotation/hyperplanes/" + self.plan_id).digest()[:16]
        levels, d = self.parameters["levels"], self.plan["dimension"]
        data = b"".join(aes(key, j.to_bytes(16, "big")) for j in range(-(-4 * levels * d // 16)))
        normals = [deviate(word, 32) for word in words(data, 4)[: levels * d]]
        self.normals = [normals[i * d : (i + 1) * d] for i in range(levels)]

    def lifted(self, q: list[int]) -> list[int]:
        if self.parameters["count_weight"]:
            return self.lift(q)
        return [*q, math.isqrt((1 << 40) - sum(x * x for x in q))]

    def truthful(self, x: list[float], report_id: bytes) -> bytes:
        """The report of which every part is the likely one; of a codeword the best."""
        p = self.parameters
        levels, split, size = p["levels"], p["split"], p["embedding"]
        answers = levels if split == "budget" else 1
        q = self.quantize(x)
        code = 0
        for normal in self.normals:
            code = 2 * code + (sum(v * n for v, n in zip(q, normal, strict=True)) < 0)
        body = self.lifted(q)
        counts, vectors, indices = [], [], b""
        for s in range(answers):
            block = self.stream(report_id, s, 1)
            ticket, mask = words(block[:8], 4)
            level = {"users": 1 + ticket % levels, "budget": s + 1, "deepest": levels}[split]
            sign = (-1) ** (code >> (levels - level) & mask & ((1 << level) - 1)).bit_count()
            if not p["count_weight"]:
                counts.append(sign * (-1) ** (block[8] & 1) > 0)
            sign *= (-1) ** (block[8] >> 1 & 1)
            if p["randomizer"] == "djw":
                blocks = -(-len(body) // 8)
                data = self.stream(report_id, answers + s * blocks, blocks)
                direction = [deviate(word, 16) for word in words(data, 2)[: len(body)]]
                height = sum(v * u for v, u in zip(body, direction, strict=True))
                vectors.append((1 if height >= 0 else -1) * sign > 0)
                continue
            h = math.ceil((3 * (size.bit_length() - 1) - 5) / 2)
            r = [sign * ((y + (1 << (h - 1))) >> h) for y in self.rotate(body, size, "embedding")]
            data = self.stream(report_id, answers + s * 2 * size, 2 * size)
            scores = [sum(v if bit(data, j * size + i) else -v for i, v in enumerate(r)) for j in range(256)]
            indices += bytes([scores.index(max(scores))])
        bits = counts + vectors
        packed = bytes(
            sum(b << (7 - i) for i, b in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8)
        )
        return report_id + packed + indices
