"""How the audit looks at the reports of a plan: by their independent answers, or as its protocol says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

from scipy import special

from coterie.audit import fit
from coterie.audit.amplification import check_amplification
from coterie.audit.laws import check_laws
from coterie.audit.reading import Reader, Reading
from coterie.audit.result import Check
from coterie.errors import SettingError
from coterie.plan import Plan
from coterie.protocols import encoder_of, protocol_of


def reader_of(plan: Plan) -> type[Reader]:
    """Return what reads the reports of a plan; SettingError where nobody knows their law."""
    protocol = protocol_of(plan)
    if protocol.audit is None and not plan.parameters.parts():
        raise SettingError(f"the audit knows no law of reports of protocol {plan.protocol}")
    return cast("type[Reader]", protocol.load(protocol.audit or AnswerReading))


class AnswerReading(Reading):
    """Reports that are independent answers: their law is finite."""

    @staticmethod
    def exact(plan: Plan) -> Iterator[Check]:
        """Enumerate laws by every kernel there is, and compare mixing with an exact law."""
        for kernels, encoder in encoder_of(plan).by_kernels().items():
            label = kernels and f", {kernels}"
            yield check_laws(plan, encoder.encode, plan.local_epsilon, label=label)
        if plan.mixed:
            yield check_amplification(plan, plan.minimum_batch)

    def check(self) -> Iterator[Check]:
        """Check how often each value was sent."""
        yield fit.check_values(self)

    def bits(self) -> float:
        """Return the entropy of the answers."""
        return sum(law.size * float(special.entr(law.chances).sum()) for law in self.laws) / math.log(2)
