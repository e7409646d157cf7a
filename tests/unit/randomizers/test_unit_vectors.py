"""One bit of a unit vector: what an answer spends, and the normals that directions are made of."""

import numpy as np
from scipy import stats

from coterie.randomizers.sphere import normal_table


def test_the_normal_of_every_word_is_the_wire_formats():
    # round(4096·Φ⁻¹((w+½)/2^16)): the middle of the word's 65536th of the law, and the other half mirrored
    words = np.arange(1 << 15, 1 << 16)
    upper = np.rint(4096 * stats.norm.ppf((words + 0.5) / 65536))
    assert (normal_table()[1 << 15 :] == upper).all()
    assert (normal_table()[: 1 << 15] == -upper[::-1]).all()
