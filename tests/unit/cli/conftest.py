import json

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.datasets import gaussian_mixture


class Terminal:
    """Runs commands in a folder; stdout, stderr and exit code come back apart."""

    def __init__(self, folder):
        self.folder = folder
        self._runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"})

    def run(self, *arguments, code=0):
        done = self._runner.invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json").stdout)

    def fails(self, *arguments):
        """Run a command that must fail with exit code 1 and one line on stderr; return the line."""
        done = self.run(*arguments, code=1)
        assert done.stdout == ""
        errors = [line for line in done.stderr.splitlines() if not line.startswith("caution:")]
        assert len(errors) == 1
        assert errors[0].startswith("error: ")
        assert "Traceback" not in done.stderr
        return errors[0]


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Terminal(tmp_path)


@pytest.fixture
def study(terminal):
    """A plan of 3 coordinates and 2 clusters, and 5,000 points for it, in terminal.folder."""
    terminal.run(
        "plan", "--dimension", 3, "--clusters", 2, "--epsilon", 4, "--users", 5000, "--out", "plan.json"
    )
    points, _, _ = gaussian_mixture(5000, 3, 2, separation=8, random_state=0)
    np.save(terminal.folder / "points.npy", points)
    return terminal


@pytest.fixture(autouse=True, scope="module")
def _fast(hardly_any_atoms):
    """Decode as fast as it goes: these tests are about what is around the decoder."""
