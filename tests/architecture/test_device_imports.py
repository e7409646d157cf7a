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
MOST_MODULES = 30  # of this package, for the import of the client
SERVER = ["coterie.aggregate", "coterie.centers", "coterie.collect", "coterie.estimators", "coterie.cli"]


def loaded_by(statement: str) -> set[str]:
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    ["import coterie.encode", "from coterie import Client, Plan", "from coterie.features import Schema"],
)
def test_encoding_loads_neither_the_server_nor_its_dependencies(statement):
    assert loaded_by(statement).isdisjoint(HEAVY + SERVER)


def rooms_loaded_by(statement: str) -> set[str]:
    return {name for name in loaded_by(statement) if name.split(".")[0] == "coterie"}


def test_a_device_loads_what_it_needs():
    loaded = rooms_loaded_by("from coterie import Client")
    assert len(loaded) < MOST_MODULES, sorted(loaded)
    assert not [name for name in loaded if name.endswith("_design")]
    assert "coterie.features.schema" not in loaded


def test_reading_a_plan_loads_its_protocol_alone(tmp_path):
    from coterie import Plan

    Plan.design(3, 2, 1.0, 100).save(tmp_path / "plan.json")
    path = str(tmp_path / "plan.json")
    loaded = rooms_loaded_by(
        f"from coterie import Client, Plan; Client(Plan.load({path!r})).encode([0, 0, 0])"
    )
    assert "coterie.encode.codeword" in loaded
    others = ("net_tree", "lsh_tree", "vector_sums", "shares", "amplified")
    assert not [name for name in loaded if name.rpartition(".")[2].startswith(others)]
    assert not [name for name in loaded if name.endswith("_design")]
    assert "coterie.features.schema" not in loaded  # the plan declares none


def test_importing_the_package_loads_no_room():
    assert {name for name in loaded_by("import coterie") if name.startswith("coterie.")} == set()


def test_the_measurement_sees_what_is_loaded():
    assert not loaded_by("import sklearn").isdisjoint(HEAVY)
