"""What a device is willing to spend: the owner's policy, checked before anything is drawn.

A plan comes from outside, and so does the next one. Each keeps its own promise, yet what several plans learn
of one person adds up: ε, δ and ε₀ (what a report promises if mixing fails), each by itself. A policy bounds
all of them, for one plan and for all plans that a ledger remembers.

What mixing adds to a report's own promise, nobody on the device can see. Two plans of ε₀ = 10 whose mixer is
the analyst tell a flag of their person in 88.5 % of all cases, while their ε adds up to 2. So a plan of the
shuffle model is answered only if the owner names the shuffler that he trusts, by its key.

Sums are exact: a figure is the fraction that its double is, a sum is a fraction, and what is shown is rounded
up.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from datetime import timedelta
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import Final, Self

from coterie.errors import PolicyError
from coterie.privacy.guarantee import MODELS

PERSON: Final = "person"
MAX_SIZE: Final = 1 << 24  # rows × dimension of all views of one plan; those that are designed have 2^22
MAX_DELTA: Final = 1e-5  # of one plan, unless the batch demands less: 1/minimum_batch

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Spending:
    """What one plan, or several, may spend of one person's privacy, exactly.

    Attributes
    ----------
    epsilon, delta : Fraction
        The promise.
    local_epsilon : Fraction or None
        The loss if mixing fails; ε itself in the local model. None where nothing is promised then.

    Examples
    --------
    >>> both = Spending.of(0.1, 0.0, 0.1) + Spending.of(0.2, 1e-6, math.inf)
    >>> str(both)
    'epsilon 0.300001, delta 0.00000100000, local epsilon without bound'
    """

    epsilon: Fraction
    delta: Fraction
    local_epsilon: Fraction | None  # None is infinity

    @classmethod
    def of(cls, epsilon: float, delta: float, local_epsilon: float) -> Self:
        """Return the spending of one plan, each double as the fraction it is."""
        local = None if local_epsilon == math.inf else Fraction(local_epsilon)
        return cls(Fraction(epsilon), Fraction(delta), local)

    @classmethod
    def nothing(cls) -> Self:
        """Return what someone has spent who never answered."""
        return cls(Fraction(0), Fraction(0), Fraction(0))

    def __add__(self, other: Spending) -> Spending:
        local = (
            None
            if self.local_epsilon is None or other.local_epsilon is None
            else self.local_epsilon + other.local_epsilon
        )
        return Spending(self.epsilon + other.epsilon, self.delta + other.delta, local)

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}, delta {shown(self.delta)}, local epsilon " + (
            "without bound" if self.local_epsilon is None else shown(self.local_epsilon)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the owner of a device allows: by plan, and in all.

    Attributes
    ----------
    models : tuple of str
        Trust models that may be answered: of "local", "shuffle", "central".
    shufflers : tuple of str
        Public keys, 64 hex digits each, of the shufflers that are trusted to mix. Without any no plan of the
        shuffle model is answered. `RemoteCollector(url, shufflers=policy.shufflers)` sends to those only.
    max_epsilon, max_local_epsilon, max_delta : float
        The most that one plan may ask. `max_delta` None is 10⁻⁵ or one in `minimum_batch`, whichever is less.
        `max_local_epsilon` infinite allows reports that promise nothing unless they are mixed.
    max_size : float
        The most rows × dimension that the views of one plan may have: what a plan can make a device compute.
        A larger plan is valid, and refused.
    total_epsilon, total_local_epsilon, total_delta : float
        The most that all plans together may ask, by the ledger. Without a ledger no total is kept. The sum of
        ε₀ is what is lost if nothing was ever mixed: by default one plan of ε₀ = 10 fits, and no second.
    per : "person" or datetime.timedelta
        "person": the totals are for good. A period of whole days: they are for any such period, and the
        promise is "per period": over many of them what is learned has no bound.

    Examples
    --------
    >>> Policy().check("local", Spending.of(1.0, 0.0, 1.0))
    >>> Policy().check("local", Spending.of(6.0, 0.0, 6.0))
    Traceback (most recent call last):
    ...
    coterie.errors.PolicyError: the plan asks for epsilon 6, and this device allows 4; nothing was drawn
    """

    models: tuple[str, ...] = ("local", "shuffle")
    shufflers: tuple[str, ...] = ()
    max_epsilon: float = 4.0
    max_local_epsilon: float = 10.0
    max_delta: float | None = None
    max_size: float = MAX_SIZE
    total_epsilon: float = 8.0
    total_local_epsilon: float = 12.0
    total_delta: float = 1e-4
    per: str | timedelta = PERSON

    def __post_init__(self) -> None:
        if not set(self.models) <= set(MODELS):  # a string's letters are no models either
            raise PolicyError(f"models must be some of {', '.join(MODELS)}")
        object.__setattr__(self, "models", tuple(self.models))
        if not all(_is_key(each) for each in self.shufflers):  # nor are a string's letters
            raise PolicyError(
                "shufflers are public keys of 64 hex digits each, as `coterie serve` prints them"
            )
        object.__setattr__(self, "shufflers", tuple(self.shufflers))
        for name in (each.name for each in fields(self) if each.name.startswith(("max_", "total_"))):
            value = getattr(self, name)
            if name == "max_delta" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
                raise PolicyError(f"{name} must be a number of 0 or more")
            object.__setattr__(self, name, float(value))
        if self.per == PERSON:
            return
        if not isinstance(self.per, timedelta) or self.per < _DAY or self.per % _DAY:
            raise PolicyError('per must be "person" or a timedelta of whole days, at least one')

    @property
    def days(self) -> int | None:
        """The period of the totals in days; None is for good."""
        return self.per // _DAY if isinstance(self.per, timedelta) else None

    def check(self, model: str, asked: Spending, minimum_batch: int = 1, size: int = 0) -> None:
        """Raise PolicyError unless one plan may ask this much, and have views of this size."""
        if model not in self.models:
            allowed = ", ".join(self.models) or "none"
            raise PolicyError(
                f"the plan is for the {model} model, and this device answers {allowed}; nothing was drawn"
            )
        if model == "shuffle" and not self.shufflers:
            alone = "nothing" if asked.local_epsilon is None else f"epsilon {shown(asked.local_epsilon)}"
            raise PolicyError(
                "the plan is for the shuffle model, and this device knows no shuffler: unless somebody else "
                f"than the analyst mixes it, a report promises {alone}, not epsilon {shown(asked.epsilon)}. "
                "Name the key of one that is trusted, Policy(shufflers=[...]); nothing was drawn"
            )
        if size > self.max_size:
            raise PolicyError(
                f"the plan's views have {size} rows times dimensions, and this device allows "
                f"{self.max_size:.0f}; nothing was drawn"
            )
        max_delta = min(MAX_DELTA, 1 / minimum_batch) if self.max_delta is None else self.max_delta
        _check("the plan asks", asked, (self.max_epsilon, max_delta, self.max_local_epsilon))

    def check_total(self, before: Spending, asked: Spending) -> None:
        """Raise PolicyError unless so much may be spent in all, after what was spent before."""
        limits = (self.total_epsilon, self.total_delta, self.total_local_epsilon)
        _check("all plans of the ledger together would ask", before + asked, limits)


def shown(value: Fraction) -> str:
    """Write a fraction with six digits, rounded up.

    Examples
    --------
    >>> shown(Fraction(1, 3)), shown(Fraction(2))
    ('0.333334', '2')
    """
    if value.denominator == 1:
        return str(value.numerator)
    up = Context(prec=6, rounding=ROUND_CEILING)
    digits = up.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{digits:f}" if value > Fraction(1, 10**9) else f"{digits:e}"


def _is_key(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[0-9a-fA-F]{64}", text) is not None


def _check(who: str, asked: Spending, limits: tuple[float, float, float]) -> None:
    figures = (asked.epsilon, asked.delta, asked.local_epsilon)
    for name, value, limit in zip(("epsilon", "delta", "local epsilon"), figures, limits, strict=True):
        if limit == math.inf or (value is not None and value <= Fraction(limit)):
            continue
        if value is None:
            raise PolicyError(
                f"{who} for reports that promise nothing unless they are mixed, and this device allows "
                f"{name} {limit:g} (infinity would allow them); nothing was drawn"
            )
        raise PolicyError(
            f"{who} for {name} {shown(value)}, and this device allows {limit:g}; nothing was drawn"
        )
