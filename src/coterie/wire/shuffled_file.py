"""Shuffled files: what a shuffler releases, the messages of one batch in the order of their bytes.

The layout is that of a report file (`coterie.wire.report_file`) under its own name, "COTERIE-SHUFFLED". A
table of a shuffle plan reads these only, so that nobody adds up unmixed reports by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from coterie.plan import Plan
from coterie.wire.report_file import ReportFile

MAGIC: Final = b"COTERIE-SHUFFLED"


@dataclass(frozen=True, slots=True)
class ShuffledFile(ReportFile):
    """A shuffled file whose header and length were checked."""

    magic: ClassVar[bytes] = MAGIC
    kind: ClassVar[str] = "a shuffled file (coterie shuffle writes one from report files)"

    @classmethod
    def width_of(cls, plan: Plan) -> int:
        """Return the bytes of one message."""
        return plan.message_width
