"""The benchmark of embeddings: its grid, its people, and one small study by rows and by reports."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import embeddings
from benchmarks.embeddings import GRID, GROUPS, play, tables, vectors, without_privacy


def test_every_study_has_a_name_of_its_own():
    assert len({study.name for study in GRID}) == len(GRID)
    assert {study.dimension for study in GRID} == {256, 384, 768, 1536}


def test_people_are_as_they_are_described():
    points, groups, _ = vectors(256, 1)
    assert np.linalg.norm(points, axis=1) == pytest.approx(np.ones(len(points)))
    assert float(points.mean(axis=0) @ points.mean(axis=0)) == pytest.approx(embeddings.COMMON, abs=0.06)
    assert np.bincount(groups).min() > 0.5 * len(points) / GROUPS
    assert without_privacy(256, None, 1) == 1
    assert 0.3 < without_privacy(256, 32, 1) < without_privacy(256, 192, 1)


@pytest.mark.parametrize("method", ["projected-16", "reports-16", "sums-16"])
def test_a_small_study(method, monkeypatch):
    monkeypatch.setattr(embeddings, "BETWEEN", 0.7)  # groups that few people show
    vectors.cache_clear()
    study = replace(GRID[-1], dimension=64, users=20_000, epsilon=4.0, method=method)
    figures = play(study, 1, Path())
    vectors.cache_clear()
    assert figures["coordinates"] == 16
    assert figures["same_groups"] > 0.5
    text = tables([study], {study.name: [figures]})
    assert (figures["recovered"] > 0.4) == method.startswith("sums")  # others have a part of each center
    assert f"| {method} | 64 | 20,000 |  |  | {figures['same_groups']:.2f} |  |" in text
