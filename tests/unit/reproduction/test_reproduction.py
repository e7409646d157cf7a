"""The reproduction on a tiny grid: what is computed is kept, resumed, summarized, judged and drawn."""

import contextlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from coterie.errors import FileError, PlanError
from coterie.reproduction import reproduce, runs
from coterie.reproduction.claims import check_claims, ratios
from coterie.reproduction.methods import METHODS, Played, available_methods
from coterie.reproduction.reproduce import Reproduction
from coterie.reproduction.runs import COLUMNS, Run, compute, missing_jobs, play_job, read_runs
from coterie.reproduction.studies import (
    ABLATION,
    BASE,
    CORE,
    FULL,
    NAIVE,
    PEERS,
    QUICK,
    Grid,
    Setting,
    _grid,
    ablation_settings,
    wanted,
)
from coterie.reproduction.tables import Point, points_of, read_table, write_tables

TINY = Setting(600, 4, 2, 4.0, 20.0)
GRID = _grid(TINY, 300, users=(300, 600), epsilon=(2, 4), clusters=(2, 3), separation=(8, 100))


@contextlib.contextmanager
def silent(what, total):
    del what, total
    yield lambda amount: None


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "QUICK", GRID)
    monkeypatch.setattr(reproduce, "QUICK_BASE", TINY)
    monkeypatch.setattr(runs, "ProcessPoolExecutor", OneProcess)
    monkeypatch.setattr(runs, "as_completed", iter)
    return Reproduction(tmp_path / "out", quick=True, runs=2)


class OneProcess:
    """Stands for the pool of processes, in this process; a job runs when its outcome is asked for."""

    def __init__(self, *arguments):
        del arguments

    def submit(self, function, job):
        return SimpleNamespace(result=lambda: function(job))

    def shutdown(self, **how):
        del how


def test_every_sweep_and_method_is_there():
    assert [sweep.name for sweep in FULL] == [sweep.name for sweep in QUICK]
    assert set(CORE) | set(NAIVE) | set(PEERS) | set(ABLATION) == set(METHODS)
    assert {setting.dimension for sweep in FULL for setting in sweep.settings} == {100}
    assert all(BASE in sweep.settings for sweep in FULL if sweep.name != "separation-small")


def test_every_setting_is_played_once_a_seed():
    jobs = list(wanted(FULL, BASE, 3, frozenset(METHODS)))
    assert len(jobs) == len({(setting, seed) for setting, seed, _ in jobs})
    base = next(methods for setting, _, methods in jobs if setting == BASE)
    assert set(base) == set(METHODS)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(PEERS)))
def test_every_method_gives_centers(method):
    centers = METHODS[method](Played(TINY, seed=1))
    assert centers.shape == (1 if method == "one-center" else 2, 4)


def test_the_last_step_of_the_ablation_is_codeword_and_the_first_the_paper():
    played = Played(TINY, seed=3)
    assert (METHODS["step-8-settling"](played) == METHODS["codeword"](played)).all()
    assert (METHODS["step-0-paper"](played) == METHODS["lsh-tree"](played)).all()


def test_a_job_repeats_exactly():
    job = (TINY, 5, ("lsh-tree", "codeword", "interactive-users"))
    assert [run.objective for run in play_job(job)] == [run.objective for run in play_job(job)]


def test_an_interrupted_computation_goes_on_where_it_stopped(tiny, monkeypatch):
    played = []
    real = runs.play_job

    def interrupted(job):
        played.append(job)
        if len(played) == 3:
            raise KeyboardInterrupt
        return real(job)

    monkeypatch.setattr(runs, "play_job", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tiny.compute(1, silent)
    path = tiny.folder / "runs.csv"
    before = read_runs(path)
    assert {(run.setting, run.seed) for run in before} == {job[:2] for job in played[:2]}
    with path.open("a") as file:
        file.write("600,4,2,4.0,20.0,700")  # a line that was cut off
    count, _ = tiny.compute(1, silent)
    after = read_runs(path)
    assert after[: len(before)] == before
    assert count == len(after) == len({(run.setting, run.seed, run.method) for run in after})
    assert missing_jobs(wanted(GRID, TINY, 2, available_methods()), after) == []


def test_a_foreign_file_is_not_overwritten(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("something,else\n")
    with pytest.raises(FileError, match="the columns users"):
        compute(path, [], 1)
    assert path.read_text() == "something,else\n"


def test_figures_and_page_come_from_the_tables_alone(tiny):
    pytest.importorskip("matplotlib")
    tiny = replace(tiny, runs=1)
    tiny.compute(1, silent)
    (tiny.folder / "runs.csv").unlink()
    claims, paths = tiny.draw()
    assert all(path.stat().st_size > 200 for path in paths)
    assert {path.suffix for path in paths} == {".png", ".svg", ".html", ".md", ".csv"}
    page = (tiny.folder / "report.html").read_text()
    assert page.count("<svg") == 6
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    assert all(claim.name in page for claim in claims)
    first = {path.name: path.read_bytes() for path in paths if path.suffix != ".png"}
    tiny.draw()
    assert first == {name: (tiny.folder / name).read_bytes() for name in first}


def test_tables_hold_mean_and_deviation(tmp_path):
    some = [Run(600, 4, 2, 4.0, 20.0, seed, "codeword", cost, 0.1) for seed, cost in ((1, 1.0), (2, 3.0))]
    assert points_of("x", TINY, ["codeword", "lsh-tree"], some) == [Point("x", "codeword", 2.0, 1.414214, 2)]
    write_tables(tmp_path, GRID, TINY, some)
    assert [(point.value, point.mean) for point in read_table(tmp_path / "sweep-users.csv")] == [("600", 2.0)]
    assert set(COLUMNS) > {"seed", "method", "objective"}


OWN = {
    "base": {"users": 300, "dimension": 3, "clusters": 2, "epsilon": 4, "separation": 20},
    "sweeps": {"epsilon": [2, 4], "users": [200, 300]},
    "methods": ["one-center", "net-tree?randomizer=codeword&levels=1"],
    "runs": 1,
}


def test_a_grid_and_methods_of_ones_own(tmp_path):
    own = Reproduction(tmp_path / "own", grid=Grid.from_dict(OWN), methods_wanted=("lsh-tree?split=deepest",))
    count, tables = own.compute(0, silent)  # in this process
    assert count == 3 * 3  # the base belongs to both sweeps
    assert [path.name for path in tables] == ["sweep-epsilon.csv", "sweep-users.csv"]
    found = {run.method for run in read_runs(own.folder / "runs.csv")}
    assert found == {*OWN["methods"], "lsh-tree?split=deepest"}
    assert own.command == "coterie reproduce --grid grid.json --runs 1 --method lsh-tree?split=deepest"
    pytest.importorskip("matplotlib")
    claims, paths = own.draw()
    assert claims == []
    assert "net-tree?randomizer=codeword" in (own.folder / "index.md").read_text()
    assert {path.name for path in paths} >= {"figure-epsilon.svg", "report.html"}


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


def test_a_figure_says_what_its_bars_are(tmp_path):
    pytest.importorskip("matplotlib")
    own = Reproduction(tmp_path / "own", grid=Grid.from_dict(OWN | {"methods": ["one-center", "lsh-tree"]}))
    own.compute(0, silent)
    own.draw()
    drawing = (own.folder / "figure-epsilon.svg").read_text()
    assert "mean of 1 runs a point; bars: one standard deviation of a run" in drawing
    assert "lsh-tree (our implementation of the paper)" in drawing
    assert "n = 300, d = 3, k = 2, r = 20" in drawing


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
        return {claim.name: claim.holds for claim in check_claims(tables, BASE)}

    assert all(claims().values())
    loose = check_claims(
        {
            "separation-large": line("lsh-tree", 0.45, 0.37, values=("8", "100"))
            + line("non-private", 0.0, 0.0, values=("8", "100"))
        },
        BASE,
    )
    assert {claim.verdict for claim in loose if claim.name == "separation-8-is-enough"} == {"not clearly"}
    same = check_claims(
        {
            "separation-large": line("lsh-tree", 0.371, 0.37, values=("8", "100"))
            + line("non-private", 0.0, 0.0, values=("8", "100"))
        },
        BASE,
    )
    assert {claim.verdict for claim in same if claim.name == "separation-8-is-enough"} == {"yes"}
    assert claims(paper=(0.3, 0.37))["falls-with-users"] is False
    assert claims(ours=(0.3, 0.38))["codeword-at-or-below"] is False
    assert claims(naive=(1.5, 0.5))["naive-finds-nothing"] is False
    assert claims(eps=(0.5, 0.15))["paper-at-epsilon-1"] is False
    assert claims(eps=(0.37, 0.25))["paper-at-epsilon-2"] is False
    assert claims(r8=0.9)["separation-8-is-enough"] is False
    assert {claim.holds for claim in check_claims({}, BASE)} == {None}


def test_ratio_is_the_paper_s_over_ours():
    assert ratios(line("lsh-tree", 0.8, 0.4) + line("codeword", 0.4, 0.1)) == {"100000": 2.0, "1e+06": 4.0}


def test_ablation_is_played_where_clusters_are_broad_too():
    assert ablation_settings(TINY) == (TINY, replace(TINY, epsilon=8.0), replace(TINY, separation=8.0))


def test_parts_of_the_grid_can_be_asked_for(tiny):
    part = replace(tiny, sweeps_wanted=("epsilon",), methods_wanted=("lsh-tree",))
    count, _ = part.compute(1, silent)
    found = read_runs(part.folder / "runs.csv")
    assert count == 4
    assert {run.method for run in found} == {"lsh-tree"}
    assert {run.epsilon for run in found} == {2.0, 4.0}
    pytest.importorskip("matplotlib")
    _, paths = part.draw()
    assert [path.name for path in paths if path.suffix == ".png"] == [
        "figure-users.png",
        "figure-epsilon.png",
        "figure-clusters.png",
    ]  # the base belongs to all three


@pytest.mark.parametrize(("field", "name"), [("sweeps_wanted", "color"), ("methods_wanted", "magic")])
def test_unknown_parts_are_refused(tiny, field, name):
    with pytest.raises(PlanError, match=f"no .* named '{name}'; known: "):
        replace(tiny, **{field: (name,)}).compute(1, silent)
