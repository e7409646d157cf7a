"""`coterie sheet`: who asks, and why, in people's words; checked, published and signed beside a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.cli.operator import TokenFile, operator_token_of
from coterie.cli.screen import Force, Outcome, check_output, counted, written
from coterie.errors import SettingError
from coterie.plain.files import read_bounded, write_whole
from coterie.plan import Plan
from coterie.remote.collector import RemoteCollector
from coterie.sheet import MOST_BYTES, draft_sheet, is_signed_sheet, read_sheet


def sheet_of(path: Path, plans: Sequence[Plan]) -> dict[str, Any]:
    """Read the sheet of one of a study's plans: signed, and then its signature is checked, or a draft."""
    data = read_bounded(path, MOST_BYTES, "a sheet")
    plan = next((each for each in plans if each.id.encode() in data), plans[0])
    return read_sheet(data, plan) if is_signed_sheet(data) else draft_sheet(path, plan)


def run(
    draft: Path,
    *,
    plan: Path,
    url: str | None = None,
    out: Path | None = None,
    key: str | None = None,
    token_file: TokenFile = None,
    force: Force = False,
) -> Outcome:
    """Check a study's sheet; with --url publish it, once: people agree to what they read.

    The sheet has title, purpose, who runs the study, contact, consent text, and how questions and answers are
    worded, in any number of languages. It names the plan's features and cannot add one. The collector signs
    it with the key of its manifests, and the page for participants shows it in the browser's language.

    Parameters
    ----------
    draft
        The draft (TOML or JSON), or with --key a signed sheet.
    plan
        The plan that it is about.
    url
        Publish it: the collector's address.
    out
        Where to write the sheet as it was signed.
    key
        Check a signed sheet: the public key, 64 hex digits.
    """
    check_output(out, force, (draft, plan))
    contract = Plan.load(plan)
    if key is not None and url is None:
        sheet = read_sheet(read_bounded(draft, MOST_BYTES, "a sheet"), contract, key)
    else:
        sheet = draft_sheet(draft, contract)
    if out is not None and url is None:
        raise SettingError("--out writes what a collector signed: give its --url")
    if url is not None:
        with RemoteCollector(url, token=operator_token_of(token_file)) as collector:
            signed = collector.put_sheet(contract, sheet)
        sheet = read_sheet(signed, contract, key)
        if out is not None:
            write_whole(out, signed, overwrite=force)
    signer = sheet.get("public_key")
    languages = sorted(sheet["languages"])
    pages, questions = len(sheet["pages"]), sum(map(len, sheet["pages"]))
    return Outcome(
        {"plan_id": contract.id, "languages": languages, "public_key": signer, "out": out and str(out)},
        [
            sheet["languages"][sheet["language"]]["title"],
            f"{counted(questions, 'question')} on {counted(pages, 'page')}; {', '.join(languages)}",
            *([] if signer is None else [f"signed by {signer}"]),
            "this is a sheet of the plan" if url is None else f"published at {url}/plans/{contract.id}/sheet",
            *written(out),
        ],
    )
