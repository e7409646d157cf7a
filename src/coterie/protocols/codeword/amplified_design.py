"""The design of a codeword plan in the shuffle model.

The largest ε₀ whose reports, shuffled in the smallest batch allowed, are (ε, δ)-private; at most `local_cap`,
because beyond ε₀ = 10 the best of 256 codewords is sent almost surely and a weaker local promise buys
nothing. Then the codeword design for that ε₀, with many cells: the noise allows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from coterie.errors import PlanError
from coterie.plain.checks import checked_real
from coterie.plan.views import CrossPolytope
from coterie.privacy.amplification import largest_local_epsilon
from coterie.protocols.base import Facts
from coterie.protocols.codeword import design as codeword_design
from coterie.protocols.codeword.amplified import AmplifiedParameters
from coterie.protocols.codeword.design import MANY_CELLS, NET_DIMENSION
from coterie.protocols.shares.design import smallest_batch

LOCAL_CAP: Final = 10.0  # ε₀ beyond this buys no accuracy

# So many cells are rarely shared, and what shares one in the first view does not in the second.
_VIEWS: Final = (CrossPolytope(MANY_CELLS // 2, 3), CrossPolytope(MANY_CELLS // 2, 1))


def design(
    facts: Facts, *, minimum_batch: int | None = None, local_cap: float = LOCAL_CAP
) -> AmplifiedParameters:
    """Choose the parameters of a codeword plan in the shuffle model.

    Parameters
    ----------
    facts : Facts
        Of the study.
    minimum_batch : int, optional
        The fewest reports to be released together; nine tenths of the expected users by default.
    local_cap : float
        The largest ε₀ to allow a single report.
    """
    batch, local = local_promise(facts, minimum_batch, local_cap)
    base = codeword_design.design(replace(facts, epsilon=local)).to_dict()
    views = {} if facts.dimension <= NET_DIMENSION else {"views": _VIEWS}
    return AmplifiedParameters(**base | views, local_epsilon=local, minimum_batch=batch)


def local_promise(facts: Facts, minimum_batch: int | None, local_cap: float) -> tuple[int, float]:
    """Return the smallest batch, and the largest ε₀ that it makes (ε, δ)-private."""
    batch = smallest_batch(facts, minimum_batch)
    cap = checked_real("local_cap", local_cap, 0.0, 16.0)
    if cap == 0:
        raise PlanError("local_cap must be in (0, 16], got 0")
    return batch, largest_local_epsilon(facts.epsilon, facts.delta, batch, cap=cap)
