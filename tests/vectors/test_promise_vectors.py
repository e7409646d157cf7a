"""Golden vectors of the shuffle model's promise: the package's bound is above the exact one, and hardly."""

import json
from pathlib import Path

import pytest

from coterie.plan import Plan
from coterie.privacy.amplification import amplified_delta
from coterie.privacy.renyi import renyi_delta

VECTORS = json.loads(Path(__file__).with_name("promises.json").read_text(encoding="utf-8"))
ROOM = 3e-5  # by how much the package's bound may be above the exact sum: what the page says


@pytest.mark.parametrize("vector", VECTORS["amplified"], ids=str)
def test_amplified(vector):
    exact = vector["delta"]
    found = amplified_delta(
        vector["epsilon"], vector["local_epsilon"], vector["minimum_batch"], target=exact or 1e-9
    )
    assert exact * (1 + 1e-9) <= found <= exact * (1 + ROOM)


@pytest.mark.parametrize("vector", VECTORS["vector_sums"], ids=lambda each: each["name"])
def test_vector_sums(vector):
    plan = Plan.from_json(vector["plan"])
    noise, shares = renyi_delta(plan.parameters.curve(), plan.epsilon), plan.parameters.mixing_delta(1.0)
    assert vector["noise"] * (1 - 1e-5) <= noise <= vector["noise"] * (1 + 1e-8)  # any order is a bound
    assert shares == pytest.approx(vector["shares"], rel=2e-8)
