"""What all plans over a net tree have in common: the tree's shape, and how it is decoded.

`net-tree` (one bit twice a level, or one codeword) and `net-tree-sums` (vector sums in shares) differ in what
a person sends. The nets and the projection are the same, with their bounds. `TreeDecoding` is what the
decoder alone needs; it is no part of a plan, and may be chosen anew each time a table is decoded.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from coterie.errors import PlanError
from coterie.plain.checks import checked_choice, checked_integer, checked_options, checked_real
from coterie.plain.record import Record
from coterie.protocols.base import DecoderOptions, Facts, Parameters
from coterie.protocols.paper.nets.nets import MAX_LEVELS, MAX_NET_DIMENSION, MAX_TABLE, RATIOS, NetFamily
from coterie.protocols.paper.nets.projection import Projection
from coterie.protocols.paper.nets.sizes import expansion_for
from coterie.protocols.paper.tree import DECODER_OPTIONS

if TYPE_CHECKING:
    from coterie.protocols.paper.approximation import Approximation

CONSTANTS: Final = ("practical", "theory")
ALPHA: Final = 0.5  # α of the theory
SEARCH_RATIO: Final = 26.7  # κ of `coterie.centers.LocalSearch`, which decodes with constants="theory"
MAX_EXPANSION: Final = 1 << 40  # a; larger than every tree, so "expand all"
MAX_ROUNDS: Final = 64  # Γ
MAX_SCALE: Final = 1e6  # Λ
MAX_STRAYS: Final = 1000.0

KeyOf = Callable[[str], bytes]  # a label's 16-byte key: Plan.randomness_key
OracleErrors = tuple[float, float]  # η and η̃, of a count and of a vector sum


@dataclass(frozen=True, slots=True)
class LeafNoise:
    """What all people together add to one leaf's answers, and what one report may add at most.

    Reports are independent, and a report's parts of two leaves are uncorrelated: over m leaves variances are
    m times as large, as is the largest part of a report. Gaussian noise, which is no report's, has 0 there.
    """

    count: float  # variance of f̃
    vector: float  # E of the squared length of ṽ's error
    largest: float  # of one report's count
    longest: float  # of one report's vector
    rounded: float = 0.0  # by which all vector sums together may be off, by rounding


@dataclass(frozen=True)
class TreeParameters(Parameters):
    """Parameters of a plan over a net tree. Frozen dataclasses inherit from it."""

    __slots__ = ()

    levels: int  # T, depth of the tree
    ratio: int  # q, how much finer each level is; 2 in the paper
    projected: int  # d', dimension of the nets
    scale: float  # Λ, what projected points are multiplied by

    usual_strays: ClassVar[float] = 0.5  # of a practical decoder

    # ------------------------------------------------------------ what a protocol says

    @abstractmethod
    def oracle_errors(self, *, dimension: int, people: int, failure: float, nodes: float) -> OracleErrors:
        """Return η and η̃: errors of a count and of a vector sum that none of so many nodes exceeds.

        With probability 1 - `failure` in all, in people and in radii times people.
        """

    @abstractmethod
    def leaf_noise(self, *, dimension: int, people: int) -> LeafNoise:
        """Return the noise of one leaf of the deepest level."""

    @property
    def bias(self) -> float:
        """How far a count or a vector sum may be off in the mean, relatively; infinite if nobody knows."""
        return 0.0

    def shared_chance(self, *, occupied: float, nodes: float) -> float:
        """Return at most how likely one of so many nodes is answered for with another, occupied one."""
        return 0.0

    # ------------------------------------------------------------ what follows

    def nets(self, key_of: KeyOf) -> NetFamily:
        """Return the nets, the same for encoder and decoder."""
        return NetFamily.from_key(key_of("net"), self.projected, self.levels, self.ratio)

    def projection(self, key_of: KeyOf, dimension: int) -> Projection:
        """Return the public subspace, the same for encoder and decoder."""
        return Projection.from_key(key_of("subspace"), dimension, self.projected, self.scale)

    def approximation(self, facts: Facts, decoder: DecoderOptions = None, **settings: Any) -> Approximation:
        """Return what the paper's Theorem 22 says of the centers, for a decoder with these options."""
        from coterie.protocols.paper.approximation import approximation

        decoder = decoder or {}
        decoding = TreeDecoding.of(self, facts, decoder)
        alpha = decoder.get("alpha")
        settings = {"alpha": ALPHA if alpha is None else alpha, **settings}
        facts = replace(facts, expected_users=settings.pop("people", facts.expected_users))
        return approximation(self, decoding, facts, **settings)

    def _clean_shape(self) -> None:
        """Check the fields of the shape."""
        self._clean(checked_integer, ratio=(min(RATIOS), max(RATIOS)), projected=(1, MAX_NET_DIMENSION))
        if self.ratio**self.projected > MAX_TABLE:
            raise PlanError(
                f"a node would have {self.ratio}^{self.projected} children, more than {MAX_TABLE}: "
                "project to fewer dimensions"
            )
        self._clean(checked_integer, levels=(1, MAX_LEVELS))
        self._clean(checked_real, scale=(1 / MAX_SCALE, MAX_SCALE))

    def check_fit(self, dimension: int) -> None:
        """Raise PlanError unless the nets have at most the plan's dimension."""
        if self.projected > dimension:
            raise PlanError(f"projected must be at most the dimension {dimension}, got {self.projected}")


@dataclass(frozen=True, slots=True)
class TreeDecoding(Record):
    """How BuildTree grows a tree and what its decoder takes for noise.

    Attributes
    ----------
    expansion : int
        Nodes of a level that one center may serve (a).
    rounds : int
        Groups of ka nodes that ComputeThreshold looks at (Γ).
    strays : float
        Empty nodes of a level that may pass the decoder's noise floor by chance; 0 is no floor, as in the
        paper.
    solver_ratio : float
        κ of the solver that the decoder takes where none is given: that of local search for the theory,
        infinite for scikit-learn's KMeans.
    """

    expansion: int  # a
    rounds: int  # Γ
    strays: float
    solver_ratio: float = math.inf  # κ

    def __post_init__(self) -> None:
        self._clean(checked_integer, expansion=(1, MAX_EXPANSION), rounds=(1, MAX_ROUNDS))
        self._clean(checked_real, strays=(0.0, MAX_STRAYS))

    @classmethod
    def of(cls, tree: TreeParameters, facts: Facts, options: Mapping[str, Any]) -> Self:
        """Choose what the options leave open.

        Parameters
        ----------
        tree : TreeParameters
            The shape of the tree.
        facts : Facts
            Of the study.
        options : mapping
            Any of `constants` ("practical", or "theory": the paper's decoder to the letter), `alpha` (α of
            the theory), `expansion`, `rounds` and `strays`.

        Examples
        --------
        >>> from coterie.plan import Plan
        >>> plan = Plan.design(2, 4, 1.0, 200_000, protocol="net-tree")
        >>> TreeDecoding.of(plan.parameters, plan.facts, {})
        TreeDecoding(expansion=1, rounds=18, strays=0.5, solver_ratio=inf)
        >>> TreeDecoding.of(plan.parameters, plan.facts, {"constants": "theory"})
        TreeDecoding(expansion=71736, rounds=18, strays=0.0, solver_ratio=26.7)
        """
        checked_options("the decoder of a net tree", DECODER_OPTIONS, options)
        known: dict[str, Any] = {**dict.fromkeys(DECODER_OPTIONS), **options}
        theory = checked_choice("constants", known["constants"] or "practical", CONSTANTS) == "theory"
        alpha = checked_real("alpha", ALPHA if known["alpha"] is None else known["alpha"], 1e-6, 1.0)
        usual: dict[str, Any] = {
            "expansion": min(expansion_for(tree.projected, alpha), MAX_EXPANSION) if theory else 1,
            "rounds": max(1, math.ceil(math.log2(facts.expected_users))),
            "strays": 0.0 if theory else tree.usual_strays,
        }
        chosen = {name: usual[name] if known[name] is None else known[name] for name in usual}
        return cls(**chosen, solver_ratio=SEARCH_RATIO if theory else math.inf)
