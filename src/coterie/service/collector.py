"""`Collector`: takes reports and batches in, decodes closed studies, and hands out what they leave."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Final

from coterie.errors import PlanError, SheetError
from coterie.plain.canonical import parse_object
from coterie.plan import Plan
from coterie.service.batches import Batches
from coterie.service.documents import Documents
from coterie.service.metrics import Metrics
from coterie.service.problems import Problem
from coterie.service.reports import Reports
from coterie.service.results import Results
from coterie.service.taking import Taking
from coterie.sheet import checked_sheet, sign_sheet
from coterie.store import Store, Study

SHEET: Final = "sheet"  # a document of the store


class Collector(Taking):
    """The parts of a collector around one store.

    Parameters
    ----------
    store, token, clock, options
        As for `Taking`.
    key : bytes
        The Ed25519 key of manifests, 32 bytes.
    shufflers : collection of bytes
        Public keys of the shufflers whose batches it takes; without any it takes no shuffle plans.
    most_readers, decode_seconds
        As in `Settings`.
    """

    model = "local"
    role = "collector"

    def __init__(
        self,
        store: Store,
        *,
        token: str,
        key: bytes,
        shufflers: Collection[bytes] = (),
        most_readers: int = 64,
        decode_seconds: float = 3600,
        clock: Callable[[], float] = time.time,
        **options: Any,
    ) -> None:
        metrics = Metrics()
        self.results = Results(store, key, timeout=decode_seconds, metrics=metrics, clock=clock)
        self.documents = Documents(store, most_readers)
        self.shufflers = tuple(shufflers)
        self.batches = Batches(store)
        super().__init__(store, self.results, token=token, key=key, metrics=metrics, clock=clock, **options)
        self.reports = Reports(self.results, self.sheet, self.public_key)

    def check_plan(self, plan: Plan) -> None:
        """Raise Problem unless this service takes such plans."""
        if plan.mixed and not self.shufflers:
            raise Problem("unfit-plan", "this collector knows no shuffler: give it the public key of one")
        if plan.curated:
            raise Problem("unfit-plan", f"this service takes no plans of the {plan.model} model")

    def publish_sheet(self, plan: Plan, data: bytes) -> tuple[bytes, bool]:
        """Check a sheet, sign and keep it; return the one that is kept, and whether it is new. Blocks.

        People agree to what they read, so a sheet that is there is not replaced.
        """
        try:
            sheet = checked_sheet(parse_object(data, "a sheet"), plan)
        except (PlanError, SheetError) as error:
            raise Problem("malformed-request", str(error)) from None
        signed, before = sign_sheet(sheet, self._key), self.store.document(plan.id, SHEET)
        kept = self.store.put_document(plan.id, SHEET, signed) if before is None else before
        if kept != signed:
            raise Problem("another-sheet", "people agree to what they read: a sheet is never replaced")
        return kept, before is None

    def sheet(self, plan_id: str) -> bytes | None:
        """Return the signed sheet of a study, or None. Blocks."""
        found = self.documents.find(plan_id, SHEET)
        return None if found is None else b"".join(found.pieces())

    def study(self, plan_id: str) -> Study:
        """Return where a study stands; in the shuffle model people came in batches."""
        study = self.store.study(plan_id)
        if study.plan.model == self.model:
            return study
        return replace(study, counts=replace(study.counts, counted=self.results.tally.people(study)))
