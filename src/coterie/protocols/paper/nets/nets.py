"""The family of nets of a net tree, and the complete tree on it, in integers (docs/theory/net-tree.md).

Level i is the lattice A*_d scaled to covering radius q^-i (q = 2 in the paper) and shifted:

    L_i = q^-i·s·(Λ + τ),   i ≥ 1,   s = 1 / covering radius of Λ;        L_0 = {0}

A node is (i, u) with u ∈ Z^d. Its parent is the closest point of L_(i-1): the v that minimizes
‖(Bu + τ) - q(Bv + τ)‖ with B the generator. Write u = q·w + m with digits m ∈ {0, …, q-1}^d; then

    v = w + c[m],  c[m] = closest((Bm - (q-1)τ) / q),      or    v = (u - o[m]) / q,  o[m] = m - q·c[m]

so one table of q^d integer offsets gives every parent at every level, and its inverse the children u = q·v +
o[m]: exactly q^d of them. Encoder and server share the table, hence agree on every ancestor, and the only
closest point ever found in floats is the deepest one, by the encoder alone. Unshifted, half of the digits
would be ties; τ is public, random, and taken anew until every entry wins by a clear margin.

*Paths.* A node of level i is also named by i+1 numbers: w packed into one word (u_1 = q·w + m_1 at level 1,
four bits a coordinate), then the digits m_1, …, m_i of its ancestors down to itself, each as its number in
the table. Siblings differ in the last number alone, which is what lets an oracle answer for all of them at
once.

A child lies at q^-i·E[m], E[m] = s(B·o[m] - (q-1)τ)/q, from its parent at level i, with ‖E[m]‖ ≤ 1. So all
descendants of a node lie within its *tile*, node + Σ_{j≥i} q^-j·E[m_j]. A node matters only when its tile
meets the unit ball: `reachable` tests that by the tile's support function, and never refuses a node that
some point of the ball has as a representative.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import PlanError
from coterie.geometry.public_bytes import public_bytes
from coterie.plain.pieces import pieces
from coterie.protocols.paper.nets.lattice import DualRootLattice

RATIOS: Final = (2, 3, 4)  # q; the paper takes 2
MAX_TABLE: Final = 1 << 16  # entries of the offset table, q^d: a device builds it in about 0.1 GB
MAX_LEVELS: Final = 24
ROOT_BITS: Final = 4  # a coordinate of w in a path's first number
MAX_NET_DIMENSION: Final = 15  # of a net with paths: so many coordinates of four bits fit a signed word

_MARGIN: Final = 1e-9  # by which the closest point of every table entry must win, in squared lattice units
_ATTEMPTS: Final = 64
_SLACK: Final = 1e-9  # of `reachable`: lets rounding errors keep a node, never drop one


@dataclass(frozen=True, slots=True, eq=False)
class NetFamily:
    """Nets L_0, …, L_T in d dimensions and the parents between them. Built from a public key by `from_key`.

    Examples
    --------
    >>> nets = NetFamily.from_key(bytes(16), dimension=2, levels=3)
    >>> deepest = nets.closest(np.array([[0.3, -0.4]]))
    >>> parent = nets.parents(deepest)
    >>> bool((nets.children(parent)[0] == deepest).all(axis=1).any())
    True
    """

    lattice: DualRootLattice
    levels: int  # T
    ratio: int  # q
    shift: NDArray[np.float64]  # τ, (d,)
    offsets: NDArray[np.int64]  # o, (q^d, d)
    steps: NDArray[np.float64] = field(repr=False)  # E, (q^d, d)

    @classmethod
    def from_key(cls, key: bytes, dimension: int, levels: int, ratio: int = 2) -> NetFamily:
        """Draw the public shift from a 16-byte key and build the table of offsets."""
        if ratio not in RATIOS:
            raise PlanError(f"the ratio between levels must be one of {RATIOS}, got {ratio}")
        if not 1 <= levels <= MAX_LEVELS:
            raise PlanError(f"levels must be in 1..{MAX_LEVELS}, got {levels}")
        if ratio**dimension > MAX_TABLE:
            raise PlanError(
                f"a node would have {ratio}^{dimension} children; at most {MAX_TABLE} are supported: "
                "project to fewer dimensions"
            )
        if dimension > MAX_NET_DIMENSION:
            raise PlanError(
                f"nets have at most {MAX_NET_DIMENSION} dimensions, got {dimension}: project first"
            )
        lattice = DualRootLattice.of(dimension)
        digits = all_digits(dimension, ratio)  # m, (q^d, d)
        blocks = -(-4 * dimension // 16)
        for attempt in range(_ATTEMPTS):
            words = public_bytes(key, 4 * dimension, attempt * blocks).view(">u4").astype(np.float64)
            shift = lattice.generator @ (words / 2**32)  # uniform in a cell of the lattice
            places = (lattice.points(digits) - (ratio - 1) * shift) / ratio
            closest, margins = lattice.closest_with_margin(places)  # c
            if margins.min() > _MARGIN:
                offsets = digits - ratio * closest
                steps = (lattice.points(offsets) - (ratio - 1) * shift) / (ratio * lattice.covering_radius)
                return cls(lattice, levels, ratio, shift, offsets, steps)
        raise PlanError("no shift without ties was found for this key; take another seed")

    @property
    def dimension(self) -> int:
        """Dimension of the nets (d, or d' after a projection)."""
        return self.lattice.dimension

    @property
    def branching(self) -> int:
        """Children of every node but the root: q^d."""
        return len(self.offsets)

    def covering(self, level: int) -> float:
        """Covering radius ρ_i = q^-i."""
        return float(self.ratio) ** -level

    def points(self, level: int, names: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return where nodes of a level lie: (m, d) -> (m, d). The root (level 0) lies at 0."""
        if level == 0:
            return np.zeros(names.shape)
        scale = self.covering(level) / self.lattice.covering_radius
        return scale * (self.lattice.points(names) + self.shift)

    def closest(self, places: NDArray[np.float64], level: int | None = None) -> NDArray[np.int64]:
        """Return the closest node of a level (the deepest by default) to each place: (n, d) -> (n, d)."""
        level = self.levels if level is None else level
        scale = self.lattice.covering_radius / self.covering(level)
        return self.lattice.closest(places * scale - self.shift)

    def digits(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return m as one number Σ_j m_j·q^j, the entry of the table: (..., d) -> (...)."""
        powers = self.ratio ** np.arange(self.dimension)
        return np.asarray((names % self.ratio) @ powers)

    def parents(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the parents of nodes of any level ≥ 2: (n, d) -> (n, d)."""
        return (names - self.offsets[self.digits(names)]) // self.ratio

    def children(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return all children of nodes of any level ≥ 1, in the order of the table: (n, d) -> (n, q^d, d)."""
        return self.ratio * names[:, None, :] + self.offsets

    def representatives(self, places: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the potential representatives of each point, levels 1 to T: (n, d) -> (T, n, d)."""
        names = np.empty((self.levels, *places.shape), dtype=np.int64)
        names[-1] = self.closest(places)
        for level in range(self.levels - 1, 0, -1):
            names[level - 1] = self.parents(names[level])
        return names

    def root_words(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first number of the paths of level-1 nodes: (n, d) -> (n,)."""
        coarse = names // self.ratio + (1 << (ROOT_BITS - 1))  # w, moved to 0..15
        places = ROOT_BITS * np.arange(self.dimension)
        return np.asarray((coarse << places).sum(axis=-1, dtype=np.int64))

    def paths(self, representatives: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the path of each point down to level T: representatives (T, n, d) -> (n, T+1)."""
        return np.stack(
            [self.root_words(representatives[0]), *(self.digits(names) for names in representatives)], axis=1
        )

    def names_of(self, paths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the names u of nodes by their paths, all of one level: (n, level+1) -> (n, d)."""
        places = ROOT_BITS * np.arange(self.dimension)
        coarse = (paths[:, :1] >> places & ((1 << ROOT_BITS) - 1)) - (1 << (ROOT_BITS - 1))  # w
        powers = self.ratio ** np.arange(self.dimension)
        names = self.ratio * coarse + paths[:, 1:2] // powers % self.ratio
        for digits in paths[:, 2:].T:
            names = self.ratio * names + self.offsets[digits]
        return np.asarray(names)

    def reachable(self, level: int, names: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which nodes may be a representative of some point of the unit ball: (m, d) -> (m,).

        Some nodes that are none pass; every one that is passes.
        """
        points = self.points(level, names)
        distances = np.sqrt(np.einsum("ij,ij->i", points, points))
        inwards = -points / np.maximum(distances, 1e-300)[:, None]
        support = np.empty(len(points))
        for piece in pieces(len(points), 4096):  # (4096, q^d) at a time
            support[piece] = (inwards[piece] @ self.steps.T).max(axis=1)
        # Σ_{j=i}^{T-1} q^-j, then the cell of the deepest node itself.
        tile = (self.covering(level - 1) - self.covering(self.levels - 1)) / (self.ratio - 1)
        return np.asarray(distances <= 1 + tile * support + self.covering(self.levels) + _SLACK)

    def roots_children(self) -> NDArray[np.int64]:
        """Return all level-1 nodes that matter, (m, d), sorted."""
        longest = float(np.sqrt(np.einsum("ij,ij->i", self.steps, self.steps)).max())
        tile = (1 - self.covering(self.levels - 1)) / (self.ratio - 1) * longest
        radius = 1 + tile + self.covering(self.levels)
        scale = self.lattice.covering_radius / self.covering(1)
        names = self.lattice.within(-self.shift, radius * scale)
        return names[self.reachable(1, names)]


def all_digits(dimension: int, ratio: int) -> NDArray[np.int64]:
    """Return every m ∈ {0, …, q-1}^d, (q^d, d), ordered by the number Σ_j m_j·q^j.

    Examples
    --------
    >>> all_digits(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return np.arange(ratio**dimension)[:, None] // ratio ** np.arange(dimension) % ratio
