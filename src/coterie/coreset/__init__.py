"""Weighted point sets and what is said of them: k-means cost, coresets, transport cost."""

from coterie.coreset.points import WeightedPointSet

__all__ = ["WeightedPointSet"]
