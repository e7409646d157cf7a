"""Waves: a few people first, the others with a ball where those are."""

import numpy as np
import pytest

from coterie import LocalKMeans
from coterie.errors import PlanError

FAR = np.array([30.0, -30.0])
PLACES = FAR + np.array([[12.0, 0.0], [-12.0, 0.0], [0.0, 12.0]])
RNG = np.random.default_rng(0)
X = PLACES[RNG.integers(0, 3, 30_000)] + 0.5 * RNG.standard_normal((30_000, 2))


def worst(model):
    return np.linalg.norm(PLACES[:, None] - model.cluster_centers_[None], axis=2).min(axis=1).max()


@pytest.fixture(scope="module")
def model():
    return LocalKMeans(3, epsilon=4.0, radius=100.0, waves=(0.3, 0.7), random_state=0).fit(X)


@pytest.mark.slow
def test_everybody_is_asked_once_and_the_later_ones_about_a_smaller_ball(model):
    first, second = model.plans_
    assert model.plan_ is second
    assert [table.count for table in model.tables_] == [9000, 21_000]
    assert model.table_ is model.tables_[1]
    assert (first.expected_users, second.expected_users) == (9000, 21_000)
    assert (first.radius, first.center) == (100.0, None)
    assert 12 < second.radius < 70
    np.testing.assert_allclose(second.center, FAR, atol=10)
    assert (second.study_id, second.after) == (first.id, (first.id,))
    assert model.result_.count == len(X)
    assert model.result_.plan_ids == (first.id, second.id)
    assert model.guarantee_.epsilon == second.epsilon == first.epsilon
    assert worst(model) < 4
    assert model.labels_.shape == (30_000,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Only 2 of 3 groups")  # whether the third stands clear is a matter of luck
def test_one_round_is_the_default_and_one_plan():
    model = LocalKMeans(3, epsilon=4.0, radius=100.0, random_state=0).fit(X)
    assert model.plans_ == (model.plan_,)
    assert (model.plan_.after, model.plan_.study) == ((), None)


@pytest.mark.slow
def test_a_seed_repeats_waves(model):
    again = LocalKMeans(3, epsilon=4.0, radius=100.0, waves=(0.3, 0.7), random_state=0).fit(X)
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    assert again.plans_ == model.plans_


@pytest.mark.slow
def test_the_rows_of_a_wave_are_drawn_at_random():
    # The first rows are all in one place: a first wave of those would never see the others.
    model = LocalKMeans(3, epsilon=4.0, radius=100.0, waves=[0.5, 0.5], random_state=0)
    assert worst(model.fit(X[np.argsort(X[:, 0])])) < 4


@pytest.mark.parametrize(
    "waves", [(), (0.5,), (0.5, 0.6), (1.5, -0.5), (0.0, 1.0), ("a", 1.0), (np.nan, 1.0)]
)
def test_shares_that_are_none_are_refused(waves):
    with pytest.raises(PlanError, match="waves must be positive shares"):
        LocalKMeans(2, radius=100.0, waves=waves).fit(X[:100])


def test_waves_need_people_and_the_protocol():
    with pytest.raises(PlanError, match="at least as many people as there are clusters"):
        LocalKMeans(3, radius=100.0, waves=(0.01, 0.99)).fit(X[:100])
    with pytest.raises(PlanError, match="waves need protocol codeword, got net-tree"):
        LocalKMeans(3, radius=100.0, waves=(0.5, 0.5), protocol="net-tree").fit(X[:100])
    with pytest.raises(ValueError, match="waves"):
        LocalKMeans(3, radius=100.0, waves=0.5).fit(X[:100])


@pytest.fixture(scope="module")
def confirming():
    """Three waves: two that find, the second in a better ball, and one that confirms."""
    model = LocalKMeans(3, epsilon=4.0, radius=100.0, waves=(0.3, 0.4, 0.3), confirm=True, random_state=0)
    return model.fit(X)


@pytest.mark.slow
def test_the_last_wave_confirms_what_the_others_found(confirming):
    *others, last = confirming.plans_
    assert [plan.confirms for plan in confirming.plans_] == [False, False, True]
    assert (last.center, last.radius) == (others[-1].center, others[-1].radius)  # the same people
    assert [table.count for table in confirming.tables_] == [9000, 12_000, 9000]
    told = confirming.result_.confirmed
    assert (told.people, told.plan_id) == (9000, last.id)
    assert confirming.result_.count == len(X)
    assert worst(confirming) < 4
    # The people nearest to each published center, here all rows: those of the last wave are drawn from them.
    # In 90 % all intervals hold at once (tests/statistics); twice as wide they always do.
    labels = np.linalg.norm(X[:, None] - told.centers[None], axis=2).argmin(axis=1)
    share = np.bincount(labels, minlength=len(told.centers)) / len(X)
    for group in told.groups:
        true = X[labels == group.number].mean(axis=0)
        stated = zip((group.share_together, *group.together), (share[group.number], *true), strict=True)
        assert all(2 * one.low - one.value <= at <= 2 * one.high - one.value for one, at in stated)
    assert told.perhaps_empty == told.perhaps_one == ()


def test_one_wave_cannot_confirm_itself():
    for waves in (None, (1.0,)):
        with pytest.raises(PlanError, match="confirm asks the last of several waves"):
            LocalKMeans(2, radius=100.0, waves=waves, confirm=True).fit(X[:100])


def test_a_wave_that_confirms_means_takes_no_medians():
    model = LocalKMeans(3, radius=100.0, waves=(0.5, 0.5), confirm=True, objective="medians")
    with pytest.raises(PlanError, match="the last wave confirms means"):
        model.fit(X[:100])
