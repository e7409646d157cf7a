"""The design of a net-tree plan: the paper's constants, or ones that work at the sizes people have.

*Theory* (the paper's Theorems "thm:net-tree-main-guarantee" and "thm:apx-main"), for a (1+α)-approximation
with probability 1-β, logarithms of Γ and T to base 2:

    ξ = α/10    θ = 8·√((1+2/ξ)/ξ)    d' = ⌈C·ln(k/(β/10))/(α/10)²⌉    Λ = √(0.01/ln(n/β)·d/d')
    γ = packing/covering radius    a = ⌈(1+(2+θ)/γ)^d'⌉    Γ = ⌈log n⌉    T = ⌈½·log n⌉

The paper leaves C open (d' is an O(log)); it is shown, and 1 by default. At these values ka exceeds the
number of nodes of every level, so BuildTree expands all of them and the tree is the complete one: `nodes`
predicts how many, and a plan that could not be decoded is refused with the numbers.

*Practical* (the default), each number free to be set:

    d' = min(d, 6)       more dimensions have too many cells at level 1 (3,000 at d' = 6, 58,000 at 8)
    Λ = √(d/d')/1.5      a random projection then keeps two thirds of a point's length on average, and of
                         points on the sphere one in thirty falls outside at d' = 6. (At c = 2 that is one in
                         2,000, but clusters share cells: objective 0.19 against 0.03 at d = 100, k = 4,
                         ε = 4, n = 200,000.) Λ = 1 where nothing is projected
    a = 1, Γ = ⌈log n⌉   the doubling test works on groups of k nodes
    T                    the smallest with 3k cells where the data can be: every further level divides the
                         budget again, and costs more than finer cells gain (docs/theory/net-tree.md). With
                         many people the noise of a further level is nothing, and T grows with log n: as long
                         as the noise moves the center of n/k people by 0.03 at most, up to T = 6
                         (randomizer="codeword": d' = min(d, 8), 12k cells, 0.015, and strays = 0.02)
    strays = 0.5         frequencies count as zero below a floor that half an empty node a level passes
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.nets import MAX_LEVELS, MAX_NET_DIMENSION, RATIOS
from coterie.plan.checks import checked_choice, checked_integer, checked_real
from coterie.plan.design import CODEWORDS, choose_embedding
from coterie.plan.net_tree import NetTreeParameters
from coterie.plan.net_tree_codeword import CodewordTreeParameters
from coterie.plan.tree_shape import MAX_EXPANSION, MAX_ROUNDS
from coterie.privacy.odds import BASE_ODDS, largest_shared_odds
from coterie.randomizers.codeword import CodewordRandomizer, best_cap
from coterie.randomizers.sphere import djw_norm

MAX_NODES: Final = 1 << 21  # of a tree that can be decoded
MAX_ROOT_CHILDREN: Final = 1 << 18
PRACTICAL_DIMENSION: Final = 6
PRACTICAL_LEVELS: Final = 6
PRACTICAL_STRAYS: Final = 0.5
PRACTICAL_SHRINK: Final = 1.5  # c
CODEWORD_COUNT_SHARE: Final = 0.5  # b: leaves are told from noise by it, parts are counted by length
QUIET: Final = 0.03  # radii by which noise may move the center of n/k people before a level is too many
CELLS_A_CLUSTER: Final = 3.0
CODEWORD_DIMENSION: Final = 8  # d': with less noise more cells pay, and fewer clusters share one
CODEWORD_STRAYS: Final = 0.02  # a stray takes a center; a leaf left out takes some of a part's people
CODEWORD_QUIET: Final = 0.015
CODEWORD_CELLS: Final = 12.0  # a level costs √T there, not T^1.5


@dataclass(frozen=True, slots=True)
class TheoryConstants:
    """The constants of the paper's theorems for one study, and what they come to.

    Examples
    --------
    >>> constants = theory_constants(dimension=2, clusters=4, expected_users=200_000, alpha=0.5)
    >>> constants.levels, constants.rounds, constants.expansion
    (9, 18, 71736)
    >>> theory_constants(dimension=100, clusters=8, expected_users=10**6, alpha=0.5).projected
    100
    """

    alpha: float
    beta: float
    jl_constant: float  # C
    wanted_dimension: float  # ⌈C·ln(k/β)/α²⌉, before it meets d
    projected: int  # d'
    scale: float  # Λ
    theta: float  # θ
    packing: float  # γ
    expansion: float  # a; may be beyond every integer that matters
    rounds: int  # Γ
    levels: int  # T
    nodes: float  # of the tree that BuildTree would make, at most

    def __str__(self) -> str:
        return (
            f"alpha={self.alpha:g} beta={self.beta:g} C={self.jl_constant:g}: d'={self.projected} "
            f"(wanted {self.wanted_dimension:.4g}), scale={self.scale:.3g}, theta={self.theta:.4g}, "
            f"a={self.expansion:.4g}, rounds={self.rounds}, levels={self.levels}, {self.nodes:.3g} nodes"
        )


def theory_constants(
    *,
    dimension: int,
    clusters: int,
    expected_users: int,
    alpha: float = 0.5,
    beta: float = 0.1,
    jl_constant: float = 1.0,
    ratio: int = 2,
    projected: int | None = None,
) -> TheoryConstants:
    """Compute the constants of the theorems from (α, β, n, k, d), and from d' where it is given."""
    xi = 0.1 * alpha
    theta = 8 * math.sqrt((1 + 2 / xi) / xi)
    wanted = math.ceil(jl_constant * math.log(clusters / (0.1 * beta)) / (0.1 * alpha) ** 2)
    projected = max(1, min(wanted, dimension)) if projected is None else projected
    scale = 1.0
    if projected < dimension:
        scale = math.sqrt(0.01 / math.log(expected_users / beta) * dimension / projected)
    packing = packing_ratio(projected)
    rounds = max(1, math.ceil(math.log2(expected_users)))
    levels = max(1, math.ceil(0.5 * math.log2(expected_users)))
    base = 1 + (2 + theta) / packing
    digits = projected * math.log10(base)
    expansion = math.ceil(base**projected) if digits < 15 else 10.0 ** min(digits, 300.0)
    return TheoryConstants(
        alpha, beta, jl_constant, wanted, projected, scale, theta, packing, expansion, rounds, levels,
        predicted_nodes(projected, levels, ratio, clusters * float(expansion) * rounds),
    )  # fmt: skip


def packing_ratio(dimension: int) -> float:
    """Return γ, packing over covering radius of the nets' lattice.

    Examples
    --------
    >>> packing_ratio(1), round(packing_ratio(2), 4)
    (1.0, 0.866)
    """
    return math.sqrt(3 / (dimension + 2))


def net_points(dimension: int, radius: float, covering: float) -> float:
    """Return about how many points of a net with this covering radius serve a ball.

    The volume of a ball larger by the covering radius, over the volume of one cell of the scaled lattice.
    """
    lattice_covering = math.sqrt(dimension * (dimension + 2) / (12 * (dimension + 1)))
    log_ball = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1)
    log_cells = log_ball + 0.5 * math.log(dimension + 1)
    log_cells += dimension * math.log(lattice_covering * (radius + covering) / covering)
    return math.exp(min(log_cells, 600.0))


def predicted_nodes(dimension: int, levels: int, ratio: int, most_expanded: float) -> float:
    """Return about how many nodes a tree has that expands at most so many nodes a level."""
    total = 1.0
    for level in range(1, levels + 1):
        complete = net_points(dimension, 1.0, float(ratio) ** -level)
        children = math.exp(min(dimension * math.log(ratio), 600.0))
        total += complete if level == 1 else min(complete, most_expanded * children)
    return total


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """What a designer of a plan over a net tree may be told; None lets its rules choose.

    Attributes
    ----------
    constants : {"practical", "theory"}
        Which set of rules fills what is not given; see the module's text.
    alpha, beta, jl_constant : float
        α, β and C of the theory.
    levels, ratio, projected, expansion, rounds, strays
        As in `NetTreeParameters`.
    shrink : float
        c of the practical Λ = √(d/d')/c.
    """

    constants: str = "practical"
    alpha: float = 0.5
    beta: float = 0.1
    jl_constant: float = 1.0
    levels: int | None = None
    ratio: int = 2
    projected: int | None = None
    shrink: float = PRACTICAL_SHRINK
    expansion: int | None = None
    rounds: int | None = None
    strays: float | None = None


DepthRule = Callable[[int, float], int]  # (d', radius where most people are) -> T


def design_tree(
    options: TreeOptions, depth: DepthRule, *, dimension: int, clusters: int, expected_users: int
) -> dict[str, Any]:
    """Choose the shape of a tree: levels, ratio, projected, scale, expansion, rounds, strays.

    Raises
    ------
    PlanError
        If no server could decode such a plan; the message has the numbers.
    """
    checked_choice("constants", options.constants, ("practical", "theory"))
    alpha = checked_real("alpha", options.alpha, 1e-6, 1.0)
    beta = checked_real("beta", options.beta, 1e-12, 0.5)
    jl_constant = checked_real("jl_constant", options.jl_constant, 1e-6, 1e6)
    shrink = checked_real("shrink", options.shrink, 0.1, 100.0)
    ratio = checked_integer("ratio", options.ratio, min(RATIOS), max(RATIOS))
    projected, levels, expansion = options.projected, options.levels, options.expansion
    if projected is not None:
        projected = checked_integer("projected", projected, 1, dimension)
    theory = theory_constants(
        dimension=dimension, clusters=clusters, expected_users=expected_users,
        alpha=alpha, beta=beta, jl_constant=jl_constant, ratio=ratio, projected=projected,
    )  # fmt: skip
    if options.constants == "theory":
        projected, scale = theory.projected, theory.scale
        levels = theory.levels if levels is None else levels
        expansion = int(min(theory.expansion, MAX_EXPANSION)) if expansion is None else expansion
        strays = 0.0 if options.strays is None else options.strays
    else:
        projected = min(dimension, PRACTICAL_DIMENSION) if projected is None else projected
        scale = _practical_scale(dimension, projected, shrink)
        radius = 1.0 if projected >= dimension else 1 / shrink  # where most people are
        levels = depth(projected, radius) if levels is None else levels
        expansion = 1 if expansion is None else expansion
        strays = PRACTICAL_STRAYS if options.strays is None else options.strays
    rounds = theory.rounds if options.rounds is None else options.rounds
    levels = checked_integer("levels", levels, 1, MAX_LEVELS)
    expansion = checked_integer("expansion", expansion, 1, MAX_EXPANSION)
    rounds = checked_integer("rounds", rounds, 1, MAX_ROUNDS)
    _check_decodable(projected, levels, ratio, clusters * expansion * rounds, options.constants, theory)
    return {
        "levels": levels, "ratio": ratio, "projected": projected, "scale": scale,
        "expansion": expansion, "rounds": rounds, "strays": strays,
    }  # fmt: skip


def design_net_tree(
    *,
    dimension: int,
    clusters: int,
    epsilon: float,
    expected_users: int,
    seed: int = 0,
    constants: str = "practical",
    alpha: float = 0.5,
    beta: float = 0.1,
    jl_constant: float = 1.0,
    levels: int | None = None,
    ratio: int = 2,
    projected: int | None = None,
    shrink: float = PRACTICAL_SHRINK,
    expansion: int | None = None,
    rounds: int | None = None,
    strays: float | None = None,
    randomizer: str = "djw",
) -> NetTreeParameters | CodewordTreeParameters:
    """Choose the parameters of a net-tree plan.

    Parameters
    ----------
    dimension, clusters, epsilon, expected_users, seed
        The public facts of the study; the seed plays no part.
    randomizer : {"djw", "codeword"}
        What a person sends: the paper's 2T bits, or one of 256 codewords for one level.
    constants, alpha, beta, jl_constant, levels, ratio, projected, shrink, expansion, rounds, strays
        As in `TreeOptions`.

    Raises
    ------
    PlanError
        If no server could decode such a plan; the message has the numbers.

    Examples
    --------
    >>> parameters = design_net_tree(dimension=100, clusters=8, epsilon=4.0, expected_users=200_000)
    >>> parameters.projected, parameters.levels, parameters.report_width
    (6, 1, 13)
    """
    del seed
    by_codeword = checked_choice("randomizer", randomizer, ("djw", "codeword")) == "codeword"
    if by_codeword and projected is None and constants == "practical":
        projected = min(dimension, CODEWORD_DIMENSION)
    if by_codeword and strays is None and constants == "practical":
        strays = CODEWORD_STRAYS
    options = TreeOptions(
        constants, alpha, beta, jl_constant, levels, ratio, projected, shrink, expansion, rounds, strays
    )
    law = _codeword_law(dimension, epsilon) if by_codeword else {}

    def noise(depth: int) -> float:
        if by_codeword:
            return _codeword_noise(law, dimension, clusters, expected_users, depth)
        return _center_noise(dimension, clusters, epsilon, expected_users, depth)

    def depth(onto: int, radius: float) -> int:
        cells = CODEWORD_CELLS if by_codeword else CELLS_A_CLUSTER
        chosen = fewest_levels(clusters, onto, ratio, radius, cells)
        while chosen < PRACTICAL_LEVELS and noise(chosen + 1) <= (CODEWORD_QUIET if by_codeword else QUIET):
            chosen += 1
        return chosen

    shape = design_tree(options, depth, dimension=dimension, clusters=clusters, expected_users=expected_users)
    if by_codeword:
        return CodewordTreeParameters(**shape, **law)
    odds = largest_shared_odds(epsilon, 2 * shape["levels"])  # ε/2 for counts, ε/2 for vectors, T parts each
    if odds <= BASE_ODDS:
        raise PlanError(
            f"epsilon {epsilon!r} is too small for {shape['levels']} levels: every bit would be a fair coin"
        )
    return NetTreeParameters(**shape, count_odds=odds, vector_odds=odds)


def _center_noise(dimension: int, clusters: int, epsilon: float, users: int, levels: int) -> float:
    """Return k·B/√n: how far noise moves the center of n/k people in one leaf, in radii."""
    share = epsilon / (2 * levels)
    return clusters * djw_norm(dimension + 1, 1 / math.tanh(share / 2)) / math.sqrt(users)


def _codeword_law(dimension: int, epsilon: float) -> dict[str, int]:
    """Return A, m, P and b of codewords for one level."""
    odds = largest_shared_odds(epsilon, 1)
    if odds <= BASE_ODDS:
        raise PlanError(f"epsilon {epsilon!r} is too small: the odds of all codewords are the same")
    return {
        "odds": odds,
        "cap": best_cap(CODEWORDS, min(odds, largest_shared_odds(12.0, 1))),
        "embedding": choose_embedding(dimension, epsilon),
        "count_weight": int(CODEWORD_COUNT_SHARE * SCALE),
    }


def _codeword_noise(law: dict[str, int], dimension: int, clusters: int, users: int, levels: int) -> float:
    """Return how far noise moves the center of n/k people in one leaf, in radii: k·√(T·d/n)/(κa)."""
    gain = CodewordRandomizer(CODEWORDS, law["cap"], law["odds"]).gain(law["embedding"])
    share = (law["count_weight"] / SCALE) ** 2
    return clusters * math.sqrt(levels * dimension / (1 - share) / users) / gain


def _practical_scale(dimension: int, projected: int, shrink: float) -> float:
    return 1.0 if projected >= dimension else math.sqrt(dimension / projected) / shrink


def fewest_levels(
    clusters: int, projected: int, ratio: int, radius: float, cells: float = CELLS_A_CLUSTER
) -> int:
    """Return the smallest T at which a ball of this radius has so many cells a cluster."""
    for levels in range(1, PRACTICAL_LEVELS):
        if net_points(projected, radius, float(ratio) ** -levels) >= cells * clusters:
            return levels
    return PRACTICAL_LEVELS


def _check_decodable(
    projected: int, levels: int, ratio: int, most_expanded: int, constants: str, theory: TheoryConstants
) -> None:
    shown = f" ({theory})" if constants == "theory" else ""
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
    nodes = predicted_nodes(projected, levels, ratio, float(most_expanded))
    if nodes > MAX_NODES:
        raise PlanError(
            f"the tree would have up to {nodes:.3g} nodes, more than {MAX_NODES}{shown}; take fewer "
            "levels, a smaller expansion, or constants='practical'"
        )
