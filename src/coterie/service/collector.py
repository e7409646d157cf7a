"""`Collector`: takes reports and batches in, decodes closed studies, and hands out what they leave."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from coterie.plan import Plan
from coterie.service.documents import Documents
from coterie.service.problems import Problem
from coterie.service.reports import Reports
from coterie.service.results import Results
from coterie.service.settings import USUAL, Limits
from coterie.service.taking import Taking
from coterie.store import Store, Study


class Collector(Taking):
    """The parts of a collector around one store.

    Parameters
    ----------
    store, clock
        As for `Ending`.
    limits, options
        As for `Taking`.
    key : bytes
        The Ed25519 key of manifests, 32 bytes.
    shufflers : collection of bytes
        Public keys of the shufflers whose batches it takes; without any it takes no shuffle plans.
    """

    model = "local"
    role = "collector"

    def __init__(
        self,
        store: Store,
        *,
        key: bytes,
        limits: Limits = USUAL,
        shufflers: Collection[bytes] = (),
        clock: Callable[[], float] = time.time,
        **options: Any,
    ) -> None:
        self.results = Results(store, key, timeout=limits.decode_seconds, clock=clock)
        super().__init__(self.results, limits=limits, **options)
        self.documents = Documents(store, limits.most_readers)
        self.shufflers = tuple(shufflers)
        self.reports = Reports(self.results, self.sheet, self.public_key)

    def check_plan(self, plan: Plan) -> None:
        """Raise Problem unless this service takes such plans."""
        if plan.mixed and not self.shufflers:
            raise Problem("unfit-plan", "this collector knows no shuffler: give it the public key of one")
        if plan.curated:
            raise Problem("unfit-plan", f"this service takes no plans of the {plan.model} model")

    def place(self, plan: Plan) -> tuple[str | None, bool]:
        """Return a plan's label in its study, and whether it is the wave that a next one follows. Blocks."""
        try:
            parts = self.results.waves.parts(plan.study_id)
        except Problem:  # its first plan is not here
            return None, False
        label = next((each.label for each in parts if each.plan.id == plan.id), None)
        return label, parts[-1].plan.id == plan.id and label is None and not plan.mixed

    def study(self, plan_id: str) -> Study:
        """Return where a study stands; in the shuffle model people came in batches."""
        study = self.store.study(plan_id)
        if study.plan.model == self.model:
            return study
        return replace(study, counts=replace(study.counts, counted=self.results.batches.people(study)))
