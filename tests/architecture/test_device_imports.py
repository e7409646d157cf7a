"""What a device loads. Measured in a fresh interpreter, because this one has loaded everything already."""

import json
import subprocess
import sys

import pytest

# Slow to load, or of no use on a device.
HEAVY = [
    "sklearn",
    "scipy.stats",
    "scipy.optimize",
    "joblib",
    "pandas",
    "polars",
    "narwhals",
    "matplotlib",
    "pyarrow",
    "typer",
    "rich",
]
SERVER = ["coterie.aggregate", "coterie.centers", "coterie.collect", "coterie.estimators", "coterie.cli"]


def loaded_by(statement: str) -> set[str]:
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement", ["import coterie.encode", "from coterie import Client, Plan", "import coterie.features"]
)
def test_encoding_loads_neither_the_server_nor_its_dependencies(statement):
    assert loaded_by(statement).isdisjoint(HEAVY + SERVER)


def test_importing_the_package_loads_no_room():
    assert {name for name in loaded_by("import coterie") if name.startswith("coterie.")} == set()


def test_the_measurement_sees_what_is_loaded():
    assert not loaded_by("import sklearn").isdisjoint(HEAVY)
