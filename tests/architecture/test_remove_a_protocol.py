"""A protocol is one folder and one line: without them, and without its own tests, every other test passes.

What is about one protocol alone has its name in its path. The experiments in `benchmarks/` play them all, and
the lists of mutants name places in each.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTS = "tests/architecture/test_mutants.py"
OTHERS = ("tests/unit", "tests/laws", "tests/privacy", "tests/vectors", "tests/paper", "tests/architecture")
REGISTRY = Path("src/coterie/protocols/__init__.py")


def copied(target):
    """Copy what git tracks, or would, to an empty folder."""
    told = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in filter(None, subprocess.check_output(told, cwd=ROOT, text=True).split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)


def remove(target, name):
    """Remove a protocol's folder, its line, its tests, its page and where the paper's map points at them."""
    folder = target / "src/coterie/protocols/paper" / name
    shutil.rmtree(folder)
    registry = (target / REGISTRY).read_text(encoding="utf-8")
    shorter, lines = re.subn(rf'^        "[a-z-]+": "paper\.{name}",\n', "", registry, flags=re.M)
    assert lines == 1
    (target / REGISTRY).write_text(shorter, encoding="utf-8")
    for path in sorted((target / "tests").rglob(f"*{name}*")):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
    (target / f"docs/theory/{name.replace('_', '-')}.md").unlink()
    paper = target / "docs/theory/paper-map.md"
    kept = re.sub(rf"`[^`\n]*{name}[^`\n]*`", "", paper.read_text(encoding="utf-8"))
    paper.write_text(kept, encoding="utf-8")


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["lsh_tree", "net_tree_sums"])
def test_every_other_test_passes_without_it(name, tmp_path):
    copied(tmp_path)
    remove(tmp_path, name)
    chosen = ["-m", "not slow and not nightly", f"--ignore={LISTS}", *OTHERS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *chosen],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed > 2000
