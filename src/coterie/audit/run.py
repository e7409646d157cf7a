"""The whole audit of one plan and one client."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from coterie.audit import canaries, environment, laws, memory, samples, sums
from coterie.audit.command import CommandClient
from coterie.audit.result import Audit, Check
from coterie.encode import Client
from coterie.encode.base import ENCODERS
from coterie.encode.codeword import CodewordEncoder
from coterie.encode.vector_sums import MOST_BYTES
from coterie.errors import CoterieError, SettingError
from coterie.plan import Plan
from coterie.plan.shares import ShareParameters
from coterie.wire.kernels import kernels_of

_QUICK_SAMPLES = 20_000
_QUICK_DRAWS = 60_000


def audit(
    plan: Plan,
    command: str | None = None,
    *,
    quick: bool = False,
    with_canaries: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit the package's own client under a plan, or any client given as a command.

    Parameters
    ----------
    plan : Plan
        What the client answers.
    command : str, optional
        A client in any language (`coterie.audit.command`). It gets the empirical part only.
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
    checks = list(_checks(plan, command, quick, say))
    if with_canaries:
        for name in canaries.CANARIES:
            say(f"canary: {name}")
            checks.append(canaries.check_canary(name))
    if command is None:
        say("environment")
        checks += [
            check for check in (environment.check_generator(), environment.check_kernels(plan)) if check
        ]
    return Audit(
        plan_id=plan.id,
        claim=_claim(plan),
        client=command or "coterie.Client",
        checks=tuple(checks),
        environment=environment.facts(),
        seconds=time.monotonic() - started,
    )


def _checks(plan: Plan, command: str | None, quick: bool, say: Callable[[str], None]) -> Iterator[Check]:
    finite = laws.parts_of(plan) is not None
    parameters: object = plan.parameters
    if not finite and not isinstance(parameters, ShareParameters):
        raise SettingError(f"the audit knows no law of reports of protocol {plan.protocol}")
    local = plan.local_epsilon
    if command is None:
        say("exact laws")
        if finite:
            yield from _exact(plan, local)
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
        return
    send = CommandClient(command, plan) if command else _bulk(plan)
    say("samples")
    if finite:
        count = _QUICK_SAMPLES if quick else None
        yield from samples.check_samples(plan, send, local, samples=count)
        if command is None:  # the way of one person, report by report
            single = 400 if quick else 4000
            yield from samples.check_samples(plan, _single(plan), local, samples=single, label=", one by one")
    elif plan.model != "central":
        yield from sums.check_shares(plan, send, draws=_QUICK_DRAWS if quick else sums.NOISE_DRAWS)


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
            kernels_of("coterie.encode", kernel, 1)
        except CoterieError:
            continue
        coded = CodewordEncoder(plan, kernels=kernel)
        yield laws.check_laws(plan, coded.encode, claim, label=f", {kernel}")


def _bulk(plan: Plan) -> samples.Send:
    client = Client(plan)

    def send(points: NDArray[np.float64]) -> NDArray[np.uint8]:
        sent = client.encode_many(points)
        return np.frombuffer(sent, dtype=np.uint8).reshape(-1, plan.report_width)

    return send


def _single(plan: Plan) -> samples.Send:
    policy = memory.anything()
    client = Client(plan, policy=policy)
    skip = plan.upload_width - plan.report_width

    def send(points: NDArray[np.float64]) -> list[bytes]:
        if not skip:
            return [client.encode(point) for point in points]
        tokens = (os.urandom(skip) for _ in points)
        return [client.encode(point, token=token)[skip:] for point, token in zip(points, tokens, strict=True)]

    return send


def _claim(plan: Plan) -> str:
    words = f"({plan.epsilon:g}, {plan.delta:g})" if plan.delta else f"{plan.epsilon:g}"
    mixed = "" if plan.model == "local" else f" in the {plan.model} model"
    return f"{words}-differential privacy{mixed}, protocol {plan.protocol}"
