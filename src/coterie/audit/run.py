"""The whole audit of one plan and one client."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.audit import canaries, environment, memory
from coterie.audit.answers import reader_of
from coterie.audit.command import CommandClient
from coterie.audit.empirical import check_client
from coterie.audit.result import Audit, Check
from coterie.audit.samples import CALL, REPORTS, SECONDS, Send
from coterie.encode import Client, RecordKeysWarning
from coterie.plan import Plan
from coterie.wire.layout import TOKEN_BYTES

_QUICK_REPORTS = 60_000
_QUICK_SECONDS = 20.0
_SINGLE_REPORTS = 12_000  # through the way of one person
_QUICK_SINGLE_REPORTS = 600
_COMMAND_CALL = 2 * CALL  # people a command is started for


def audit(
    plan: Plan,
    client: str | Send | None = None,
    *,
    quick: bool = False,
    with_canaries: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit the package's own client under a plan, or any other: a command, or a Python function.

    Parameters
    ----------
    plan : Plan
        What the client answers.
    client : str or callable, optional
        A client in any language, as a command (`coterie.audit.command`); or a function of points (n, d), or
        of n records where the plan declares features, that returns n reports. Either gets the empirical part
        only.
    quick : bool
        Fewer samples: a large fault is still found, a small one may not be.
    with_canaries : bool
        Whether to run the broken clients, too.
    progress : callable, optional
        Told the name of each check before it runs.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=2.0, expected_users=100)
    >>> audit(plan, quick=True, with_canaries=False).passed
    True
    """
    started = time.monotonic()
    say = progress or (lambda name: None)
    checks = list(_checks(plan, client, quick, say))
    if with_canaries:
        for name in canaries.every_canary():
            say(f"canary: {name}")
            checks.append(canaries.check_canary(name))
    if client is None:
        say("environment")
        checks += [
            check for check in (environment.check_generator(), environment.check_kernels(plan)) if check
        ]
    return Audit(
        plan_id=plan.id,
        claim=_claim(plan),
        client=client if isinstance(client, str) else _name(client),
        checks=tuple(checks),
        environment=environment.facts(),
        seconds=time.monotonic() - started,
    )


def _checks(
    plan: Plan, client: str | Send | None, quick: bool, say: Callable[[str], None]
) -> Iterator[Check]:
    kind = reader_of(plan)
    if client is None:
        say("exact laws")
        yield from kind.exact(plan)
        if plan.parameters.sendable:
            say("ledger and policy")
            yield memory.check_memory(plan)
    if not plan.parameters.sendable:
        words = f"a report would have {plan.report_width:,} bytes, more than can be sent: none was looked at"
        if not plan.curated:
            yield Check("empirical", "samples", True, words)
        return
    say("samples")
    reports, seconds = (_QUICK_REPORTS, _QUICK_SECONDS) if quick else (REPORTS, SECONDS)
    if isinstance(client, str):
        asked = CommandClient(client, plan)
        yield from check_client(plan, asked, reports=reports, seconds=seconds, call=_COMMAND_CALL)
        return
    yield from check_client(plan, client or _bulk(plan), reports=reports, seconds=seconds)
    if client is None:  # the way of one person, report by report
        say("samples, one by one")
        reports = _QUICK_SINGLE_REPORTS if quick else _SINGLE_REPORTS
        for check in check_client(plan, _single(plan), reports=reports, seconds=seconds / 4):
            yield replace(check, name=f"{check.name}, one by one")


def _any_keys() -> contextlib.AbstractContextManager[object]:
    """Let records lack features and hold others: that is what they are here to try."""
    return warnings.catch_warnings(action="ignore", category=RecordKeysWarning)


def _bulk(plan: Plan) -> Send:
    client = Client(plan)

    def send(people: Any) -> NDArray[np.uint8]:
        with _any_keys():
            sent = client.encode_many(people)
        return np.frombuffer(sent, dtype=np.uint8).reshape(-1, plan.report_width)

    return send


def _single(plan: Plan) -> Send:
    client = Client(plan, policy=memory.anything())

    def send(people: Any) -> list[bytes]:
        with _any_keys():
            if plan.ids != "token":
                return [client.encode(person) for person in people]
            return [client.encode(person, token=os.urandom(TOKEN_BYTES)) for person in people]

    return send


def _name(client: Send | None) -> str:
    return "coterie.Client" if client is None else getattr(client, "__qualname__", type(client).__name__)


def _claim(plan: Plan) -> str:
    words = f"({plan.epsilon:g}, {plan.delta:g})" if plan.delta else f"{plan.epsilon:g}"
    mixed = f" in the {plan.model} model" if plan.mixed or plan.curated else ""
    return f"{words}-differential privacy{mixed}, protocol {plan.protocol}"
