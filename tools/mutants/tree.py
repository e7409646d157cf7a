"""A temporary copy of the repository: mutants live there and nowhere else.

Whatever ends the run, the working tree was never written. Compiled files are checked by the hash of their
source (PEP 552), because two mutants of one size within one second look alike by time and size.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "src/coterie"
ROOMS = ("privacy", "randomizers", "encode", "plan", "protocols", "collect", "aggregate")
STRICT = ("privacy", "randomizers", "encode")  # no unexplained survivor here; elsewhere fewer than 5 %
# One thread: several runs stand side by side. Numpy's kernels: numba would compile for every mutant anew.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "COTERIE_KERNELS": "numpy",
    "NUMBA_DISABLE_JIT": "1",  # the tests of compiled kernels run them as Python, line by line
    "PYTHONDONTWRITEBYTECODE": "1",
}
# Compiled kernels count modulo 2^64; as Python they would warn of it.
WRAPPING = ("-W", "ignore:overflow encountered in scalar:RuntimeWarning")


def copy_of_repository(target: Path) -> Path:
    """Copy the files git tracks or would track to `target`, compiled."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / name)
    compileall.compile_dir(
        target / "src", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    )
    return target


def environment(target: Path) -> dict[str, str]:
    """Return the environment in which tests of the copy run."""
    return {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(target / "src")}


def files(room: str) -> list[str]:
    """Return the source files of a room, relative to the package."""
    base = ROOT / PACKAGE
    return sorted(str(path.relative_to(base)) for path in (base / room).rglob("*.py"))


def digest(text: str) -> str:
    """Return a short name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
