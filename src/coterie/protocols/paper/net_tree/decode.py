"""Decoding `net-tree`: a table to oracles; from oracles to centers is `paper.tree.decode`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers.solution import Solution
from coterie.plain.pieces import pieces
from coterie.protocols.paper.answers import unpack_bits
from coterie.protocols.paper.net_tree.oracles.codeword_levels import CodewordLevels
from coterie.protocols.paper.net_tree.oracles.explicit_hist import ExplicitHist
from coterie.protocols.paper.net_tree.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.protocols.paper.net_tree.oracles.signs import PathMasks
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters, NetTreeParameters
from coterie.protocols.paper.net_tree.report import NetTreeStream
from coterie.protocols.paper.net_tree.report_codeword import CodewordTreeStream
from coterie.protocols.paper.net_tree.table import NetTreeTable
from coterie.protocols.paper.tree.decode import decode_tree
from coterie.protocols.paper.tree.oracle import TreeOracles
from coterie.randomizers.sphere import djw_norm
from coterie.wire.layout import ID_BYTES

_REPORTS_AT_A_TIME: Final = 1 << 16


def decode(tables: Sequence[Aggregate], clusters: int, rng: np.random.Generator, **options: Any) -> Solution:
    """Find the centers of a `net-tree` table; options as for `paper.tree.decode.decode_tree`."""
    return decode_tree(tables, clusters, rng, lambda table, floored: tree_oracles(table), **options)


def tree_oracles(table: object) -> TreeOracles:
    """Return f̃ and ṽ of a table: of bits, or of codewords."""
    held = cast("NetTreeTable", table)
    if isinstance(held.plan.parameters, CodewordTreeParameters):
        oracle = codeword_oracle(held)
        return oracle, oracle
    return oracles_of(held)


def oracles_of(table: NetTreeTable) -> tuple[ExplicitHist, ExplicitHistVector]:
    """Return the two oracles of the reports in a table."""
    plan, parameters = table.plan, NetTreeParameters.of(table.plan)
    stream, levels, reports = NetTreeStream(plan), parameters.levels, table.reports
    ids, choices, masks = _chosen(stream, reports)
    answers = unpack_bits(reports, 2 * levels)
    counts = np.ascontiguousarray((answers[:, :levels] * choices.count_signs).T)
    vectors = np.ascontiguousarray((answers[:, levels:] * choices.vector_signs).T)
    bits = (parameters.ratio**parameters.projected - 1).bit_length()
    norm = djw_norm(stream.lifted, parameters.vector_response.scale)

    def directions(piece: slice, level: int) -> NDArray[np.int16]:
        return stream.directions(ids[piece], level)

    return (
        ExplicitHist(counts, masks, parameters.count_response, bits),
        ExplicitHistVector(vectors, masks, norm, directions, bits, plan.dimension),
    )


def codeword_oracle(table: NetTreeTable) -> CodewordLevels:
    """Return both oracles of the codewords in a table."""
    plan, stream = table.plan, CodewordTreeStream(table.plan)
    ids, choices, masks = _chosen(stream, table.reports)
    indices = table.reports[:, ID_BYTES].astype(np.int64)

    def turned(chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(stream.turned_back(ids[chosen], indices[chosen]) * choices.signs[chosen, None])

    parameters = CodewordTreeParameters.of(plan)
    return CodewordLevels(parameters, plan.dimension, choices.levels, masks, turned)


def _chosen(
    stream: NetTreeStream | CodewordTreeStream, reports: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], Any, PathMasks]:
    """Return the ids of reports and all that they choose, with the masks of their paths."""
    ids = np.ascontiguousarray(reports[:, :ID_BYTES])
    found: list[Any] = [stream.choices(ids[each]) for each in pieces(max(len(ids), 1), _REPORTS_AT_A_TIME)]
    choices = found[0]._make(map(np.concatenate, zip(*found, strict=True)))
    return ids, choices, PathMasks(choices.root_masks, np.asfortranarray(choices.digit_masks))
