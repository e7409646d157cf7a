"""The shell of the pages: commands of this checkout, variables that stay, servers that stay up."""

import os
import re
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
PORTS = ("8787", "8788")  # that the pages name
_SERVE = re.compile(r"^(coterie serve(?:\\\n|[^\n#])*)(?:#[^\n]*)?$", re.MULTILINE)
_FIRST = """set -eu -o pipefail -a
if test -e bin/.variables; then . bin/.variables; fi
up() {
    for _ in $(seq 300); do curl -s -o /dev/null http://127.0.0.1:$1/healthz && return 0; sleep 0.1; done
    cat bin/serve-$1.log >&2; return 1
}"""

_PIP = """
import re, sys, tomllib
known = tomllib.loads(open({pyproject!r}).read())["project"]["optional-dependencies"]
for extra in re.findall(r"[a-z-]+", " ".join(re.findall(r"\\[(.*?)\\]", " ".join(sys.argv)))):
    if extra not in known:
        sys.exit(f"no such extra: {{extra}}")
"""
_MAKE = """
import re, sys
known = re.findall(r"^([a-z-]+):", open({makefile!r}).read(), re.MULTILINE)
for target in sys.argv[1:]:
    if target not in known:
        sys.exit(f"no such target: {{target}}")
"""
_COTERIE = """
from coterie.cli import main
main()
"""
# That a page runs is the question, not how well: few atoms, repeats and reports, in every process it starts.
_FEW = """
import importlib.abc, importlib.machinery, sys
FEW = {
    "coterie.centers.population": {"ATOMS": 300}, "coterie.centers.repeats": {"REPEATS": 2},
    "coterie.centers.explain": {"MEMBERS": 1}, "coterie.audit.run": {"_QUICK_REPORTS": 8000},
}
class Fewer(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in FEW:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        def then(module):
            load(module)
            vars(module).update(FEW[name])
        spec.loader.exec_module = then
        return spec
sys.meta_path.insert(0, Fewer())
"""


def surroundings(folder):
    """Return the environment of a page that runs in a folder: its programs, smaller numbers, no screen."""
    found = {**os.environ, "MPLBACKEND": "Agg", "COTERIE_KERNELS": "numpy"}
    found["PYTHONPATH"] = f"{folder / 'bin'}:{ROOT / 'src'}:{ROOT}"
    found["PATH"] = f"{_stand_ins(folder / 'bin')}:{found['PATH']}"
    return found


def _stand_ins(folder):
    """Write the programs that pages call: ours, and pip and make that only look."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_FEW, encoding="utf-8")
    bodies = {
        "coterie": _COTERIE,
        "python": None,
        "pip": _PIP.format(pyproject=str(ROOT / "pyproject.toml")),
        "make": _MAKE.format(makefile=str(ROOT / "Makefile")),
    }
    for name, body in bodies.items():
        path = folder / name
        if body is None:
            path.symlink_to(sys.executable)
            continue
        path.write_text(f"#!{sys.executable}\n{textwrap.dedent(body)}", encoding="utf-8")
        path.chmod(0o755)
    return folder


def own_ports():
    """Return a free port for each that the pages name."""
    found = {}
    for port in PORTS:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            found[port] = str(free.getsockname()[1])
    return found


def sh(commands):
    """Run a block of commands and stop at the first that fails; its variables are there in the next block."""
    script = f"{_FIRST}\n{_SERVE.sub(_staying, commands)}\nexport -p > bin/.variables\n"
    done = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL, check=False)  # noqa: S607
    if done.returncode:
        raise SystemExit(f"status {done.returncode} of:\n{commands}")


def _staying(serve):
    """Return a command that serves as one that stays in the background and answers."""
    given = re.search(r"--port (\d+)", serve[1])
    port = given[1] if given else os.environ["COTERIE_SERVE_PORT"]
    log = "" if "2>" in serve[1] else f"> bin/serve-{port}.log 2>&1 "
    return f"{serve[1]} {log}&\nup {port}"
