"""The import contract notices what it forbids: each breach is planted in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINTER = Path(sys.executable).with_name("lint-imports")

BREACHES = [
    ("encode/planted.py", "import coterie.aggregate", "only from the rooms a report has passed"),
    ("collect/planted.py", "import coterie.centers", "only from the rooms a report has passed"),
    ("planted.py", "", "only from the rooms a report has passed"),  # a module that is not on the map
    ("aggregate/planted.py", "import coterie.encode", "no room of the server sees encode"),
    (
        "protocols/planted/table.py",
        "import coterie.protocols.codeword.encode",
        "no room of the server sees encode",
    ),
    (
        "protocols/planted/encode.py",
        "import coterie.protocols.codeword.table",
        "see nothing of what the server",
    ),
    (
        "protocols/planted/report.py",
        "import coterie.protocols.codeword.oracles.rows",
        "see nothing of what the",
    ),
    ("protocols/planted/parameters.py", "import coterie.collect", "see nothing of what the server runs"),
    ("protocols/planted/encode.py", "import sklearn", "never loads scikit-learn"),
    ("protocols/planted/table.py", "import coterie.centers.solution", "A protocol's table decides nothing"),
    ("protocols/planted/oracle.py", "import coterie.protocols.vector_sums.decode", "table decides nothing"),
    ("protocols/planted/table.py", "import cryptography", "AES lives in"),
    ("encode/planted.py", "import sklearn", "never loads scikit-learn"),
    ("features/planted.py", "import coterie.plan", "only from the rooms a report has passed"),
    ("features/planted.py", "import pandas", "never loads scikit-learn"),
    ("centers/planted.py", "import cryptography", "AES lives in"),
    ("centers/planted.py", "import pyspark", "Only engines imports a cluster engine"),
    ("collect/planted.py", "import psycopg", "Only store imports a database driver"),
    ("engines/planted.py", "import psycopg_pool", "Only store imports a database driver"),
    ("engines/planted.py", "import uvicorn", "Only service imports a web framework"),
]


def check(package: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINTER, "--config", ROOT / "pyproject.toml", "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
    )


@pytest.fixture
def package(tmp_path):
    return shutil.copytree(
        ROOT / "src/coterie", tmp_path / "src/coterie", ignore=shutil.ignore_patterns("__pycache__")
    )


def test_the_package_keeps_its_contract(package, tmp_path):
    done = check(package, tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("module", "line", "contract"), BREACHES)
def test_a_breach_is_noticed(package, tmp_path, module, line, contract):
    planted = package / module
    planted.parent.mkdir(parents=True, exist_ok=True)
    (planted.parent / "__init__.py").touch()
    planted.write_text(line + "\n")
    done = check(package, tmp_path)
    assert done.returncode != 0
    told = " ".join(done.stdout.split())  # a long name is wrapped
    assert re.search(rf"{re.escape(contract)}(?:(?!KEPT).)*? BROKEN", told), done.stdout
