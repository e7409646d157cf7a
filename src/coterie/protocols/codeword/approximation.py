"""What cells of a net guarantee of the centers: cost ≤ ratio·OPT + t (docs/theory/guarantees.md).

Write q_l for the M places of the net, r for its reach, N_l for the share of the people in cell l, and

    D(C) = Σ_l N_l·h_C(l),     h_C(l) = min_{c ∈ C} |q_l - c|²

so that the roots of D(C) and of the cost for each person differ by r at most. The counting coordinate of the
cells estimates every D(C) without bias, for people of weights within 1 ± ρ. What noise adds is a sum over
people, and by Bernstein's inequality, with s for one over the share of the people who serve the cells, V for
the variance of one report's count and B for its size, no set of k centers of the ball has it larger than

    E  = √(2·(s/n)·V·L)·H + (2/3)·(s/n)·B·L·H₁ + (4 + 1/M)·(the same for one cell, L = ln(2M/β)),
         L = k·d·ln(1 + 2M) + ln(2/β),     H² ≥ Σ_l |q_l - c|⁴,  H₁ ≥ Σ_l |q_l - c|²  for all |c| ≤ 1

and no exchange of one place for another changes it by more than E', the first two terms with
L = (k+1)·ln M + ln(2/β). Exchanges among the places (`coterie.centers.proved`) end at places C₂ with

    D(C₂) ≤ κ·min D + λ·k·E',     κ = (2 + √10)², λ = 1 + 2/√10

and the answer is kept unless its D is the larger by more than noise e and 2r explain. With φ for the error of
n/s, and any (1+ξ)(1+ζ) = 1+α,

    ratio = κ·(1+α)·(1+ρ)/(1-ρ)
    t/n   = {(1+ζ)·[κ(1+ρ)(1+1/ξ)·r² + λkE' + 2E + 2.02·e] + (1+1/ζ)·9(1+φ)(1+ρ)·r²} / (1-ρ)

*Premises*: one net, within the ball, whose cells people serve; no answer but the population decoder's own for
the plan's k (no directions, no published groups, no medians). ρ is not proved: one public rotation bends the
weight of each point otherwise, and ρ is 20 times the root mean square that theory has for it over rotations,
over b. Of the worst points of the ball that `benchmarks guarantees --only rotation` finds, none had more than
15 times it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from coterie.geometry.ball import SCALE
from coterie.geometry.cells import NetCells
from coterie.plain.checks import checked_real
from coterie.plan.views import Net
from coterie.protocols.base import Facts

if TYPE_CHECKING:
    from coterie.protocols.codeword.parameters import CodewordParameters
    from coterie.protocols.paper.approximation import Approximation

RATIO: Final = (2 + math.sqrt(10)) ** 2  # κ of exchanges, 26.65
ADDED: Final = 1 + 2 / math.sqrt(10)  # λ: what each E' of an exchange adds to the cost
RARE: Final = 0.01  # β of the decoder's own e
EARLY: Final = 0.01  # of e over k: less than that an exchange need not gain

_ALPHA: Final = 0.5  # α
_BIAS_ROOTS: Final = 20.0  # root mean squares of the gain's error that ρ is
_STEPS: Final = 200  # in which ξ is looked for


def approximation(
    parameters: CodewordParameters,
    facts: Facts,
    *,
    people: int,
    failure: float = 0.1,
    slack: float | None = None,
) -> Approximation:
    """Compute the guarantee; infinite unless every premise holds.

    Parameters
    ----------
    parameters : CodewordParameters
        The plan's.
    facts : Facts
        Of the study.
    people : int
        n.
    failure : float
        β.
    slack : float, optional
        ξ, below α = 1/2; by default the one that makes t least.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> found = Plan.design(1, 4, 1.0, 10**10).approximation()
    >>> found.ratio < 43, found.additive < 10**10
    (True, True)
    """
    from coterie.protocols.paper.approximation import Approximation

    failure = checked_real("failure", failure, 1e-12, 0.999999)
    rho, tickets = bias(parameters), tickets_of(parameters)
    each = failure / 4  # four events
    counted = math.log(2 / each)
    off = math.sqrt(2 * (tickets - 1) * counted / people) + 2 / 3 * tickets * counted / people  # φ
    nothing = Approximation(math.inf, math.inf, failure, slack or 0.0, math.inf, math.inf, 0.0)
    if not (rho < 1 and off < 1) or parameters.groups(facts.clusters) is not None:
        return nothing
    (cells,) = (NetCells.from_points(view.points) for view in parameters.views if isinstance(view, Net))
    places, reach = cells.places, cells.reach()
    if not within(places):
        return nothing
    clusters, dimension = facts.clusters, facts.dimension
    noise = partial(sum_noise, parameters, people)
    wide = extent_of(places)
    error = noise(wide, sets(clusters, dimension, len(places), each))
    error += (4 + 1 / len(places)) * noise((1.0, 1.0), math.log(2 * len(places) / each))  # E
    both = 1.0 if clusters > 1 else 2.0  # exchanges that keep no place
    exchanged = noise(
        (both * wide[0], math.sqrt(both) * wide[1]), (clusters + 1) * math.log(len(places)) + counted
    )  # E'
    kept = slack_of(math.sqrt(count_noise(parameters)[0] * tickets / people), places, clusters)
    kept *= (1 + off) / math.sqrt(1 - off)  # e
    added = ADDED * clusters * exchanged + 2 * error + (2 + 2 * EARLY) * kept

    def additive(xi: float) -> float:
        zeta = (1 + _ALPHA) / (1 + xi) - 1
        near = RATIO * (1 + rho) * (1 + 1 / xi) * reach**2
        far = (1 + 1 / zeta) * 9 * (1 + off) * (1 + rho) * reach**2
        return ((1 + zeta) * (near + added) + far) / (1 - rho)

    xis = [_ALPHA * (step + 0.5) / _STEPS for step in range(_STEPS)]
    if slack is not None:
        xis = [checked_real("slack", slack, 1e-6, _ALPHA * (1 - 1e-6))]
    xi = min(xis, key=additive)
    ratio = RATIO * (1 + _ALPHA) * (1 + rho) / (1 - rho)
    return Approximation(ratio, people * additive(xi), failure, xi, people * error, 0.0, float(len(places)))


def within(places: NDArray[np.float64]) -> bool:
    """Return whether places, (M, d), are in the unit ball, but for what rounding adds."""
    return bool(((places**2).sum(axis=1) <= 1 + 1e-9).all())


def bias(parameters: CodewordParameters) -> float:
    """Return ρ: how far a person's weight in the counts may be from 1 in the mean; infinite if b is 0."""
    share = parameters.count_weight / SCALE
    error = parameters.randomizer.gain_error(parameters.embedding, _BIAS_ROOTS)
    return error / share if share else math.inf


def tickets_of(parameters: CodewordParameters) -> float:
    """Return s: one over the share of the people who serve the one net; infinite if there is not one."""
    nets = [view.weight for view in parameters.views if isinstance(view, Net)]
    return sum(view.weight for view in parameters.views) / nets[0] if len(nets) == 1 else math.inf


def sum_noise(
    parameters: CodewordParameters, people: int, extent: tuple[float, float], logarithm: float
) -> float:
    """Return Bernstein's bound on the noise of Σ_l N_l·h(l) for Σ|h| and √Σh² as `extent` has them, and L."""
    first, second = extent
    variance, largest = count_noise(parameters)
    share = tickets_of(parameters) / people
    deviation = math.sqrt(2 * share * variance * logarithm)
    return deviation * second + 2 / 3 * share * (largest * first + 4) * logarithm


def count_noise(parameters: CodewordParameters) -> tuple[float, float]:
    """Return V = (1 + c₂b²)/(κb)² and B = √P/(κb): variance and size of one report's count."""
    law, embedding, share = parameters.randomizer, parameters.embedding, parameters.count_weight / SCALE
    gain = law.gain(embedding) * share
    return (1 + law.second_gain(embedding) * share**2) / gain**2, math.sqrt(embedding) / gain


def extent_of(places: NDArray[np.float64]) -> tuple[float, float]:
    """Return H₁ and H: at least Σ_l |q_l - c|² and the root of Σ_l |q_l - c|⁴, for every c of the unit ball.

    Both are convex in c, and so largest at |c| = 1, where |q - c|² = 1 + |q|² - 2⟨q, c⟩.
    """
    squares = 1 + (places**2).sum(axis=1)
    first = squares.sum() + 2 * np.linalg.norm(places.sum(axis=0))
    across = 4 * np.linalg.norm(squares @ places) + 4 * np.linalg.eigvalsh(places.T @ places)[-1]
    return float(first), math.sqrt(float((squares**2).sum() + across))


def sets(clusters: int, dimension: int, cells: int, failure: float) -> float:
    """Return L: the logarithm of how many sets of centers there are, 1/M apart, times 2/β."""
    return clusters * dimension * math.log(1 + 2 * cells) + math.log(2 / failure)


def slack_of(deviation: float, places: NDArray[np.float64], clusters: int) -> float:
    """Return e: what noise may add to D of any k centers, for shares of cells that have this deviation."""
    logarithm = sets(clusters, places.shape[1], len(places), RARE)
    return deviation * math.sqrt(2 * logarithm) * extent_of(places)[1]
