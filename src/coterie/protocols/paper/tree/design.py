"""The design of a net tree's shape: the theorem's best constants, or ones that work at the sizes people have.

*Theory*: d' and Λ are the paper's (`paper.approximation.theory_constants`). T and q, where they are
not given, make t of `paper.approximation` least for a ratio of κ(1+α); the paper's T = ⌈½·log₂ n⌉ and
q = 2 have a hundred thousand times more. Where no shape has a finite ratio, it is the deepest tree up to the
paper's that can be decoded. A plan whose tree could not be is refused with the numbers.

*Practical* (the default), each number free to be set:

    d' = min(d, 6)       more dimensions have too many cells at level 1 (3,000 at d' = 6, 58,000 at 8)
    Λ = √(d/d')/1.5      a random projection then keeps two thirds of a point's length on average, and of
                         points on the sphere one in thirty falls outside at d' = 6. (At c = 2 that is one in
                         2,000, but clusters share cells: objective 0.19 against 0.03 at d = 100, k = 4,
                         ε = 4, n = 200,000.) Λ = 1 where nothing is projected
    T                    the smallest with 3k cells where the data can be: every further level divides the
                         budget again, and costs more than finer cells gain (docs/theory/net-tree.md)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypedDict, TypeVar

from coterie.errors import PlanError
from coterie.plain.checks import checked_choice, checked_integer, checked_real
from coterie.protocols.base import Facts
from coterie.protocols.paper.approximation import theory_constants
from coterie.protocols.paper.nets.nets import MAX_LEVELS, MAX_NET_DIMENSION, RATIOS
from coterie.protocols.paper.nets.sizes import net_points, predicted_nodes
from coterie.protocols.paper.tree.parameters import ALPHA, CONSTANTS, TreeParameters

MAX_NODES: Final = 1 << 21  # of a tree that can be decoded
MAX_ROOT_CHILDREN: Final = 1 << 18
PRACTICAL_DIMENSION: Final = 6
PAPER_RATIO: Final = 2  # q
PRACTICAL_LEVELS: Final = 6
PRACTICAL_SHRINK: Final = 1.5  # c
CELLS_A_CLUSTER: Final = 3.0
BETA: Final = 0.1  # β of the theory, and of the paper's number of buckets


DepthRule = Callable[[int, int, float], int]  # (d', q, radius where most people are) -> T
Tree = TypeVar("Tree", bound=TreeParameters)


class TreeOptions(TypedDict, total=False):
    """What a design over a net tree may be told of the tree; see `design_tree`."""

    constants: str
    alpha: float
    beta: float
    jl_constant: float
    levels: int | None
    ratio: int | None
    projected: int | None
    shrink: float | None


def design_tree(
    facts: Facts,
    depth: DepthRule,
    made: Callable[[dict[str, Any]], Tree],
    *,
    constants: str = "practical",
    alpha: float = ALPHA,
    beta: float = BETA,
    jl_constant: float = 1.0,
    levels: int | None = None,
    ratio: int | None = None,
    projected: int | None = None,
    shrink: float | None = None,
) -> Tree:
    """Choose the shape of a tree: levels, ratio, projected, scale. None lets the rules choose.

    Parameters
    ----------
    facts : Facts
        Of the study.
    depth : callable
        The practical depth.
    made : callable
        The parameters of a shape.
    constants : {"practical", "theory"}
        Which set of rules fills what is not given; see the module's text.
    alpha, beta, jl_constant : float
        α, β and C of the theory.
    levels, ratio, projected : int
        T, q and d'.
    shrink : float, optional
        c of the practical Λ = √(d/d')/c; 1.5 by default.

    Raises
    ------
    PlanError
        If no server could decode such a plan; the message has the numbers.
    """
    checked_choice("constants", constants, CONSTANTS)
    shrink = checked_real("shrink", PRACTICAL_SHRINK if shrink is None else shrink, 0.1, 100.0)
    if ratio is not None:
        ratio = checked_integer("ratio", ratio, min(RATIOS), max(RATIOS))
    if levels is not None:
        levels = checked_integer("levels", levels, 1, MAX_LEVELS)
    dimension = facts.dimension
    if projected is not None:
        projected = checked_integer("projected", projected, 1, dimension)
    theory = theory_constants(
        dimension=dimension, clusters=facts.clusters, expected_users=facts.expected_users,
        alpha=checked_real("alpha", alpha, 1e-6, 1.0), beta=checked_real("beta", beta, 1e-12, 0.5),
        jl_constant=checked_real("jl_constant", jl_constant, 1e-6, 1e6), projected=projected,
    )  # fmt: skip
    if constants == "practical":
        projected = min(dimension, PRACTICAL_DIMENSION) if projected is None else projected
        scale = 1.0 if projected >= dimension else math.sqrt(dimension / projected) / shrink
        radius = 1.0 if projected >= dimension else 1 / shrink  # where most people are
        ratio = PAPER_RATIO if ratio is None else ratio
        levels = depth(projected, ratio, radius) if levels is None else levels
        _check_decodable(projected, levels, ratio, facts.clusters * theory.rounds)
        return made({"levels": levels, "ratio": ratio, "projected": projected, "scale": scale})
    expanded = facts.clusters * float(theory.expansion) * theory.rounds
    shape = {"projected": theory.projected, "scale": theory.scale}
    designs: list[Tree] = []
    refused: list[PlanError] = []
    for q in RATIOS if ratio is None else (ratio,):  # the paper's first
        for level in range(theory.levels, 0, -1) if levels is None else (levels,):
            try:
                _check_decodable(theory.projected, level, q, expanded, f" ({theory})")
                designs.append(made({"levels": level, "ratio": q, **shape}))
            except PlanError as refusal:
                refused.append(refusal)
    if not designs:
        raise refused[0]
    told = {"constants": "theory", "alpha": alpha}
    return min(designs, key=lambda tree: tree.approximation(facts, told, failure=beta).additive)


def fewest_levels(
    clusters: int, projected: int, ratio: int, radius: float, cells: float = CELLS_A_CLUSTER
) -> int:
    """Return the smallest T at which a ball of this radius has so many cells a cluster."""
    for levels in range(1, PRACTICAL_LEVELS):
        if net_points(projected, radius, float(ratio) ** -levels) >= cells * clusters:
            return levels
    return PRACTICAL_LEVELS


def _check_decodable(projected: int, levels: int, ratio: int, most_expanded: float, shown: str = "") -> None:
    if projected > MAX_NET_DIMENSION:
        raise PlanError(
            f"nets of {projected} dimensions cannot be built, {MAX_NET_DIMENSION} at most{shown}; "
            "set projected, or take constants='practical'"
        )
    roots = predicted_nodes(projected, 1, ratio, 0.0)
    if roots > MAX_ROOT_CHILDREN:
        raise PlanError(
            f"the root would have about {roots:.3g} children, more than {MAX_ROOT_CHILDREN}, in {projected} "
            f"dimensions{shown}; project to fewer"
        )
    nodes = predicted_nodes(projected, levels, ratio, most_expanded)
    if nodes > MAX_NODES:
        raise PlanError(
            f"the tree would have up to {nodes:.3g} nodes, more than {MAX_NODES}{shown}; take fewer "
            "levels, or constants='practical'"
        )
