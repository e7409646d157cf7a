"""Groups in the plane: found centers and, of a simulation, people and true centers, where to draw them.

Points of d dimensions are shown through one linear map to the plane. Where k centers are independent, the map
sends them onto a regular polygon, P = C⁺·T (C the centers, T the corners), so that all groups lie apart; else
it is the plane of their two largest principal components.

A found center's ring is the radius that the result states, in all d dimensions, at the scale at which the map
shows the centers' own lengths. A plane hides part of that distance, so most found centers lie nearer to their
true ones than the ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

WIDTH: Final = 480
HEIGHT: Final = 400

_MARGIN: Final = 14  # pixels between the outermost mark and the frame
_WORST_CONDITION: Final = 20.0  # of the centers, beyond which the polygon map would smear the points


@dataclass(frozen=True, slots=True)
class View:
    """A linear map to the plane."""

    matrix: NDArray[np.float64]  # (d, 2)
    unit: float  # length in the plane that stands for a distance of 1
    polygon: bool  # whether the centers lie on a regular polygon

    @classmethod
    def of(cls, centers: NDArray[np.float64], *, polygon: bool = True) -> View:
        """Choose the map for these centers, (k, d); onto a polygon where that may be and can be."""
        clusters, dimension = centers.shape
        wanted, polygon, unit = polygon, False, 1.0
        if wanted and 3 <= clusters <= dimension and np.linalg.cond(centers) < _WORST_CONDITION:
            # Half a step from the top, so that with an even number none stands alone above.
            angles = 2 * np.pi * (np.arange(clusters) + 0.5) / clusters
            corners = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
            matrix = np.linalg.pinv(centers) @ corners
            polygon, unit = True, float(1 / np.linalg.norm(centers, axis=1).mean())
        else:
            _, _, axes = np.linalg.svd(centers - centers.mean(axis=0), full_matrices=False)
            matrix = np.zeros((dimension, 2))
            matrix[:, : min(2, len(axes))] = axes[:2].T
        return cls(matrix, unit, polygon)

    def show(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Map points: (n, d) -> (n, 2)."""
        return np.asarray(points, dtype=np.float64) @ self.matrix


@dataclass(frozen=True, slots=True)
class Disk:
    """A found center."""

    name: str
    center: NDArray[np.float64]  # (d,)
    radius: float  # its stated error
    share: float  # of people
    color: str  # class


@dataclass(frozen=True, slots=True)
class Open:
    """What only a simulation knows: people in groups, and the groups' true centers."""

    points: NDArray[np.float64]  # (m, d)
    groups: NDArray[np.int64]  # (m,)
    centers: NDArray[np.float64]  # (k, d)


def draw(view: View, disks: Sequence[Disk], truth: Open | None = None) -> dict[str, Any]:
    """Place what is to be drawn, in pixels of a frame of `WIDTH` by `HEIGHT`, for its template."""
    found = view.show(np.array([disk.center for disk in disks]).reshape(-1, len(view.matrix)))
    radii = np.array([disk.radius for disk in disks]) * view.unit
    everything = [found - radii[:, None], found + radii[:, None]]
    if truth is not None:
        everything += [view.show(truth.points), view.show(truth.centers)]
    place, scale = _frame(np.concatenate(everything))
    drawn = {
        **{"width": WIDTH, "height": HEIGHT, "polygon": view.polygon, "people": [], "true": []},
        "disks": list(zip(disks, *place(found).T.tolist(), (radii * scale).tolist(), strict=True)),
    }
    if truth is not None:
        dots = place(view.show(truth.points))
        groups = (dots[truth.groups == group] for group in range(len(truth.centers)))
        drawn["people"] = ["".join(f"M{x:.1f} {y:.1f}h0" for x, y in each) for each in groups]
        drawn["true"] = place(view.show(truth.centers)).tolist()
    return drawn


def _frame(all_marks: NDArray[np.float64]) -> tuple[Any, float]:
    """Return the function from the plane to pixels that fits everything in, and its scale."""
    low, high = all_marks.min(axis=0), all_marks.max(axis=0)
    extent = np.maximum(high - low, 1e-9)
    room = np.array([WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN])
    scale = float((room / extent).min())
    middle = (low + high) / 2

    def place(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((points - middle) * [scale, -scale] + [WIDTH / 2, HEIGHT / 2])

    return place, scale
