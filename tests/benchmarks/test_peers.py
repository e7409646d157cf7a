"""Peers: each method is private by what it draws, and the table tells who is trusted and what is lost."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import BENCHMARK, GRID, ONE, OPEN, OTHERS, every_feature, one_feature, tables
from coterie.metrics import normalized_objective


@pytest.mark.parametrize("find", [one_feature, every_feature])
def test_per_feature_answers_find_two_groups_where_there_is_hardly_any_noise(find):
    generator = np.random.default_rng(0)
    points = np.repeat([[0.6], [-0.6]], 4000, axis=0) + generator.normal(0, 0.02, (8000, 1))
    centers = find(points, 2, 8.0, generator)
    assert sorted(np.sign(centers[:, 0])) == [-1, 1]
    assert normalized_objective(points, centers) < 0.1


def test_one_feature_knows_no_ties_between_features():
    generator = np.random.default_rng(0)
    points = np.repeat([[0.6, 0.6], [-0.6, -0.6]], 4000, axis=0)
    tied = one_feature(points, 2, 8.0, generator)
    assert normalized_objective(points, tied) > 0.1  # four corners look alike: what marginals lose


def test_the_table_is_by_trust_and_shows_what_is_lost():
    grid = [study for study in GRID if study.data == "letter"]
    found = {study.name: [] for study in grid}
    run = {"bytes": "13", "rounds": 1, "seconds": 1.0}
    found[f"letter: {OPEN}"] = [{**run, "objective": 0.1, "trusts": "everybody"}]
    found[f"letter: {ONE}"] = [{**run, "objective": 0.5, "trusts": "everybody"}]
    found["letter: diffprivlib"] = [{**run, "objective": math.nan, "trusts": "a curator (pip failed)"}]
    found["letter: noisy points, Gaussian"] = [{**run, "objective": 0.7, "trusts": "nobody"}]
    lines = tables(grid, found).splitlines()
    places = [
        next(i for i, line in enumerate(lines) if word in line) for word in (OPEN, "pip failed", "Gaussian")
    ]
    assert places == sorted(places)
    assert "-50%" in lines[places[-1]]  # worse than one center, and said
    assert {study.method for study in grid} > set(OTHERS)


def test_the_page_shows_the_stored_runs():
    told = BENCHMARK.out.with_suffix(".md").read_text(encoding="utf-8").splitlines()
    page = (Path(__file__).parents[2] / "docs/peers.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in told if line.startswith(("|", "-"))]
    assert len(rows) > len(GRID)
    assert [row for row in rows if row not in page] == []
