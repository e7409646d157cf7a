"""What releases it says what the package says: one version, the same dependencies, targets that there are.

Workflows and recipe have not been run anywhere; this is as far as reading them goes.
"""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import coterie

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def canonical(requirement):
    """Return name and bound of a requirement, without what holds on one system alone."""
    return re.sub(r"\s|\[.*?\]|;.*", "", requirement)


def test_the_version_has_one_source():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", coterie.__version__)
    assert f"## [{coterie.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_changelog_keeps_its_form():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert all(
        re.fullmatch(r"\[[\w.]+\] - (\d{4}-\d\d-\d\d|unreleased)|\[Unreleased\]", each) for each in versions
    )
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_there_is_with_as_few_rights_as_it_can(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Not yet run")
    flow = yaml.safe_load(text)
    assert flow["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    for name, job in flow["jobs"].items():
        assert job["timeout-minutes"] <= 30, name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step["uses"])
            for made in re.findall(
                r"^make (.+)$", re.sub(r"\$\{\{.*?\}\}", "", step.get("run", "")), re.MULTILINE
            ):
                assert {word for word in made.split() if "=" not in word} <= targets
            for extras in re.findall(r"\.\[([a-z,]+)\]", step.get("run", "")):
                assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert "secrets." not in text  # nothing to steal: publishing is by trust in this workflow


def test_only_the_last_step_may_publish():
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert release["publish"]["environment"] == "pypi"
    assert release["publish"]["permissions"] == {"id-token": "write"}
    assert "attestations" in release["build"]["permissions"]
    assert release["publish"]["needs"] == "build"


def test_the_recipe_has_the_packages_that_the_project_has():
    text = (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Not yet run")
    recipe = yaml.safe_load(text)
    assert recipe["context"]["version"] == coterie.__version__
    assert recipe["build"]["noarch"] == "python"
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["analyst"]]
    listed = {re.sub(r"\s", "", each) for each in recipe["requirements"]["run"]}
    assert listed == {f"python{PROJECT['project']['requires-python']}", *map(canonical, wanted)}
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry == f"coterie = {PROJECT['project']['scripts']['coterie']}"
