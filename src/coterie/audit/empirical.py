"""The empirical part: a client is asked about many people, and its bytes are held against its plan."""

from __future__ import annotations

import math

from coterie.audit import fit
from coterie.audit.answers import reader_of
from coterie.audit.power import check_power
from coterie.audit.replay import check_replay
from coterie.audit.result import Check
from coterie.audit.samples import CALL, REPORTS, SECONDS, Sample, Send, sample
from coterie.plan import Plan


def check_client(
    plan: Plan,
    send: Send,
    *,
    reports: int = REPORTS,
    seconds: float = SECONDS,
    call: int = CALL,
    replay: bool = True,
) -> list[Check]:
    """Sample a client and check all that its bytes tell.

    Parameters
    ----------
    plan : Plan
        What it answers.
    send : callable
        Points (n, d), or n records where the plan declares features, to n reports.
    reports, seconds : int, float
        How many to ask for at most, and for how long.
    call : int
        How many at a time.
    replay : bool
        Whether to ask it again with the same coins, too (`coterie.audit.replay`).
    """
    reader = reader_of(plan)(plan)
    # As many coins as reports are looked at, four times as many bits: fewer reports where each holds many.
    bits = all(len(law.chances) == 2 for law in reader.laws)
    most = (4 if bits else 1) * reports // max(law.size for law in reader.laws)
    count = min(reports, max(2000, most))
    found = sample(plan, send, reader, reports=count, seconds=seconds, call=min(call, count))
    checks = [fit.check_form(found)]
    if not checks[0].passed:
        return checks
    checks += [fit.check_law(found, law, _claim(found, law)) for law in range(len(found.laws))]
    checks += [*reader.check(), fit.check_ids(found), fit.check_order(found)]
    checks += fit.check_together(found)
    if replay:
        checks.append(check_replay(plan, send))
    return [*checks, check_power(found, plan.local_epsilon)]


def _claim(found: Sample, number: int) -> str:
    """Return in words which ε the share of the cap amounts to, where there is one kind of answer."""
    law = found.laws[number]
    if not law.cap:
        return ""
    cells = found.cells[number]
    likely, rest = law.cap, len(law.chances) - law.cap
    inside = min(max(float((cells < law.cap).mean()), 1e-12), 1 - 1e-12)
    epsilon = law.size * math.log(inside / (1 - inside) * rest / likely)
    deviation = law.size / math.sqrt(cells.size * inside * (1 - inside))
    claimed = law.size * math.log(law.chances[0] / law.chances[-1])
    return f"epsilon {epsilon:.4f} ± {deviation:.4f} (the plan: {claimed:.4f}); "
