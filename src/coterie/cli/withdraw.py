"""`coterie withdraw`: take reports back before their study closes."""

from __future__ import annotations

from coterie.cli.screen import Caution, Outcome
from coterie.remote.collector import RemoteCollector
from coterie.remote.receipt import Receipt


def run(
    receipts: list[str],
    *,
    url: str,
) -> Outcome:
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
    reasons = sorted(done.reasons.items())
    failed = [Caution(f"{number:,} could not be withdrawn: {why}") for why, number in reasons]
    facts = {"withdrawn": done.taken, "failures": done.reasons}
    return Outcome(facts, [*failed, f"{done.taken:,} withdrawn"], failed=bool(failed))
