"""What is promised and what it costs: guarantees, exact odds, accounting, and what a device allows.

Everything here is arithmetic on public numbers, done in integers or rationals and rounded so that the
promise is kept: a privacy parameter is never understated.
"""

from coterie.privacy.guarantee import MODELS, Guarantee
from coterie.privacy.odds import BASE_ODDS, MAX_EPSILON, largest_odds, product_allowed, spent_by_product
from coterie.privacy.policy import Policy, Spending

__all__ = [
    "BASE_ODDS",
    "MAX_EPSILON",
    "MODELS",
    "Guarantee",
    "Policy",
    "Spending",
    "largest_odds",
    "product_allowed",
    "spent_by_product",
]
