"""Where a client runs: the system's generator, versions, kernels."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any, Final

import numpy as np
from scipy import stats

from coterie import __version__
from coterie.audit.bounds import ALPHA
from coterie.audit.result import Check
from coterie.coins import SimulationCoins, SystemCoins
from coterie.plan import Plan
from coterie.protocols import encoder_of

_BYTES: Final = 1 << 20
_PACKAGES: Final = ("numpy", "scipy", "cryptography", "rfc8785", "numba", "scikit-learn")


def facts() -> dict[str, str]:
    """Return versions and the machine, in words."""
    found = {"coterie": __version__, "python": platform.python_version(), "system": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    found["generator"] = "getrandom(2)" if hasattr(os, "getrandom") else "os.urandom"
    return found


def check_generator(coins: Any = None) -> Check:
    """Look at a mebibyte of the system's coins: bytes, pairs of bits, exact draws. No proof of secrecy."""
    coins = coins or SystemCoins()
    data = np.frombuffer(coins.bytes(_BYTES), dtype=np.uint8)
    uniform = float(stats.chisquare(np.bincount(data, minlength=256)).pvalue)
    bits = np.unpackbits(data)
    alternating = int((bits[1:] != bits[:-1]).sum())
    serial = float(2 * stats.norm.sf(abs(alternating - (len(bits) - 1) / 2) / (len(bits) - 1) ** 0.5 * 2))
    bound = 3 << 61  # a remainder of a word would favour the lower third by a half
    draws = coins.below_many(bound, 1 << 15)
    low = int((draws < 1 << 61).sum())
    exact = float(stats.binomtest(low, len(draws), 1 / 3).pvalue)
    repeated = coins.bytes(32) == coins.bytes(32)
    kept = min(uniform, serial, exact) > ALPHA and not repeated
    words = f"p-values: bytes {uniform:.2g}, neighbouring bits {serial:.2g}, draws below 3·2^61 {exact:.2g}"
    return Check("environment", "generator", kept, words)


def check_kernels(plan: Plan) -> Check | None:
    """Compare the bytes of both kernels, where numba is installed and the protocol has kernels."""
    encoders = encoder_of(plan).by_kernels()
    if "" in encoders:
        return None
    if len(encoders) == 1:
        return Check("environment", "kernels", True, "numpy (numba is not installed)")
    generator = np.random.default_rng(3)
    points = generator.normal(size=(500, plan.dimension)) * plan.radius
    ids = generator.integers(0, 256, (500, 12), dtype=np.uint8)
    sent = [each.encode(points, ids, SimulationCoins(4)).tobytes() for each in encoders.values()]
    same = sent[0] == sent[1]
    return Check(
        "environment", "kernels", same, f"numpy and numba give {'the same' if same else 'DIFFERENT'} bytes"
    )
