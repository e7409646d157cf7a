"""What is promised and what it costs: guarantees, exact odds, accounting.

Everything here is arithmetic on public numbers, done in integers or rationals and rounded so that the
promise is kept: a privacy parameter is never understated.
"""

from coterie.privacy.guarantee import MODELS, Guarantee
from coterie.privacy.odds import BASE_ODDS, MAX_EPSILON, largest_odds, odds_allowed, spent_epsilon

__all__ = [
    "BASE_ODDS",
    "MAX_EPSILON",
    "MODELS",
    "Guarantee",
    "largest_odds",
    "odds_allowed",
    "spent_epsilon",
]
