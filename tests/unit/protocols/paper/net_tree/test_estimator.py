"""The paper's protocol behind the same doors as the default one: the estimator and the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie import Aggregate, Client, LocalKMeans, Plan, decode
from coterie.centers import LocalSearch
from coterie.cli.app import app
from coterie.datasets import gaussian_mixture
from coterie.errors import DecodeError, PlanError
from coterie.metrics import normalized_objective


def test_local_k_means_with_the_papers_protocol():
    points, _, _ = gaussian_mixture(20_000, 2, 3, 20, random_state=0)
    model = LocalKMeans(n_clusters=3, epsilon=8.0, protocol="net-tree", radius=1.0, random_state=0).fit(
        points
    )
    assert model.cluster_centers_.shape == (3, 2)
    assert normalized_objective(points, model.cluster_centers_) < 0.1
    again = LocalKMeans(n_clusters=3, epsilon=8.0, protocol="net-tree", radius=1.0, random_state=0).fit(
        points
    )
    assert (again.cluster_centers_ == model.cluster_centers_).all()


def test_the_public_names_join(tmp_path):
    points, _, _ = gaussian_mixture(20_000, 3, 2, 20, random_state=0)
    plan = Plan.design(3, 2, 8.0, 20_000, protocol="net-tree")
    first, second = Aggregate(plan), Aggregate(plan)
    client = Client(plan)
    first.add(client.encode_many(points[:15_000]))
    second.add(client.encode_many(points[15_000:]))
    first.merge(second)
    first.save(tmp_path / "table")
    result = decode(Aggregate.load(tmp_path / "table", plan), random_state=0)
    assert normalized_objective(points, result.centers) < 0.1


def test_the_command_line_plays_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points, _, _ = gaussian_mixture(5000, 3, 2, 20, random_state=0)
    np.save("points.npy", points)
    runner = CliRunner()
    for command in (
        "plan --dimension 3 --clusters 2 --epsilon 8 --users 5000 --protocol net-tree --out plan.json",
        "encode points.npy --plan plan.json --out reports",
        "aggregate reports --plan plan.json --out table",
        "decode table --plan plan.json --option strays=0.4 --out centers.json --random-state 0",
        "inspect table",
    ):
        done = runner.invoke(app, command.split())
        assert done.exit_code == 0, (command, done.output)
    refused = runner.invoke(app, ["decode", "table", "--plan", "plan.json", "--option", "depth=3"])
    assert refused.exit_code != 0
    found = np.array(json.loads((tmp_path / "centers.json").read_text())["centers"])
    assert normalized_objective(points, found) < 0.2


def test_the_json_form_has_every_number():
    plan = Plan.design(100, 8, 1.0, 10**6, protocol="net-tree")
    parameters = json.loads(plan.to_json())["parameters"]
    assert set(parameters) == {
        "levels", "ratio", "projected", "scale", "count_odds", "vector_odds", "layout",
    }  # fmt: skip
    assert np.isclose(parameters["scale"], np.sqrt(100 / 6) / 1.5)


def test_every_option_and_any_solver_through_the_estimator():
    points, _, _ = gaussian_mixture(20_000, 2, 3, 20, random_state=0)
    model = LocalKMeans(
        3, epsilon=8.0, protocol="net-tree", protocol_options={"levels": 3, "ratio": 3},
        solver=LocalSearch(3, random_state=0), radius=1.0, random_state=0,
    ).fit(points)  # fmt: skip
    assert (model.plan_.parameters.levels, model.plan_.parameters.ratio) == (3, 3)
    outcome = model.result_.tree
    assert outcome.projected_centers.shape == (3, 2)
    assert outcome.parts.shape == (outcome.tree.leaf_count,)
    assert normalized_objective(points, model.cluster_centers_) < 0.1
    with pytest.raises(PlanError, match=r"has no option 'depth'; known: randomizer, constants"):
        LocalKMeans(3, protocol="net-tree", protocol_options={"depth": 3}, radius=1.0).fit(points)
    with pytest.raises(DecodeError, match=r"protocol codeword .* takes no solver"):
        LocalKMeans(3, solver=LocalSearch(3), radius=1.0).fit(points[:100])
    # What the estimator says itself is no option of a design, and no TypeError either.
    for own in ("seed", "epsilon", "expected_users", "radius"):
        with pytest.raises(PlanError, match=rf"has no option '{own}'; known: randomizer, constants"):
            LocalKMeans(3, protocol="net-tree", protocol_options={own: 3}, radius=1.0).fit(points[:100])


@pytest.mark.slow
def test_the_decoders_options_reach_it_through_the_estimators():
    # "theory" is two choices: the tree is the plan's, and how it is grown the decoder's.
    points, _, _ = gaussian_mixture(5_000, 2, 3, 20, random_state=0)
    options = {"epsilon": 8.0, "radius": 1.0, "random_state": 0}
    usual = LocalKMeans(3, protocol="net-tree", **options).fit(points)
    letter = LocalKMeans(3, protocol="net-tree", decoder_options={"strays": 0}, **options).fit(points)
    assert letter.result_.tree.pooled.all()
    assert not usual.result_.tree.pooled.all()
    with pytest.raises(
        DecodeError, match=r"decoder of protocol net-tree has no option 'depth'; known: const"
    ):
        LocalKMeans(3, protocol="net-tree", decoder_options={"depth": 3}, **options).fit(points)
    with pytest.raises(DecodeError, match="decoder of protocol codeword has no option 'strays'; it has none"):
        LocalKMeans(3, decoder_options={"strays": 0}, **options).fit(points)
