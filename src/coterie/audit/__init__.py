"""The audit: whether a client keeps its plan's promise, shown on the bytes that it sends.

    exact        the law of the report given its id, enumerated in integers, for adversarial points and ids
    empirical    the client's bytes alone, read back to the coins that must have made them: their whole law,
                 given whatever it might hang on; ids; time; the same coins given again
    canaries     broken clients that the same checks must catch
    environment  the system's generator, versions, kernels

It needs nothing but the plan and a client, also one in another language (`coterie.audit.command`). The
smallest fault that it would have seen, and what an audit cannot show, are part of its result.
"""

from coterie.audit.result import Audit, Check
from coterie.audit.run import audit

__all__ = ["Audit", "Check", "audit"]
