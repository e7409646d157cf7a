"""What a device loads. Measured in a fresh interpreter, because this one has loaded everything already."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

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
    assert "coterie.protocols.codeword.encode" in loaded
    others = ("net_tree", "lsh_tree", "vector_sums", "shares", "amplified")
    assert not [name for name in loaded if name.rpartition(".")[2].startswith(others)]
    assert not [name for name in loaded if name.endswith("_design")]
    assert "coterie.features.schema" not in loaded  # the plan declares none


def test_importing_the_package_loads_no_room():
    assert {name for name in loaded_by("import coterie") if name.startswith("coterie.")} == set()


@pytest.mark.slow
def test_the_measurement_sees_what_is_loaded():
    assert not loaded_by("import sklearn").isdisjoint(HEAVY)


# Refuses to find what a device's install does not bring, as if it were not there.
BLOCKED = """
import os, sys

os.environ["COTERIE_KERNELS"] = "numpy"
MISSING = {"sklearn", "scipy", "threadpoolctl", "typer", "rich", "joblib", "narwhals", "pandas", "pyarrow"}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def on_a_device(script, folder):
    command = [sys.executable, "-c", BLOCKED + script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def told_on_a_device(script, folder):
    done = on_a_device(script, folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_a_device_answers_with_numpy_cryptography_and_rfc8785_alone(tmp_path):
    from coterie import Plan
    from coterie.features import Category, Number
    from coterie.plan import protocols

    local = protocols("local")
    for name in local:
        Plan.design(3, 2, 1.0, 100, protocol=name).save(tmp_path / f"{name}.json")
    Plan.design(3, 2, 1.0, 5000, protocol="vector-sums", model="shuffle", delta=1e-6).save(
        tmp_path / "vector-sums.json"
    )
    people = [Number("age", 0, 100), Category("plan", ["free", "paid"])]
    Plan.design(features=people, clusters=2, epsilon=1.0, expected_users=100).save(tmp_path / "records.json")
    script = """
import coterie
from pathlib import Path
policy = coterie.Policy(
    shufflers=("00" * 32,), max_local_epsilon=float("inf"), total_local_epsilon=float("inf")
)
for path in sorted(Path().glob("*.json")):
    plan = coterie.Plan.load(path)
    client = coterie.Client(plan, path.with_suffix(".ledger"), policy=policy)
    sent = client.encode([0.1, 0.2, 0.3] if plan.features is None else {"age": 34, "plan": "free"})
    assert len(sent) == plan.upload_width, path
    assert coterie.write_reports(path.with_suffix(".reports"), plan, [sent]) == 1
    print(plan.protocol)
print(len(coterie.Client(coterie.Plan.load("codeword.json")).encode_many([[0.1, 0.2, 0.3]] * 5000)))
"""
    told = told_on_a_device(script, tmp_path)
    assert told.split() == [*sorted(local), "codeword", "vector-sums", str(13 * 5000)]


def test_a_device_reads_plans_and_designs_none(tmp_path):
    script = "import coterie; coterie.Plan.design(3, 2, 1.0, 100)"
    assert on_a_device(script, tmp_path).stderr.endswith(
        'scipy is not installed: pip install "coterie[analyst]" brings it\n'
    )


def test_a_shuffle_plan_whose_promise_cannot_be_checked_is_refused(tmp_path):
    from coterie import Plan

    Plan.design(2, 2, 1.0, 1000, model="shuffle", delta=1e-6).save(tmp_path / "plan.json")
    script = """
import coterie
try:
    coterie.Plan.load("plan.json")
except coterie.CoterieError as error:
    print(type(error).__name__, error)
"""
    words = 'MissingExtraError scipy is not installed: pip install "coterie[analyst]" brings it\n'
    assert told_on_a_device(script, tmp_path) == words


@pytest.mark.parametrize(
    "use",
    [
        "coterie.LocalKMeans",
        "coterie.ClippedPointsWarning",
        "coterie.decode",
        "coterie.Aggregate(coterie.Plan.design(3, 2, 1.0, 100)).add(bytes(13))",
    ],
)
def test_the_analysts_part_says_what_to_install(tmp_path, use):
    done = on_a_device(f"import coterie\n{use}", tmp_path)
    last = done.stderr.splitlines()[-1]
    told = re.search(
        r'MissingExtraError: (.+) is not installed: pip install "coterie\[analyst\]" brings it$', last
    )
    assert told
    assert told[1] in ("scikit-learn", "scipy", "threadpoolctl")


def test_the_command_line_says_what_to_install(tmp_path):
    done = on_a_device("from coterie.cli import main; main()", tmp_path)
    words = 'error: typer is not installed: pip install "coterie[analyst]" brings it\n'
    assert (done.returncode, done.stdout, done.stderr) == (1, "", words)


def test_the_core_install_is_what_a_device_needs():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(listed):
        return {re.split(r"[<>=\[]", one)[0] for one in listed}

    here = [one for one in project["dependencies"] if not one.endswith("; sys_platform == 'win32'")]
    assert names(here) == {"cryptography", "numpy", "rfc8785"}
    assert names(set(project["dependencies"]) - set(here)) == {"filelock"}
    wanted = {"jinja2", "rich", "scikit-learn", "scipy", "threadpoolctl", "typer"}
    assert names(project["optional-dependencies"]["analyst"]) == wanted
