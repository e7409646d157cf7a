"""The report of a decoded study, for people who were not there: a page and a document, made when asked for.

Everything in it is public: plan, sheet, tables and result. It is made once and handed out from a file, as
what studies left is (`documents`); a sheet that is published later makes it anew.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from typing import Final

from coterie.aggregate import Aggregate
from coterie.plan import Plan
from coterie.service.documents import Document
from coterie.service.problems import not_decoded
from coterie.service.results import Results

MOST_KEPT: Final = 16
MOST_TABLE: Final = 1 << 26  # bytes; larger tables are not read for a page
PAGE: Final = "text/html"
FOR_PROGRAMS: Final = "application/json"


class Reports:
    """Makes reports of what `results` left. All methods block.

    Parameters
    ----------
    results : Results
        What studies left.
    sheet : callable
        The signed sheet of a plan by its id, or None.
    public_key : str
        That manifests are signed by, 64 hex digits.
    """

    def __init__(self, results: Results, sheet: Callable[[str], bytes | None], public_key: str) -> None:
        self._results, self._sheet, self._key = results, sheet, public_key
        self._lock = threading.Lock()  # one at a time is made
        self._kept = functools.lru_cache(MOST_KEPT)(self._made)

    def find(self, plan: Plan, media_type: str) -> Document:
        """Return the report of a plan with the waves before it.

        Raises
        ------
        Problem
            If it is not decoded.
        """
        with self._lock:
            waves = self._results.waves.waves(plan)
            sheet = next((found for each in reversed(waves) if (found := self._sheet(each.id))), None)
            return self._kept(plan.id, sheet)[media_type]

    def _made(self, plan_id: str, sheet: bytes | None) -> dict[str, Document]:
        from coterie.show.report import report_document, report_page

        plan = self._results.store.study(plan_id).plan
        waves = self._results.waves.waves(plan)
        left = [self._results.outcome(each.id) for each in waves]
        if left[-1] is None:
            raise not_decoded()
        found = json.loads(left[-1].result)
        tables = [
            Aggregate.from_bytes(each.table)
            for each in left
            if each is not None and len(each.table) <= MOST_TABLE
        ]
        names = [f"table-{number}.bin" for number in range(1, len(waves) + 1)] if waves[1:] else ["table.bin"]
        given = " ".join(f"--table {name}" for name in names)
        document = report_document(
            found,
            plan.guarantee,
            plan.radius,
            plans=waves,
            tables=tables if len(tables) == len(waves) else (),
            sheet=None if sheet is None else json.loads(sheet),
            commands=[
                f"coterie verify manifest.json {given} --result result.json --key {self._key}",
                f"coterie report {' '.join(names)} --out report.html",
            ],
        )
        page = report_page(document, plan.guarantee, plan.features, plan.radius)
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        return {PAGE: Document(page.encode()), FOR_PROGRAMS: Document(text.encode())}
