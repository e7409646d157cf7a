"""`coterie withdraw`: take reports back before their study closes."""

from __future__ import annotations

import typer

from coterie.cli.screen import Json, tell
from coterie.remote.collector import RemoteCollector
from coterie.remote.receipt import Receipt


def run(
    receipts: list[str],
    *,
    url: str,
    json: Json = False,
) -> None:
    """Withdraw reports by their receipts: they do not count, whatever is sent later.

    Parameters
    ----------
    receipts
        Receipts, as coterie-receipt-1.…
    url
        The collector's address.
    """
    with RemoteCollector(url) as collector:
        done = collector.withdraw_by([Receipt.read(text) for text in receipts])
    failed = [f"{number:,} could not be withdrawn: {why}" for why, number in sorted(done.reasons.items())]
    facts = {"withdrawn": done.taken, "failures": done.reasons}
    tell(json, facts, f"{done.taken:,} withdrawn", cautions=failed)
    if done.failures:
        raise typer.Exit(1)
