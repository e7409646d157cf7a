"""The suite of costs: streams with known repetitions, fits of growth, bars that can fail, absent peers."""

import json
import math
import sys

import numpy as np
import pytest

from benchmarks import __main__ as benchmarks_main
from benchmarks import peer_steps, scale, scale_steps, speed
from benchmarks.harness import write_json
from coterie.wire.report_file import ReportFile

PLAN = speed.the_plan()
MACHINE = {"cores": 2}


def sized(name, n, cpu_s, **more):
    return {"step": name, "n": n, "seconds": cpu_s / 2, "cpu_s": cpu_s, "peak_mb": 300.0, **more}


def shown(document):
    return {row[0]: row for row in scale.bars({"machine": MACHINE, **document})}


@pytest.mark.parametrize("count", [1, 40, 1000, 3 * 4096 + 17])
def test_a_stream_repeats_as_many_as_it_says(count, monkeypatch):
    monkeypatch.setattr(scale_steps, "BLOCK", 4096)
    monkeypatch.setattr(scale_steps, "POOL", 5000)
    blocks = list(scale_steps.stream(PLAN, count))
    rows = np.concatenate([rows for rows, _ in blocks])
    repeated = sum(again for _, again in blocks)
    assert len(rows) == count
    assert len(np.unique(rows, axis=0)) == len(np.unique(rows[:, :12], axis=0)) == count - repeated
    assert abs(repeated - scale_steps.REPEATED * count) <= len(blocks)


def test_repetitions_come_from_far_too(monkeypatch):
    monkeypatch.setattr(scale_steps, "BLOCK", 1000)
    monkeypatch.setattr(scale_steps, "POOL", 1500)
    rows = np.concatenate([rows for rows, _ in scale_steps.stream(PLAN, 20_000)])
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    distance = np.arange(len(rows)) - first[which]
    assert distance.max() > 5000


def test_every_step_of_a_stream_keeps_the_same_reports(tmp_path):
    path = str(tmp_path / "stream")
    made = scale_steps.generate(path, 5000)
    assert ReportFile.open(path, PLAN).count == 5000
    assert made["repeated"] == 250
    for name in ("deduplicate", "partitions", "parallel"):
        found = scale_steps.STEPS[name](path)
        assert (found["kept"], found["repeated"]) == (4750, 250), name
        assert found["cpu_s"] >= 0
        assert found["seconds"] > 0
    assert scale_steps.aggregate(path)["kept"] == 5000


def test_the_second_moment_is_back_after_measuring_without_it(monkeypatch):
    monkeypatch.setattr(scale_steps, "FLOOR_RUNS", 2)
    limit = scale_steps.codeword.SECOND_MOMENT_LIMIT
    found = scale_steps.hot_path(20_000)
    assert limit == scale_steps.codeword.SECOND_MOMENT_LIMIT
    assert found["add_without_second_moment_ns"] > 0
    assert found["over_floors"] == pytest.approx(found["add_ns"] / found["sum_of_floors_ns"])


def test_a_shape_is_judged():
    found = scale_steps.shape(2, 2, 10**7)
    assert found["recovered"] > 0.9
    assert found["report_bytes"] == 13
    assert found["table_bytes"] > 1000


def test_exponents():
    assert scale.exponent([(10, 5.0), (100, 50.0), (1000, 500.0)]) == pytest.approx(1)
    assert math.isnan(scale.exponent([(10, 5.0)]))


def test_a_billion_is_measured_or_extrapolated_from_the_large_ones():
    points = [(10**4, 9.0), (10**6, 0.2), (10**7, 2.0), (10**8, 20.0)]
    assert scale.at_a_billion(points, 1.0) == (pytest.approx(200.0), False)
    assert scale.at_a_billion([*points, (10**9, 170.0)], 1.0) == (170.0, True)
    falling = [(10**6, 0.4), (10**7, 2.0)]
    assert scale.at_a_billion(falling, 1.0) == (pytest.approx(200.0), False)
    assert scale.at_a_billion([(10**6, 0.1), (10**7, 2.0)], 1.0)[0] > 200


def test_bars_are_kept_and_missed():
    cheap = [sized("parallel", 10**n, 0.3 * 10 ** (n - 6)) for n in (4, 5, 6, 7, 8)]
    document = {"sizes": [*cheap, sized("encode", 10**6, 4.0)]}
    rows = shown(document)
    assert all(row[3].startswith("✓") for row in rows.values())
    assert rows["10⁹ by `parallel`, peak MB"][3] == "✓ extrapolated"
    dear = [*cheap[:-1], sized("parallel", 10**8, 60.0), sized("encode", 10**6, 6.0)]
    rows = shown({"sizes": dear, "hot": [{"over_floors": 1.6}]})
    assert rows["10⁹ by `parallel`, seconds"][3] == "✗ extrapolated"
    assert rows["CPU cost per report from 10⁶ up, largest/smallest"][1:] == ("2.00", "≤ 1.3", "✗")
    assert rows["encoding, reports/s by CPU time × 2 cores"][3] == "✗"
    assert rows["`Aggregate.add` / sum of its floors"][3] == "✗"


@pytest.mark.parametrize(("theirs", "verdict"), [(4.1, "✓"), (3.9, "✗")])
def test_a_peer_is_compared(theirs, verdict):
    runs = [
        sized("each id once", 10**7, 2.0, who="coterie"),
        sized("each id once", 10**7, theirs, who="duckdb"),
    ]
    assert shown({"peers": runs})["each id once: duckdb / ours"][3] == verdict


def test_the_best_of_turns():
    runs = iter([sized("a", 1, 3.0), sized("a", 1, 2.0)])
    found = dict(scale.in_turns({"a": lambda: next(runs), "absent": lambda: None}, 2))
    assert list(found) == ["a"]
    assert found["a"]["cpu_s"] == 2.0


def test_a_peer_that_fails_is_named_and_not_asked_again(tmp_path, monkeypatch):
    others = scale.Peers(tmp_path)
    monkeypatch.setattr(scale.Peers, "python", sys.executable)
    assert others.step("google", points="none.npy", clusters=2) is None
    assert "google" in others.failed
    others.failed["google"] = "said before"
    assert others.step("google", points="none.npy", clusters=2) is None
    assert others.failed["google"] == "said before"


def test_what_peers_need_is_known_for_every_step():
    assert set(peer_steps.STEPS) - {"write_columns"} == set(scale.REQUIRED)


@pytest.mark.whole
def test_a_whole_run_of_few_writes_tables_and_pictures(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COTERIE_KERNELS", "numpy")  # nothing to compile in each of the processes
    out = tmp_path / "scale.json"
    scale.main(["--parts", "sizes", "--most", "1e4", "--folder", str(tmp_path), "--out", str(out)])
    document = json.loads(out.read_text())
    assert [run["step"] for run in document["sizes"]] == ["encode", "generate", *scale.STREAMED]
    assert all(run["peak_mb"] > 50 for run in document["sizes"])
    assert "| parallel | 10⁴ |" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scale.json", "scale.md", "scale.svg"]


def test_a_part_run_later_leaves_the_others(tmp_path, monkeypatch):
    out = tmp_path / "scale.json"
    write_json(out, {"hot": [{"step": "add", "n": 1, "over_floors": 1.2}]})
    monkeypatch.setattr(scale, "fits", lambda most: iter([sized("fit", 10**4, 1.0)]))
    monkeypatch.setattr(scale, "tables", lambda document: "")
    scale.main(["--parts", "fits", "--out", str(out)])
    document = json.loads(out.read_text())
    assert document["hot"][0]["over_floors"] == 1.2
    assert document["fits"] == [sized("fit", 10**4, 1.0)]


def test_make_bench_runs_it():
    assert "scale" in benchmarks_main.ALONE
