"""What a result keeps of the population (`population` fits it): weighted points, their plans, and its file.

A file is a zip archive of numpy arrays (`.npz`), readable anywhere without this package and without pickle:
points (m, d) and weights (m,) as float64, the ids of the plans and of their study as text.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from coterie.errors import FileError
from coterie.plain.files import read_bounded, replacing

FORMAT: Final = "coterie-population"
VERSION: Final = 2  # 1 had no directions
MAX_BYTES: Final = 1 << 28  # of a file

_NAMES: Final = ("format", "version", "study_id", "plan_ids", "points", "weights", "scatter", "directions")


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """What the reports say about everybody, as weighted points: post-processing, useful beyond k-means.

    The points are not people. They may be reused wherever the result's guarantee holds, and so not where
    coins were seeded or the ball was fitted to data.

    Attributes
    ----------
    points : ndarray of float64, shape (m, d)
        In the original coordinates.
    weights : ndarray of float64, shape (m,)
        Shares of the people.
    study_id : str
        The study that the reports belong to: the id of its first plan.
    plan_ids : tuple of str
        The plans that the reports answered, the last one last.
    scatter : float
        Mean square distance of people from the points in directions that the points do not show, because
        nothing stands clear of the noise there; in the original units, squared.
    directions : ndarray of float64, shape (m, d), or None
        Directions, orthonormal, that other people of the study had better report in: those in which people
        differ most, as far as the noise lets see it. None where whole points are the better question.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> seen = Population(np.eye(2), np.array([0.25, 0.75]), "a" * 64, ("a" * 64,))
    >>> seen.save(path := Path(tempfile.mkdtemp()) / "population.npz")
    >>> Population.load(path).weights.tolist()
    [0.25, 0.75]
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    study_id: str
    plan_ids: tuple[str, ...]
    scatter: float = 0.0
    directions: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        points, dimension = self.points.shape
        return f"Population({points:,} points in {dimension} dimensions, study {self.study_id[:12]}…)"

    def _repr_html_(self) -> str:
        """Return what it is, for a notebook."""
        from coterie.plain.notebook import facts_html

        points, dimension = self.points.shape
        facts = [
            ("points", f"{points:,} in {dimension} dimensions; they are not people"),
            ("half the weight", f"on the {self._half():,} heaviest"),
            ("study", self.study_id),
            ("plans", ", ".join(self.plan_ids)),
        ]
        return facts_html("Population: weighted points that explain the reports", facts)

    def _half(self) -> int:
        """Return how many of the heaviest points have half of the weight."""
        held = np.cumsum(np.sort(self.weights)[::-1])
        return int(np.searchsorted(held, held[-1] / 2)) + 1

    @property
    def plan_id(self) -> str:
        """The last of the plans."""
        return self.plan_ids[-1]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the population to a file, whole or not at all; one that exists is replaced only if told."""
        with replacing(path, overwrite=overwrite) as file:
            np.savez(
                file,
                format=np.array(FORMAT),
                version=np.array(VERSION),
                study_id=np.array(self.study_id),
                plan_ids=np.array(self.plan_ids, dtype=np.str_),
                points=self.points,
                weights=self.weights,
                scatter=np.array(float(self.scatter)),
                directions=self.points[:0] if self.directions is None else self.directions,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a population from a file of at most 256 MiB and check all of it.

        Raises
        ------
        FileError
            If the file is no population, of another version, or does not hold what it should.
        """
        data = read_bounded(path, MAX_BYTES, "a population")
        try:
            found = _arrays(data)
        except (
            Exception
        ):  # a hostile header makes numpy's parser raise MemoryError, TokenError, nearly anything
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
        return cls(points, weights, str(found["study_id"]), plan_ids, scatter, found_any)


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
