import numpy as np
import pytest

from coterie.coins import SimulationCoins
from coterie.datasets import gaussian_mixture
from coterie.engines.paper_shuffle import play_paper_shuffle
from coterie.metrics import normalized_objective


@pytest.mark.parametrize("layout", ["cells", "hashed"])
def test_few_people_send_every_share(layout):
    people = 30 if layout == "hashed" else 400
    points = np.repeat([[0.7, 0.0], [-0.7, 0.1]], people // 2, axis=0)
    # A public seed under which the two groups have buckets of their own: in one of four they share one.
    options = {"cells": 2} if layout == "hashed" else {"cells": 16, "seed": 1}
    result = play_paper_shuffle(
        points, 2, 16.0, 1e-2, SimulationCoins(0), layout=layout, send=layout == "cells", **options
    )
    assert result.messages > 100
    assert result.sent == (layout == "cells")
    apart = np.linalg.norm(points[[0, -1], None] - result.centers, axis=2).min(axis=1)
    assert apart.max() < (0.15 if layout == "cells" else 1.0)


def test_many_people_get_nearly_exact_centers():
    points = gaussian_mixture(50_000, 20, 4, separation=8, random_state=0)[0]
    result = play_paper_shuffle(points, 4, 1.0, 1e-6, SimulationCoins(1))
    assert normalized_objective(points, result.centers) < 0.025  # non-private 0.0157
    assert result.weights == pytest.approx(np.full(4, 0.25), abs=0.02)
