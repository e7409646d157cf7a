"""Whether everything that a store keeps is whole: every file read to its last byte, and compared.

Looking changes nothing in a folder; a database is compacted. *Mending* is for a folder whose log is damaged:
whole frames are kept, the rest is cut out, and each study that lost something says so from then on
(`Study.lost`). Such a study takes reports, but is neither decoded nor released until a backup is restored or
the loss is accepted. Damage of other files cannot be mended: restore those.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from coterie.errors import CoterieError, FileError, StoreError
from coterie.store.base import Lost, StudyState
from coterie.store.embedded import check_title, locked
from coterie.store.log import Log, Reports, read_list, read_tail, reset_tail, segments_in, write_list
from coterie.store.open import is_database, open_store
from coterie.store.segments import REPORTS, Entry, extent, read_segment, salvage, write_segment
from coterie.store.study_folder import StudyFolder


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


def check_store(address: str | os.PathLike[str], *, mend: bool = False) -> Checked:
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
        return _check_database(str(address))
    folder = Path(address).absolute()
    if not (folder / "store").is_file():
        raise StoreError(f"{folder} holds no store; give the folder that a collector keeps")
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
        _Segments(folder, studies, found).check(mend=mend)
    for plan_id, study in studies.items():
        if (lost := study.state.lost) is not None and not lost.accepted:
            words = "acknowledged reports are lost, and the study does not go on until that is accepted"
            found.findings.append(Finding(str(study.folder), words, plan_id, lost.reports))
    return found


class _Segments:
    """The log of a folder, as the list says and as it is."""

    def __init__(self, folder: Path, studies: dict[str, StudyFolder], found: Checked) -> None:
        self._folder = folder
        self._log = Log(folder)
        self._studies = studies
        self._found = found
        self._listed, found.cut = read_list(folder)
        self._there = segments_in(folder)

    def check(self, *, mend: bool) -> None:
        """Look at all segments; with `mend`, cut out what is damaged."""
        growing = max((number for number, reports in self._listed.items() if reports is None), default=0)
        listed, mended = dict(self._listed), False
        for number in sorted(self._listed):
            self._found.files += 1
            if unknown := (self._listed[number] or {}).keys() - self._studies.keys():
                words = f"it has reports of plan {min(unknown)}, which is not here: restore that study"
                self._found.findings.append(Finding(str(self._log.path(number)), words, min(unknown)))
                continue
            try:
                self._read(number, growing)
            except (CoterieError, OSError) as error:
                kept = self._kept(number)
                lost = self._lost(number, kept)
                place, words = str(self._log.path(number)), str(error)
                found = [Finding(place, words, plan_id, lost[plan_id]) for plan_id in sorted(lost)]
                self._found.findings += found or [Finding(place, words)]
                if mend:
                    mended = True
                    self._mend(number, lost)
                    listed[number] = kept
        for number in sorted(set(self._there) - set(self._listed)):
            if self._reports(number):
                words = "a segment that the store does not know: take it away"
                self._found.findings.append(Finding(str(self._log.path(number)), words))
        if mended:
            left = {number: kept for number, kept in listed.items() if kept != {}}
            write_list(self._folder, left, self._found.cut)
            reset_tail(self._folder)

    def _read(self, number: int, growing: int) -> None:
        """Raise FileError unless a segment is whole and holds what the list says."""
        path, stated = self._log.path(number), self._listed[number]
        if number not in self._there:
            if self._lost(number, {}):
                raise FileError(path, 0, "a segment of the store", "no file")
            return
        if number == growing:
            tail, acknowledged = read_tail(self._folder)
            _, ended = extent(path, number, acknowledged if tail == number else 0)
            if not ended:
                return
        for _ in read_segment(path, number):
            pass
        if self._lost(number, self._kept(number)) and stated is not None:
            raise FileError(path, 0, "the reports that the list says", "fewer")

    def _reports(self, number: int) -> list[Entry]:
        """Return the entries of whole frames of plans that need them."""
        path = self._log.path(number)
        if number not in self._there:
            return []
        return [
            entry
            for entry in salvage(path, number)
            if (study := self._studies.get(entry.plan_id.hex())) and study.state.through < number
        ]

    def _kept(self, number: int) -> Reports:
        """Return how many reports of which plans whole frames hold."""
        kept: Reports = {}
        for entry in self._reports(number):
            plan_id = entry.plan_id.hex()
            width = self._studies[plan_id].plan.report_width
            more = len(entry.body) // width if entry.kind == REPORTS else 0
            kept[plan_id] = kept.get(plan_id, 0) + more
        return kept

    def _lost(self, number: int, kept: Reports) -> dict[str, int | None]:
        """Return how many reports of which plans are lost; None where that is not known."""
        stated = self._listed[number]
        needing = {
            plan_id
            for plan_id, study in self._studies.items()
            if study.state.through < number and study.state.state is not StudyState.DELETED
        }
        if stated is None:
            return dict.fromkeys(needing)
        return {
            plan_id: count - kept.get(plan_id, 0)
            for plan_id, count in stated.items()
            if plan_id in needing and (plan_id not in kept or kept[plan_id] < count)
        }

    def _mend(self, number: int, lost: dict[str, int | None]) -> None:
        """Note what studies lost, then keep of a segment what is whole."""
        for plan_id, count in lost.items():
            study = self._studies[plan_id]
            before = study.state.lost or Lost(0, 0, accepted=False)
            after = Lost(before.reports + (count or 0), before.files + 1, accepted=False)
            study.publish(replace(study.state, lost=after))
        entries = self._reports(number)
        if entries:
            write_segment(self._log.path(number), number, entries)
        else:
            self._log.path(number).unlink(missing_ok=True)


def _check_database(url: str) -> Checked:
    found = Checked()
    with open_store(url) as store:
        for plan_id in store.plan_ids():
            found.plans += 1
            with found.looking("studies", plan_id):
                study = store.study(plan_id)
                if study.state is StudyState.DELETED:
                    continue
                counted, last = 0, b""
                for rows in store.reports(plan_id):
                    keys = rows.view(f"S{rows.shape[1]}")[:, 0]
                    if keys[0] <= last or (keys[1:] <= keys[:-1]).any():
                        raise StoreError("reports that count are not in the order of their ids")
                    counted, last = counted + len(rows), keys[-1]
                if counted != store.study(plan_id).counts.counted:
                    raise StoreError(f"{counted} reports are there, and another number is said to count")
            with found.looking("batches", plan_id):
                for _ in store.batches(plan_id):
                    pass
    return found
