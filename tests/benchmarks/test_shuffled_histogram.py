from fractions import Fraction

import numpy as np
import pytest

from benchmarks.reproduction.shuffled_histogram import Blanket, ShuffledHistogram
from coterie.coins import SimulationCoins
from coterie.errors import PlanError, ReportError
from coterie.geometry.hashing import PairwiseHash


def test_every_true_message_is_sent_and_dummies_are_everywhere():
    blanket = Blanket.for_epsilon(1.0, 1e-6, bins=16, people=1000)
    messages = blanket.encode(np.full(1000, 3), SimulationCoins(0))
    counts = np.bincount(messages, minlength=16)
    assert counts[3] >= 1000
    assert (np.delete(counts, 3) > 10).all()
    assert blanket.dummies == blanket.rate * 16 / 1000


def test_published_messages_a_person():
    for epsilon, messages in ((0.5, 2.4), (1.0, 1.4), (2.0, 1.2)):
        blanket = Blanket.for_epsilon(epsilon, 1e-6, bins=1024, people=100_000)
        assert 1 + float(blanket.dummies) == pytest.approx(messages, abs=0.06)


def test_bins_outside_are_refused_without_naming_them():
    with pytest.raises(ReportError, match=r"a bin lies outside \[0, 4\)$"):
        Blanket(4, Fraction(1), 10).encode(np.array([77]), SimulationCoins(0))


@pytest.mark.parametrize("wrong", [{"bins": 1}, {"people": 0}, {"rate": Fraction(0)}])
def test_a_blanket_has_bins_people_and_dummies(wrong):
    with pytest.raises(PlanError, match="at least 2 bins"):
        Blanket(**{"bins": 4, "rate": Fraction(1), "people": 10, **wrong})


def test_hashes_collide_as_rarely_as_promised():
    cells = np.arange(400)
    collisions = []
    for label in range(40):
        buckets = PairwiseHash.from_key(bytes(16), 1000, label).of(cells)
        same = np.bincount(buckets)
        collisions.append((same * (same - 1) // 2).sum())
    assert np.mean(collisions) == pytest.approx(400 * 399 / 2 / 1000, rel=0.15)


def test_medians_of_several_hashes_survive_shared_buckets():
    oracle = ShuffledHistogram.design(8.0, 1e-6, people=2000, key=bytes(16), repeats=5, buckets=64)
    cells = np.repeat(np.arange(20), 100)
    counts = oracle.count(oracle.encode(cells, SimulationCoins(0)))
    found = oracle.frequencies(counts, np.arange(40), 2000)
    assert np.abs(found[:20] - 100).max() < 60
    assert np.median(np.abs(found[20:])) < 30


def test_an_impossible_sketch_is_refused():
    with pytest.raises(PlanError, match="failure in"):
        ShuffledHistogram.design(1.0, 1e-6, people=10, key=b"", failure=0)
