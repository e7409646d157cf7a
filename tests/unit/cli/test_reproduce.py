import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.reproduction import reproduce, runs
from coterie.reproduction.studies import Setting, _grid


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    base = Setting(400, 3, 2, 4.0, 20.0)
    grid = _grid(base, 200, users=(400,), epsilon=(4,), clusters=(2,), separation=(20,))
    monkeypatch.setattr(reproduce, "QUICK", grid)
    monkeypatch.setattr(reproduce, "QUICK_BASE", base)


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_processes_compute_and_another_call_draws(tmp_path):
    pytest.importorskip("matplotlib")
    done = run("--quick", "--runs", 1, "--workers", 2, "--out", tmp_path / "out", "--compute-only")
    assert done.exit_code == 0, done.output
    assert not list((tmp_path / "out").glob("*.html"))
    assert len(runs.read_runs(tmp_path / "out" / "runs.csv")) > 10
    drawn = run("--quick", "--runs", 1, "--out", tmp_path / "out", "--draw-only", "--json")
    assert drawn.exit_code == 0, drawn.output
    assert (tmp_path / "out" / "report.html").exists()
    assert '"claims"' in drawn.stdout


def test_both_halves_left_out_is_a_wrong_command_line(tmp_path):
    assert run("--compute-only", "--draw-only", "--out", tmp_path).exit_code == 2


def test_drawing_without_tables_says_so_in_one_line(tmp_path):
    done = run("--draw-only", "--out", tmp_path / "nothing")
    assert done.exit_code == 1
    assert "sweep-users.csv" in done.stderr
