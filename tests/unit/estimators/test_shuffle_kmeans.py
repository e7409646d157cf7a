import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie import ShuffleKMeans
from coterie.datasets import gaussian_mixture
from coterie.errors import PlanError
from coterie.metrics import normalized_objective
from tests.plans import needs

# Most fits here are of few people: that they warn is tested by itself.
pytestmark = pytest.mark.filterwarnings("ignore::coterie.estimators.UnsupportedCentersWarning")

X, TRUE_CENTERS, _ = gaussian_mixture(20_000, 2, 3, separation=8, random_state=1)

TOO_FEW_PEOPLE = "demands accurate clusters from 50 points; so few people hide each other too little"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::coterie.estimators.DataDependentBallWarning")
@pytest.mark.filterwarnings("ignore::coterie.estimators.DataDependentScaleWarning")
@parametrize_with_checks(
    [ShuffleKMeans(), ShuffleKMeans(variant="central")],
    expected_failed_checks=lambda model: (
        {"check_clustering": TOO_FEW_PEOPLE} if model.variant == "amplified" else {}
    ),
    xfail_strict=True,
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "at_most"),
    [
        ({"variant": "amplified"}, 0.05),
        ({"variant": "split-and-mix"}, 0.03),
        ({"variant": "split-and-mix", "layout": "column"}, 0.05),
        pytest.param({"variant": "net-tree"}, 0.03, marks=needs("net-tree-sums")),
        ({"variant": "central"}, 0.03),
        pytest.param({"variant": "central-net-tree"}, 0.03, marks=needs("net-tree-sums")),
    ],
)
def test_groups_are_found(options, at_most):
    model = ShuffleKMeans(n_clusters=3, epsilon=1.0, delta=1e-6, radius=1.0, random_state=0, **options).fit(X)
    assert normalized_objective(X, model.cluster_centers_) < at_most  # non-private 0.016, one center 0.75
    assert model.guarantee_.epsilon == 1.0
    assert model.guarantee_.model == ("central" if "central" in options["variant"] else "shuffle")
    assert model.sums_drawn_ == (options["variant"] in {"split-and-mix", "net-tree"})


def test_few_people_really_send_their_shares():
    options = {"n_clusters": 2, "epsilon": 4.0, "variant": "split-and-mix", "radius": 1.0, "layout": "column"}
    few = X[:1000]
    model = ShuffleKMeans(**options, random_state=0).fit(few)
    assert not model.sums_drawn_
    assert model.result_.count == 1000
    again = ShuffleKMeans(**options, random_state=0).fit(few)
    np.testing.assert_array_equal(model.cluster_centers_, again.cluster_centers_)


@needs("net-tree-sums")
def test_few_people_really_send_their_sums_over_a_tree():
    options = {"levels": 2, "buckets": 24}
    model = ShuffleKMeans(
        2, epsilon=4.0, variant="net-tree", radius=1.0, protocol_options=options, random_state=0
    ).fit(X[:500])
    assert not model.sums_drawn_
    assert model.plan_.parameters.buckets == 24
    assert model.result_.tree.tree.nets.levels == 2


@needs("net-tree-sums")
def test_unknown_options_are_refused_with_the_known_ones():
    with pytest.raises(PlanError, match=r"no option 'depth'; known: buckets, minimum_batch, constants"):
        ShuffleKMeans(2, variant="net-tree", radius=1.0, protocol_options={"depth": 3}).fit(X[:500])
