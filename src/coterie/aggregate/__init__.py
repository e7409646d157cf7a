"""Mergeable tables of integers: every report adds to one, and order never matters.

A table's size depends on the plan and not on the number of people, and any split and merge of the same
reports gives the same bits.
"""

from coterie.aggregate.aggregate import Aggregate

__all__ = ["Aggregate"]
