"""`coterie withdraw`: take reports back before their study closes."""

from __future__ import annotations

import typer

from coterie.cli.screen import Json, caution, print_json, say
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
    if json:
        print_json({"withdrawn": done.taken, "failures": done.reasons})
    else:
        for reason, number in sorted(done.reasons.items()):
            caution(f"{number:,} could not be withdrawn: {reason}")
        say(f"{done.taken:,} withdrawn")
    if done.failures:
        raise typer.Exit(1)
