"""The design of a plan of vector sums over a net tree: the tree, then noise and shares.

The shape is `paper.tree.design`'s; the practical depth is ⌈½·log₂ n⌉ where the tree is narrow and less
where a node has many children. The theorem needs every node alone in its bucket. Of N nodes, and M on a level
at most that people can be in (or n, if that is less), none shares in 2N·M/β buckets but for half of β, where
the paper has N·n: so many has a plan of `constants="theory"`, if its table has room for them. Noise,
modulus and shares are `coterie.protocols.shares.design`'s.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, Unpack

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.protocols.base import Facts
from coterie.protocols.paper.approximation import complete_nodes
from coterie.protocols.paper.net_tree_sums.parameters import NetTreeSumParameters
from coterie.protocols.paper.tree.design import BETA, TreeOptions, design_tree, fewest_levels
from coterie.protocols.shares.design import GRID_BITS, calibrated, smallest_batch, undecided
from coterie.protocols.shares.parameters import MAX_GRID_BITS, MAX_MODULUS
from coterie.randomizers.split_and_mix import SMALLEST_GROUP

TABLE_ENTRIES: Final = 5_000_000  # of a tree's table, by default
TREE_SHRINK: Final = 2.0  # c of Λ = √(d/d')/c: at d' = 6 one point in 2,000 falls outside, and T is deep
DEEP_DIGITS: Final = 24  # d'·T of a practical tree of sums: more are too many children to look at

_COUNT_SHARE: Final = 0.7072  # b > 1/√2: then 2 decides the influence, not 4a²


def design(
    facts: Facts,
    *,
    buckets: int | None = None,
    minimum_batch: int | None = None,
    **tree: Unpack[TreeOptions],
) -> NetTreeSumParameters:
    """Choose the parameters of a plan of vector sums over a net tree.

    Parameters
    ----------
    facts : Facts
        Of the study; the seed plays no part.
    buckets : int, optional
        s of each level; the paper's 2n/β (2N·M/β for the theory), or as many as keep the table below five
        million entries.
    minimum_batch : int, optional
        The fewest people to be released together; nine tenths of the expected users by default.
    **tree
        As in `paper.tree.design.design_tree`, but for c = 2 where `shrink` is not given.
    """
    users = facts.expected_users
    batch = smallest_batch(facts, minimum_batch)
    if facts.model != "central" and batch < SMALLEST_GROUP:
        raise PlanError(f"shares need {SMALLEST_GROUP} people or more to mix, got a batch of {batch}")

    def depth(onto: int, ratio: int, radius: float) -> int:
        least = fewest_levels(facts.clusters, onto, ratio, radius)
        return max(least, min(math.ceil(0.5 * math.log2(users)), DEEP_DIGITS // onto))

    if tree.get("shrink") is None:
        tree["shrink"] = TREE_SHRINK
    width = facts.dimension + NetTreeSumParameters.extra_coordinates
    theory = tree.get("constants") == "theory"

    def made(shape: dict[str, Any]) -> NetTreeSumParameters:
        draft = NetTreeSumParameters(
            **shape,
            buckets=1 if buckets is None else buckets,
            coordinates=width,
            grid_bits=_fine_grid(users),
            count_weight=int(_COUNT_SHARE * SCALE),
            group=batch,
            **undecided(facts, batch),
        )
        if buckets is None:
            by_level = complete_nodes(draft)
            pairs = (2 + sum(by_level)) * min(users, max(by_level)) if theory else users
            wanted = math.ceil(2 * pairs / tree.get("beta", BETA))
            room = TABLE_ENTRIES // (draft.levels * width)
            draft = replace(draft, buckets=max(min(wanted, room), 1))
        return calibrated(draft, facts, 2 * users)

    return design_tree(facts, depth, made, **tree)


def _fine_grid(users: int) -> int:
    """Return grid bits with 1/G ≤ 1/n, the paper's η, where the modulus has room for it: 12 to 20."""
    bits = (users - 1).bit_length()
    return max(GRID_BITS, min(bits, MAX_GRID_BITS, MAX_MODULUS.bit_length() - 4 - bits))
