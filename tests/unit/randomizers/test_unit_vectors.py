"""One bit of a unit vector: what an answer spends, and the normals that directions are made of."""

import math

import numpy as np
import pytest
from scipy import stats

from coterie.privacy.odds import BASE_ODDS, largest_odds
from coterie.randomizers.response import BinaryResponse
from coterie.randomizers.sphere import normal_table


def test_one_answer_spends_all_of_epsilon_unless_told_otherwise():
    assert BinaryResponse.for_epsilon(1.5).odds == largest_odds(1.5)
    assert BinaryResponse.for_epsilon(1.5, 3).odds == pytest.approx(BASE_ODDS * math.exp(0.5), rel=1e-6)


def test_the_normal_of_every_word_is_the_wire_formats():
    # round(4096·Φ⁻¹((w+½)/2^16)): the middle of the word's 65536th of the law, and the other half mirrored
    words = np.arange(1 << 15, 1 << 16)
    upper = np.rint(4096 * stats.norm.ppf((words + 0.5) / 65536))
    assert (normal_table()[1 << 15 :] == upper).all()
    assert (normal_table()[: 1 << 15] == -upper[::-1]).all()
