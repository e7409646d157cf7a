"""The demo's picture: people, true centers and found centers in the plane, as SVG written by hand.

Points of d dimensions are shown through one linear map to the plane. Where the k true centers are
independent, the map sends them onto a regular polygon, P = C⁺·T (C the true centers, T the corners), so
that all groups lie apart; else it is the plane of their two largest principal components.

A found center's disk is the radius that the result states, in all d dimensions, at the scale at which the map
shows the true centers' own lengths. A plane hides part of that distance, so most found centers lie nearer to
their true ones than the disk's edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.cli.simulation import Study
from coterie.cli.words import LETTERS

WIDTH: Final = 480
HEIGHT: Final = 400

_MARGIN: Final = 14  # pixels between the outermost mark and the frame
_WORST_CONDITION: Final = 20.0  # of the true centers, beyond which the polygon map would smear the points


@dataclass(frozen=True, slots=True)
class View:
    """A linear map to the plane."""

    matrix: NDArray[np.float64]  # (d, 2)
    unit: float  # length in the plane that stands for a distance of 1
    polygon: bool  # whether the true centers lie on a regular polygon

    @classmethod
    def of(cls, true_centers: NDArray[np.float64]) -> View:
        """Choose the map for these true centers, (k, d)."""
        clusters, dimension = true_centers.shape
        polygon, unit = False, 1.0
        if 3 <= clusters <= dimension and np.linalg.cond(true_centers) < _WORST_CONDITION:
            # Half a step from the top, so that with an even number none stands alone above.
            angles = 2 * np.pi * (np.arange(clusters) + 0.5) / clusters
            corners = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
            matrix = np.linalg.pinv(true_centers) @ corners
            polygon, unit = True, float(1 / np.linalg.norm(true_centers, axis=1).mean())
        else:
            _, _, axes = np.linalg.svd(true_centers - true_centers.mean(axis=0), full_matrices=False)
            matrix = np.zeros((dimension, 2))
            matrix[:, : min(2, len(axes))] = axes[:2].T
        return cls(matrix, unit, polygon)

    def show(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Map points: (n, d) -> (n, 2)."""
        return np.asarray(points, dtype=np.float64) @ self.matrix


def draw(study: Study, view: View) -> str:
    """Return the picture as an SVG element; its colors are the page's CSS classes."""
    told, ties = study.told(), study.found()
    numbers = [group.number for group in told]
    people = view.show(study.some_points)
    true = view.show(study.true_centers)
    found = view.show(study.result.centers[numbers])
    radii = study.result.errors[numbers] * view.unit
    reach = radii[:, None]
    place, scale = _frame(np.concatenate([people, true, found - reach, found + reach]))
    people, true, found = place(people), place(true), place(found)

    marks = []
    for habit in range(len(true)):
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in people[study.some_habits == habit])
        marks.append(f'<path class="people g{habit}" d="{dots}"/>')
    for letter, group, (x, y), radius in zip(LETTERS, told, found, radii * scale, strict=False):
        words = f"<title>group {letter}: {group.share:.1%} of people</title>"
        marks.append(f'<circle class="error" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">{words}</circle>')
    marks += [f'<circle class="true" cx="{x:.1f}" cy="{y:.1f}" r="14"/>' for x, y in true]
    for letter, number, (x, y) in zip(LETTERS, numbers, found, strict=False):
        marks.append(
            f'<circle class="found g{ties.get(number, "x")}" cx="{x:.1f}" cy="{y:.1f}" r="10.5"/>'
            f'<text class="name" x="{x:.1f}" y="{y + 4.8:.1f}">{letter}</text>'
        )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="People, true centers and found groups">'
        + "".join(marks)
        + "</svg>"
    )


def _frame(all_marks: NDArray[np.float64]) -> tuple[Any, float]:
    """Return the function from the plane to pixels that fits everything in, and its scale."""
    low, high = all_marks.min(axis=0), all_marks.max(axis=0)
    extent = np.maximum(high - low, 1e-9)
    room = np.array([WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN])
    scale = float((room / extent).min())
    middle = (low + high) / 2

    def place(points: NDArray[np.float64]) -> NDArray[np.float64]:
        placed: NDArray[np.float64] = (points - middle) * [scale, -scale] + [WIDTH / 2, HEIGHT / 2]
        return placed

    return place, scale
