"""BuildTree and ComputeThreshold (the paper's Algorithms 1 and 2).

From the root down, the nodes of a level are sorted by noisy frequency and the τ heaviest get their children.
ComputeThreshold looks at what is left when the heaviest ka, 2ka, 3ka, … nodes are taken away, and stops as
soon as taking away a further ka leaves at least half: then the light nodes weigh no more than twice what
certainly costs any k centers, because ka + b nodes of a level force a cost on b of them (Corollary
"cor:opt-lb"). At most Γka nodes are expanded, so the tree has at most T·Γka·q^d nodes and the root's
children, whatever the oracle says.

The test runs on noisy frequencies (the paper's text has f there), clamped at zero; sums over leaves
elsewhere use them unclamped. With `strays` > 0 (0 in the paper) frequencies that noise alone explains count
as zero: the floor is so many standard deviations that about `strays` of a level's nodes would pass it if all
were empty. Such an oracle is still η-accurate for η ≥ floor, which is all the theorem asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DecodeError
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.tree.net_tree import NetTree, TreeLevel
from coterie.protocols.paper.tree.oracle import FrequencyOracle


@dataclass(frozen=True, slots=True)
class BuildParameters:
    """The parameters of BuildTree.

    Attributes
    ----------
    clusters : int
        k.
    expansion : int
        a: nodes of a level that one center may serve.
    rounds : int
        Γ: at most Γka nodes of a level are expanded.
    strays : float
        Empty nodes of a level expected to pass the floor by chance; 0 is no floor, as in the paper.
    max_nodes : int
        A tree that would grow beyond this is refused.
    """

    clusters: int  # k
    expansion: int  # a
    rounds: int  # Γ
    strays: float = 0.0
    max_nodes: int = 1 << 21

    @property
    def group(self) -> int:
        """Nodes taken away at a time (ka)."""
        return self.clusters * self.expansion


@dataclass(frozen=True, slots=True, eq=False)
class WeighedTree:
    """A net tree with the noisy frequency of each node."""

    tree: NetTree
    noisy_frequencies: tuple[NDArray[np.float64], ...]  # by level, unclamped
    floored: tuple[NDArray[np.float64], ...]  # by level, as BuildTree saw them

    def leaf_frequencies(self) -> NDArray[np.float64]:
        """Return the unclamped frequency of every leaf, in the order of `NetTree.leaf_points`."""
        return self._at_leaves(self.noisy_frequencies)

    def leaf_weights(self) -> NDArray[np.float64]:
        """Return the frequency of every leaf with what is below the floor as zero."""
        return self._at_leaves(self.floored)

    def _at_leaves(self, values: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        return np.concatenate([values[number][where] for number, _, where in self.tree.leaves()])


def compute_threshold(frequencies: NDArray[np.float64], group: int, rounds: int) -> int:
    """Return τ, how many of the heaviest nodes to expand (ComputeThreshold).

    Parameters
    ----------
    frequencies : ndarray of float64, shape (m,)
        Of the nodes of a level, at least zero, in non-decreasing order.
    group, rounds : int
        ka and Γ.

    Examples
    --------
    >>> compute_threshold(np.array([1.0, 1.0, 1.0, 1.0, 9.0, 9.0]), group=2, rounds=3)
    2
    """
    count = len(frequencies)
    below = np.concatenate([[0.0], np.cumsum(frequencies)])  # below[i] = f_1 + … + f_i
    for j in range(1, min(rounds, count // group) + 1):
        if below[count - (j - 1) * group] <= 2 * below[count - j * group]:
            return (j - 1) * group
    return min(count, rounds * group)


def build_tree(nets: NetFamily, oracle: FrequencyOracle, parameters: BuildParameters) -> WeighedTree:
    """Grow a net tree where the noisy frequencies are (BuildTree).

    Examples
    --------
    >>> class Everybody:  # an oracle that sees all people in every bucket
    ...     reports = 10
    ...     def frequencies(self, level, paths):
    ...         return np.full(len(paths), 10.0)
    ...     def deviation(self, level):
    ...         return 0.0
    >>> nets = NetFamily.from_key(bytes(16), dimension=2, levels=2)
    >>> build_tree(nets, Everybody(), BuildParameters(clusters=2, expansion=99, rounds=3)).tree.nodes > 15
    True
    """
    tree = NetTree.of_root(nets)
    # The root's frequency is never encoded: it is the number of reports.
    noisy = [np.array([float(oracle.reports)])]
    floored = [noisy[0].copy()]
    for number in range(nets.levels):
        count = compute_threshold(np.sort(floored[-1]), parameters.group, parameters.rounds)
        if not count:
            break
        size = tree.nodes + (count * nets.branching if number else 0)
        if size > parameters.max_nodes:
            raise DecodeError(
                f"the tree would have up to {size} nodes, more than {parameters.max_nodes}: take a smaller "
                "expansion, fewer rounds or levels, or project to fewer dimensions"
            )
        expand = np.zeros(len(floored[-1]), dtype=np.bool_)
        expand[np.argsort(floored[-1], kind="stable")[-count:]] = True  # the heaviest, later ones on ties
        tree = tree.grown(expand)
        level: TreeLevel = tree.levels[-1]
        noisy.append(oracle.frequencies(number + 1, level.paths))
        least = floor_of(len(level), parameters.strays) * oracle.deviation(number + 1)
        floored.append(np.where(noisy[-1] >= least, np.maximum(noisy[-1], 0.0), 0.0))
    return WeighedTree(tree, tuple(noisy), tuple(floored))


def floor_of(nodes: int, strays: float) -> float:
    """Return the standard deviations that about `strays` of so many normal deviates exceed; 0 for no strays.

    Examples
    --------
    >>> round(floor_of(1000, strays=0.5), 2), floor_of(1000, strays=0.0)
    (3.29, 0.0)
    """
    if strays <= 0 or nodes <= 2 * strays:
        return 0.0
    return NormalDist().inv_cdf(1 - strays / nodes)
