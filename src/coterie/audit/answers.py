"""How the audit looks at the reports of a plan: by their independent answers, or as its protocol says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol, cast

from scipy import special

from coterie.audit import fit
from coterie.audit.amplification import check_amplification
from coterie.audit.laws import check_laws
from coterie.audit.reading import Law, Reader, Reading
from coterie.audit.result import Check
from coterie.errors import SettingError
from coterie.plan import Plan
from coterie.protocols import encoder_of, protocol_of


class Audited(Protocol):
    """How the audit looks at the reports of one plan."""

    def exact(self) -> Iterator[Check]:
        """Check what can be enumerated."""

    def reader(self) -> Reader:
        """Return what reads a client's draws from its reports."""

    def check_sample(self, reader: Any) -> Iterator[Check]:
        """Check what was read, besides what is checked of every reader."""

    def bits(self, laws: tuple[Law, ...]) -> float:
        """Return how many bits of coins a report's answers hold, at least."""


def audited(plan: Plan) -> Audited:
    """Return how the audit looks at a plan's reports; SettingError where nobody knows their law."""
    protocol = protocol_of(plan)
    return cast("Audited", protocol.load(protocol.audit or AnswerAudit)(plan))


class AnswerAudit:
    """The audit of reports that are independent answers: their law is finite."""

    def __init__(self, plan: Plan) -> None:
        if not plan.parameters.parts():
            raise SettingError(f"the audit knows no law of reports of protocol {plan.protocol}")
        self._plan = plan

    def exact(self) -> Iterator[Check]:
        """Enumerate laws by every kernel there is, and compare mixing with an exact law."""
        plan = self._plan
        for kernels, encoder in encoder_of(plan).by_kernels().items():
            label = kernels and f", {kernels}"
            yield check_laws(plan, encoder.encode, plan.local_epsilon, label=label)
        if plan.mixed:
            yield check_amplification(plan, plan.minimum_batch)

    def reader(self) -> Reading:
        """Return what reads a client's places from its reports."""
        return Reading(self._plan)

    def check_sample(self, reader: Reading) -> Iterator[Check]:
        """Check how often each value was sent."""
        yield fit.check_values(reader)

    def bits(self, laws: tuple[Law, ...]) -> float:
        """Return the entropy of the answers."""
        return sum(law.size * float(special.entr(law.chances).sum()) for law in laws) / math.log(2)
