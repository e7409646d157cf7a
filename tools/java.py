"""Java for Spark: `python tools/java.py` installs Debian's package if there is none (needs root)."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "openjdk-17-jre-headless"


def install() -> str:
    """Install Java 17 if no Java is there; return its program."""
    with (Path(tempfile.gettempdir()) / "coterie-install-java").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process installs, the others wait
        home = os.environ.get("JAVA_HOME")
        found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
        if found is not None:
            return found
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise SystemExit(f"Spark needs Java 17: install Debian's package {PACKAGE}, or its like")
        for words in (["update"], ["install", PACKAGE]):
            subprocess.run(  # noqa: S603
                ["apt-get", "--quiet", "--yes", "--no-install-recommends", *words],  # noqa: S607
                check=True,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdout=sys.stderr,
            )
        if (found := shutil.which("java")) is None:
            raise SystemExit(f"Debian's package {PACKAGE} brought no java")
        return found


if __name__ == "__main__":
    print(install())
