"""Weighted point sets and what is said of them: k-means cost, coresets, transport cost."""

from coterie.protocols.paper.coreset.cost import coreset_excess, cost, partition_cost
from coterie.protocols.paper.coreset.points import WeightedPointSet
from coterie.protocols.paper.coreset.representative import representative_point_set
from coterie.protocols.paper.coreset.transport import optimal_transport, transport_cost

__all__ = [
    "WeightedPointSet",
    "coreset_excess",
    "cost",
    "optimal_transport",
    "partition_cost",
    "representative_point_set",
    "transport_cost",
]
