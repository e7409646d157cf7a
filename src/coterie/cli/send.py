"""`coterie send`: report files to a collector, safe to interrupt and to run twice."""

from __future__ import annotations

import json as json_text
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from coterie.cli.screen import Caution, Outcome, progress
from coterie.errors import PlanError, ReportError
from coterie.plain.canonical import canonical_bytes
from coterie.plain.files import read_bounded, write_whole
from coterie.plan import Plan
from coterie.remote.collector import RemoteCollector, Sent
from coterie.wire.admission import ADMISSION_BYTES
from coterie.wire.layout import as_rows
from coterie.wire.report_file import ReportFile

CHUNK = 20_000  # reports between two notes of how far it got
_MOST_NOTE = 1 << 16


def run(
    reports: list[Path],
    *,
    url: str,
    plan: Path | None = None,
    shuffler: list[str] | None = None,
    admissions: Path | None = None,
    again: bool = False,
    attempts: Annotated[int, typer.Option(min=1)] = 8,
) -> Outcome:
    """Send report files to a collector; each report is acknowledged once it is on the collector's disk.

    How far it got is noted beside each file (FILE.sent): interrupted and run again, it goes on from there.
    Reports that are sent twice count once.

    Parameters
    ----------
    reports
        Report files.
    url
        The collector's address, such as https://collector.example.
    plan
        The plan that the reports answer. Default: the collector's.
    shuffler
        Public key of a shuffler that is trusted: reports of the shuffle model are sent only where one of
        these keys says that it mixes them.
    admissions
        Where the shuffler takes invited people only: a line of 160 hex digits a report.
    again
        Send everything, also what was acknowledged before.
    attempts
        How often a request is tried.
    """
    contract = None if plan is None else Plan.load(plan)
    totals = Counter(sent=0, before=0, taken=0)
    reasons: Counter[str] = Counter()
    if admissions is not None and len(reports) > 1:
        raise typer.BadParameter("they are those of one report file", param_hint="--admissions")
    with RemoteCollector(url, attempts=attempts, shufflers=shuffler or ()) as collector:
        for path in reports:
            file = ReportFile.open(path)
            digest = file.verify()
            contract = contract or collector.plan(file.plan_id.hex())
            if contract.id_bytes != file.plan_id:
                raise PlanError(f"the reports answer plan {file.plan_id.hex()}, not {contract.id}")
            if contract.ids == "token":
                raise PlanError("reports of this plan are sent with their tokens, which a report file lacks")
            note = Path(f"{path}.sent")
            start = 0 if again else _noted(note, collector.url, digest)
            let_in = None if admissions is None else _admissions(admissions, file.count)
            done = _send(collector, file, contract, start, note, digest, let_in)
            totals.update(sent=file.count - start, before=start, taken=done.taken)
            reasons.update(done.reasons)
    before = f"; {totals['before']:,} were sent before" if totals["before"] else ""
    failed = [Caution(f"{n:,} reports were not taken in: {why}") for why, n in sorted(reasons.items())]
    return Outcome(
        {"url": url, "files": len(reports), **totals, "failures": reasons},
        [*failed, f"{totals['taken']:,} of {totals['sent']:,} reports are safe at {url}{before}"],
        failed=bool(failed),
    )


def _admissions(path: Path, count: int) -> NDArray[np.uint8]:
    """Read one admission a report, in hex: (count, 80)."""
    text = read_bounded(path, (2 * ADMISSION_BYTES + 2) * count, "admissions").decode("ascii", "replace")
    try:
        return as_rows([bytes.fromhex(line) for line in text.split()], ADMISSION_BYTES)
    except ValueError:
        raise ReportError(f"{path}: an admission is {2 * ADMISSION_BYTES} hex digits") from None


def _send(
    collector: RemoteCollector,
    file: ReportFile,
    plan: Plan,
    start: int,
    note: Path,
    digest: bytes,
    admissions: NDArray[np.uint8] | None,
) -> Sent:
    """Send a file from a report on, and note how far it got."""
    sent, place = Sent(0), 0
    with progress(f"sending {file.path.name}", file.count) as advance:
        advance(start)
        for chunk in file.chunks(CHUNK):
            fresh = chunk[max(0, start - place) :]
            place += len(chunk)
            if not len(fresh):
                continue
            theirs = None if admissions is None else admissions[place - len(fresh) : place]
            sent += collector.send(plan, fresh, admissions=theirs, advance=advance)
            if not sent.failures:  # what was refused is tried again next time
                known = {"url": collector.url, "file": digest.hex(), "acknowledged": place}
                write_whole(note, canonical_bytes(known))
    return sent


def _noted(path: Path, url: str, digest: bytes) -> int:
    """Return how many reports of a file a collector has acknowledged, as far as was noted."""
    if not path.exists():
        return 0
    try:
        note: Any = json_text.loads(read_bounded(path, _MOST_NOTE, "a note of what was sent"))
        same = note["url"] == url and note["file"] == digest.hex()
        return int(note["acknowledged"]) if same else 0
    except (ValueError, KeyError, TypeError):
        return 0  # then it is sent again, which does no harm
