"""What others get: `python -m tools.dist` (`make dist`) builds it twice, looks inside, installs and tests it.

1. sdist and wheel, built twice from the files that git knows, have the same bytes.
2. The wheel has what the package loads, and nothing else; the metadata are whole.
3. Every extra goes into a bare environment of every Python that is at hand, and does what it is for. For a
   Python that is not at hand an installer at least finds versions of everything.
4. From the wheel, outside the checkout, on every Python at hand: `coterie demo`, and the sdist's quick tests.
5. What the container would hold beside its base image is installed as the Dockerfile says, and weighed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
UV = Path(sys.executable).with_name("uv")
CARRIED = (
    *("py.typed", "plots/coterie.mplstyle", "show/style.css", "show/templates/base.html"),
    "service/pages/static/coterie.js",
)
MOST_IMAGE = 280e6  # bytes beside the base, python:3.13-slim, of about 120 MB: 400 MB in all
ELSEWHERE = ("spark", "torch", "peers", "docs", "dev")  # too large for an environment each, or our own work
LOAD = "from coterie import Client, Plan; plan = Plan.load('plan.json'); "
DOES = {
    "": f"{LOAD}assert len(Client(plan, ledger='answers').encode([0.1, 0.2])) == 13",
    "analyst": "from coterie import LocalKMeans; from coterie.cli import main",
    "fast": "import os; os.environ['COTERIE_KERNELS'] = 'numba'; "
    f"{LOAD}assert len(Client(plan).encode_many([[0.1, 0.2]] * 9)) == 117",
    "frames": "import pandas; from coterie.features import Number, Schema; "
    "assert Schema([Number('a', 0, 1)]).points(pandas.DataFrame({'a': [0.5]})).shape == (1, 1)",
    "parquet": "import pyarrow.parquet",
    "plot": f"{LOAD}from coterie.plots import ForecastDisplay; import matplotlib; matplotlib.use('Agg'); "
    "ForecastDisplay.from_plan(plan).figure_.savefig('forecast.png')",
    "qr": "import coterie.cli.invite, segno; segno.make('https://a.example/#0', error='m', micro=False)",
    "service": "from coterie.service.server import serve",
}


def run(*command: object, env: dict[str, str] | None = None, **options: Any) -> str:
    """Run a command, by variables of its own beside ours, and return what it said; end where it failed."""
    parts = [str(part) for part in command]
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options["env"] = {**inherited, **(env or {})}
    done = subprocess.run(parts, capture_output=True, text=True, check=False, **options)  # noqa: S603
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def need(holds: bool, words: str) -> None:
    """End with words unless something holds."""
    if not holds:
        sys.exit(words)


def is_there(python: str) -> bool:
    """Return whether a Python of this version runs here; a shim of a version manager may only look so."""
    found = shutil.which(f"python{python}")
    if found is None:
        return False
    return subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0  # noqa: S603


def build(folder: Path) -> list[Path]:
    """Build from a copy of the files that git knows, in a folder of its own."""
    source = folder / "source"
    for name in run("git", "ls-files", cwd=ROOT).splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    date = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    command = "import hatchling.build as b, sys; b.build_sdist(sys.argv[1]); b.build_wheel(sys.argv[1])"
    run(sys.executable, "-c", command, folder, cwd=source, env={"SOURCE_DATE_EPOCH": date})
    return sorted(path for path in folder.iterdir() if path.is_file())


def look_inside(sdist: Path, wheel: Path) -> None:
    """Check names and metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (where,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        raw = archive.read(where)
    need(all(f"coterie/{name}" in names for name in CARRIED), "the wheel lacks what the package loads")
    known = {
        f"coterie/{path.relative_to(ROOT / 'src/coterie')}" for path in (ROOT / "src/coterie").rglob("*.py")
    }
    need(known == {name for name in names if name.endswith(".py")}, "other modules than the source's")
    need({name.partition("/")[0] for name in names} == {"coterie", where.partition("/")[0]}, "other folders")
    meta = Metadata.from_email(raw, validate=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    need(wheel.name.split("-")[1] == sdist.name.split("-")[1].removesuffix(".tar.gz"), "two versions")
    need(set(meta.provides_extra or ()) == set(project["optional-dependencies"]), "other extras")
    need(message_from_bytes(raw)["License-Expression"] == "Apache-2.0", "another license")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"tests/conftest.py", "docs/index.md", "mkdocs.yml", "locks/service.lock", "PKG-INFO", "LICENSE"}
    need(wanted <= inside, "an sdist in part")
    print(f"  {len(names)} files in the wheel, {len(inside)} in the sdist, metadata {meta.metadata_version}")


def environment(folder: Path, python: str, wheel: Path, extras: str) -> Path:
    """Return the Python of a bare environment with the wheel and extras."""
    run(UV, "venv", "--quiet", "--no-python-downloads", "--python", python, folder)
    wanted = f"{wheel}[{extras}]" if extras else str(wheel)
    install = (UV, "pip", "install", "--quiet", "--python", folder / "bin/python")
    run(*install, "-c", ROOT / "constraints.txt", wanted)
    return folder / "bin/python"


def weigh_image(room: Path, python: str, wheel: Path) -> None:
    """Install what the Dockerfile installs into its image, by its own lines, play its study, and weigh it."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    image, begun = room / "image", time.monotonic()
    run(UV, "venv", "--quiet", "--no-python-downloads", "--python", python, image)
    install = (UV, "pip", "install", "--quiet", "--python", image / "bin/python")
    run(*install, "--require-hashes", "--no-build", "-r", ROOT / "locks/service.lock")
    for command in re.findall(r"&& (find /opt/coterie.*|cd / && /opt/coterie.*)", lines):
        if command.startswith("cd"):
            run(*install, "--no-deps", wheel)
        written = {"PYTHONDONTWRITEBYTECODE": ""}  # as the image's build does
        run(
            "sh",
            "-c",
            command.replace("/opt/coterie", str(image)).replace("/src", str(ROOT / "tools")),
            env=written,
        )
    size = sum(path.stat().st_size for path in image.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"container: {size / 1e6:.0f} MB beside its base image ({time.monotonic() - begun:.0f} s)")
    need(size <= MOST_IMAGE, f"more than {MOST_IMAGE / 1e6:.0f} MB")


def main() -> None:
    """Do all of it, printing times and sizes."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="coterie-dist-") as name:
        room = Path(name)
        for part in ("first", "second"):
            (room / part).mkdir()
        first, second = build(room / "first"), build(room / "second")
        DIST.mkdir(exist_ok=True)
        print("built twice:")
        for one, other in zip(first, second, strict=True):
            need(one.read_bytes() == other.read_bytes(), f"{one.name} has other bytes the second time")
            shutil.copy(one, DIST / one.name)
            digest = hashlib.sha256(one.read_bytes()).hexdigest()
            print(f"  {one.name}  {one.stat().st_size:,} bytes  {digest}")
        sdist, wheel = (DIST / each.name for each in sorted(first, key=lambda path: path.suffix))
        look_inside(sdist, wheel)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        facts = ["--dimension", 2, "--clusters", 2, "--epsilon", 1, "--users", 1000]
        coterie = Path(sys.executable).with_name("coterie")
        run(coterie, "plan", *facts, "--out", room / "plan.json")
        there = [python for python in PYTHONS if is_there(python)]
        for python in PYTHONS:
            if python not in there:
                wanted = "\n".join(each for extra in DOES for each in extras.get(extra, ()))
                run(UV, "pip", "compile", "--quiet", "--python-version", python, "-", input=wanted)
                print(f"Python {python}: not at hand; versions of everything found, nothing run")
                continue
            for extra, does in DOES.items():
                begun = time.monotonic()
                names = ",".join(filter(None, {extra, "" if extra in ("", "fast", "frames") else "analyst"}))
                bare = environment(room / f"{python}-{extra or 'core'}", python, wheel, names)
                run(bare, "-I", "-W", "error", "-c", does, cwd=room)
                print(f"Python {python}: {extra or 'core'} works ({time.monotonic() - begun:.0f} s)")
            run(room / f"{python}-analyst/bin/coterie", "demo", cwd=room)
            size = (room / "coterie-demo.html").stat().st_size
            print(f"Python {python}: coterie demo wrote {size:,} bytes")
        missing = sorted(set(extras) - set(DOES) - set(ELSEWHERE))
        need(not missing, f"nobody says what these extras do: {missing}")
        weigh_image(room, there[-1], wheel)
        with tarfile.open(sdist) as archive:
            archive.extractall(room, filter="data")
        unpacked = room / sdist.name.removesuffix(".tar.gz")
        shutil.rmtree(unpacked / "src")  # the wheel's is tested
        folders = [f"tests/{each}" for each in ("unit", "laws", "privacy", "vectors")]
        quick = ("-m", "pytest", "-q", "-n", "2", "-m", "not slow and not nightly", *folders)
        for python in there:
            names = ",".join([*filter(None, DOES), "dev"])
            tests = environment(room / f"{python}-tests", python, wheel, names)
            said = run(tests, *quick, cwd=unpacked, env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
            print(f"Python {python}: {said.splitlines()[-1].strip('= ')}")
    print(f"all of it in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
