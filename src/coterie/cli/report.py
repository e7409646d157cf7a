"""`coterie report`: a study on one page, for people who were not there."""

from __future__ import annotations

import json as json_text
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli.decode import load
from coterie.cli.screen import Force, Outcome, check_output, progress, to_json, written
from coterie.cli.sheet import sheet_of
from coterie.errors import FileError, SettingError
from coterie.plain.files import read_bounded, write_whole

_MOST_AUDIT = 1 << 26  # bytes


def run(
    tables: list[Path],
    *,
    out: Path,
    document: Path | None = None,
    sheet: Path | None = None,
    title: str = "",
    audit: Path | None = None,
    random_state: Annotated[int, typer.Option(min=0)] = 0,
    force: Force = False,
) -> Outcome:
    """Write a study's report: what was asked, promised, expected, found and not found, in plain words.

    Parameters
    ----------
    tables
        What `coterie aggregate` wrote; of a study with several plans all, in order.
    out
        Where to write the page (HTML).
    document
        Where to write the same for programs (JSON).
    sheet
        Who asked, and why: the study's sheet, signed or a draft.
    title
        What the study is called. Default: as its sheet says.
    audit
        What `coterie audit --json` printed, for its verdict.
    random_state
        Seed of the analyst's choices, so that others get the same.
    """
    from coterie.centers import decode
    from coterie.show.report import report_document, report_page

    inputs = [*tables, *(each for each in (audit, sheet) if each is not None)]
    check_output(out, force, inputs)
    check_output(document, force, inputs)
    if document is not None and document.resolve() == out.resolve():
        raise SettingError("--out and --document are two files: give them different names")
    read = [load(path, None) for path in tables]
    told = None if sheet is None else sheet_of(sheet, [table.plan for table in read])
    verdict = None if audit is None else _read(audit)
    with progress("decoding", None):
        result = decode(read, random_state=random_state)
    names = [shlex.quote(path.name) for path in tables]
    made = report_document(
        result.to_dict(),
        result.guarantee,
        result.radius,
        tables=read,
        sheet=told,
        audit=verdict,
        title=title,
        commands=[f"coterie decode {' '.join(names)} --random-state {random_state}"],
    )
    page = report_page(made, result.guarantee, result.features, result.radius)
    write_whole(out, page, overwrite=force)
    if document is not None:
        write_whole(document, to_json(made) + "\n", overwrite=force)
    return Outcome(made, written(out, document))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json_text.loads(read_bounded(path, _MOST_AUDIT, "an audit"))
        if found["verdict"] in ("passed", "failed") and isinstance(found["checks"], list):
            return dict(found)
    except (ValueError, KeyError, TypeError):
        pass
    raise FileError(path, 0, "what `coterie audit --json` prints")
