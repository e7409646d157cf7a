"""The protocols a plan may name: which class holds their numbers, which function designs them.

Adding one is a line in each table, a file of numbers and a file of design.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from coterie.plan.base import Numbers
from coterie.plan.codeword import CodewordNumbers
from coterie.plan.design import design_codeword


class Designer(Protocol):
    """Chooses a protocol's numbers from the public facts of a study, all of them checked before."""

    def __call__(
        self, *, dimension: int, clusters: int, epsilon: float, expected_users: int, seed: int
    ) -> Numbers:
        """Return the numbers."""
        ...


NUMBERS: Final[dict[str, type[Any]]] = {
    "codeword": CodewordNumbers,
}
DESIGNERS: Final[dict[str, Designer]] = {
    "codeword": design_codeword,
}
