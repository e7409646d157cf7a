"""The audit: whether a client keeps its plan's promise, shown on the bytes that it sends.

    exact        the law of the report given its id, enumerated in integers, for adversarial points and ids
    empirical    the client's bytes alone: how well two points can be told apart, with a confidence limit
    canaries     broken clients that the same checks must catch
    environment  the system's generator, versions, kernels

It needs nothing but the plan and a client, also one in another language (`coterie.audit.command`). What an
audit cannot show is part of its result.
"""

from coterie.audit.result import Audit, Check
from coterie.audit.run import audit

__all__ = ["Audit", "Check", "audit"]
