"""The public contract of a study: what is asked, of how many, how privately, with which numbers.

A `Plan` is frozen, has one canonical JSON, and is named by the SHA-256 of it. Clients and server share
nothing else.
"""

from coterie.plan.plan import Plan

__all__ = ["Plan"]
