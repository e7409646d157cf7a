"""The paper's protocol behind the same doors as the default one: the estimator and the command line."""

import json

import numpy as np
from typer.testing import CliRunner

from coterie import Aggregate, Client, LocalKMeans, Plan, decode
from coterie.cli import app
from coterie.datasets import gaussian_mixture
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
        "decode table --plan plan.json --out centers.json --random-state 0",
        "inspect table",
    ):
        done = runner.invoke(app, command.split())
        assert done.exit_code == 0, (command, done.output)
    found = np.array(json.loads((tmp_path / "centers.json").read_text())["centers"])
    assert normalized_objective(points, found) < 0.2


def test_the_json_form_has_every_number():
    plan = Plan.design(100, 8, 1.0, 10**6, protocol="net-tree")
    numbers = json.loads(plan.to_json())["numbers"]
    assert set(numbers) == {
        "levels", "ratio", "projected", "scale", "count_odds", "vector_odds", "expansion", "rounds",
        "strays", "layout",
    }  # fmt: skip
    assert np.isclose(numbers["scale"], np.sqrt(100 / 6) / 1.5)
