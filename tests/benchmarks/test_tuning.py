"""Constants that were chosen by measuring have runs that can be repeated, and their values are among them."""

import csv

import pytest

from benchmarks import tuning
from benchmarks.harness import RESULTS, Study
from benchmarks.tuning import BY_NAME, CONSTANTS, GRID
from coterie import Plan
from coterie.protocols.codeword import design as codeword_design

IN_THE_CODE = {constant.name: constant.now() for constant in CONSTANTS}  # not what tests decode with


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda constant: constant.name)
def test_the_value_in_the_code_was_compared_with_others(constant):
    assert IN_THE_CODE[constant.name] in constant.values
    assert len(constant.values) > 2


def test_the_file_of_runs_has_every_small_study():
    with (RESULTS / "tuning.csv").open(encoding="utf-8", newline="") as lines:
        played = {row["study"] for row in csv.DictReader(lines)}
    assert played >= {study.name for study in GRID if "-small-" in study.name}


def test_a_constant_is_set_for_a_while_and_the_design_sees_it():
    before = Plan.design(20, 4, 1.0, 200_000)
    with BY_NAME["halfspace_share"].set_to(7):
        assert Plan.design(20, 4, 1.0, 200_000).parameters.views[0].weight == 7
        assert type(codeword_design.HALFSPACE_SHARE) is int
    assert Plan.design(20, 4, 1.0, 200_000) == before


@pytest.mark.parametrize(
    "constant",
    [each for each in CONSTANTS if each.where[0].endswith(".design")],
    ids=lambda constant: constant.name,
)
def test_designs_differ_with_the_values(constant):
    users, clusters, epsilon, dimension = tuning.PEOPLE["base", constant.through]
    options = {
        "rows": {},
        "sums": {"protocol": "vector-sums", "model": "shuffle", "delta": 1e-6},
        "tree": {"protocol": "net-tree"},
    }[constant.through]
    plans = set()
    for value in constant.values:
        with constant.set_to(value):
            plans.add(Plan.design(dimension, clusters, epsilon, users, **options).id)
    assert len(plans) > 1
    assert Plan.design(dimension, clusters, epsilon, users, **options).id in plans


@pytest.mark.parametrize("method", ["cells=16", "grid_bits=8", "practical_shrink=2"])
def test_a_study_is_played_with_its_value(method, tmp_path, monkeypatch):
    seen = []
    constant = BY_NAME[method.partition("=")[0]]
    through = tuning._PLAYED[constant.through]

    def watched(*arguments):
        seen.append(constant.now())
        return through(*arguments)

    monkeypatch.setitem(tuning._PLAYED, constant.through, watched)
    monkeypatch.setattr(tuning, "POINTS", 1000)
    study = Study("one", "mixture", 1000, 2, 4.0, dimension=3, separation=100.0, method=method)
    figures = tuning.play(study, 1, tmp_path)
    assert seen == [float(method.partition("=")[2])]
    assert 0 < figures["non_private"] <= figures["objective"] < 2
