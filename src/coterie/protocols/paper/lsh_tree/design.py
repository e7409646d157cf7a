"""The design of an lsh-tree plan; by default every choice is the paper's."""

from __future__ import annotations

from typing import Final

from coterie.errors import PlanError
from coterie.geometry.ball import SCALE
from coterie.plain.checks import checked_choice, checked_integer, checked_real
from coterie.privacy.odds import BASE_ODDS, largest_shared_odds, product_allowed
from coterie.protocols.base import Facts
from coterie.protocols.codeword.design import choose_embedding
from coterie.protocols.paper.lsh_tree.parameters import MAX_LEVELS, LshTreeParameters
from coterie.randomizers.codeword import CODEWORDS, best_cap

COUNTS: Final = ("histogram", "joint")
HISTOGRAM_SHARE: Final = 0.1  # of ε, the paper's
_LEVELS_BEYOND: Final = 3  # T = ⌈log₂k⌉ + 3, the paper's
_JOINT_COUNT_SHARE: Final = 0.3  # b, as in protocol codeword


def design(
    facts: Facts,
    *,
    levels: int | None = None,
    split: str = "users",
    randomizer: str = "djw",
    count: str = "histogram",
    histogram_share: float = HISTOGRAM_SHARE,
) -> LshTreeParameters:
    """Choose the parameters of an lsh-tree plan; by default every one is the paper's.

    Parameters
    ----------
    facts : Facts
        Of the study; users and seed play no part.
    levels : int, optional
        T; ⌈log₂k⌉ + 3 where None.
    split, randomizer
        As in `LshTreeParameters`.
    count : {"histogram", "joint"}
        How people are counted; "joint" spends all of ε on the vector.
    histogram_share : float
        Share of ε that the histogram takes; of "joint" the share that is left unspent, so that the two
        can be told apart.

    Examples
    --------
    >>> design(Facts(dimension=9, clusters=4, epsilon=1.0, expected_users=99), split="budget").report_width
    14
    """
    joint = checked_choice("count", count, COUNTS) == "joint"
    share = checked_real("histogram_share", histogram_share, 0.0, 0.99)
    if levels is None:
        levels = min((facts.clusters - 1).bit_length() + _LEVELS_BEYOND, MAX_LEVELS)
    levels, epsilon = checked_integer("levels", levels, 1, MAX_LEVELS), facts.epsilon
    answers = levels if split == "budget" else 1
    vector_odds = largest_shared_odds((1 - share) * epsilon, answers)
    count_odds = 0 if joint else (largest_shared_odds(share * epsilon, answers) if share > 0 else BASE_ODDS)
    if not joint and min(count_odds, vector_odds) <= BASE_ODDS:
        raise PlanError(
            f"epsilon {epsilon!r} is too small for a histogram share of {share:g} over {answers} answers: "
            "every bit would be a fair coin"
        )
    # The two shares are doubles and may add up to a last place more than ε.
    while not product_allowed(([] if joint else [count_odds] * answers) + [vector_odds] * answers, epsilon):
        vector_odds -= 1
    codewords = randomizer == "privunit"
    return LshTreeParameters(
        levels=levels,
        split=split,
        randomizer=randomizer,
        count_odds=count_odds,
        vector_odds=vector_odds,
        count_weight=int(_JOINT_COUNT_SHARE * SCALE) if joint else 0,
        cap=best_cap(CODEWORDS, min(vector_odds, largest_shared_odds(12.0, 1))) if codewords else 0,
        embedding=choose_embedding(facts.dimension, epsilon) if codewords else 0,
    )
