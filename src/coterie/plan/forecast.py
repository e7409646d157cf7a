"""What a study will be worth, said before anybody is asked (docs/forecast.md).

For n people, k groups and d dimensions everything follows from one number, the *noise of a center*: the mean
squared error of the mean of n/k people if the partition were known and all of ε were spent on it,

    V = k²·d·ν / (a²·n²)      ν the variance of a coordinate of a sum over everybody, a the weight of a point

In the local model ν = n·(1 + c₂/D)/(κ²·h), h the share of the people who serve halfspaces. What the decoder
adds to the objective beyond non-private k-means, its *excess*, is then, for a between-group variance T:

- *found, from halfspaces*: u·V, where u ≤ 1 tells how much the sides of the hyperplanes give away. A group
  whose place is known within s is cut by about M·s·√d hyperplanes; these tell a share q of its d coordinates:

      u = (1 - q) + q/(1 + S/q),   q = 1 - exp(-(C·M·s/d)^p),   S = A·exp(-B·w²)/s,   s² = u·V + w²

- *found, from sums of cells*: E·T·V/(T + V), as shrunk means have it;
- *real data*, which have no groups to be found: F·T·√(w²/T)·(V/T)^⅓;
- *lost*: T. Groups stand out of the noise of halfspaces as long as V is well below T, out of a cell's as long
  as it is well below T·√D: with τ the ratio of the two,

      share lost = τ^b / (τ₀^b + τ^b),   τ₀ lower for wide groups

w² is the variance inside a group, the non-private objective. A, B, C, E, F and the τ₀ are measured, p and b
chosen; `python -m benchmarks forecast` prints them beside a new fit. The *band* is that with `SLACK` times
less and more noise (for real data: excess), so that it is wide where groups are about to be lost.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from types import MappingProxyType
from typing import Final, Self, TypeVar

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.plain.checks import MOST_PEOPLE, checked_choice, checked_real
from coterie.privacy import MAX_EPSILON
from coterie.protocols import PROTOCOLS
from coterie.protocols.base import Facts, Parameters

T = TypeVar("T")

SLACK: Final = 1.5  # by which the noise may be better or worse than the formula: the band
HOPELESS: Final = 0.25  # recovered at the lucky end of the band, below which a study is not worth asking for
POOR: Final = 0.5  # recovered, below which a study gives directions rather than centers
HELD: Final = 1.645  # deviations that hold 90 %
# Deviation of a share over the noise of its label's rows (`python -m benchmarks compare --calibrate`).
READ: Final[Mapping[str, float]] = MappingProxyType({"separated": 1.4, "real": 2.8})
DECAY: Final = 0.27  # of the objective of digits: one_center·k^-0.27


@dataclass(frozen=True, slots=True)
class Constants:
    """What was measured, each named as in the module's formulas."""

    sides: float = 0.267  # A
    width: float = 13.7  # B
    reach: float = 0.82  # C
    steep: float = 2.5  # p
    cells: float = 1.19  # E
    real: float = 0.406  # F
    fall: float = 5.0  # b
    lost_rows: float = 0.433  # τ₀ of tight groups
    lost_wide: float = 0.59  # by which a width of 1 lowers it
    lost_cells: float = 0.197  # τ₀ of cells
    lost_spread: float = 0.098  # width at which a group fills two cells


MEASURED: Final = Constants()


@dataclass(frozen=True, slots=True)
class Kind:
    """What people's points are believed to be like, in a ball of radius 1.

    Attributes
    ----------
    name : str
        For people.
    separation : float or None
        r of the paper's mixture: round groups of expected radius 1/r near the surface of the ball. None for
        data that have no round groups.
    one_center : float
        Without groups: what one center costs, the mean squared distance from everybody's mean.
    optimum : float or None
        Without groups: what k non-private centers cost; None for one_center·k^-0.27, as digits have it.

    Examples
    --------
    >>> [round(value, 3) for value in KINDS["separated"].costs(clusters=8, dimension=100)]
    [0.67, 0.016]
    >>> [round(value, 3) for value in KINDS["real"].costs(clusters=10, dimension=64)]
    [0.292, 0.338]
    """

    name: str
    separation: float | None = None  # r
    one_center: float = 0.63
    optimum: float | None = None

    def __post_init__(self) -> None:
        if self.separation is not None:
            checked_real("separation of a kind", self.separation, 1.0 + 1e-9, 1e12)
        checked_real("one_center of a kind", self.one_center, 1e-9, 1.0)
        if self.optimum is not None:
            checked_real("optimum of a kind", self.optimum, 0.0, self.one_center)

    def costs(self, clusters: int, dimension: int) -> tuple[float, float]:
        """Return T, what k non-private centers gain over one, and w², what they cost."""
        if self.separation is None:
            best = self.one_center * clusters**-DECAY if self.optimum is None else self.optimum
            return max(self.one_center - best, 0.0), best
        surface = math.sqrt(dimension - 0.5 + 1 / (8 * dimension))  # E‖g‖: so many deviations away
        spread = (dimension - _cut(surface)) / surface**2
        return (1 - 1 / self.separation) ** 2 * (1 - 1 / clusters), spread / self.separation**2


def _cut(surface: float) -> float:
    """Return what the ball's surface, so many deviations away, takes from a normal coordinate's variance."""
    beyond = math.erfc(surface / math.sqrt(2)) / 2
    density = math.exp(-(surface**2) / 2) / math.sqrt(2 * math.pi)
    return surface * density + (1 - surface**2) * beyond + (density - surface * beyond) ** 2


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "tight": Kind("tight round groups, r = 100", 100.0),
        "separated": Kind("round groups, r = 8", 8.0),
        "broad": Kind("broad round groups, r = 3", 3.0),
        "real": Kind("real data like digits"),
    }
)


def kind_of(kind: str | Kind) -> Kind:
    """Return a kind by its name: tight, separated, broad or real."""
    return kind if isinstance(kind, Kind) else KINDS[checked_choice("kind", kind, KINDS)]


@dataclass(frozen=True, slots=True)
class Channel:
    """What a plan's table will be, as far as the forecast needs it."""

    noise: float  # V
    rows: int  # M halfspaces; 0 where there are only cells
    dimension: int  # d
    lifted: int  # D
    count: float = 0.0  # b

    @classmethod
    def of(cls, variance: float, count_weight: int, facts: Facts, people: int, rows: int = 0) -> Self:
        """Return the channel of a table whose sums over everybody have this variance ν a coordinate."""
        dimension, point = facts.dimension, 1 - (count_weight / SCALE) ** 2  # d, a²
        noise = facts.clusters**2 * dimension * variance / (point * people**2)
        return cls(noise, rows, dimension, dimension + EXTRA_COORDINATES, count_weight / SCALE)


def channel_of(protocol: str, parameters: Parameters, facts: Facts, people: int) -> Channel:
    """Return the noise of a plan's table, for so many people.

    Raises
    ------
    PlanError
        If nobody has measured how errors of this protocol follow from its noise.
    """
    asked = PROTOCOLS[protocol]
    found: Channel | None = None
    if asked.channel is not None:
        found = asked.load(asked.channel)(parameters, facts, people)
    if found is None:
        raise PlanError(
            f"there is no forecast for {protocol} plans of this layout: only for codeword and for "
            "vector-sums of all cells is it known how errors follow from the noise; forecast a codeword plan "
            "of the same facts, or try the plan on made-up points (`coterie.datasets.gaussian_mixture`)"
        )
    return found


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a wave that confirms will say, for groups of equal shares.

    Attributes
    ----------
    people : int
        n.
    share : float
        Half the width of a share's interval.
    mean : float
        Half the width of the interval of a mean's coordinate, of people around the middle of the ball, in its
        radii.
    """

    people: int
    share: float
    mean: float

    @classmethod
    def of(cls, table: Channel, people: int, clusters: int) -> Self:
        """Return it from the noise of a table whose cells are the groups (docs/theory/confirming.md)."""
        mean = HELD * math.sqrt(table.noise / table.dimension)
        own = math.sqrt((1 - 1 / clusters) * (1 - table.count**2)) / (clusters * table.count)
        return cls(people, mean * own, mean)

    @property
    def words(self) -> str:
        """The same in one line."""
        return (
            f"shares within {self.share:.1%}, means within {self.mean:.2g} radii a coordinate, of groups of "
            "equal shares, in 90% of studies"
        )


def seen_shift(deviation: float, tests: int, level: float = 0.05) -> float:
    """Return the change of a share, whose error has this deviation, that is seen in four cases of five.

    Parameters
    ----------
    deviation : float
        Of a difference of two shares.
    tests : int
        Shares that are compared: the chance that any of them is called moved where none is stays at `level`.

    Examples
    --------
    >>> round(seen_shift(0.01, tests=5), 3)
    0.034
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - level / (2 * tests)) + normal.inv_cdf(0.8)) * deviation


@dataclass(frozen=True, slots=True)
class Shift:
    """Which change of a group's share a comparison of two labels will see, for groups of equal shares.

    A share's deviation is `READ` times the noise of its label's rows, √ν/n: for groups that lie apart, or
    for real data, where groups overlap and halfspaces cut them. Where plans ask about published groups it
    follows from the noise alone.

    Attributes
    ----------
    people : int
        n, under each label.
    share : float
        Half the width of the interval of a difference of shares.
    seen : float
        The change that is called moved in four cases of five, with an error of 5 % for all shares together.
    """

    people: int
    share: float
    seen: float

    @classmethod
    def of(cls, table: Channel, people: int, clusters: int, *, kind: str | None) -> Self:
        """Return it from the noise of a table (docs/compare.md); without a kind, of one that confirms."""
        noise = math.sqrt(table.noise / table.dimension * (1 - table.count**2)) / clusters
        if kind is None:
            known = math.sqrt(1 - 1 / clusters) / table.count
        else:
            known = READ[checked_choice("kind", kind, READ)]
        deviation = math.sqrt(2) * noise * known
        return cls(people, HELD * deviation, seen_shift(deviation, clusters))

    @property
    def words(self) -> str:
        """The same in one line."""
        return (
            f"a change of {100 * self.seen:.1f} points in a share is seen in four cases of five, differences "
            f"are known within {100 * self.share:.1f}"
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """What to expect of a study, objectives in squared radii of the ball.

    Attributes
    ----------
    people : int
        n.
    kind : str
        What the data are believed to be like, in words.
    objective, low, high : float
        The k-means objective (the mean squared distance to the nearest center) and its band.
    recovered, recovered_low, recovered_high : float
        The share of what non-private k-means gains over one center: 1 is as good, 0 is useless.
    lost : float
        Share of the groups' variance that noise hides.
    one_center, non_private : float
        What the kind of data costs with one center, and with k centers in the open.
    """

    people: int
    kind: str
    objective: float
    low: float
    high: float
    recovered: float
    recovered_low: float
    recovered_high: float
    lost: float
    one_center: float
    non_private: float

    @property
    def hopeless(self) -> bool:
        """Whether even the lucky end of the band recovers next to nothing."""
        return self.one_center > self.non_private and self.recovered_high < HOPELESS

    @property
    def words(self) -> str:
        """The forecast in one line."""
        share = f"{self.recovered:.0%} recovered ({self.recovered_low:.0%} to {self.recovered_high:.0%})"
        figures = f"{self.kind}: objective {self.objective:.2g} ({self.low:.2g} to {self.high:.2g}), {share}"
        return f"{figures}: {self.doubt}" if self.doubt else figures

    @property
    def doubt(self) -> str:
        """Why not to ask for such a study; nothing where there is no reason."""
        if self.one_center <= self.non_private:
            return "one group is everybody, there is nothing to recover"
        if self.hopeless:
            return "hopeless, noise hides the groups"
        if self.lost > 0.1:
            return "at the edge, some groups may stay hidden"
        return "poor" if self.recovered < POOR else ""

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"Expectation({self.people:,} people, {self.words})"

    def _repr_html_(self) -> str:
        """Return the forecast for a notebook."""
        from coterie.plain.notebook import facts_html

        facts = [
            ("recovered", f"{self.recovered:.0%} ({self.recovered_low:.0%} to {self.recovered_high:.0%})"),
            ("objective", f"{self.objective:.2g} ({self.low:.2g} to {self.high:.2g})"),
            ("one center", f"{self.one_center:.2g}"),
            ("k-means, all data in the open", f"{self.non_private:.2g}"),
        ]
        return facts_html(f"{self.people:,} people, {self.kind}", facts, [self.doubt] if self.doubt else [])


def expect(
    channel: Channel, people: int, clusters: int, kind: str | Kind, constants: Constants = MEASURED
) -> Expectation:
    """Return the forecast for a table of this noise.

    Examples
    --------
    >>> table = Channel(noise=0.047, rows=1024, dimension=100, lifted=102)
    >>> found = expect(table, 10**6, 8, "tight")
    >>> round(found.objective, 3), round(found.recovered, 2), found.hopeless
    (0.021, 0.98, False)
    """
    data = kind_of(kind)
    between, within = data.costs(clusters, channel.dimension)  # T, w²
    excess, low, high = (
        _excess(channel, between, within, data, constants, slack) for slack in (1.0, 1 / SLACK, SLACK)
    )

    def share(cost: float) -> float:
        return 1 - cost / between if between else 0.0

    return Expectation(
        people=people,
        kind=data.name,
        objective=within + excess,
        low=within + low,
        high=within + high,
        recovered=share(excess),
        recovered_low=share(high),
        recovered_high=share(low),
        lost=_lost(channel, between, within, constants),
        one_center=within + between,
        non_private=within,
    )


def _excess(channel: Channel, between: float, within: float, kind: Kind, c: Constants, slack: float) -> float:
    if not between:
        return 0.0
    usual, channel = channel.noise, replace(channel, noise=channel.noise * slack)
    lost = _lost(channel, between, within, c)
    if kind.separation is None:
        found = slack * c.real * math.sqrt(within * between) * math.cbrt(usual / between)
    elif channel.rows:
        found = _found_by_rows(channel, within, c)
    else:
        found = c.cells * between * channel.noise / (between + channel.noise)
    return (1 - lost) * min(found, between) + lost * between


def _lost(channel: Channel, between: float, within: float, c: Constants) -> float:
    if not between:
        return 1.0
    width = math.sqrt(within)
    if channel.rows:
        ratio = channel.noise / between
        ratio *= (1 + c.lost_wide * width) / c.lost_rows
    else:
        ratio = channel.noise / (between * math.sqrt(channel.lifted))
        ratio *= (1 + (width / c.lost_spread) ** 2) / c.lost_cells
    return 1 - 1 / (1 + math.pow(ratio, c.fall))


def _found_by_rows(channel: Channel, within: float, c: Constants) -> float:
    """Solve excess = u(excess)·V by halving: the sides of the hyperplanes tell more the less is known."""
    strength = c.sides * math.exp(-c.width * within)

    def told(excess: float) -> float:  # u·V
        s = math.sqrt(excess + within)
        q = -math.expm1(-((c.reach * channel.rows * s / channel.dimension) ** c.steep))
        return channel.noise * ((1 - q) + q / (1 + strength / (s * max(q, 1e-12))))

    low, high = 0.0, channel.noise
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if told(middle) > middle else (low, middle)
    return high


# ---------------------------------------------------------------- the inverse questions


def people_needed(at: Callable[[int], T], good: Callable[[T], bool]) -> int | None:
    """Return the fewest people for whom a forecast is good; None where `MOST_PEOPLE` are too few.

    Parameters
    ----------
    at : callable
        The forecast for so many people; better for more.
    good : callable
        What is wanted of it; see `target`.

    Examples
    --------
    >>> def at(people):
    ...     return expect(Channel(40_000 / people, 1024, 100, 102), people, 8, "tight")
    >>> needed = people_needed(at, target(recovered=0.9))
    >>> at(needed).recovered >= 0.9 > at(needed - 1).recovered
    True
    """
    if not good(at(MOST_PEOPLE)):
        return None
    return bisect_left(range(MOST_PEOPLE), True, lo=1, key=lambda people: good(at(people)))


def epsilon_needed(at: Callable[[float], Expectation], good: Callable[[Expectation], bool]) -> float | None:
    """Return the smallest ε, in steps of a hundredth, for which a forecast is good; None above 16."""
    if not good(at(MAX_EPSILON)):
        return None
    hundredths = range(round(100 * MAX_EPSILON))
    return bisect_left(hundredths, True, lo=1, key=lambda each: good(at(each / 100))) / 100


def target(
    *, recovered: float | None = None, objective: float | None = None
) -> Callable[[Expectation], bool]:
    """Return what is wanted of a forecast: at least such a share recovered, or at most such an objective."""
    if (recovered is None) == (objective is None):
        raise PlanError("give one target: a recovered share or an objective")
    if recovered is not None:
        share = checked_real("recovered", recovered, 0.0, 1.0)
        return lambda found: found.recovered >= share
    most = checked_real("objective", objective, 0.0, 4.0)
    return lambda found: found.objective <= most
