"""Split-and-mix: sums modulo a prime from shares that say nothing else once mixed (Ishai et al. 2006).

A person splits a value x modulo q into m shares: m-1 uniform ones and the one that makes the sum x. A
shuffler mixes everybody's shares of one sum (a *group* of n people). Their total is the total of the values;
beyond it the mixed shares say almost nothing: for any two inputs of equal total the laws of the mixed
multiset have statistical distance at most 2^-σ when (Balle, Bell, Gascón, Nissim 2020, worst case, n ≥ 19)

    m ≥ 2 + (2σ + log₂ q) / (log₂ n - log₂ e).

(The average-case bound has 1 for 2 and is not enough: privacy is about the worst input.) If the total alone
is (ε, δ)-private, the mixed shares of c sums are (ε, δ + c·(1+e^ε)·2^-σ)-private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.coins import Coins
from coterie.errors import PlanError, ReportError
from coterie.plain.pieces import pieces

MAX_MODULUS: Final = 1 << 62
MAX_SHARES: Final = 1 << 10
SMALLEST_GROUP: Final = 19  # the bound is proved from here on

_PRIME_WITNESSES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # decide below 3.3·10²⁴
_OUTWARD: Final = 1e-9  # bits; floats here err by 10⁻¹⁴


def shares_needed(security_bits: float, modulus: int, group: int) -> int:
    """Return m, the number of shares that 2^-`security_bits` needs in a group of `group` people.

    Examples
    --------
    >>> shares_needed(40, (1 << 32) + 15, 10_000)
    12
    """
    _check_group(group)
    room = math.log2(group) - math.log2(math.e)
    return math.ceil(2 + (2 * security_bits + math.log2(modulus)) / room + _OUTWARD)


def security_of(shares: int, modulus: int, group: int) -> float:
    """Return σ, the bits of security that m shares give in a group of `group` people, rounded down.

    Examples
    --------
    >>> 40 <= security_of(12, (1 << 32) + 15, 10_000) < 47
    True
    """
    _check_group(group)
    room = math.log2(group) - math.log2(math.e)
    return ((shares - 2) * room - math.log2(modulus)) / 2 - _OUTWARD


def smallest_prime_above(number: int) -> int:
    """Return the smallest prime larger than `number`.

    Examples
    --------
    >>> smallest_prime_above(1 << 32)
    4294967311
    """
    candidate = number + 1
    while not is_prime(candidate):
        candidate += 1
    return candidate


def is_prime(number: int) -> bool:
    """Decide whether a number below 3.3·10²⁴ is prime (Miller-Rabin with witnesses that leave no doubt)."""
    if number < 2:
        return False
    if any(number % witness == 0 for witness in _PRIME_WITNESSES):
        return number in _PRIME_WITNESSES
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _PRIME_WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


@dataclass(frozen=True, slots=True)
class SplitAndMix:
    """Shares modulo a prime.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> mixer = SplitAndMix(modulus=101, shares=4)
    >>> shares = mixer.split(np.array([7, -3]), SimulationCoins(0))
    >>> shares.shape, mixer.total(shares.ravel())  # mixed, they still add up
    ((2, 4), 4)
    """

    modulus: int  # q, prime
    shares: int  # m

    def __post_init__(self) -> None:
        if not 2 <= self.modulus <= MAX_MODULUS or not is_prime(self.modulus):
            raise PlanError(f"the modulus must be a prime of at most 2^62, got {self.modulus}")
        if not 2 <= self.shares <= MAX_SHARES:
            raise PlanError(f"the number of shares must be in [2, {MAX_SHARES}], got {self.shares}")

    @property
    def share_bytes(self) -> int:
        """Bytes of one share."""
        return -(-(self.modulus - 1).bit_length() // 8)

    def split(self, values: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
        """Split every value modulo q: (...) -> (..., m). Outside simulation `coins` are the system's."""
        shares = np.empty((*values.shape, self.shares), dtype=np.int64)
        free = coins.below_many(self.modulus, values.size * (self.shares - 1))
        shares[..., :-1] = free.reshape(*values.shape, self.shares - 1)
        rest = values % self.modulus
        for place in range(self.shares - 1):  # each step stays below 2^63
            rest -= shares[..., place]
            rest += self.modulus * (rest < 0)
        shares[..., -1] = rest
        return shares

    def total(self, shares: NDArray[np.int64]) -> int:
        """Return the centered total of mixed shares: in (-q/2, q/2]."""
        return int(self.centered(self.add_up(shares, np.zeros(shares.shape, dtype=np.int64), 1))[0])

    def add_up(self, shares: NDArray[np.int64], places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return the sums modulo q by place: shares (n,), places (n,) in [0, count) -> (count,).

        Raises
        ------
        ReportError
            If a share is no element of the field.
        """
        if shares.size and (shares.min() < 0 or shares.max() >= self.modulus):
            wrong = int(((shares < 0) | (shares >= self.modulus)).argmax())
            raise ReportError(
                f"share {wrong} of {shares.size} lies outside the field of {self.modulus} elements; "
                "none of these shares was added"
            )
        # Halves of 31 bits: 2^32 of them add up exactly.
        high = _sums_by_place(shares >> 31, places, count)
        low = _sums_by_place(shares & ((1 << 31) - 1), places, count)
        return np.array(
            [((a << 31) + b) % self.modulus for a, b in zip(high.tolist(), low.tolist(), strict=True)],
            dtype=np.int64,
        )

    def centered(self, residues: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the representative of each residue that is nearest to 0."""
        return np.where(residues > self.modulus // 2, residues - self.modulus, residues)


def _sums_by_place(values: NDArray[np.int64], places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return exact sums by place; a float64 bincount is exact for 2^22 values below 2^31 at a time."""
    sums = np.zeros(count, dtype=np.int64)
    for piece in pieces(len(values), 1 << 22):
        sums += np.bincount(places[piece], weights=values[piece], minlength=count).astype(np.int64)
    return sums


def _check_group(group: int) -> None:
    if group < SMALLEST_GROUP:
        raise PlanError(
            f"split-and-mix is proved for groups of {SMALLEST_GROUP} people or more, got {group}: "
            "plan for more people or fewer rows"
        )
