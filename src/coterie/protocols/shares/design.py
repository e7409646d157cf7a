"""What the designs of vector sums share: noise, modulus and shares, and the smallest batch.

The smallest noise that Rényi accounting proves, for the influence on a grid that is fine enough for the
rounding to vanish and for each person's part of the noise to span two steps; then a modulus with room for
twice the people expected; then the shares that the mixing group needs. One hundredth of δ pays for the
shares.

*Batches.* By default one person in ten may drop out: every promise is made for nine tenths of the expected
users, and a shuffler releases no smaller batch.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeVar

from coterie.errors import PlanError
from coterie.plain.checks import MOST_PEOPLE, checked_integer
from coterie.privacy.renyi import least_scale
from coterie.protocols.base import Facts
from coterie.protocols.shares.parameters import SCALE_PARTS, SMALLEST_LOCAL_SCALE, ShareParameters
from coterie.randomizers.split_and_mix import shares_needed
from coterie.randomizers.vector_sums import modulus_for

DROP_OUTS: Final = 10  # one person in so many may drop out
GRID_BITS: Final = 12

Draft = TypeVar("Draft", bound=ShareParameters)

_LARGE_PARTS: Final = 1 << 24
_SHARES_PART: Final = 0.01  # of δ


def smallest_batch(facts: Facts, minimum_batch: int | None) -> int:
    """Return the fewest people to be released together, nine tenths of the expected ones where None."""
    if minimum_batch is None:
        return max(1, facts.expected_users - facts.expected_users // DROP_OUTS)
    batch = checked_integer("minimum_batch", minimum_batch, 1, MOST_PEOPLE)
    if batch > facts.expected_users:
        raise PlanError(f"minimum_batch must be in [1, expected_users = {facts.expected_users}], got {batch}")
    return batch


def undecided(facts: Facts, batch: int) -> dict[str, Any]:
    """Return who adds the noise and mixes, with the least that is allowed of what `calibrated` finds."""
    curator = facts.model == "central"
    return {
        "noise": "curator" if curator else "everyone",
        "noise_parts": 1,
        "minimum_batch": batch,
        "modulus": 0 if curator else 2,
        "shares": 0 if curator else 2,
    }


def calibrated(draft: Draft, facts: Facts, largest: int) -> Draft:
    """Return a draft with the noise, the modulus and the shares that make it (ε, δ)-private.

    `largest` is the most people whose vectors one entry has room for.
    """
    curator = draft.noise == "curator"
    draft = _with_noise(draft, facts.epsilon, facts.delta * (1 - (not curator) * _SHARES_PART))
    return draft if curator else _with_shares(draft, facts.epsilon, facts.delta, largest)


def _with_noise(draft: Draft, epsilon: float, delta: float) -> Draft:
    """Return the draft with the smallest noise that is (ε, δ)-private, on a fine enough grid."""
    while True:
        scale = least_scale(partial(draft.curve, None), epsilon, delta, parts=SCALE_PARTS)
        if scale >= SMALLEST_LOCAL_SCALE:
            if scale * SCALE_PARTS > _LARGE_PARTS:
                scale = Fraction(math.ceil(scale))  # the sampler's integers have no room for 64ths of it
            return replace(draft, noise_parts=int(scale * SCALE_PARTS))
        draft = replace(draft, grid_bits=draft.grid_bits + 1)


def _with_shares(draft: Draft, epsilon: float, delta: float, largest: int) -> Draft:
    """Return the draft with a modulus for `largest` people a row and as many shares as the group needs."""
    modulus = modulus_for(largest, draft.grid, float(draft.noise_scale) * math.sqrt(largest))
    bits = math.log2(draft.touched * (1 + math.exp(epsilon)) / (_SHARES_PART * delta)) + 1e-6
    shares = shares_needed(bits, modulus, draft.group)
    return replace(draft, modulus=modulus, shares=shares)
