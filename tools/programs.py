"""Programs that pip does not bring: `python tools/programs.py java node npm chromium initdb`.

What is absent comes from Debian's packages (as root, or by sudo); where there is no apt-get, the names of the
packages are printed and the exit code is 1. Tests that need such a program are skipped unless COTERIE_TOOLS
is "all", as in `make check`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = {
    "java": "openjdk-17-jre-headless",  # Spark
    "node": "nodejs",  # the browser client
    "npm": "npm",
    "chromium": "chromium",
    "initdb": "postgresql",
}
OLDEST_NODE = 20


def found(program: str) -> Path | None:
    """Return where a program is, or None; Debian keeps PostgreSQL's out of PATH, by version."""
    if program == "java" and (home := os.environ.get("JAVA_HOME")):
        return Path(home) / "bin" / "java"
    if path := shutil.which(program):
        return Path(path).resolve()
    if program == "initdb":
        return max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version, default=None)
    return None


def _version(path: Path) -> int:
    return int(path.parents[1].name)


def install(programs: list[str]) -> None:
    """Install the packages of programs that are absent."""
    missing = [PACKAGES[program] for program in programs if found(program) is None]
    if missing:
        if shutil.which("apt-get") is None:
            raise SystemExit(f"please install: {' '.join(missing)} (Debian's names)")
        _apt("update")
        if "postgresql" in missing:
            _apt("install", "postgresql-common")
            _no_server_of_debians(Path("/etc/postgresql-common/createcluster.conf"))
        _apt("install", *missing)
    if "node" in programs:
        said = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout  # noqa: S607
        if int(said[1:].split(".")[0]) < OLDEST_NODE:
            raise SystemExit(f"the browser client needs Node {OLDEST_NODE} or newer, found {said.strip()}")


def _no_server_of_debians(settings: Path) -> None:
    text = settings.read_text() if settings.exists() else ""
    text = re.sub(r"(?m)^#?\s*create_main_cluster\b.*$", "", text)
    settings.write_text(f"{text.rstrip()}\ncreate_main_cluster = false\n")


def _apt(*words: str) -> None:
    command = ["apt-get", "--quiet", "--yes", "--no-install-recommends", *words]
    subprocess.run(  # noqa: S603
        command if os.geteuid() == 0 else ["sudo", *command],
        check=True,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdout=sys.stderr,
    )


if __name__ == "__main__":
    install(sys.argv[1:])
