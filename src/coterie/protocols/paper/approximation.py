"""What a plan over a net tree guarantees: cost ≤ ratio·OPT + t (the paper's Theorem 22, with its constants).

Read with the corrections of docs/theory/errata.md. Write N for the leaves of the tree, η and η̃ for the errors
of a count and of a vector sum that no node of the *complete* tree exceeds (the noise chooses the tree, so
a union over the nodes that it happens to have would not do), q for the ratio of the nets, g = (q/(q-1))², and

    θ = γ·(a^(1/d') - 1) - q/(q-1)      the largest θ that this a serves (Corollary 18)

In the projected space, with S' the people and S_T the leaves, U the unmatched and M the moved part of the
transport cost (Lemma 16). A person's leaf on level T is the closest one, q^-T away at most. If ka exceeds
every level above the deepest, all nodes are expanded, N is the deepest level's and nothing else is moved:

    U ≤ N·η        M ≤ n/q^(2T)

Else what BuildTree leaves higher up is charged to OPT (Lemma 19, Corollary 18):

    M ≤ (2g/θ²)·OPT + g·(3·N·η/q² + (n/(q²-1) + N·η/q²)/2^Γ) + n/q^(2T)

A leaf of our lattice lies within 1+r of the origin, and so does a center of leaves, r = q^-T if all nodes are
expanded and 1/(q-1) if not. Lemma 9 then costs (2+2r)² and (2+r)² for the unmatched mass in place of 4:

    cost(φ) ≤ (1+ξ)·cost_ST(C') + (2+2r)²(1+ξ)·U + (1+1/ξ)·M
    cost_ST(C') ≤ κ·OPT_ST ≤ κ·((1+ξ)·OPT + (2+r)²·U + (1+1/ξ)·M)

Back in d dimensions costs are d/(d'Λ²) times as large, after a projection up to (1+ξ)² (Theorem 21), and
averaging each part with noisy sums costs 8(η+η̃) a leaf (all parts together: N leaves, where the proof has
k·N).

*Exchanges.* Where all nodes are expanded and no solver is given, the decoder exchanges leaves by their
unclamped counts (`paper.k_means.exchanged_leaves`). No count has to be right, only sums over leaves: with E'
for what noise adds to one exchange, any of the at most N^(k+1), and A for what it adds to the k parts' counts
and vector sums, any of the at most k·N^k parts (docs/theory/guarantees.md),

    ratio = 25(1+ξ)(1+ζ) = 25(1+α),     F = 1.01·k·E' + 4n/q^(2T)
    t     = (1+ζ)·(25(1+1/ξ)·n/q^(2T) + (5/3)·F) + (1+1/ζ)·n/q^(2T) + 6A

so noise is counted √N times, not N times. A solver that is given gets clamped counts, and the bound above.

*Bias.* Where a report's mean is off by a fixed function of the point, of relative size ρ at most, the oracles
are exact for people of weight 1 ± ρ: costs change by (1±ρ), n/q^(2T) by 1+ρ, and part means by
ρ̄ = 2ρ/(1-ρ), which costs 2ρ̄²·n and doubles the last term, 8(η+η̃)·N or 6A.

*Premises*, without which the ratio is infinite: the paper's decoder (no floor, nothing pruned), a solver with
a ratio κ (scikit-learn's KMeans has none), θ > 0, no node that shares a bucket with people, a known bias, and
after a projection d' ≥ C·ln(k/(β/10))/ξ² and a Λ that throws nobody out of the ball: n·Pr[‖Πx‖ > 1/Λ] ≤ 0.4β,
with Pr[‖Πx‖² > c·d'/d] ≤ e^(d'(1-c+ln c)/2) (Dasgupta and Gupta, 2003). Theorem 21 does not say what C is,
and nobody has proved one; whoever believes in a C says so.

*ξ* is the proof's alone. Where none is given it is the one that makes t least among those with a ratio of at
most κ(1+α). So are T and q of a plan of `constants="theory"` (`paper.tree.design`). The paper's own
(Theorems "thm:net-tree-main-guarantee" and "thm:apx-main", logarithms of Γ and T to base 2) are

    ξ = α/10    θ = 8·√((1+2/ξ)/ξ)    d' = ⌈C·ln(k/(β/10))/(α/10)²⌉    Λ = √(0.01/ln(n/β)·d/d')
    γ = packing/covering radius    a = ⌈(1+(2+θ)/γ)^d'⌉    Γ = ⌈log n⌉    T = ⌈½·log n⌉    q = 2

At this a, ka exceeds every level of hundreds of thousands of nodes, so BuildTree expands all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from coterie.plain.checks import checked_real
from coterie.protocols.base import Facts
from coterie.protocols.paper.nets.sizes import (
    expansion_for,
    most_nodes,
    net_points,
    packing_ratio,
    predicted_nodes,
    reach,
)
from coterie.protocols.paper.tree.parameters import ALPHA, TreeDecoding, TreeParameters

EXCHANGED: Final = 25.0  # κ of exchanges among leaves that are everywhere
EARLY: Final = 0.01  # of E': less than that an exchange need not gain

_XI_STEP: Final = 0.95  # ξ is looked for in such steps down from the largest that the ratio allows
_XI_STEPS: Final = 120


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
        What OPT is multiplied by; infinite unless every premise holds.
    additive : float
        t. Compare it with the number of people: t = n is what one center in the middle costs.
    failure : float
        β.
    slack : float
        ξ.
    count_error, vector_error : float
        η and η̃, for all nodes of the complete tree at once.
    nodes : float
        At most so many nodes has the tree.
    """

    ratio: float
    additive: float
    failure: float
    slack: float  # ξ
    count_error: float  # η
    vector_error: float  # η̃
    nodes: float


def approximation(
    shape: TreeParameters,
    decoding: TreeDecoding,
    facts: Facts,
    *,
    failure: float = 0.1,
    alpha: float = ALPHA,
    slack: float | None = None,
    solver_ratio: float | None = None,
    jl_constant: float = math.inf,
    nodes: float | None = None,
) -> Approximation:
    """Compute the guarantee of Theorem 22 for a plan's parameters.

    Parameters
    ----------
    shape : TreeParameters
        The plan's parameters.
    decoding : TreeDecoding
        What the decoder is told.
    facts : Facts
        Of the study: d, k and n.
    failure : float
        β.
    alpha : float
        α: the ratio is to be κ(1+α) at most, where ξ is chosen here.
    slack : float, optional
        ξ, in (0, 1]; by default the one that makes t least.
    solver_ratio : float, optional
        κ of the k-means solver that is given to `decode`, 1 for a perfect one; by default that of what the
        decoder does itself.
    jl_constant : float
        C of Theorem 21, if the plan projects; infinite, for nobody has proved one.
    nodes : float, optional
        Nodes of the tree where it is known; else the most it can have.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(2, 4, 1.0, 200_000, protocol="net-tree", constants="theory")
    >>> to_the_letter = TreeDecoding.of(plan.parameters, plan.facts, {"constants": "theory"})
    >>> promise = approximation(plan.parameters, to_the_letter, plan.facts, solver_ratio=1.0)
    >>> promise.ratio <= 1.5, promise.additive > 200_000
    (True, True)
    """
    failure = checked_real("failure", failure, 1e-12, 0.999999)
    alpha = checked_real("alpha", alpha, 1e-6, 1.0)
    kappa = decoding.solver_ratio
    if solver_ratio is not None:
        kappa = checked_real("solver_ratio", solver_ratio, 1.0, 1e9)
    by_level, dimension, people = complete_nodes(shape), facts.dimension, facts.expected_users
    group = facts.clusters * decoding.expansion
    children = group * decoding.rounds * float(shape.ratio) ** shape.projected
    most = most_nodes(by_level, children) if nodes is None else float(nodes)
    projects = shape.projected < dimension
    # Where there is a projection, half of β for the subspace and for ‖x̃‖ ≤ 1/Λ; of the rest, what shared
    # buckets may spoil, and the noise of the oracles.
    share = failure / 2 if projects else failure
    shared = shape.shared_chance(occupied=min(people, max(by_level)), nodes=most)
    spoiled = shared > share / 2
    share -= 0.0 if spoiled else shared
    eta, eta_vector = shape.oracle_errors(
        dimension=dimension, people=people, failure=share, nodes=sum(by_level)
    )
    every = expands_all(shape, group)
    leaves = by_level[-1] if every and nodes is None else most
    exchanges = every and solver_ratio is None and kappa < math.inf
    kappa = EXCHANGED if exchanges else kappa
    largest = (1 + alpha) ** (1 / (1 + 2 * projects) if exchanges else 1 / (2 + 2 * projects)) - 1
    xis = [largest * _XI_STEP ** (step + exchanges) for step in range(_XI_STEPS)]
    if slack is not None:
        xis = [checked_real("slack", slack, 1e-9, 1.0)]
    proved = decoding.strays == 0 and not spoiled and shape.bias < 1 and kappa < math.inf
    proved = proved and _inside(shape, facts, failure)
    if projects:  # what ξ d' serves
        least = math.sqrt(jl_constant * math.log(facts.clusters / (0.1 * failure)) / shape.projected)
        xis, proved = [xi for xi in xis if xi >= least] or xis[:1], proved and xis[0] >= least
    found = Approximation(math.inf, math.inf, failure, xis[0], eta, eta_vector, most)
    if not proved:
        return found
    if exchanges:
        wrong = sums_of_noise(shape, facts, share)
        bounds = [_exchanged(shape, facts, alpha, xi, wrong) for xi in xis]
    else:
        noise = (eta, eta_vector, leaves)
        bounds = [_bound(shape, decoding, facts, (kappa, xi), noise, every) for xi in xis]
    # The least t; where no ξ has the ratio, the least ratio.
    allowed = kappa * (1 + alpha) * (1 + shape.bias) / (1 - shape.bias) * (1 + 1e-12)
    (ratio, additive), xi = min(
        zip(bounds, xis, strict=True), key=lambda at: (max(at[0][0], allowed), at[0][1])
    )
    return replace(found, ratio=ratio, additive=additive, slack=xi)


def _bound(
    shape: TreeParameters,
    decoding: TreeDecoding,
    facts: Facts,
    proof: tuple[float, float],
    noise: tuple[float, float, float],
    every: bool,
) -> tuple[float, float]:
    """Return ratio and t as the module's text has them, for a given (κ, ξ) and (η, η̃, N)."""
    (kappa, xi), (eta, eta_vector, leaves) = proof, noise
    q = float(shape.ratio)
    weighed = facts.expected_users * (1 + shape.bias)
    g, wrong = (q / (q - 1)) ** 2, leaves * eta  # U
    out = q**-shape.levels if every else 1 / (q - 1)  # r
    moved, charged = weighed * q ** (-2 * shape.levels), 0.0
    if not every:
        theta = packing_ratio(shape.projected) * (decoding.expansion ** (1 / shape.projected) - 1)
        theta -= q / (q - 1)
        charged = 2 * g / theta**2 if theta > 0 else math.inf
        tail = (weighed / (q * q - 1) + wrong / q**2) / 2.0**decoding.rounds
        moved += g * (3 * wrong / q**2 + tail)
    twice = (1 + xi) * kappa + 1  # moved mass is paid for on the way to the leaves and back
    ratio = (1 + xi) ** 2 * kappa + (1 + 1 / xi) * charged * twice
    unmatched = (1 + xi) * ((2 + out) ** 2 * kappa + (2 + 2 * out) ** 2)
    additive = wrong * unmatched + (1 + 1 / xi) * moved * twice
    return _in_the_space(shape, facts, xi, (ratio, additive, 8 * (eta + eta_vector) * leaves))


def _exchanged(
    shape: TreeParameters, facts: Facts, alpha: float, xi: float, wrong: tuple[float, float, float]
) -> tuple[float, float]:
    """Return ratio and t of exchanges among all leaves, as the module's text has them, for (E', A, N)."""
    exchange, averaged, _ = wrong
    near = facts.expected_users * (1 + shape.bias) * float(shape.ratio) ** (-2 * shape.levels)
    zeta = (1 + alpha) / (1 + xi) ** (3 if shape.projected < facts.dimension else 1) - 1
    zeta = zeta if zeta > 0 else xi
    added = facts.clusters * (1 + EARLY) * exchange + 4 * near  # F
    ratio = EXCHANGED * (1 + xi) * (1 + zeta)
    additive = (1 + zeta) * (EXCHANGED * (1 + 1 / xi) * near + 5 / 3 * added) + (1 + 1 / zeta) * near
    return _in_the_space(shape, facts, xi, (ratio, additive, 6 * averaged))


def _in_the_space(
    shape: TreeParameters, facts: Facts, xi: float, found: tuple[float, float, float]
) -> tuple[float, float]:
    """Return ratio and t back in d dimensions and with the bias, for those in d' and the last term of t."""
    (ratio, additive, last), bias = found, shape.bias
    additive *= facts.dimension / (shape.projected * shape.scale**2)
    if shape.projected < facts.dimension:
        ratio, additive = ratio * (1 + xi) ** 2, additive * (1 + xi)
    if bias:
        ratio *= (1 + bias) / (1 - bias)
        last = 2 * last + 2 * (2 * bias) ** 2 * facts.expected_users / (1 - bias)
    return ratio, (additive + last) / (1 - bias)


def sums_of_noise(shape: TreeParameters, facts: Facts, failure: float) -> tuple[float, float, float]:
    """Return E', A and N: what noise adds to an exchange of leaves and to all parts' sums; the leaves."""
    noise = shape.leaf_noise(dimension=facts.dimension, people=facts.expected_users)
    leaves, r = complete_nodes(shape)[-1], float(shape.ratio) ** -shape.levels
    clusters, each = facts.clusters, failure / 3
    # Σ_l |l - c|² and the root of Σ_l |l - c|⁴, |c| ≤ 1+r, by the mean over the ball of radius 1+2r, which
    # holds all cells: both are convex, and a cell is symmetric around its leaf.
    d, c, wide = shape.projected, (1 + r) ** 2, (1 + 2 * r) ** 2
    second, fourth = wide * d / (d + 2), wide**2 * d / (d + 4)
    h1, h = leaves * (second + c), math.sqrt(leaves * (fourth + 2 * c * second + c * c + 4 * c * second / d))
    if clusters == 1:  # no center stays
        h1, h = 2 * h1, math.sqrt(2) * h
    logarithm = (clusters + 1) * math.log(leaves) + math.log(2 / each)
    exchange = math.sqrt(2 * noise.count * logarithm) * h
    exchange += 2 / 3 * (noise.largest * h1 + 4 * (1 + r) ** 2) * logarithm
    logarithm = clusters * math.log(leaves) + math.log(2 * clusters / each)
    root = math.sqrt(clusters * leaves)  # at least the sum of the roots of the parts' numbers of leaves
    averaged = math.sqrt(2 * noise.count * logarithm) * root
    averaged += 2 / 3 * (noise.largest * leaves + clusters) * logarithm
    averaged += math.sqrt(noise.vector) * root * (1 + math.sqrt(2 * logarithm))
    averaged += 4 / 3 * noise.longest * leaves * logarithm + noise.rounded
    return exchange, averaged, leaves


def expands_all(shape: TreeParameters, group: int) -> bool:
    """Return whether ka exceeds every level above the deepest, so that BuildTree expands all nodes."""
    return all(level < group for level in complete_nodes(shape)[:-1])


def _inside(shape: TreeParameters, facts: Facts, failure: float) -> bool:
    """Return whether nobody falls outside the ball: surely where nothing is projected, else but for 0.4β."""
    if shape.projected == facts.dimension:
        return shape.scale <= 1
    beyond = facts.dimension / (shape.projected * shape.scale**2)  # c: 1/Λ² over the mean of ‖Πx‖²
    exponent = shape.projected / 2 * (1 - beyond + math.log(beyond))
    return beyond > 1 and math.log(facts.expected_users) + exponent <= math.log(0.4 * failure)


def complete_nodes(shape: TreeParameters) -> list[float]:
    """Return at most how many nodes each level of the complete tree has, levels 1 to T.

    A representative of level i lies within Σ_(j=i..T) q^-j of its point, and each node has a lattice cell.
    """
    q, deepest = float(shape.ratio), float(shape.ratio) ** -shape.levels
    return [
        net_points(shape.projected, 1 + (q ** (1 - level) - deepest) / (q - 1), q**-level)
        for level in range(1, shape.levels + 1)
    ]
