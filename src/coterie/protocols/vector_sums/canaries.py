"""Broken clients that add too little noise to their shares: the audit must catch them all."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.audit.canaries import samples, sender
from coterie.audit.result import Check
from coterie.coins import SystemCoins
from coterie.plan import Plan
from coterie.protocols.vector_sums.parameters import VectorSumParameters
from coterie.randomizers.vector_sums import VectorSums


@functools.cache
def _shares() -> Plan:
    return Plan.design(2, 2, 1.0, 100, protocol="vector-sums", model="shuffle", delta=1e-6, cells=4)


def _scaled(plan: Plan, factor: float) -> Plan:
    parameters = VectorSumParameters.of(plan)

    class Quiet(VectorSumParameters):
        __slots__ = ()

        def sums(self) -> VectorSums:
            right = VectorSumParameters.sums(self)
            return dataclasses.replace(right, scale=right.scale * int(factor * 100) / 100)

    broken = dataclasses.replace(plan)
    quiet = Quiet(**{field.name: getattr(parameters, field.name) for field in dataclasses.fields(parameters)})
    object.__setattr__(broken, "parameters", quiet)
    return broken


class _TwoAlike(SystemCoins):
    """Draws every share's mask for the next one, too: each by itself is uniform."""

    def below_many(self, bound: int, size: int) -> NDArray[np.int64]:
        drawn = super().below_many(bound, size)
        if bound == VectorSumParameters.of(_shares()).modulus:
            drawn[1::2] = drawn[: len(drawn) // 2 * 2 : 2]
        return drawn


CANARIES: Final[dict[str, Callable[[], Iterable[Check]]]] = {
    "no noise in the shares": lambda: samples(_shares(), sender(_scaled(_shares(), 0))),
    "shares that are used twice": lambda: samples(_shares(), sender(_shares(), _TwoAlike())),
    "a tenth less noise in the shares": lambda: samples(_shares(), sender(_scaled(_shares(), 0.9))),
}
