"""The law of lsh-tree's oracles on real reports: unbiased, with the noise that the text states.

Each statistic is a mean over many independent studies' empty or full nodes; it must lie within DEVIATIONS of
its law and outside that of noise 10 % larger or smaller (false alarms below 1e-6).
"""

import numpy as np
import pytest

from coterie.coins import SimulationCoins
from coterie.geometry.ball import quantize
from coterie.plan import Plan
from coterie.protocols.paper.lsh_tree.encode import LshTreeEncoder
from coterie.protocols.paper.lsh_tree.oracle import level_sums
from coterie.protocols.paper.lsh_tree.simhash import SimHash
from coterie.protocols.paper.lsh_tree.table import LshTreeTable

DEVIATIONS = 5.0
PEOPLE = 400
STUDIES = 300
LEVELS = 5
# The stated noise leaves out that a person's own term varies less, and that codewords vary a little more
# along the vector than across it.
SLACK = 0.03
OPTIONS = [
    {},
    {"split": "budget"},
    {"split": "deepest", "count": "joint"},
    {"randomizer": "privunit", "count": "joint", "split": "deepest"},
]


def study(options, seed, dimension=6):
    """Return (frequency errors, vector errors) of all nodes of the deepest level, over their deviations."""
    plan = Plan.design(dimension, 2, 1.5, PEOPLE, protocol="lsh-tree", seed=seed, levels=LEVELS, **options)
    generator = np.random.default_rng(seed)
    points = generator.uniform(-0.3, 0.3, (PEOPLE, dimension))
    ids = generator.integers(0, 256, (PEOPLE, 12), dtype=np.uint8)
    table = LshTreeTable.zero(plan)
    table.add(LshTreeEncoder(plan).encode(points, ids, SimulationCoins(seed)))
    codes = SimHash.from_key(plan.randomness_key("hyperplanes"), dimension, LEVELS).codes(
        quantize(points, None, 1.0)[0]
    )
    members = (codes[:, None] == np.arange(1 << LEVELS)).astype(float)
    level = level_sums(table)[-1]
    return (
        (level.frequencies - members.sum(axis=0)) / level.count_deviation,
        (level.vectors - members.T @ points) / (level.vector_deviation / dimension**0.5),
    )


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_estimates_are_unbiased_with_the_stated_noise(options):
    studies = [study(options, seed) for seed in range(STUDIES)]
    for errors in (
        np.array([counts for counts, _ in studies]).reshape(STUDIES, -1),
        np.array([vectors for _, vectors in studies]).reshape(STUDIES, -1),
    ):
        means = errors.mean(axis=1)  # independent over studies
        assert abs(means.mean()) < DEVIATIONS * means.std(ddof=1) / STUDIES**0.5
        squares = (errors**2).mean(axis=1)
        error = squares.std(ddof=1) / STUDIES**0.5
        for wrong, accepted in ((1.0, True), (0.9, False), (1.1, False)):
            assert (abs(squares.mean() / wrong**2 - 1) < DEVIATIONS * error + SLACK) == accepted
