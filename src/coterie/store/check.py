"""Whether everything that a store keeps is whole: every file read to its last byte, and compared.

Looking changes nothing in a folder; a database is compacted. *Mending* is for a folder whose log is damaged:
whole frames are kept, the rest is cut out, and each study that lost something says so from then on
(`Study.lost`). Such a study takes reports, but is neither decoded nor released until a backup is restored or
the loss is accepted. Damage of other files cannot be mended: restore those.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from coterie.errors import CoterieError, FileError, StoreError
from coterie.plain.files import AnyPath
from coterie.store.base import Lost, Store, StudyState
from coterie.store.embedded import check_title, locked
from coterie.store.log import Log, reset_tail, write_list
from coterie.store.open import is_database, open_store, store_folder
from coterie.store.segments import salvage, write_segment
from coterie.store.study_folder import StudyFolder, reports_in, through_of
from coterie.wire.layout import as_keys


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong."""

    place: str
    words: str
    plan_id: str | None = None
    reports: int | None = None  # that were acknowledged and are lost, where that is known


@dataclass(slots=True)
class Checked:
    """What was found."""

    findings: list[Finding] = field(default_factory=list)
    plans: int = 0
    files: int = 0  # that were read
    cut: int = 0  # bytes of commits that were under way when a process or the machine stopped

    @contextlib.contextmanager
    def looking(self, place: object, plan_id: str | None = None) -> Iterator[None]:
        """Note what is wrong in the block."""
        self.files += 1
        try:
            yield
        except (CoterieError, OSError) as error:
            self.findings.append(Finding(str(place), str(error), plan_id))


def check_store(address: AnyPath, *, mend: bool = False) -> Checked:
    """Look at all that a store holds.

    Parameters
    ----------
    address : str or os.PathLike
        As for `open_store`. A folder must not be open elsewhere.
    mend : bool
        Cut out of a folder's log what is damaged, and note what its studies lost.

    Examples
    --------
    >>> open_store("checked").shut()
    >>> check_store("checked").findings
    []
    """
    if is_database(address):
        with open_store(str(address)) as store:
            return _check_yield(store)
    folder = store_folder(address)
    with locked(folder):
        return _check_folder(folder, mend)


def _check_folder(folder: Path, mend: bool) -> Checked:
    found, studies = Checked(), {}
    with found.looking(folder / "store"):
        check_title(folder)
    for path in sorted((folder / "studies").iterdir()):
        with found.looking(path):
            study = StudyFolder.read(path)
            if study is not None:
                studies[path.name] = study
    found.plans = len(studies)
    for plan_id, study in studies.items():
        for path, read in study.pieces():
            with found.looking(path, plan_id):
                read()
    with found.looking(folder / "segments"):
        _check_log(folder, studies, found, mend)
    for plan_id, study in studies.items():
        if (lost := study.state.lost) is not None and not lost.accepted:
            words = "acknowledged reports are lost, and the study does not go on until that is accepted"
            # 0: of segments that still grew it is not known how many
            found.findings.append(Finding(str(study.folder), words, plan_id, lost.reports or None))
    return found


def _check_log(folder: Path, studies: dict[str, StudyFolder], found: Checked, mend: bool) -> None:
    log, bad = Log(folder, partial(reports_in, studies)), dict[int, FileError]()
    through = through_of(studies)
    log.load(through, damaged=bad.__setitem__)
    found.files += len(log.listed)
    found.cut = log.cut
    listed = dict(log.listed)
    for number, error in bad.items():
        place, words = str(log.path(number)), str(error)
        stated = log.listed.get(number, {})
        unknown = (stated or {}).keys() - studies.keys()
        if number not in listed or unknown:  # to be taken away, or its study to be restored: not to be cut
            found.findings.append(Finding(place, words, min(unknown, default=None)))
            continue
        kept = [
            entry
            for entry in (salvage(log.path(number), number) if log.path(number).exists() else ())
            if through.get(entry.plan_id.hex(), number) < number
        ]
        reports = Counter[str]()
        for entry in kept:
            reports[entry.plan_id.hex()] += reports_in(studies, entry)
        lost = {
            plan_id: None if stated is None else stated[plan_id] - reports.get(plan_id, 0)
            for plan_id in (through if stated is None else stated)
            if through.get(plan_id, number) < number
            and (stated is None or reports.get(plan_id, -1) < stated[plan_id])
        }
        whose = [Finding(place, words, plan_id, lost[plan_id]) for plan_id in sorted(lost)]
        found.findings += whose or [Finding(place, words)]
        if mend:
            _note(studies, lost)
            if kept:
                write_segment(log.path(number), number, kept)
            else:
                log.path(number).unlink(missing_ok=True)
            listed[number] = reports
    if mend and bad:
        write_list(folder, {number: kept for number, kept in listed.items() if kept != {}}, log.cut)
        reset_tail(folder)


def _note(studies: dict[str, StudyFolder], lost: dict[str, int | None]) -> None:
    """Note in studies what they lost; None where that is not known."""
    for plan_id, count in lost.items():
        study = studies[plan_id]
        before = study.state.lost or Lost(0, 0, accepted=False)
        after = Lost(before.reports + (count or 0), before.files + 1, accepted=False)
        study.publish(replace(study.state, lost=after))


def _check_yield(store: Store) -> Checked:
    """Look at what a store, of whatever kind, yields of its studies."""
    found = Checked()
    for plan_id in store.plan_ids():
        found.plans += 1
        if store.study(plan_id).state is StudyState.DELETED:
            continue
        with found.looking("studies", plan_id):
            counted, last = 0, b""
            for rows in store.reports(plan_id):
                keys = as_keys(rows)
                if keys[0] <= last or (keys[1:] <= keys[:-1]).any():
                    raise StoreError("reports that count are not in the order of their ids")
                counted, last = counted + len(rows), keys[-1]
            if counted != store.study(plan_id).counts.counted:
                raise StoreError(f"{counted} reports are there, and another number is said to count")
        with found.looking("batches", plan_id):
            deque(store.batches(plan_id), 0)
    return found
