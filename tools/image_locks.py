"""The locks of the container, locks/build.lock and locks/service.lock: `make lock` writes them, too.

Both are parts of requirements.lock, hash for hash: what builds the wheel, which stays behind, and what a
collector needs at run time. What needs what is read off pyproject.toml and what is installed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
# Of the image: numba would be a third of it, and count no collector's reports faster.
EXTRAS = ("analyst", "service")


def canonical(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted() -> dict[str, list[str]]:
    """Return by lock the requirements that pyproject.toml declares."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = declared["project"]
    extras = [one for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    return {"build": declared["build-system"]["requires"], "service": [*project["dependencies"], *extras]}


def needed(wanted: Sequence[str]) -> set[str]:
    """Return the canonical names of all that these requirements need, themselves among them."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(each) for each in wanted]
    while waiting:
        one = waiting.pop()
        key = (canonical(one.name), frozenset(one.extras))
        if key in found:
            continue
        found.add(key)
        for line in metadata.requires(one.name) or ():
            other = Requirement(line)
            extras = [{"extra": extra} for extra in one.extras or {""}]
            if other.marker is None or any(other.marker.evaluate(extra) for extra in extras):
                waiting.append(other)
    return {name for name, _ in found}


def part_of(names: set[str]) -> str:
    """Return the pins of these packages as requirements.lock has them."""
    kept, keep = [], False
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if not line.startswith((" ", "#")):
            keep = canonical(line.partition("==")[0]) in names
        if keep:
            kept.append(line)
    return "\n".join(["# A part of requirements.lock: make lock", *kept, ""])


def main() -> None:
    """Write both."""
    for name, requirements in wanted().items():
        path = ROOT / "locks" / f"{name}.lock"
        path.parent.mkdir(exist_ok=True)
        path.write_text(part_of(needed(requirements)), encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
