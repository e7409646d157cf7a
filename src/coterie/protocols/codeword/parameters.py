"""The parameters of the `codeword` protocol: how many codewords, how large a cap, which odds, which cells.

A report is an index among N public codewords of P signs. The m best-scoring codewords (the cap) have odds A
each, the others B = 2^24 each. Any index then has probability A/T or B/T, T = m·A + (N-m)·B, whatever the
point: ln(A/B)-private, and ε-private when A ≤ e^ε·B. T < 2^53, so that clients in any language can draw
below it.

`views` say what a report's sign depends on (`coterie.plan.views`); a report serves one row of one view.
Groups that other people's reports have found can be asked about: their centers are a net, and everybody
serves its cells (docs/theory/confirming.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.geometry.lift import EXTRA_COORDINATES
from coterie.plain.checks import checked_integer, checked_options, checked_power_of_two
from coterie.plan.views import Net, View, check_dimension, checked_views
from coterie.privacy.odds import BASE_ODDS
from coterie.protocols.base import DecoderOptions, Facts, LocalParameters, Part
from coterie.randomizers.codeword import TOTAL_LIMIT, CodewordRandomizer

if TYPE_CHECKING:
    from coterie.protocols.paper.approximation import Approximation

MAX_CODEWORDS: Final = 1 << 12
MIN_EMBEDDING: Final = 1 << 7
MAX_EMBEDDING: Final = 1 << 12
# b of a plan that confirms: an error of a share is 1/b, of a mean's coordinate x √(1/(1 - b²) + x²/b²).
CONFIRMING_COUNT_WEIGHT: Final = SCALE // 2

_SETTINGS: Final = ("people", "failure", "slack")  # of the guarantee; others are of trees


@dataclass(frozen=True, slots=True)
class CodewordParameters(LocalParameters):
    """The parameters of a codeword plan.

    Attributes
    ----------
    codewords : int
        How many public codewords a report chooses from (N).
    cap : int
        How many of them are favoured (m).
    odds : int
        Odds of a favoured one (A) against 2^24 (B) for another.
    embedding : int
        Length of a codeword (P), a power of two.
    count_weight : int
        Share of the lifted vector that counts people (b), times 2^20.
    views : tuple of CrossPolytope, Net or Halfspaces
        What signs depend on; each has a power of two of rows (M), and their weights sum to a power of two.

    Examples
    --------
    >>> from coterie.plan.views import CrossPolytope
    >>> parameters = CodewordParameters(256, 89, 45605201, 128, 419430, (CrossPolytope(128),))
    >>> parameters.rows, parameters.report_width
    (256, 13)
    """

    codewords: int  # N
    cap: int  # m
    odds: int  # A
    embedding: int  # P
    count_weight: int  # b·2^20
    views: tuple[View, ...]

    def __post_init__(self) -> None:
        self._clean(checked_integer, codewords=(2, MAX_CODEWORDS), odds=(BASE_ODDS + 1, TOTAL_LIMIT))
        self._clean(checked_integer, cap=(1, self.codewords - 1), count_weight=(0, SCALE))
        self._clean(checked_power_of_two, embedding=(MIN_EMBEDDING, MAX_EMBEDDING))
        self._set(views=checked_views(self.views))
        _ = self.randomizer  # checks the three against each other

    @property
    def randomizer(self) -> CodewordRandomizer:
        """The law of a report: exact odds, gain and draw."""
        return CodewordRandomizer(self.codewords, self.cap, self.odds)

    @property
    def rows(self) -> int:
        """Rows of the table: those of all views."""
        return sum(view.rows for view in self.views)

    def parts(self) -> tuple[Part, ...]:
        """Return the one answer of a report: the index."""
        return (Part(self.codewords, self.cap, self.odds, 0, 8 if self.codewords <= 256 else 16),)

    def groups(self, clusters: int) -> tuple[tuple[int, ...], ...] | None:
        """Return the k centers of a plan that confirms: its one view is a net of them and repeats."""
        if len(self.views) != 1 or not isinstance(self.views[0], Net):
            return None
        points = self.views[0].points
        padded = len(points) == 1 << (clusters - 1).bit_length()
        return points[:clusters] if padded and set(points[clusters:]) <= {points[0]} else None

    def asking_about(self, groups: Sequence[Sequence[int]]) -> Self:
        """Return parameters whose cells are published groups: a net of them, up to a power of two points.

        The points that are missing are the first again: a tie goes to the smallest index, so nobody is in the
        cell of a repeat.

        Examples
        --------
        >>> from coterie.plan.views import CrossPolytope
        >>> parameters = CodewordParameters(256, 89, 45605201, 128, 419430, (CrossPolytope(128),))
        >>> parameters.asking_about([[5, 0], [0, 5], [0, 0]]).views[0].points
        ((5, 0), (0, 5), (0, 0), (5, 0))
        """
        points = [tuple(each) for each in groups]
        repeats = (1 << (len(points) - 1).bit_length()) - len(points)
        net = Net((*points, *points[:1] * repeats))
        return replace(self, count_weight=CONFIRMING_COUNT_WEIGHT, views=(net,))

    def approximation(self, facts: Facts, decoder: DecoderOptions = None, **settings: Any) -> Approximation:
        """Return what the cells of a net guarantee of the centers; infinite where there is no net."""
        from coterie.protocols.codeword.approximation import approximation

        checked_options("the decoder of protocol codeword", (), decoder or {})
        if settings.pop("solver_ratio", None) is not None:
            raise PlanError("the decoder of protocol codeword takes no solver, so it has a ratio of its own")
        known = {"people": facts.expected_users, **settings}
        return approximation(self, facts, **{name: known[name] for name in _SETTINGS if name in known})

    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless the codewords are long enough and the views fit the dimension."""
        if self.embedding < dimension + EXTRA_COORDINATES:
            raise PlanError(
                f"embedding must be at least dimension + 2 = {dimension + 2}, got {self.embedding}"
            )
        check_dimension(self.views, dimension)
