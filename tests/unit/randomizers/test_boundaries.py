"""The last value that a randomizer takes and the first that it refuses, on every side."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.reproduction.shuffled_histogram import Blanket, poisson
from coterie.coins import SimulationCoins
from coterie.errors import PlanError, ReportError
from coterie.privacy.odds import BASE_ODDS
from coterie.randomizers.codeword import CodewordRandomizer
from coterie.randomizers.discrete_gaussian import DiscreteGaussian
from coterie.randomizers.discrete_laplace import DiscreteLaplace
from coterie.randomizers.response import BinaryResponse
from coterie.randomizers.split_and_mix import (
    SplitAndMix,
    is_prime,
    security_of,
    shares_needed,
    smallest_prime_above,
)
from coterie.randomizers.vector_sums import NOISE_REACH, VectorSums, modulus_for

MIXER = SplitAndMix(101, 2)


class Given:
    """Coins that were tossed before."""

    def __init__(self, values):
        self.values = np.array(values)

    def below_many(self, bound, size):
        assert size == len(self.values)
        assert (self.values < bound).all()
        return self.values


@pytest.mark.parametrize(
    ("make", "last", "refused", "message"),
    [
        (DiscreteGaussian, Fraction(2**25 - 1), Fraction(2**25), "positive fraction"),
        (DiscreteGaussian, Fraction(1, 2**25), Fraction(1, 2**25 + 1), "positive fraction"),
        (DiscreteLaplace, Fraction(2**40), Fraction(2**40 + 1), "positive fraction"),
        (DiscreteLaplace, Fraction(1, 2**40), Fraction(1, 2**40 + 1), "positive fraction"),
        (lambda odds: CodewordRandomizer(2, 1, odds), BASE_ODDS + 1, BASE_ODDS, "odds must exceed"),
        (
            lambda odds: CodewordRandomizer(2, 1, odds),
            2**53 - BASE_ODDS - 1,
            2**53 - BASE_ODDS,
            r"below 2\^53",
        ),
        (lambda count: CodewordRandomizer(count, 1, 2 * BASE_ODDS), 2, 1, "codewords must be in"),
        (
            lambda count: CodewordRandomizer(count, 1, 2 * BASE_ODDS),
            2**16,
            2**16 + 1,
            "codewords must be in",
        ),
        (lambda cap: CodewordRandomizer(9, cap, 2 * BASE_ODDS), 1, 0, "cap must be in"),
        (lambda cap: CodewordRandomizer(9, cap, 2 * BASE_ODDS), 8, 9, "cap must be in"),
        (BinaryResponse, BASE_ODDS + 1, BASE_ODDS, "odds must exceed"),
        (lambda modulus: SplitAndMix(modulus, 2), 2, 1, "must be a prime"),
        (
            lambda modulus: SplitAndMix(modulus, 2),
            2**62 - 57,
            smallest_prime_above(2**62),
            "must be a prime",
        ),
        (lambda shares: SplitAndMix(101, shares), 2, 1, "number of shares"),
        (lambda shares: SplitAndMix(101, shares), 1024, 1024 + 1, "number of shares"),
        (lambda rows: VectorSums(rows, 1, Fraction(0), MIXER), 1, 0, "at least one entry"),
        (lambda width: VectorSums(1, width, Fraction(0), MIXER), 1, 0, "at least one entry"),
        (
            lambda rows: VectorSums(rows, 3, Fraction(0), MIXER),
            (2**32 - 1) // 3,
            2**32 // 3 + 1,
            r"below 2\^32",
        ),
        (lambda rows: VectorSums(rows, 2, Fraction(0), MIXER), 2**31 - 1, 2**31, r"below 2\^32"),
        (lambda bins: Blanket(bins, Fraction(1), 1), 2, 1, "at least 2 bins"),
        (lambda people: Blanket(2, Fraction(1), people), 1, 0, "at least 2 bins"),
        (lambda rate: Blanket(2, rate, 1), Fraction(1, 10**9), Fraction(0), "at least 2 bins"),
        (lambda people: modulus_for(people, 1 << 20, 0.0), 1 << 39, 1 << 40, "beyond 2\\^61"),
        (lambda group: shares_needed(40, 101, group), 19, 18, "19 people or more"),
        (lambda group: security_of(9, 101, group), 19, 18, "19 people or more"),
        (lambda rate: poisson(rate, 0, SimulationCoins(0)), Fraction(0), Fraction(-1, 99), "not be negative"),
        (
            lambda rate: poisson(rate, 0, SimulationCoins(0)),
            Fraction(4096),
            4096 + Fraction(1, 9),
            "at most 4096",
        ),
        (
            lambda bin_: Blanket(4, Fraction(1), 1).encode(np.array([bin_]), SimulationCoins(0)),
            3,
            4,
            "outside",
        ),
        (
            lambda bin_: Blanket(4, Fraction(1), 1).encode(np.array([bin_]), SimulationCoins(0)),
            0,
            -1,
            "outside",
        ),
        (lambda share: MIXER.total(np.array([0, share])), 100, 101, "share 1 of 2"),
        (lambda share: MIXER.total(np.array([0, share])), 0, -1, "share 1 of 2"),
    ],
)
def test_the_last_value_is_taken_and_the_next_is_not(make, last, refused, message):
    make(last)
    with pytest.raises((PlanError, ReportError), match=message):
        make(refused)


def test_an_answer_lies_for_exactly_its_part_of_the_draws():
    response = BinaryResponse(3 * BASE_ODDS)
    drawn = [0, response.odds - 1, response.odds, response.total - 1]
    assert response.total == 4 * BASE_ODDS
    assert response.flips((2, 2), Given(drawn)).tolist() == [[False, False], [True, True]]
    assert response.scale == 2.0


def test_residues_are_centered_around_zero():
    assert MIXER.centered(np.array([0, 1, 50, 51, 100])).tolist() == [0, 1, 50, -50, -1]
    assert [SplitAndMix(q, 2).share_bytes for q in (2, 251, 257, 65521, 65537)] == [1, 1, 2, 2, 3]


def test_every_share_but_the_last_is_the_coins_own():
    shares = SplitAndMix(101, 3).split(np.array([7, -3]), Given([100, 100, 0, 5]))
    assert shares.tolist() == [[100, 100, (7 - 200) % 101], [0, 5, (-3 - 5) % 101]]


@pytest.mark.parametrize(
    "composite", [2152302898747, 3474749660383, 341550071728321, 3825123056546413051, 25, 37 * 41, 41 * 41]
)
def test_what_deceives_few_witnesses_is_no_prime(composite):
    assert not is_prime(composite)


def test_bits_of_security_are_those_of_the_theorem_rounded_down():
    with localcontext(Context(prec=40)):
        two = Decimal(2).ln()
        for shares, modulus, group in ((12, (1 << 32) + 15, 10_000), (3, 2, 19), (900, 2**62, 10**9)):
            room = (Decimal(group).ln() - 1) / two
            exact = ((shares - 2) * room - Decimal(modulus).ln() / two) / 2
            assert exact - Decimal("2e-9") <= Decimal(security_of(shares, modulus, group)) < exact
            bits = security_of(shares, modulus, group)
            if bits > 0:
                assert shares_needed(bits - 1e-6, modulus, group) == shares
                assert shares_needed(bits + 1e-5, modulus, group) == shares + 1


def test_a_modulus_has_room_for_everybody_and_twelve_deviations_on_either_side():
    found = modulus_for(1000, 4096, 37_000.5)
    room = 2 * (1000 * 4096 + math.ceil(NOISE_REACH * 37_000.5)) + 1
    assert found > room
    assert found == smallest_prime_above(room)
    assert NOISE_REACH == 12


def test_fewer_people_have_fewer_dummies_in_the_estimate():
    blanket = Blanket(4, Fraction(6), 10)
    assert blanket.estimate(np.array([0, 9]), 5).tolist() == [-3.0, 6.0]
    assert blanket.variance(5) == 3.0
    assert blanket.dummies == Fraction(12, 5)
