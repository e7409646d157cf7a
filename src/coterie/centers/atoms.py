"""What a result keeps of the population (`population` fits it): weighted points and their plans."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


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
        differ most, as far as the noise lets see it. None where groups were found: whole points are the
        better question then.

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
        """Write the population to a file, whole or not at all; one that exists is replaced only if told.

        Raises
        ------
        DecodeError
            If the file would be larger than `load` reads.
        """
        from coterie.centers.population_file import write

        write(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a population from a file of at most 1 GiB and check all of it.

        Raises
        ------
        FileError
            If the file is no population, of another version, or does not hold what it should.
        """
        from coterie.centers.population_file import read

        return cls(**read(path))
