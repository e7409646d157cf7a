"""The protocols a plan may name: which class holds their numbers, which function designs them.

Adding one is a line in each table, a file of numbers and a file of design.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from coterie.plan.base import Numbers
from coterie.plan.codeword import CodewordNumbers
from coterie.plan.design import design_codeword
from coterie.plan.lsh_tree import LshTreeNumbers, design_lsh_tree
from coterie.plan.net_tree import NetTreeNumbers
from coterie.plan.net_tree_design import design_net_tree

# Chooses a protocol's numbers from the public facts of a study, all of them checked before (keywords
# dimension, clusters, epsilon, expected_users, seed), and from the options the protocol has besides.
Designer = Callable[..., Numbers]

NUMBERS: Final[dict[str, type[Any]]] = {
    "codeword": CodewordNumbers,
    "net-tree": NetTreeNumbers,
    "lsh-tree": LshTreeNumbers,
}
DESIGNERS: Final[dict[str, Designer]] = {
    "codeword": design_codeword,
    "net-tree": design_net_tree,
    "lsh-tree": design_lsh_tree,
}
