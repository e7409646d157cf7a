"""The `net-tree` report of layout 2 in plain Python: id, path and point in, the ordered indices out.

The path of the point is taken as given (`tests/vectors/net_tree.json` is about paths). Everything else
follows docs/theory/net-tree.md, with integers and lists alone.
"""

import math

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

SCALE = 1 << 20
CODEWORDS = 256


def stream_bits(key: bytes, identity: bytes, first: int, count: int) -> list[int]:
    """Return the bits of blocks first, …, first + count - 1 of a report's stream."""
    plain = b"".join(identity + j.to_bytes(4, "big") for j in range(first, first + count))
    data = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(plain)  # noqa: S305 - public
    return [byte >> (7 - place) & 1 for byte in data for place in range(8)]


def number(bits: list[int]) -> int:
    """Read bits, the first the most significant."""
    return int("".join(map(str, bits)), 2)


def hadamard(values: list[int]) -> list[int]:
    """Return the unnormalised Walsh-Hadamard transform."""
    if len(values) == 1:
        return values
    half = len(values) // 2
    left, right = values[:half], values[half:]
    return hadamard([a + b for a, b in zip(left, right, strict=True)]) + hadamard(
        [a - b for a, b in zip(left, right, strict=True)]
    )


def lifted(quantized: list[int], count_weight: int) -> list[int]:
    """Return (a·q, b, rest), rounded towards zero."""
    factor = math.sqrt(SCALE * SCALE - count_weight * count_weight) / SCALE
    body = [math.trunc(q * factor) for q in quantized]
    return [*body, count_weight, math.isqrt(SCALE * SCALE - count_weight**2 - sum(x * x for x in body))]


def order(plan: dict, key: bytes, identity: bytes, path: list[int], quantized: list[int]) -> list[int]:
    """Return the 256 indices, the highest score first."""
    parameters = plan["parameters"]
    size, levels = parameters["embedding"], parameters["levels"]
    root = 4 * parameters["projected"]
    digit = (parameters["ratio"] ** parameters["projected"] - 1).bit_length()
    head = -(-(33 + root + levels * digit) // 128)
    bits = stream_bits(key, identity, 0, head)
    level = 1 + number(bits[:32]) % levels
    ones = bits[32] + bin(number(bits[33 : 33 + root]) & path[0]).count("1")
    for i in range(level):
        start = 33 + root + i * digit
        ones += bin(number(bits[start : start + digit]) & path[1 + i]).count("1")
    signs = [1 - 2 * bit for bit in stream_bits(key, identity, head, 2 * size // 128)]
    vector = lifted(quantized, parameters["count_weight"])
    padded = [x * s for x, s in zip(vector, signs, strict=False)] + [0] * (size - len(vector))
    turned = hadamard([y * s for y, s in zip(hadamard(padded), signs[size:], strict=True)])
    shift = -(-(3 * (size.bit_length() - 1) - 5) // 2)
    rounded = [(y + (1 << (shift - 1))) >> shift for y in turned]
    scored = [-r if ones % 2 else r for r in rounded]
    first = head + 2 * size // 128
    words = stream_bits(key, identity, first, CODEWORDS * size // 128)
    scores = [
        sum(r if bit else -r for r, bit in zip(scored, words[j * size : (j + 1) * size], strict=True))
        for j in range(CODEWORDS)
    ]
    return sorted(range(CODEWORDS), key=lambda j: (-scores[j], j))


def index_of(plan: dict, ranked: list[int], draw: int) -> int:
    """Return the index that a draw below m·A + (256-m)·2^24 sends."""
    cap, odds = plan["parameters"]["cap"], plan["parameters"]["odds"]
    beyond = draw - cap * odds
    return ranked[draw // odds] if beyond < 0 else ranked[cap + beyond // (1 << 24)]
