"""The bill of materials: `make sbom` writes sbom.cdx.json (CycloneDX 1.6) from requirements.lock.

With the hashes of the lock and the licences of what is installed, and no address: why by hand is said in
docs/decisions/0052-lock-and-bill.md.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK, SBOM = ROOT / "requirements.lock", ROOT / "sbom.cdx.json"

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) \\$")
_HASH = re.compile(r"^ +--hash=sha256:([0-9a-f]{64})( \\)?$")


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
        "metadata": {"component": _named("coterie", version)},
        "components": [_component(name, *found) for name, found in sorted(pins().items())],
    }
    SBOM.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _named(name: str, version: str) -> dict[str, Any]:
    address = f"pkg:pypi/{name}@{version}"
    return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}


def _component(name: str, version: str, hashes: list[str]) -> dict[str, Any]:
    component = _named(name, version)
    component["hashes"] = [{"alg": "SHA-256", "content": each} for each in hashes]
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
    sbom()
