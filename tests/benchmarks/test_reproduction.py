"""The reproduction on a tiny grid: what is computed is kept, resumed, summarized, judged and drawn."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks import harness
from benchmarks.reproduction import methods, run
from benchmarks.reproduction.claims import check_claims, ratios
from benchmarks.reproduction.methods import METHODS, Played, available_methods, design_of, plan_of
from benchmarks.reproduction.run import Reproduction, play
from benchmarks.reproduction.studies import (
    ABLATION,
    BASE,
    CORE,
    FULL,
    NAIVE,
    PEERS,
    QUICK,
    RUNS,
    Grid,
    Setting,
    _grid,
    ablation_settings,
    grid_of,
)
from benchmarks.reproduction.tables import FORMER, PRESENT, Point, points_of, read_table, write_tables
from coterie.centers import decode
from coterie.errors import PlanError

ROOT = Path(__file__).parents[2]
TINY = Setting(600, 4, 2, 4.0, 20.0)
GRID = _grid(TINY, 300, users=(300, 600), epsilon=(2, 4), clusters=(2, 3), separation=(8, 100))
SMALL = Reproduction(GRID, TINY, 1)


def command(monkeypatch, *arguments):
    """Run `python -m benchmarks reproduction` on the tiny grid; return the exit code."""
    monkeypatch.setattr(run, "QUICK", GRID)
    monkeypatch.setattr(run, "QUICK_BASE", TINY)
    monkeypatch.setattr(sys, "argv", ["reproduction", "--workers", "0", *map(str, arguments)])
    try:
        run.main()
    except SystemExit as end:
        return end.code
    return 0


def test_every_sweep_and_method_is_there():
    assert [sweep.name for sweep in FULL] == [sweep.name for sweep in QUICK]
    assert set(CORE) | set(NAIVE) | set(PEERS) | set(ABLATION) == set(METHODS)
    assert {setting.dimension for sweep in FULL for setting in sweep.settings} == {100}
    assert all(BASE in sweep.settings for sweep in FULL if sweep.name != "separation-small")


def test_every_setting_is_played_once_with_each_method():
    studies = grid_of(FULL, BASE, METHODS)
    assert len(studies) == len({study.name for study in studies})
    assert {study.method for study in studies if Setting.of(study) == BASE} == set(METHODS)
    places = [Setting.of(study) for study in studies]
    assert sum(a != b for a, b in pairwise(places)) == len(set(places)) - 1  # side by side


def test_the_stored_runs_are_of_this_grid():
    stored = {name for name, _ in harness._read(run.OUT)["runs"]}
    every = {study.name for study in grid_of(FULL, BASE, METHODS)}
    assert stored <= every
    assert {name.rpartition(" ")[2] for name in every - stored} <= {*PEERS, "codeword-tight"}
    assert RUNS == 10


def test_stored_figures_of_another_design_or_other_code_are_marked(tmp_path):
    """When this fails, plans or code have changed: `make reproduce` replays, or at least mark the figures."""
    runs = {}
    for (name, _), found in sorted(harness._read(run.OUT)["runs"].items()):
        runs.setdefault(name, []).append(found)
    for path in write_tables(tmp_path, FULL, BASE, runs, lru_cache(maxsize=None)(design_of)):
        stored = (run.OUT.parent / path.name).read_text(encoding="utf-8")
        assert path.read_text(encoding="utf-8") == stored, (
            "stored runs are of another design: python -m benchmarks reproduction --mark"
        )


def test_a_design_is_its_plan_and_its_code(monkeypatch):
    few = replace(BASE, users=50_000)
    plain, tight = (plan_of(method, few).to_json() for method in ("codeword", "codeword-tight"))
    assert plain != tight
    assert plan_of("central-tree", BASE) is None
    study, other = TINY.study("lsh-tree"), replace(TINY, epsilon=2.0).study("lsh-tree")
    key = design_of(study)
    assert len({key, design_of(other), design_of(TINY.study("step-1-randomizer"))}) == 3
    monkeypatch.setattr(methods, "sample_of", lambda method: "0.5")
    assert not harness.same_design(key, design_of(study))
    figure = key.split(":")[1]
    monkeypatch.setattr(methods, "sample_of", lambda method: f"{1.002 * float(figure):.6g}")
    assert harness.same_design(key, design_of(study))  # another processor


def test_runs_of_another_design_are_played_again_and_marked_until_then(tmp_path, monkeypatch):
    out = tmp_path / "runs.csv"
    words = ["--quick", "--method", "one-center", "--sweep", "epsilon", "--seeds", 1, "--out", out]
    assert command(monkeypatch, *words, "--compute-only") == 0
    first = out.read_text(encoding="utf-8")
    played = []
    monkeypatch.setattr(run, "play", lambda *given, **_: played.append(given) or {"objective": 2.0})
    assert command(monkeypatch, *words, "--compute-only") == 0
    assert not played  # nothing is stale
    monkeypatch.setattr(run, "design_of", lambda study: "another")
    assert command(monkeypatch, *words, "--compute-only", "--mark") == 0
    assert not played
    assert {point.design for point in read_table(tmp_path / "sweep-epsilon.csv")} == {FORMER}
    assert out.read_text(encoding="utf-8") == first
    assert command(monkeypatch, *words, "--compute-only") == 0
    assert len(played) == 2
    assert {(p.mean, p.design) for p in read_table(tmp_path / "sweep-epsilon.csv")} == {(2.0, PRESENT)}


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(PEERS)))
def test_every_method_gives_centers(method):
    centers = METHODS[method](Played(TINY, seed=1))
    assert centers.shape == (1 if method == "one-center" else 2, 4)


def test_the_last_step_of_the_ablation_is_cells_alone_and_the_first_the_paper():
    played = Played(TINY, seed=3)
    cells = decode(played.cells_table, random_state=3, decoder="cells").centers
    assert (METHODS["step-8-settling"](played) == cells).all()
    views = played.cells_table.plan.parameters.views
    assert [type(view).__name__ for view in views] == ["CrossPolytope", "CrossPolytope"]
    assert (METHODS["step-0-paper"](played) == METHODS["lsh-tree"](played)).all()


def test_centers_without_what_is_stated_are_those_of_decode():
    played = Played(TINY, seed=4)
    whole = decode(played.reports("codeword"), random_state=4).centers
    assert (METHODS["codeword"](played) == whole).all()


def test_a_run_repeats_exactly(tmp_path):
    for method in ("lsh-tree", "codeword", "interactive-users"):
        study = TINY.study(method)
        assert play(study, 5, tmp_path)["objective"] == play(study, 5, tmp_path)["objective"]


@pytest.mark.whole
def test_computing_and_drawing_are_two_halves(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out" / "runs.csv"
    monkeypatch.setattr(run, "design_of", lambda study: "any")  # what a design is, others ask
    assert command(monkeypatch, "--quick", "--seeds", 1, "--out", out, "--compute-only") == 0
    assert not list(out.parent.glob("*.html"))
    out.unlink()  # the tables alone will do
    table = out.parent / "sweep-users.csv"
    table.write_text(table.read_text().replace("present", "former"))
    assert command(monkeypatch, "--quick", "--out", out, "--draw-only") == 0
    first = {path: path.read_bytes() for path in out.parent.iterdir()}
    page, index = (first[out.parent / name].decode() for name in ("report.html", "index.md"))
    assert page.count("<svg") == 6
    assert "http://" not in page.replace("http://www.w3.org", "")
    told = capsys.readouterr().out
    assert all(claim.name in page and claim.name in told for claim in check_claims({}))
    names = {path.name for path in first}
    assert names >= {"claims.csv", "index.md", "ablation.csv", "figure-users.svg", "figure-ablation.svg"}
    assert "Figures with † are of runs" in index
    assert " †" in index.split("## Objective against people")[1].split("## Objective")[0]
    assert " †" not in index.split("## Objective against ε")[1]
    assert "<p>Figures with † are of runs" in page
    assert "hollow: runs of a former design" in first[out.parent / "figure-users.svg"].decode()
    replace(SMALL, options=" --quick").draw(out.parent)
    assert {path: path.read_bytes() for path in first} == first  # the same bytes again


def test_another_grid_does_not_overwrite_the_stored_one(monkeypatch, capsys):
    assert command(monkeypatch, "--quick") == 2
    assert "name another file by --out" in capsys.readouterr().err


def test_drawing_without_tables_says_so_in_one_line(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    assert "sweep-users.csv" in command(monkeypatch, "--draw-only", "--out", tmp_path / "runs.csv")


def test_tables_hold_mean_and_deviation(tmp_path):
    some = {TINY.study("codeword").name: [{"objective": 1.0}, {"objective": 3.0}]}
    assert points_of("x", TINY, ["codeword", "lsh-tree"], some) == [Point("x", "codeword", 2.0, 1.414214, 2)]
    write_tables(tmp_path, GRID, TINY, some)
    assert [(point.value, point.mean) for point in read_table(tmp_path / "sweep-users.csv")] == [("600", 2.0)]


OWN = {
    "base": {"users": 300, "dimension": 3, "clusters": 2, "epsilon": 4, "separation": 20},
    "sweeps": {"epsilon": [2, 4], "users": [200, 300]},
    "methods": ["one-center", "net-tree?randomizer=codeword&levels=1"],
    "runs": 1,
}


def test_a_grid_and_methods_of_ones_own(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    written, out = tmp_path / "grid.json", tmp_path / "own" / "runs.csv"
    written.write_text(json.dumps(OWN))
    more = ("--method", "lsh-tree?split=deepest")
    assert command(monkeypatch, "--grid", written, *more, "--out", out) == 0
    studies = {name for name, _ in harness._read(out)["runs"]}
    assert len(studies) == 3 * 3  # the base belongs to both sweeps
    assert {name.rpartition(" ")[2] for name in studies} == {*OWN["methods"], more[1]}
    page = (out.parent / "index.md").read_text()
    assert "python -m benchmarks reproduction --grid grid.json" in page
    assert "net-tree?randomizer=codeword" in page
    assert (out.parent / "claims.csv").read_text().count("\n") == 1
    drawing = (out.parent / "figure-epsilon.svg").read_text()
    assert "mean of 1 runs a point; bars: one standard deviation of a run" in drawing
    assert "n = 300, d = 3, k = 2, r = 20" in drawing


@pytest.mark.whole
def test_a_protocol_of_ones_own_is_a_method(tmp_path, monkeypatch):
    # The protocol of the page, registered by a module of the researcher's, played in a process of its own.
    page = (ROOT / "docs" / "write-a-protocol.md").read_text(encoding="utf-8")
    (tmp_path / "my_bins.py").write_text(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0])
    own = OWN | {"sweeps": {"epsilon": [4]}, "methods": ["bins?bins=8", "one-center"]}
    (tmp_path / "grid.json").write_text(json.dumps(own))

    out = tmp_path / "out" / "runs.csv"

    options = ["--grid", tmp_path / "grid.json", "--out", out, "--compute-only"]
    assert "no method named 'bins?bins=8'; known: " in command(monkeypatch, *options)
    said = command(monkeypatch, *options, "--import", "my_pins")
    assert "--import my_pins: No module named 'my_pins'" in said
    words = [*options, "--workers", "1", "--import", "my_bins"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "reproduction", *map(str, words)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = {name.rpartition(" ")[2]: run for (name, _), run in harness._read(out)["runs"].items()}
    assert set(runs) == {"bins?bins=8", "one-center"}
    assert 0 < runs["bins?bins=8"]["objective"] <= 4  # in the unit ball


def test_modules_are_imported_for_a_grid_alone(monkeypatch, capsys):
    assert command(monkeypatch, "--import", "my_bins") == 2
    assert "name one by --grid" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": 0}, "grid.runs must be in"),
        ({"sweeps": {"color": [1]}}, "a sweep must be one of"),
        ({"sweeps": {}}, "at least one field"),
        ({"base": {"users": 300}}, "grid.base lacks the field"),
        ({"extra": 1}, "unknown field"),
    ],
)
def test_a_grid_is_checked(change, message):
    with pytest.raises(PlanError, match=message):
        Grid.from_dict(OWN | change)


def line(method, *means, values=("100000", "1e+06"), deviation=0.01):
    return [Point(value, method, mean, deviation, 10) for value, mean in zip(values, means, strict=True)]


def test_claims_tell_right_from_wrong():
    def claims(**changes):
        parts = {
            "paper": (0.9, 0.37),
            "ours": (0.3, 0.05),
            "naive": (1.5, 1.5),
            "eps": (0.37, 0.15),
        } | changes
        users = line("lsh-tree", *parts["paper"]) + line("codeword", *parts["ours"])
        users += line("noise-laplace", *parts["naive"]) + line("one-center", 0.86, 0.86)
        separations = ("8", "100")
        tables = {
            "users": users,
            "epsilon": line("lsh-tree", *parts["eps"], values=("1", "2")),
            "clusters": line("lsh-tree", 0.2, 0.8, values=("4", "16")),
            "separation-large": line("lsh-tree", parts.get("r8", 0.45), 0.37, values=separations)
            + line("non-private", 0.02, 0.0, values=separations),
        }
        return {claim.name: claim.holds for claim in check_claims(tables)}

    assert all(claims().values())
    loose = check_claims(
        {
            "separation-large": line("lsh-tree", 0.45, 0.37, values=("8", "100"))
            + line("non-private", 0.0, 0.0, values=("8", "100"))
        }
    )
    assert {claim.verdict for claim in loose if claim.name == "separation-8-is-enough"} == {"not clearly"}
    same = check_claims(
        {
            "separation-large": line("lsh-tree", 0.371, 0.37, values=("8", "100"))
            + line("non-private", 0.0, 0.0, values=("8", "100"))
        }
    )
    assert {claim.verdict for claim in same if claim.name == "separation-8-is-enough"} == {"yes"}
    assert claims(paper=(0.3, 0.37))["falls-with-users"] is False
    assert claims(ours=(0.3, 0.38))["codeword-at-or-below"] is False
    assert claims(naive=(1.5, 0.5))["naive-finds-nothing"] is False
    assert claims(eps=(0.15, 0.37))["falls-with-epsilon"] is False
    assert claims(r8=0.9)["separation-8-is-enough"] is False
    assert {claim.holds for claim in check_claims({})} == {None}


def test_ratio_is_the_paper_s_over_ours():
    assert ratios(line("lsh-tree", 0.8, 0.4) + line("codeword", 0.4, 0.1)) == {"100000": 2.0, "1e+06": 4.0}


def test_ablation_is_played_where_clusters_are_broad_too():
    assert ablation_settings(TINY) == (TINY, replace(TINY, epsilon=8.0), replace(TINY, separation=8.0))


def test_parts_of_the_grid_can_be_asked_for():
    studies = SMALL.chosen(("epsilon",), ("lsh-tree",))
    assert {study.method for study in studies} == {"lsh-tree"}
    assert {study.epsilon for study in studies} == {2.0, 4.0}
    assert {study.method for study in SMALL.chosen((), ())} == available_methods()


@pytest.mark.parametrize(("kind", "name"), [("sweep", "color"), ("method", "magic")])
def test_unknown_parts_are_refused(kind, name):
    with pytest.raises(PlanError, match=f"no {kind} named '{name}'; known: "):
        SMALL.chosen(**{f"{kind}s": (name,)})
