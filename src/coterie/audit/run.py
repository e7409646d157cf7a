"""The whole audit of one plan and one client."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.audit import canaries, environment, laws, memory, sums
from coterie.audit.command import CommandClient
from coterie.audit.empirical import check_client
from coterie.audit.result import Audit, Check
from coterie.audit.samples import CALL, REPORTS, SECONDS, Send
from coterie.encode import Client
from coterie.encode.base import ENCODERS
from coterie.errors import CoterieError, SettingError
from coterie.plan import Plan
from coterie.protocols.codeword.encode import CodewordEncoder
from coterie.protocols.shares.parameters import ShareParameters
from coterie.protocols.vector_sums.encode import MOST_BYTES
from coterie.wire.kernels import kernels_of

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
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=2.0, expected_users=100, protocol="lsh-tree")
    >>> audit(plan, quick=True, with_canaries=False).passed
    True
    """
    started = time.monotonic()
    say = progress or (lambda name: None)
    checks = list(_checks(plan, client, quick, say))
    if with_canaries:
        for name in canaries.CANARIES:
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
    finite = laws.parts_of(plan) is not None
    parameters: object = plan.parameters
    if not finite and not isinstance(parameters, ShareParameters):
        raise SettingError(f"the audit knows no law of reports of protocol {plan.protocol}")
    if client is None:
        say("exact laws")
        if finite:
            yield from _exact(plan, plan.local_epsilon)
        if isinstance(parameters, ShareParameters):
            yield sums.check_noise_law(plan)
            if plan.model == "shuffle":
                yield sums.check_mixing()
        elif plan.model == "shuffle":
            yield sums.check_amplification(plan)
        if plan.model != "central" and not _too_long(plan):
            say("ledger and policy")
            yield memory.check_memory(plan)
    if _too_long(plan):
        words = f"a report would have {plan.report_width:,} bytes, more than can be sent: none was looked at"
        yield Check("empirical", "samples", True, words)
    elif plan.model != "central":
        yield from _empirical(plan, client, quick, say)


def _empirical(
    plan: Plan, client: str | Send | None, quick: bool, say: Callable[[str], None]
) -> Iterator[Check]:
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
        yield from check_client(
            plan, _single(plan), reports=reports, seconds=seconds / 4, label=", one by one"
        )


def _too_long(plan: Plan) -> bool:
    """Tell whether the plan's shares can only be simulated."""
    parameters: object = plan.parameters
    return (
        isinstance(parameters, ShareParameters) and plan.model == "shuffle" and plan.report_width > MOST_BYTES
    )


def _exact(plan: Plan, claim: float) -> Iterator[Check]:
    """Enumerate laws by every kernel there is."""
    if plan.protocol != "codeword":
        encoder = ENCODERS[plan.protocol](plan)
        yield laws.check_laws(plan, lambda *args: encoder.encode_counting(*args)[0], claim)
        return
    for kernel in ("numpy", "numba"):
        try:
            kernels_of("coterie.protocols.codeword.encode", kernel, 1)
        except CoterieError:
            continue
        coded = CodewordEncoder(plan, kernels=kernel)
        yield laws.check_laws(plan, coded.encode, claim, label=f", {kernel}")


def _bulk(plan: Plan) -> Send:
    client = Client(plan)

    def send(people: Any) -> NDArray[np.uint8]:
        sent = client.encode_many(people)
        return np.frombuffer(sent, dtype=np.uint8).reshape(-1, plan.report_width)

    return send


def _single(plan: Plan) -> Send:
    policy = memory.anything()
    client = Client(plan, policy=policy)
    skip = plan.upload_width - plan.report_width

    def send(people: Any) -> list[bytes]:
        if not skip:
            return [client.encode(person) for person in people]
        return [client.encode(person, token=os.urandom(skip))[skip:] for person in people]

    return send


def _name(client: Send | None) -> str:
    return "coterie.Client" if client is None else getattr(client, "__qualname__", type(client).__name__)


def _claim(plan: Plan) -> str:
    words = f"({plan.epsilon:g}, {plan.delta:g})" if plan.delta else f"{plan.epsilon:g}"
    mixed = "" if plan.model == "local" else f" in the {plan.model} model"
    return f"{words}-differential privacy{mixed}, protocol {plan.protocol}"
