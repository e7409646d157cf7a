"""The lock file pins every file by its hash, agrees with constraints.txt, and names no address."""

import importlib.util
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("bill", ROOT / "tools/bill.py")
bill = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(bill)


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_pin_has_a_hash_and_is_that_of_the_constraints():
    pinned = {canonical(name): found for name, found in bill.pins().items()}
    assert all(re.fullmatch("[0-9a-f]{64}", each) for _, hashes in pinned.values() for each in hashes)
    assert all(hashes for _, hashes in pinned.values())
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    wanted = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert {name: version for name, (version, _) in pinned.items()} == {
        canonical(name): version for name, version in wanted.items()
    }


def test_nothing_says_where_files_come_from():
    for name in ("requirements.lock", "constraints.txt", "pyproject.toml"):
        text = (ROOT / name).read_text()
        assert "index-url" not in text
        assert not re.search(r"^\s*(--|-i |-f )", text.replace("    --hash=", ""), re.MULTILINE), name
    for name in ("requirements.lock", "packaging/conda/recipe.yaml"):
        assert not re.search(r"://(?!github\.com/)", (ROOT / name).read_text()), name


def test_the_bill_of_materials_lists_every_pin(tmp_path, monkeypatch):
    monkeypatch.setattr(bill, "SBOM", tmp_path / "sbom.json")
    bill.sbom()
    found = json.loads((tmp_path / "sbom.json").read_text())
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    listed = {(one["name"], one["version"]) for one in found["components"]}
    assert listed == {(name, version) for name, (version, _) in bill.pins().items()}
    assert all(one["hashes"] and one["purl"].startswith("pkg:pypi/") for one in found["components"])
    assert sum("licenses" in one for one in found["components"]) > len(listed) // 2
