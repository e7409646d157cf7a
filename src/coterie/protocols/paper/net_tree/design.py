"""The design of a net-tree plan: the shape of the tree (`paper.tree.design`), then the odds.

*Depth.* The smallest T with 3k cells where the data can be. With many people the noise of a further level is
nothing, and T grows with log n: as long as the noise moves the center of n/k people by 0.03 at most, up to
T = 6. With `randomizer="codeword"`: 12k cells, 0.015.

*Ratio.* 2, the paper's. Codewords are precise enough for smaller cells, and with 3 a level has them at once:
the noise stays that of one level, and groups share a cell two to six times more rarely (of eight random
groups in 100 dimensions two share one in 7 studies of 100, in 47 with the ratio 2).

*Odds.* Of bits: ε/2 for counts, ε/2 for vectors, T parts each. Of codewords: the whole of ε, once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, Unpack

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plain.checks import checked_choice
from coterie.privacy.odds import BASE_ODDS, largest_shared_odds
from coterie.protocols.base import Facts
from coterie.protocols.codeword.amplified_design import LOCAL_CAP, local_promise
from coterie.protocols.codeword.design import choose_embedding
from coterie.protocols.paper.net_tree.amplified import AmplifiedTreeParameters
from coterie.protocols.paper.net_tree.parameters import (
    CodewordTreeParameters,
    LocalTreeParameters,
    NetTreeParameters,
)
from coterie.protocols.paper.tree.design import (
    CELLS_A_CLUSTER,
    PRACTICAL_LEVELS,
    TreeOptions,
    design_tree,
    fewest_levels,
)
from coterie.randomizers.codeword import CODEWORDS, CodewordRandomizer, best_cap
from coterie.randomizers.sphere import djw_norm

CODEWORD_COUNT_SHARE: Final = 0.5  # b: leaves are told from noise by it, parts are counted by length
QUIET: Final = 0.03  # radii by which noise may move the center of n/k people before a level is too many
CODEWORD_RATIO: Final = 3  # q: with less noise smaller cells pay, and fewer clusters share one
CODEWORD_QUIET: Final = 0.015
CODEWORD_CELLS: Final = 12.0  # a level costs √T there, not T


def design(
    facts: Facts,
    *,
    randomizer: str = "djw",
    **tree: Unpack[TreeOptions],
) -> LocalTreeParameters:
    """Choose the parameters of a net-tree plan.

    Parameters
    ----------
    facts : Facts
        Of the study; the seed plays no part.
    randomizer : {"djw", "codeword"}
        What a person sends: the paper's 2T bits, or one of 256 codewords for one level.
    **tree
        As in `paper.tree.design.design_tree`; the ratio is 3 for codewords with practical constants,
        if none is given.

    Raises
    ------
    PlanError
        If no server could decode such a plan; the message has the numbers.

    Examples
    --------
    >>> facts = Facts(dimension=100, clusters=8, epsilon=4.0, expected_users=200_000)
    >>> parameters = design(facts)
    >>> parameters.projected, parameters.levels, parameters.report_width
    (6, 1, 13)
    """
    by_codeword = checked_choice("randomizer", randomizer, ("djw", "codeword")) == "codeword"
    if by_codeword and tree.get("constants", "practical") == "practical":
        tree = {"ratio": CODEWORD_RATIO, **tree}
    law = _codeword_law(facts) if by_codeword else {}
    cells, quiet = (CODEWORD_CELLS, CODEWORD_QUIET) if by_codeword else (CELLS_A_CLUSTER, QUIET)

    def depth(onto: int, ratio: int, radius: float) -> int:
        chosen = fewest_levels(facts.clusters, onto, ratio, radius, cells)
        while chosen < PRACTICAL_LEVELS and _center_noise(facts, law, chosen + 1) <= quiet:
            chosen += 1
        return chosen

    def made(shape: dict[str, Any]) -> LocalTreeParameters:
        if by_codeword:
            return CodewordTreeParameters(**shape, **law)
        odds = largest_shared_odds(facts.epsilon, 2 * shape["levels"])
        if odds <= BASE_ODDS:
            raise PlanError(
                f"epsilon {facts.epsilon!r} is too small for {shape['levels']} levels: every bit would be a "
                "fair coin"
            )
        return NetTreeParameters(**shape, count_odds=odds, vector_odds=odds)

    return design_tree(facts, depth, made, **tree)


def design_amplified(
    facts: Facts,
    *,
    minimum_batch: int | None = None,
    local_cap: float = LOCAL_CAP,
    **tree: Unpack[TreeOptions],
) -> AmplifiedTreeParameters:
    """Choose the parameters of a net-tree plan in the shuffle model: codewords of the largest ε₀ that serves.

    Parameters
    ----------
    facts : Facts
        Of the study.
    minimum_batch : int, optional
        The fewest reports to be released together; nine tenths of the expected users by default.
    local_cap : float
        The largest ε₀ to allow a single report.
    **tree
        As in `design`.
    """
    batch, local = local_promise(facts, minimum_batch, local_cap)
    alone = replace(facts, epsilon=local, model="local", delta=0.0)
    chosen = design(alone, randomizer="codeword", **tree).to_dict()
    return AmplifiedTreeParameters(**chosen, local_epsilon=local, minimum_batch=batch)


def _codeword_law(facts: Facts) -> dict[str, int]:
    """Return A, m, P and b of codewords for one level."""
    odds = largest_shared_odds(facts.epsilon, 1)
    if odds <= BASE_ODDS:
        raise PlanError(f"epsilon {facts.epsilon!r} is too small: the odds of all codewords are the same")
    return {
        "odds": odds,
        "cap": best_cap(CODEWORDS, min(odds, largest_shared_odds(12.0, 1))),
        "embedding": choose_embedding(facts.dimension, facts.epsilon),
        "count_weight": int(CODEWORD_COUNT_SHARE * SCALE),
    }


def _center_noise(facts: Facts, law: dict[str, Any], levels: int) -> float:
    """Return how far noise moves the center of n/k people in one leaf, in radii.

    k·B/√n for bits, k·√(T·d/n)/(κa) for codewords.
    """
    if not law:
        share = facts.epsilon / (2 * levels)
        norm = djw_norm(facts.dimension + 1, 1 / math.tanh(share / 2))
        return facts.clusters * norm / math.sqrt(facts.expected_users)
    gain = CodewordRandomizer(CODEWORDS, law["cap"], law["odds"]).gain(law["embedding"])
    share = (law["count_weight"] / SCALE) ** 2
    return facts.clusters * math.sqrt(levels * facts.dimension / (1 - share) / facts.expected_users) / gain
