"""What a plan over a net tree guarantees: cost ≤ ratio·OPT + t (the paper's Theorem 22, with its constants).

Read with the corrections of docs/theory/errata.md. Write N for the nodes of the tree, η and η̃ for the errors
of a count and of a vector sum that no node of the *complete* tree exceeds (the noise chooses the tree, so
a union over the nodes that it happens to have would not do), q for the ratio of the nets, g = (q/(q-1))², and

    θ = γ·(a^(1/d') - 1) - q/(q-1)      the largest θ that this a serves (Corollary 18)

In the projected space, with S' the people and S_T the leaves, U the unmatched and M the moved part of the
transport cost (Lemma 16, Lemma 19, Corollary 18):

    U ≤ N·η        M ≤ (2g/θ²)·OPT + m,
    m = g·(3·N·η/q² + (n/(q²-1) + N·η/q²)/2^Γ + (n + N·η)/q^(2T))

A leaf of our lattice lies within 2 of the origin, not within 1, and so does a center of leaves. Lemma 9 then
costs 16 and 9 for the unmatched mass in place of 4:

    cost(φ) ≤ (1+ξ)·cost_ST(C') + 16(1+ξ)·U + (1+1/ξ)·M
    cost_ST(C') ≤ κ·OPT_ST ≤ κ·((1+ξ)·OPT + 9·U + (1+1/ξ)·M)

Back in d dimensions costs are d/(d'Λ²) times as large, up to (1+ξ)² (Theorem 21, for a d' that serves ξ), and
averaging each part with noisy sums costs 8(η+η̃) a leaf (all parts together: N leaves, where the proof has
k·N). If ka exceeds every level above the deepest, all nodes are expanded and M has no OPT in it.

*Bias.* Where a report's mean is off by a fixed function of the point, of relative size ρ at most, the oracles
are exact for people of weight 1 ± ρ: costs change by (1±ρ), and part means by ρ̄ = 2ρ/(1-ρ), which costs
2ρ̄²·n and doubles the last term.

*Constants* (Theorems "thm:net-tree-main-guarantee" and "thm:apx-main"), for a (1+α)-approximation with
probability 1-β, logarithms of Γ and T to base 2:

    ξ = α/10    θ = 8·√((1+2/ξ)/ξ)    d' = ⌈C·ln(k/(β/10))/(α/10)²⌉    Λ = √(0.01/ln(n/β)·d/d')
    γ = packing/covering radius    a = ⌈(1+(2+θ)/γ)^d'⌉    Γ = ⌈log n⌉    T = ⌈½·log n⌉

The paper leaves C open (d' is an O(log)); it is shown, and 1 by default. At these values ka exceeds the
number of nodes of every level, so BuildTree expands all of them and the tree is the complete one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie.geometry.net_sizes import expansion_for, net_points, packing_ratio, predicted_nodes, reach
from coterie.plain.checks import checked_real
from coterie.plan.tree import TreeDecoding, TreeParameters


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
    wanted = math.ceil(jl_constant * math.log(clusters / (0.1 * beta)) / (0.1 * alpha) ** 2)
    projected = max(1, min(wanted, dimension)) if projected is None else projected
    scale = 1.0
    if projected < dimension:
        scale = math.sqrt(0.01 / math.log(expected_users / beta) * dimension / projected)
    rounds = max(1, math.ceil(math.log2(expected_users)))
    levels = max(1, math.ceil(0.5 * math.log2(expected_users)))
    expansion = expansion_for(projected, alpha)
    return TheoryConstants(
        alpha, beta, jl_constant, wanted, projected, scale, reach(alpha), packing_ratio(projected),
        expansion, rounds, levels,
        predicted_nodes(projected, levels, ratio, clusters * float(expansion) * rounds),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Approximation:
    """cost ≤ ratio·OPT + additive, with probability 1 - failure; in squared radii, summed over people.

    Attributes
    ----------
    ratio : float
        What OPT is multiplied by; infinite where the plan's constants carry no guarantee.
    additive : float
        t. Compare it with the number of people: t = n is what one center in the middle costs.
    failure : float
        β.
    count_error, vector_error : float
        η and η̃, for all nodes of the complete tree at once.
    nodes : float
        N, at most so many nodes has the tree.
    """

    ratio: float
    additive: float
    failure: float
    count_error: float  # η
    vector_error: float  # η̃
    nodes: float  # N


def approximation(
    shape: TreeParameters,
    decoding: TreeDecoding,
    *,
    dimension: int,
    clusters: int,
    people: int,
    failure: float = 0.1,
    slack: float = 0.05,
    solver_ratio: float = 1.0,
    nodes: float | None = None,
) -> Approximation:
    """Compute the guarantee of Theorem 22 for a plan's parameters.

    Parameters
    ----------
    shape : TreeParameters
        The plan's parameters.
    decoding : TreeDecoding
        What the decoder is told.
    dimension, clusters, people : int
        d, k and n.
    failure : float
        β.
    slack : float
        ξ, in (0, 1]; the paper has α/10.
    solver_ratio : float
        κ, the approximation ratio of the k-means solver; 1 for a perfect one.
    nodes : float, optional
        N where the tree is known; else the most it can have.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(2, 4, 1.0, 200_000, protocol="net-tree", constants="theory")
    >>> to_the_letter = TreeDecoding.of(plan.parameters, plan.facts, {"constants": "theory"})
    >>> promise = approximation(plan.parameters, to_the_letter, dimension=2, clusters=4, people=200_000)
    >>> round(promise.ratio, 3), promise.additive > 1e11
    (1.103, True)
    """
    failure = checked_real("failure", failure, 1e-12, 0.999999)
    xi = checked_real("slack", slack, 1e-9, 1.0)
    kappa = checked_real("solver_ratio", solver_ratio, 1.0, 1e9)
    by_level = complete_nodes(shape)
    group = clusters * decoding.expansion
    most = most_nodes(shape, group * decoding.rounds, by_level) if nodes is None else float(nodes)
    projects = shape.projected < dimension
    # Where there is a projection, half of β for the subspace and for ‖x̃‖ ≤ 1/Λ; of the rest, what shared
    # buckets may spoil, and the noise of the oracles.
    share = failure / 2 if projects else failure
    shared = shape.shared_chance(people=people, nodes=most)
    spoiled = shared > share / 2
    share -= 0.0 if spoiled else shared
    eta, eta_vector = shape.oracle_errors(
        dimension=dimension, people=people, failure=share, nodes=sum(by_level)
    )
    q, depth = shape.ratio, shape.levels
    g = (q / (q - 1)) ** 2
    noise = most * eta
    tail = (people / (q * q - 1) + noise / q**2) / 2.0**decoding.rounds
    moved = g * (3 * noise / q**2 + tail + (people + noise) / float(q) ** (2 * depth))
    every = all(level < group for level in by_level[:-1])
    charged = 0.0 if every else _charged(shape, decoding.expansion, g)
    spread = 1 + 1 / xi
    ratio = (1 + xi) * kappa * (1 + xi) + spread * charged * ((1 + xi) * kappa + 1)
    additive = noise * (9 * (1 + xi) * kappa + 16 * (1 + xi)) + spread * moved * ((1 + xi) * kappa + 1)
    if projects:
        ratio *= (1 + xi) ** 2
        additive *= (1 + xi) * dimension / (shape.projected * shape.scale**2)
    additive += 8 * (eta + eta_vector) * most
    if bias := shape.bias:
        ratio *= (1 + bias) / (1 - bias)
        additive = additive * 2 / (1 - bias) + 2 * people * (2 * bias / (1 - bias)) ** 2
    if decoding.strays > 0 or spoiled:  # the practical decoder floors, prunes, leaves out: another algorithm
        ratio = math.inf
    return Approximation(ratio, additive, failure, eta, eta_vector, most)


def complete_nodes(shape: TreeParameters) -> list[float]:
    """Return at most how many nodes each level of the complete tree has, levels 1 to T.

    A representative of level i lies within q^(1-i)/(q-1) of its point, and each node has a lattice cell.
    """
    q = float(shape.ratio)
    return [
        net_points(shape.projected, 1 + q ** (1 - level) / (q - 1), q**-level)
        for level in range(1, shape.levels + 1)
    ]


def most_nodes(shape: TreeParameters, most_expanded: int, by_level: list[float]) -> float:
    """Return at most how many nodes BuildTree makes, whatever the oracle says."""
    children = float(shape.ratio) ** shape.projected
    grown = [min(level, most_expanded * children) for level in by_level[1:]]
    return 1 + by_level[0] + sum(grown)


def _charged(shape: TreeParameters, expansion: int, g: float) -> float:
    """Return 2g/θ², what of the moved mass is charged to OPT where not every node is expanded."""
    q = shape.ratio
    theta = packing_ratio(shape.projected) * (expansion ** (1 / shape.projected) - 1) - q / (q - 1)
    return 2 * g / theta**2 if theta > 0 else math.inf
