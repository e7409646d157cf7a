"""What the tests of the benchmarks share."""

import numpy as np
import pytest

from coterie import Plan, Result
from coterie.centers.result import Interval, Population


@pytest.fixture
def result_of():
    """A result that says what a test wants it to: centers, (k, d), their shares, one radius for all."""

    def make(centers, shares, radius, features=None, **more):
        clusters, dimension = centers.shape
        plan = Plan.design(dimension, clusters, 1.0, 1000)
        said = {
            "centers": centers,
            "weights": shares,
            "errors": np.full(clusters, radius),
            "weight_errors": np.full(clusters, 0.01),
            "clear": np.ones(clusters, dtype=bool),
            "explained": Interval(0.5, 0.4, 0.6),
            "notes": (),
            "count": 1000,
            "guarantee": plan.guarantee,
            "plan_id": plan.id,
            "population": Population(centers, shares, plan.study_id, (plan.id,)),
            "mean": shares @ centers,
            "mean_error": 0.0,
            "coverage": 0.9,
            "profile": np.full(dimension, 1 / np.sqrt(dimension)),
            "features": features,
        }
        return Result(**(said | more))

    return make


@pytest.fixture(autouse=True, scope="module")
def _fast(hardly_any_atoms):
    """Decode as fast as it goes: these tests are about what is around the decoder."""
