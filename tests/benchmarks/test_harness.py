"""The harness of all experiments: runs are kept, resumed, and not lost to Ctrl-C or to a run that fails."""

import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import decoder_size, harness
from benchmarks.__main__ import main as benchmarks_main
from benchmarks.harness import Benchmark, Study

ROOT = Path(__file__).parents[2]
GRID = (Study("one", "mixture", 10, 2), Study("two", "mixture", 20, 3))


class Player:
    """Plays nothing, counts its calls, and does something else at one of them."""

    def __init__(self, at=None, instead=None):
        self.calls, self.at, self.instead = [], at, instead

    def __call__(self, study, seed, folder):
        self.calls.append((study.name, seed))
        if len(self.calls) == self.at:
            raise self.instead
        return {"figure": seed + study.clusters / 8}


def tables(grid, runs):
    return "\n".join(f"{study.name}: {[run['figure'] for run in runs[study.name]]}" for study in grid)


def run(player, out, grid=GRID, seeds=2, **options):
    benchmark = Benchmark(grid, player, tables, out, seeds, first_seed=0)
    chosen = {"only": None, "users": None, "out": None, "workers": 0, "data": out.parent, "seeds": seeds}
    return harness.play_grid(benchmark, Namespace(**(chosen | options)))


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_an_interrupted_command_goes_on_where_it_stopped(tmp_path, suffix, capsys):
    out = tmp_path / f"runs{suffix}"
    first = Player(at=3, instead=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run(first, out)
    assert first.calls == [("one", 0), ("two", 0), ("one", 1)]
    second = Player()
    assert run(second, out) == 0
    assert second.calls == [("one", 1), ("two", 1)]
    assert "one: [0.25, 1.25]\ntwo: [0.375, 1.375]" in capsys.readouterr().out
    before = out.read_bytes()
    third = Player()
    run(third, out)
    assert third.calls == []
    assert out.read_bytes() == before


def test_a_run_that_fails_is_told_and_tried_again(tmp_path, capsys):
    out = tmp_path / "runs.json"
    assert run(Player(at=2, instead=RuntimeError("no such thing")), out) == 1
    assert "two seed 0 failed: no such thing" in capsys.readouterr().out
    again = Player()
    assert run(again, out) == 0
    assert again.calls == [("two", 0)]


def test_a_study_with_other_settings_is_played_again_and_bars_may_change(tmp_path):
    out = tmp_path / "runs.json"
    run(Player(), out)
    changed = (replace(GRID[0], epsilon=2.0), replace(GRID[1], bar=harness.Bar("figure", at_most=1)))
    player = Player()
    run(player, out, changed)
    assert player.calls == [("one", 0), ("one", 1)]


def test_one_study_alone_keeps_the_others_in_the_tables_beside_the_runs(tmp_path, capsys):
    out = tmp_path / "runs.json"
    run(Player(), out, seeds=1)
    capsys.readouterr()
    player = Player()
    run(player, out, only=["two"])
    assert player.calls == [("two", 1)]
    assert capsys.readouterr().out.endswith("two: [0.375, 1.375]\n")
    assert out.with_suffix(".md").read_text() == "one: [0.25]\ntwo: [0.375, 1.375]\n"
    with pytest.raises(SystemExit, match="no such study; known: one, two"):
        run(Player(), out, only=["three"])


@pytest.mark.parametrize(("name", "text"), [("a.csv", "something,else\n"), ("a.json", '{"a": 1}')])
def test_a_foreign_file_is_not_overwritten(tmp_path, name, text):
    out = tmp_path / name
    out.write_text(text)
    with pytest.raises(SystemExit, match="it is no file of runs"):
        run(Player(), out)
    assert out.read_text() == text


def test_fewer_people_are_for_another_file(tmp_path):
    with pytest.raises(SystemExit, match="name another file"):
        run(Player(), tmp_path / "runs.json", users=5)


SLOW = """
import sys, time
from argparse import Namespace
from pathlib import Path
from benchmarks.harness import Benchmark, Study, play_grid

def play(study, seed, folder):
    time.sleep(0 if seed < 2 else 600)
    return {"figure": seed}

if __name__ == "__main__":
    out = Path(sys.argv[1])
    benchmark = Benchmark((Study("one", "mixture", 10, 2),), play, lambda grid, runs: "", out, 4, 0)
    print("started", flush=True)
    play_grid(benchmark, Namespace(only=None, users=None, out=None, workers=2, data=out, seeds=4))
"""


def test_ctrl_c_ends_all_processes_at_once_and_keeps_what_was_done(tmp_path):
    script, out = tmp_path / "slow.py", tmp_path / "runs.json"
    script.write_text(SLOW)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    started = subprocess.Popen(
        [sys.executable, script, out],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 60
    while not (out.exists() and len(json.loads(out.read_text())["runs"]) == 2):
        assert started.poll() is None, started.stdout.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    output = started.communicate(timeout=30)[0].decode()
    assert started.returncode != 0
    assert "KeyboardInterrupt" in output
    with pytest.raises(ProcessLookupError):  # nobody of the group is left
        _wait_for_nobody(started.pid)
    assert [run["seed"] for run in json.loads(out.read_text())["runs"]] == [0, 1]


def _wait_for_nobody(group):
    for _ in range(100):
        os.killpg(group, 0)
        time.sleep(0.1)


def test_a_command_that_is_ended_has_no_failed_run(monkeypatch, capsys):
    """A run that a signal ends is none that failed: what would go on with the next one is ended, too."""
    monkeypatch.setattr("sys.argv", ["benchmarks", "decoder_size"])
    monkeypatch.setattr(decoder_size, "main", lambda: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert benchmarks_main() == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "goes on from here" in capsys.readouterr().err
