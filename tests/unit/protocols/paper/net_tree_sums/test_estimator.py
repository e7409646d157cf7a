import pytest

from coterie import ShuffleKMeans
from coterie.datasets import gaussian_mixture


@pytest.mark.slow
def test_a_decoders_options_reach_it():
    points, _, _ = gaussian_mixture(5_000, 2, 3, 20, random_state=0)
    options = {"epsilon": 8.0, "radius": 1.0, "random_state": 0}
    sums = ShuffleKMeans(3, variant="net-tree", decoder_options={"constants": "theory"}, **options)
    assert sums.fit(points).result_.tree.pooled.sum() > 1000  # no floor: each row is read, by one leaf
