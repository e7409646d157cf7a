"""What all plans over a net tree share: its shape, and how it is meant to be decoded.

`net-tree` (one bit twice a level, or one codeword) and `net-tree-sums` (vector sums in shares) differ in what
a person sends. The nets, the projection and the parameters of BuildTree are the same, with their bounds.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, cast

from coterie.errors import PlanError
from coterie.geometry.nets import MAX_LEVELS, MAX_NET_DIMENSION, MAX_TABLE, RATIOS
from coterie.plan.checks import checked_integer, checked_real

MAX_EXPANSION: Final = 1 << 40  # a; larger than every tree, so "expand all"
MAX_ROUNDS: Final = 64  # Γ
MAX_SCALE: Final = 1e6  # Λ
MAX_STRAYS: Final = 1000.0


class TreeShape(Protocol):
    """Parameters of a plan over a net tree."""

    @property
    def levels(self) -> int:
        """Depth of the tree (T)."""
        ...

    @property
    def ratio(self) -> int:
        """How much finer each level is (q; 2 in the paper)."""
        ...

    @property
    def projected(self) -> int:
        """Dimension of the nets (d')."""
        ...

    @property
    def scale(self) -> float:
        """What projected points are multiplied by (Λ)."""
        ...

    @property
    def expansion(self) -> int:
        """Nodes of a level that one center may serve (a)."""
        ...

    @property
    def rounds(self) -> int:
        """Groups of ka nodes that ComputeThreshold looks at (Γ)."""
        ...

    @property
    def strays(self) -> float:
        """Empty nodes of a level that may pass the decoder's floor; 0 is the paper's decoder."""
        ...

    @property
    def bias(self) -> float:
        """How far the mean of a report may be from what it reports, in lengths of it."""
        ...

    def oracle_errors(
        self, *, dimension: int, people: int, failure: float, nodes: float
    ) -> tuple[float, float]:
        """Return η and η̃: errors of a count and of a vector sum that none of so many nodes exceeds.

        With probability 1 - `failure` in all, in people and in radii times people.
        """
        ...

    def shared_chance(self, *, people: int, nodes: float) -> float:
        """Return at most how likely one of so many nodes is answered for together with other people."""
        ...


def checked_shape(shape: TreeShape) -> dict[str, Any]:
    """Return the clean fields of the shape, or raise PlanError."""
    clean = {
        "levels": checked_integer("levels", shape.levels, 1, MAX_LEVELS),
        "ratio": checked_integer("ratio", shape.ratio, min(RATIOS), max(RATIOS)),
        "projected": checked_integer("projected", shape.projected, 1, MAX_NET_DIMENSION),
        "scale": checked_real("scale", shape.scale, 1 / MAX_SCALE, MAX_SCALE),
        "expansion": checked_integer("expansion", shape.expansion, 1, MAX_EXPANSION),
        "rounds": checked_integer("rounds", shape.rounds, 1, MAX_ROUNDS),
        "strays": checked_real("strays", shape.strays, 0.0, MAX_STRAYS),
    }
    if clean["ratio"] ** clean["projected"] > MAX_TABLE:
        raise PlanError(
            f"a node would have {clean['ratio']}^{clean['projected']} children, more than {MAX_TABLE}: "
            "project to fewer dimensions"
        )
    return clean


def check_fits(shape: TreeShape, dimension: int) -> None:
    """Raise PlanError unless the nets have at most the plan's dimension."""
    if shape.projected > dimension:
        raise PlanError(f"projected must be at most the dimension {dimension}, got {shape.projected}")


def shape_of(parameters: object, protocol: str) -> TreeShape:
    """Return a plan's parameters as the shape of a tree, or say that its protocol has none."""
    if not hasattr(parameters, "oracle_errors"):
        raise PlanError(
            f"protocol {protocol} has no net tree and states no approximation ratio; net-tree and "
            "net-tree-sums do (docs/theory/guarantees.md)"
        )
    return cast("TreeShape", parameters)
