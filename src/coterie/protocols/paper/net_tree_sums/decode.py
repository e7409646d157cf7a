"""Decoding `net-tree-sums`: a table to oracles; from oracles to centers is `paper.tree.decode`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

from coterie.aggregate import Aggregate
from coterie.centers.solution import Solution
from coterie.protocols.paper.k_means import NetTreeOutcome
from coterie.protocols.paper.net_tree_sums.confirmed import ConfirmedTreeSums
from coterie.protocols.paper.net_tree_sums.oracle import TreeSums
from coterie.protocols.paper.tree.decode import decode_tree
from coterie.protocols.paper.tree.oracle import TreeOracles
from coterie.protocols.shares.table import VectorSumTable

_LOST: Final = 0.05  # share of the people whose absence from all leaves is worth a word


def decode(tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, **options: Any) -> Solution:
    """Find the centers of a `net-tree-sums` table; options as for `paper.tree.decode.decode_tree`."""
    return decode_tree(tables, clusters, rng, tree_oracles, _about_buckets, **options)


def tree_oracles(table: object, floored: bool) -> TreeOracles:
    """Return f̃ and ṽ of a table, for a decoder with a noise floor or none."""
    sums = TreeSums(cast("VectorSumTable", table))
    return (ConfirmedTreeSums(sums) if floored else sums), sums


def _about_buckets(outcome: NetTreeOutcome, lost: float) -> list[str]:
    """Return in words what leaves of a bucket hide: whose people count elsewhere, and nobody's people."""
    notes = []
    if outcome.shared:
        notes.append(
            f"{outcome.shared} of the tree's leaves share a bucket with another leaf nearby: people of "
            "theirs are counted there, and two groups may be one center. More buckets keep them apart."
        )
    if lost > _LOST:
        notes.append(
            f"At least {lost:.0%} of the people are in no leaf that stands clear of the noise: they are "
            "spread thin, or groups far apart share a bucket. More buckets keep groups apart."
        )
    return notes
