"""Decoding `net-tree`: a table to oracles; from oracles to centers is `paper.tree.decode`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from coterie.aggregate import Aggregate
from coterie.centers.solution import Solution
from coterie.protocols.paper.net_tree.oracles.codeword_levels import CodewordLevels
from coterie.protocols.paper.net_tree.oracles.explicit_hist import ExplicitHist
from coterie.protocols.paper.net_tree.oracles.explicit_hist_vector import ExplicitHistVector
from coterie.protocols.paper.net_tree.oracles.signs import PathMasks
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters, NetTreeParameters
from coterie.protocols.paper.net_tree.report import NetTreeStream, unpack_answers
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
    plan = table.plan
    parameters = NetTreeParameters.of(plan)
    reports = table.reports
    people, levels = len(reports), parameters.levels
    stream = NetTreeStream(plan)
    ids = np.ascontiguousarray(reports[:, :ID_BYTES])
    counts = np.empty((levels, people), dtype=np.int8)
    vectors = np.empty((levels, people), dtype=np.int8)
    masks = PathMasks(np.empty(people, dtype=np.int64), np.empty((people, levels), dtype=np.int64, order="F"))
    for start in range(0, people, _REPORTS_AT_A_TIME):
        piece = slice(start, start + _REPORTS_AT_A_TIME)
        choices = stream.choices(ids[piece])
        answers = unpack_answers(reports[piece], levels)
        counts[:, piece] = (answers[:, :levels] * choices.count_signs).T
        vectors[:, piece] = (answers[:, levels:] * choices.vector_signs).T
        masks.root[piece], masks.digits[piece] = choices.root_masks, choices.digit_masks
    digit_bits = (parameters.ratio**parameters.projected - 1).bit_length()
    return (
        ExplicitHist(counts, masks, parameters.count_response, digit_bits),
        ExplicitHistVector(
            vectors,
            masks,
            djw_norm(stream.lifted, parameters.vector_response.scale),
            lambda piece, level: stream.directions(ids[piece], level),
            digit_bits,
            plan.dimension,
        ),
    )


def codeword_oracle(table: NetTreeTable) -> CodewordLevels:
    """Return both oracles of the codewords in a table."""
    plan, reports = table.plan, table.reports
    stream = CodewordTreeStream(plan)
    ids = np.ascontiguousarray(reports[:, :ID_BYTES])
    parameters = CodewordTreeParameters.of(plan)
    people = len(reports)
    levels = np.empty(people, dtype=np.int64)
    signs = np.empty(people, dtype=np.int8)
    masks = PathMasks(
        np.empty(people, dtype=np.int64), np.empty((people, parameters.levels), dtype=np.int64, order="F")
    )
    for start in range(0, people, _REPORTS_AT_A_TIME):
        piece = slice(start, start + _REPORTS_AT_A_TIME)
        choices = stream.choices(ids[piece])
        levels[piece], signs[piece] = choices.levels, choices.signs
        masks.root[piece], masks.digits[piece] = choices.root_masks, choices.digit_masks
    indices = reports[:, ID_BYTES].astype(np.int64)

    def turned(chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        return stream.turned_back(ids[chosen], indices[chosen]) * signs[chosen, None]

    return CodewordLevels(parameters, plan.dimension, levels, masks, turned)
