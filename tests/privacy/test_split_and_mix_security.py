"""Split-and-mix on instances small enough to enumerate: the law of the mixed multiset, in integers.

With q elements the multiset is the vector of q counts. A person with value x contributes the number of ways
m shares of each kind add up to x; the law for n people is the product of n such polynomials. Two inputs of
equal total must have laws within 2^-σ of each other, in statistical distance.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from coterie.randomizers.split_and_mix import security_of


def person(value, modulus, shares):
    """{counts of each element: number of share vectors} for one person."""
    ways = {}
    for free in product(range(modulus), repeat=shares - 1):
        last = (value - sum(free)) % modulus
        counts = tuple(np.bincount([*free, last], minlength=modulus).tolist())
        ways[counts[1:]] = ways.get(counts[1:], 0) + 1  # counts sum to m: the first says nothing
    return ways


def law(values, modulus, shares):
    total = {(0,) * (modulus - 1): 1}
    people = {value: person(value, modulus, shares) for value in set(values)}
    for value in values:
        new = {}
        for counts, ways in total.items():
            for more, times in people[value].items():
                key = tuple(a + b for a, b in zip(counts, more, strict=True))
                new[key] = new.get(key, 0) + ways * times
        total = new
    return total


def distance(one, other, modulus, shares):
    ways = modulus ** ((shares - 1) * len(one))
    first, second = law(one, modulus, shares), law(other, modulus, shares)
    apart = sum(abs(first.get(key, 0) - second.get(key, 0)) for key in first.keys() | second.keys())
    return Fraction(apart, 2 * ways)


@pytest.mark.parametrize(("modulus", "shares"), [(2, 3), (2, 4), (2, 6), (3, 4)])
def test_inputs_of_equal_total_look_alike_as_far_as_promised(modulus, shares):
    people = 19  # the fewest for which the bound is proved
    promised = Fraction(2) ** -int(security_of(shares, modulus, people))
    zeros = [0] * people
    worst = max(
        distance(zeros, [*few, *zeros[len(few) :]], modulus, shares)
        for few in ([1] * modulus, [1] * (people // modulus * modulus), [modulus - 1, 1])
    )
    assert 0 < worst <= promised


def test_more_shares_and_more_people_hide_more():
    pairs = [([0, 0, 0], [1, 1, 1]), ([0] * 6, [1, 2, 0, 0, 0, 0])]
    by_shares = [distance(*pairs[0], 3, shares) for shares in (2, 3, 4)]
    assert by_shares[0] > by_shares[1] > by_shares[2]
    assert distance(*pairs[1], 3, 3) < distance([0, 0], [1, 2], 3, 3)


def test_shares_of_different_totals_never_look_alike():
    for one, other in combinations_with_replacement(([0, 0], [0, 1], [1, 1]), 2):
        if sum(one) % 3 != sum(other) % 3:
            assert distance(one, other, 3, 3) == 1


def test_a_broken_splitter_is_caught():
    """Shares that repeat the first one leak: the same enumeration must tell."""
    modulus, shares = 3, 4

    def broken(values):
        total = {(0, 0): 1}
        for value in values:
            new = {}
            for first in range(modulus):
                last = (value - (shares - 1) * first) % modulus
                counts = np.bincount([first] * (shares - 1) + [last], minlength=modulus)[1:]
                for key, ways in total.items():
                    moved = (key[0] + int(counts[0]), key[1] + int(counts[1]))
                    new[moved] = new.get(moved, 0) + ways
            total = new
        return total

    one, other = broken([0] * 19), broken([1, 2] + [0] * 17)
    apart = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())
    assert Fraction(apart, 2 * modulus**19) > Fraction(2) ** -int(security_of(shares, modulus, 19))
