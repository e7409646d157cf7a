"""`coterie verify`: recompute a study's centers from what its collector published."""

from __future__ import annotations

from pathlib import Path

from coterie.cli.screen import Caution, Outcome, progress
from coterie.plain.canonical import MAX_BYTES
from coterie.plain.files import read_bounded
from coterie.service.verify import DIGITS, verify

MOST_TABLE = 1 << 31
MOST_RESULT = 1 << 28


def run(
    manifest: Path,
    *,
    table: list[Path],
    result: Path | None = None,
    key: str | None = None,
) -> Outcome:
    """Check a manifest: its signature, the digests, the counts, and the whole result, computed again.

    Of a study of several waves the plan of each is made again, too, from the tables before it.

    Parameters
    ----------
    manifest
        The signed manifest of a decoded study.
    table
        Its table; of several waves each of them.
    result
        Its published result: then words are checked as well as figures.
    key
        The public key that must have signed it, 64 hex digits.
    """
    data = read_bounded(manifest, MAX_BYTES, "a manifest")
    published = None if result is None else read_bounded(result, MOST_RESULT, "a result")
    with progress("decoding", None):
        tables = [read_bounded(each, MOST_TABLE, "a table") for each in table]
        found = verify(data, tables, key, result=published)
    count, plan_id, public = found.count, found.plan_ids[-1], found.manifest["public_key"]
    facts = {
        "plan_id": plan_id,
        "plan_ids": list(found.plan_ids),
        "count": count,
        "version": found.manifest["version"],
        "difference": found.away,
        "decoded_elsewhere": found.elsewhere,
        "words_checked": found.words,
        "public_key": public,
        "key_given": key is not None,
    }
    lines: list[str] = []
    if key is None:
        lines.append(Caution(f"signed by {public}: that this is the collector's key, only --key checks"))
    if not found.words:
        lines.append(Caution("figures were checked, words were not: --result checks what was published, too"))
    lines.append(f"{count:,} reports decoded again, every figure agrees to {DIGITS:g}; plan {plan_id}")
    if (waves := len(found.plan_ids)) > 1:
        study = found.plan_ids[0]
        lines.append(f"{waves} waves, and each plan follows from those before it; study {study}")
    return Outcome(facts, lines)
