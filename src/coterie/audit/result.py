"""What an audit found: one line per check, a verdict, and what cannot be shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

LIMITS: Final = (
    "An audit looks at the client it was given, on this machine, today. It does not show that people run "
    "this client.",
    "The exact part rests on the coins being uniform; that the operating system's generator cannot be "
    "predicted is believed, not shown. Tests of its output would pass for a generator whose seed somebody "
    "knows.",
    "Bytes are looked at, not time, power or memory: side channels are measured elsewhere.",
    "Laws are enumerated for the points and ids named, and proved for all by the argument in the code. "
    "Samples cannot: a client that waits for one secret point, id, date or number of reports that was not "
    "asked about, or knows that it is audited, passes; so does a fault below the power that is stated.",
    "Ids and coins that a cipher or a hash makes of point, clock or secret key look like uniform ones. The "
    "replay finds them in Python and node, where the system's coins can be given again; in a command of "
    "another language only coarse clocks show, as repeated ids.",
    "That the point encoded is the person's to the last digit: one cut off instead of rounded has the "
    "same law as far as samples go. The wire's vectors are for that.",
    "Whether reports are really mixed, whether ids are kept apart from names, and whether the ball was "
    "chosen without the data are promises of people, not of bytes.",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    part: str  # exact, empirical, canary, environment
    name: str
    passed: bool
    found: str
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found."""

    plan_id: str
    claim: str
    client: str
    checks: tuple[Check, ...]
    environment: dict[str, str]
    seconds: float
    limits: tuple[str, ...] = LIMITS

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else f"FAILED {len(self.failures)}"
        return f"Audit({verdict} of {len(self.checks)} checks in {self.seconds:.0f} s, {self.claim})"

    def __str__(self) -> str:
        lines = [
            f"{'passed' if check.passed else 'FAILED'}  {check.part}, {check.name}: {check.found}"
            for check in self.checks
        ]
        return "\n".join([f"{self.claim}, {self.client}", *lines])

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that did not."""
        return tuple(check for check in self.checks if not check.passed)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for programs."""
        return {
            "verdict": "passed" if self.passed else "failed",
            "plan_id": self.plan_id,
            "claim": self.claim,
            "client": self.client,
            "seconds": round(self.seconds, 1),
            "checks": [
                {"part": c.part, "name": c.name, "passed": c.passed, "found": c.found, **c.figures}
                for c in self.checks
            ],
            "environment": self.environment,
            "cannot_show": list(self.limits),
        }
