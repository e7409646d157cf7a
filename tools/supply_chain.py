"""Hashed pins and a bill of materials: `make lock`, `make sbom`.

lock   resolves constraints.txt with pip and writes requirements.lock: exact versions with the SHA-256 of
       the files that pip would install here, and no address (where they come from is pip's own
       configuration). `pip install --require-hashes -r requirements.lock` then takes those files or none.
sbom   writes sbom.cdx.json (CycloneDX 1.6) from requirements.lock, with the licences of what is installed.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK, SBOM, CONSTRAINTS = ROOT / "requirements.lock", ROOT / "sbom.cdx.json", ROOT / "constraints.txt"
EXTRAS = "analyst,fast,frames,parquet,service,plot,docs,dev"
BUILD = ("hatchling", "editables")  # what `make setup` installs first
SPARK = "pyspark"  # what `make spark` adds: it comes as source, and is built apart

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) \\$")
_HASH = re.compile(r"^ +--hash=sha256:([0-9a-f]{64})( \\)?$")
_HEAD = """\
# Exact files of the locked environment: `pip install --require-hashes -r requirements.lock`.
# Written by `make lock` from constraints.txt, for the platform it ran on. Plain pins with hashes, no address.
"""


def lock() -> None:
    """Write requirements.lock from what pip would install."""
    pins = {}
    for item in [*_resolved("--no-build-isolation", *BUILD, f".[{EXTRAS}]"), *_resolved(SPARK)]:
        name, version = item["metadata"]["name"].lower().replace("_", "-"), item["metadata"]["version"]
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        if name != "coterie":
            pins[name] = (version, hashes["sha256"])
    lines = [
        f"{name}=={version} \\\n    --hash=sha256:{found}\n"
        for name, (version, found) in sorted(pins.items())
    ]
    LOCK.write_text(_HEAD + "".join(lines), encoding="utf-8")


def _resolved(*words: str) -> list[dict[str, Any]]:
    """Return what pip would install."""
    command = [
        *(sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"),
        *("-c", str(CONSTRAINTS), "--report", "-", *words),
    ]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
    found: list[dict[str, Any]] = json.loads(done.stdout)["install"]
    return found


def pins() -> dict[str, tuple[str, list[str]]]:
    """Return names, versions and hashes of requirements.lock; ValueError for anything else in it."""
    found: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if pin := _PIN.match(line):
            name = pin[1]
            found[name] = (pin[2], [])
        elif (digest := _HASH.match(line)) and name:
            found[name][1].append(digest[1])
        else:
            raise ValueError(f"requirements.lock holds a line that is no pin: {line!r}")
    return found


def sbom() -> None:
    """Write the bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project.get("version") or importlib.metadata.version("coterie")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": f"pkg:pypi/coterie@{version}",
                "name": "coterie",
                "version": version,
                "purl": f"pkg:pypi/coterie@{version}",
            }
        },
        "components": [_component(name, *found) for name, found in sorted(pins().items())],
    }
    SBOM.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _component(name: str, version: str, hashes: list[str]) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
    }
    try:
        metadata: Any = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return component
    licence = metadata.get("License-Expression")
    if licence:
        component["licenses"] = [{"expression": licence}]
    elif (words := (metadata.get("License") or "").strip()) and len(words) < 60:
        component["licenses"] = [{"license": {"name": words}}]
    return component


if __name__ == "__main__":
    {"lock": lock, "sbom": sbom}[sys.argv[1]]()
