"""When errors may rely on round groups: the benchmark runs, and counts runs where they belong."""

import math

from benchmarks import certain
from benchmarks.harness import Study

SMALL = Study("small", "mixture", 20_000, 4, 2.0, dimension=20, separation=8.0)


def test_a_study_is_played_with_both_kinds_of_radii(tmp_path):
    figures = certain.play(SMALL, 60_000, tmp_path)
    assert figures["found"] == 1
    assert figures["sure"] == float(
        figures["beats"] >= 5 and figures["misses"] <= 2 and figures["unknown"] <= 0.09
    )
    assert 0 <= figures["round_covered"] <= figures["any_covered"] <= 1


def test_where_nothing_is_found_nothing_is_judged(tmp_path):
    hopeless = Study("hopeless", "mixture", 2000, 8, 0.5, dimension=100, separation=3.0)
    figures = certain.play(hopeless, 60_000, tmp_path)
    assert figures["found"] == 0
    assert math.isnan(figures["round_covered"])


def test_runs_are_told_apart_by_what_the_decoder_believed():
    def run(sure, beats, held):
        figures = dict.fromkeys(("misses", "unknown", "any_covered"), 0.5)
        return {"found": 1, "sure": sure, "beats": beats, "round_covered": held, **figures}

    runs = {"small": [run(1.0, 9.0, 1.0), run(0.0, 3.0, 0.25), run(0.0, -2.0, 0.0), {"found": 0}]}
    text = certain.tables([SMALL], runs)
    assert "| sure | 1 | 100.0% | 50.0% |" in text
    assert "| not sure, though blobs win | 1 | 25.0% | 50.0% |" in text
    assert "| blobs lose | 1 | 0.0% | 50.0% |" in text
