import pytest

from coterie import ShuffleKMeans
from coterie.datasets import gaussian_mixture
from coterie.errors import PlanError


def test_a_decoders_options_reach_it():
    points, _, _ = gaussian_mixture(1_000, 2, 3, 20, random_state=0)
    options = {"epsilon": 8.0, "radius": 1.0, "random_state": 0}
    sums = ShuffleKMeans(3, variant="net-tree", decoder_options={"constants": "nobody's"}, **options)
    with pytest.raises(
        PlanError, match='constants must be one of practical, theory; got "nobody\'s"'
    ):  # the decoder knows its own
        sums.fit(points)
