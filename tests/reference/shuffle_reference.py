"""Protocol `vector-sums` of the shuffle model on one page, straight from docs/wire-format.md.

Quantizing, lifting, cells and sides are those of codeword_reference.py. Noise and free shares are given: they
are the secret draws.
"""

import hashlib
import runpy
from pathlib import Path

Reference = runpy.run_path(str(Path(__file__).with_name("codeword_reference.py")))["Reference"]
PRIME = (1 << 61) - 1


class VectorSums(Reference):
    """One plan of protocol `vector-sums`, given as its canonical JSON text."""

    def __init__(self, plan_json: str) -> None:
        super().__init__(plan_json)
        self.layout = self.parameters["layout"]
        self.width = self.parameters["coordinates"]
        self.modulus, self.shares = self.parameters["modulus"], self.parameters["shares"]
        self.share_bytes = -(-(self.modulus - 1).bit_length() // 8)
        if self.layout == "hashed":
            self.rows = self.parameters["buckets"]

    def hashed(self, cell: int) -> int:
        h = hashlib.sha256(b"coterie/1/hash/" + bytes(4) + self.randomness_key).digest()
        a = 1 + int.from_bytes(h[:16], "big") % (PRIME - 1)
        b = int.from_bytes(h[16:], "big") % PRIME
        return (a * cell + b) % PRIME % self.parameters["buckets"]

    def contribution(self, x: list[float], report_id: bytes) -> dict[str, object]:
        """The row, and the vector on the grid that is added to it: before any noise."""
        q = self.quantize(x)
        w = self.lift(q)
        step = 1 << (20 - self.parameters["grid_bits"])
        vector = [v // step if v >= 0 else -(-v // step) for v in w]
        if self.layout == "column":
            view, mask, _ = self.choices(report_id)
            decided_by, side = self.side(q, view, mask)
            row, vector = sum(self.rows_of[:view]) + mask, [side * v for v in vector]
        else:
            decided_by = {"cell": self.cell(q, 0)}
            row = self.hashed(decided_by["cell"]) if self.layout == "hashed" else decided_by["cell"]
        return {"quantized": q, "lifted": w, **decided_by, "row": row, "vector": vector}

    def served(self, row: int) -> list[int]:
        return [row] if self.layout == "column" else list(range(self.rows))

    def split(self, row: int, vector: list[int], noise: list[int], free: list[int]) -> list[list[int]]:
        """The shares of every value served: m - 1 free ones, then the one that makes their sum right."""
        shares, values = [], []
        for served in self.served(row):
            values += vector if served == row else [0] * self.width
        for i, (value, extra) in enumerate(zip(values, noise, strict=True)):
            own = free[i * (self.shares - 1) : (i + 1) * (self.shares - 1)]
            shares.append([*own, (value + extra - sum(own)) % self.modulus])
        return shares

    def report(self, report_id: bytes, shares: list[list[int]]) -> bytes:
        return report_id + b"".join(s.to_bytes(self.share_bytes, "big") for value in shares for s in value)

    def messages(self, row: int, shares: list[list[int]]) -> list[bytes]:
        addresses = [served * self.width + i for served in self.served(row) for i in range(self.width)]
        return [
            address.to_bytes(4, "big") + share.to_bytes(self.share_bytes, "big")
            for address, value in zip(addresses, shares, strict=True)
            for share in value
        ]

    def sums(self, messages: list[bytes]) -> tuple[list[int], list[int]]:
        """The table: sums modulo q and numbers of messages by address."""
        sums, counts = [0] * (self.rows * self.width), [0] * (self.rows * self.width)
        for message in messages:
            address = int.from_bytes(message[:4], "big")
            sums[address] = (sums[address] + int.from_bytes(message[4:], "big")) % self.modulus
            counts[address] += 1
        return sums, counts
