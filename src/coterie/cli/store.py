"""`coterie store check`: whether everything that a store keeps is whole."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from coterie.cli.screen import Caution, Outcome, counted


def run(
    action: Literal["check"],
    address: str,
    *,
    mend: bool = False,
    accept: list[str] | None = None,
) -> Outcome:
    """Look for damage in a store, and say what was lost.

    Ends with code 1 if anything is wrong. The server must be stopped where the store is a folder. A store
    that is newer than this program is refused and left as it is.

    Parameters
    ----------
    action
        check: read every file to its last byte.
    address
        The store: its folder, or postgresql://….
    mend
        Cut out of a folder's log what is damaged, and note in its studies what they lost. Copy the folder
        first: what is cut out is gone.
    accept
        The id of a plan whose study is to go on without what it lost.
    """
    from coterie.store import open_store
    from coterie.store.check import check_store

    del action  # there is one
    found = check_store(address, mend=mend)
    if mend or accept:
        if accept:
            with open_store(address, make=False) as store:
                for plan_id in accept:
                    store.accept_loss(plan_id)
        found = check_store(address)
    lines: list[str] = []
    for each in found.findings:
        whose = "" if each.plan_id is None else f" (plan {each.plan_id})"
        lost = "" if each.reports is None else f"; {counted(each.reports, 'report')} lost"
        lines.append(Caution(f"{each.place}{whose}: {each.words}{lost}"))
    if found.cut:
        lines.append(
            f"{found.cut:,} bytes were cut off so far that were being written when the store stopped"
        )
    where, wrong = f"{counted(found.files, 'file')} of {counted(found.plans, 'plan')}", len(found.findings)
    lines.append(f"{counted(wrong, 'thing')} wrong in {where}" if wrong else f"everything is whole: {where}")
    facts = {
        "store": address,
        "whole": not wrong,
        "plans": found.plans,
        "files": found.files,
        "cut_bytes": found.cut,
        "findings": [asdict(each) for each in found.findings],
    }
    return Outcome(facts, lines, failed=bool(wrong))
