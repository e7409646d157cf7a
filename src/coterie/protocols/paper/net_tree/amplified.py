"""The parameters of `net-tree` in the shuffle model: codewords of a large local ε₀, hidden among each other.

Reports are those of layout 2, 13 bytes, and keep ε₀ by themselves; a shuffled batch of at least
`minimum_batch` of them keeps (ε, δ), as `codeword`'s does (`protocols.codeword.amplified`): both promises are
checked when a plan is read. The tree, its oracles and the decoder are those of the local model; n people give
an error of √n still, at the noise of ε₀ and not of ε.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from coterie.protocols.codeword.amplified import Amplified
from coterie.protocols.paper.net_tree.parameters import CodewordTreeParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class AmplifiedTreeParameters(Amplified, CodewordTreeParameters):
    """The parameters of a net-tree plan whose reports are shuffled.

    Attributes
    ----------
    levels, ratio, projected, scale, odds, cap, embedding, count_weight
        As in `CodewordTreeParameters`.
    local_epsilon : float
        ε₀, the promise of one report by itself.
    minimum_batch : int
        The fewest reports that a shuffler may release together.

    Examples
    --------
    >>> from coterie.plan import Plan
    >>> plan = Plan.design(2, 4, 1.0, 10**5, protocol="net-tree", model="shuffle", delta=1e-6)
    >>> plan.report_width, round(plan.parameters.local_epsilon, 2), plan.version
    (13, 7.66, 2)
    """

    plan_version: ClassVar[int] = 2
