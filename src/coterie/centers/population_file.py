"""The file of a population: a zip archive of numpy arrays (`.npz`), readable without this package or pickle.

Points (m, d) and weights (m,) as float64, the ids of the plans and of their study as text.
"""

from __future__ import annotations

import io
import math
import os
import warnings
import zipfile
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.centers.atoms import Population
from coterie.errors import DecodeError, FileError
from coterie.plain.files import read_bounded, replacing

FORMAT: Final = "coterie-population"
VERSION: Final = 2  # 1 had no directions
MAX_BYTES: Final = 1 << 30  # of a file: 44,000 points of 3,000 dimensions

_NAMES: Final = ("format", "version", "study_id", "plan_ids", "points", "weights", "scatter", "directions")


def write(population: Population, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a population, whole or not at all; a file that exists is replaced only if told."""
    size = population.points.nbytes + population.weights.nbytes
    if size > MAX_BYTES - (1 << 20):  # what else is in it is less
        raise DecodeError(
            f"this population takes {size:,} bytes, and a file of one may have {MAX_BYTES:,}: use it here "
            "(refit, Plan.design), or decode with fewer clusters"
        )
    with replacing(path, overwrite=overwrite) as file:
        np.savez(
            file,
            format=np.array(FORMAT),
            version=np.array(VERSION),
            study_id=np.array(population.study_id),
            plan_ids=np.array(population.plan_ids, dtype=np.str_),
            points=population.points,
            weights=population.weights,
            scatter=np.array(float(population.scatter)),
            directions=population.points[:0] if population.directions is None else population.directions,
        )


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a population's fields from a file of at most 1 GiB and check all of them."""
    data = read_bounded(path, MAX_BYTES, "a population")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # headers of Python 2, which numpy would guess at
            found = _arrays(data)
    except Exception:  # a hostile header makes numpy's parser raise MemoryError, TokenError, nearly anything
        raise FileError(
            path, 0, f"a population ({FORMAT}, version {VERSION}: coterie decode --population writes one)"
        ) from None
    points, weights = found["points"], found["weights"]
    with np.errstate(over="ignore"):
        total = float(weights.sum()) if weights.dtype == np.float64 else math.nan
    plan_ids = tuple(str(plan_id) for plan_id in found["plan_ids"])
    sound = (
        points.dtype == weights.dtype == np.float64
        and points.ndim == 2
        and points.size > 0
        and weights.shape == (len(points),)
        and bool(np.isfinite(points).all())
        and bool(np.isfinite(weights).all())
        and bool((weights >= 0).all())
        and 0 < total < math.inf
        and len(plan_ids) > 0
        and 0 <= (scatter := float(found["scatter"])) < math.inf
        and (directions := found["directions"]).dtype == np.float64
        and directions.ndim == 2
        and directions.shape[1] == points.shape[1] >= len(directions)
        and bool(np.allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-6))
    )
    if not sound:
        raise FileError(
            path,
            0,
            "finite points (m, d), weights (m,) and scatter of at least 0, the plans' ids, and "
            "orthonormal directions",
        )
    found_any = directions if len(directions) else None
    return {
        "points": points,
        "weights": weights,
        "study_id": str(found["study_id"]),
        "plan_ids": plan_ids,
        "scatter": scatter,
        "directions": found_any,
    }


def _arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that says it is a population, or raise one of many errors."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
            raise ValueError("unpacked it is too large")
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        first = set(archive.files) == set(_NAMES[:-1])
        if not first and set(archive.files) != set(_NAMES):
            raise ValueError("other arrays")
        found: dict[str, NDArray[Any]] = {name: archive[name] for name in archive.files}
    if not all(isinstance(each, np.ndarray) for each in found.values()):
        raise ValueError("a part that is no array")
    kinds = {"format": "U", "study_id": "U", "version": "i", "plan_ids": "U"}
    if found["scatter"].shape or found["scatter"].dtype != np.float64:
        raise ValueError("other types")
    if any(found[name].dtype.kind != kind for name, kind in kinds.items()):
        raise ValueError("other types")
    if found["format"].shape or str(found["format"]) != FORMAT or found["version"].shape:
        raise ValueError("no population")
    if (
        found["study_id"].shape
        or found["plan_ids"].ndim != 1
        or int(found["version"]) != (1 if first else VERSION)
    ):
        raise ValueError("another version")
    return {"directions": np.empty((0, found["points"].shape[-1])), **found}
