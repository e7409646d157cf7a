"""What a study tells about itself to anyone who asks: so that nobody's arrival shows.

Whoever may send reports, too, can bring a rounded count to where the next report turns it. So counts are told
anew once in `seconds` and not in between, and each time with fresh integer noise on what has come since:

    told_t = count_t + Y_1 + … + Y_t,    Pr[Y = y] ∝ exp(-|y|·ε)

One report is in one of the differences and changes it by 1: all that one service ever tells of an open study
is ε-private in it, whether it came and when (twice that for one that is withdrawn again; a service that
starts anew, or another on the same store, spends it again). Counts are those of the last compaction, without
repetitions. Once a study is decoded its manifest has the exact ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from coterie.coins import Coins, SystemCoins
from coterie.plan import Plan
from coterie.randomizers.discrete_laplace import DiscreteLaplace
from coterie.service.studies import Known
from coterie.show.expected import expectations, expected_facts
from coterie.store import Study, StudyState

EPSILON: Final = 1  # of one report's arrival, in all counts that are told


class Tellings:
    """Counts as they are told.

    Parameters
    ----------
    seconds : float
        Between two tellings.
    coins : Coins
        Of the noise.
    """

    def __init__(self, seconds: float, coins: Coins | None = None) -> None:
        self.seconds = seconds
        self._coins = coins or SystemCoins()
        self._noise = DiscreteLaplace(Fraction(1, EPSILON))
        self._told: dict[str, tuple[float, list[int], dict[str, int]]] = {}  # when, all noise so far, what

    def tell(
        self, plan_id: str, counts: Mapping[str, int], now: float, *, final: bool = False
    ) -> dict[str, int]:
        """Return what is told of counts; the last time, `final`, when they do not change any more."""
        slot = math.inf if final else now // self.seconds
        when, noise, told = self._told.get(plan_id, (None, [0] * len(counts), {}))
        if when != slot:
            fresh = self._noise.sample(len(counts), self._coins).tolist()
            noise = [old + new for old, new in zip(noise, fresh, strict=True)]
            told = {
                name: coarse(max(count + more, 0))
                for (name, count), more in zip(counts.items(), noise, strict=True)
            }
            self._told[plan_id] = slot, noise, told
        return told


def coarse(number: int) -> int:
    """Return a count as it is told: two significant digits, and never finer than ten.

    Examples
    --------
    >>> [coarse(number) for number in (9, 57, 123, 45_678)]
    [0, 50, 120, 45000]
    """
    step = max(10, int(10 ** (len(str(number)) - 2)))
    return number // step * step


def expectation(plan: Plan, people: int) -> list[dict[str, Any]] | None:
    """Return the forecast for so many people, for groups and for real data; None where there is none."""
    found = expectations(plan, people) if people > 0 else []
    return [{**expected_facts(each), "words": each.words} for each in found] or None


def phase(known: Known, state: StudyState, now: float) -> str:
    """Return in one word where a study is: early, open, closed or deleted."""
    if state is not StudyState.OPEN:
        return str(state)
    if known.collection.is_early(now):
        return "early"
    return "closed" if known.collection.is_late(now) else "open"


def status_document(
    known: Known, study: Study, now: float, tellings: Tellings, *, decoded: bool, decoding: bool
) -> dict[str, Any]:
    """Return the status: where the study is, its window, counts as they are told, the error to expect."""
    plan = known.plan
    counts = {"reports": study.counts.counted, **known.rejected}
    told = tellings.tell(plan.id, counts, now, final=study.state is not StudyState.OPEN)
    reports = coarse(study.counts.counted) if decoded else told["reports"]
    return {
        "plan_id": plan.id,
        **{name: getattr(plan, name) for name in ("study_id", "model", "ids")},
        "state": phase(known, study.state, now),
        "decoded": decoded,
        "decoding": decoding,
        "collection": (plan.collection or known.collection).to_dict(),
        "report_bytes": plan.report_width,
        "upload_bytes": plan.upload_width,
        "expected_users": plan.expected_users,
        "reports": reports,
        "rejected": {reason: told[reason] for reason in known.rejected},
        "counts": {"epsilon": EPSILON, "seconds": tellings.seconds},
        "expected": {
            "now": expectation(plan, reports),
            "planned": expectation(plan, plan.expected_users),
        },
    }
