"""Whether a client answers once: the same bytes again, one plan of a study, a total that is kept."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from coterie.audit.result import Check
from coterie.encode import Client
from coterie.encode.ledger import Ledger
from coterie.errors import LedgerError, PolicyError
from coterie.plan import Plan
from coterie.privacy import Policy

MakeClient = Callable[[Plan, Path, Policy], Any]


def anything(total_epsilon: float = math.inf) -> Policy:
    """Return a policy that refuses nothing but a total."""
    return Policy(
        models=("local", "shuffle"),
        shufflers=("0" * 64,),
        max_epsilon=math.inf,
        max_local_epsilon=math.inf,
        max_delta=1.0,
        total_epsilon=total_epsilon,
        total_local_epsilon=math.inf,
        total_delta=1.0,
    )


def client_with(ledger: type[Ledger] = Ledger) -> MakeClient:
    """Return a function that makes clients whose ledger is of this class."""

    def make(plan: Plan, path: Path, policy: Policy) -> Client:
        client = Client(plan, path, policy=policy)
        client._ledger = ledger(path)
        return client

    return make


def check_memory(plan: Plan, make: MakeClient | None = None) -> Check:
    """Answer a plan twice, a follow-up of it, and more plans than the total allows."""
    make = make or client_with()
    allowed = anything(total_epsilon=2 * plan.epsilon)
    first, second = np.zeros(plan.dimension), np.full(plan.dimension, plan.radius)
    token = {"token": bytes(16)} if plan.ids == "token" else {}
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        sent = [make(plan, path, allowed).encode(point, **token) for point in (first, second, first)]
        if len(set(sent)) > 1:
            problems.append("a plan answered again gives other bytes")

        def is_answered(other: Plan) -> bool:
            try:
                make(other, path, allowed).encode(first, **token)
            except (LedgerError, PolicyError):
                return False
            return True

        follow = dataclasses.replace(plan, study=plan.study_id, after=(plan.id,))
        if is_answered(follow):
            problems.append("two plans of one study are answered")
        others = [
            dataclasses.replace(plan, seed=(plan.seed + more) % 2**53, study=plan.study and f"{more:064x}")
            for more in (1, 2, 3)
        ]
        answered = list(map(is_answered, others))
        if answered != [True, False, False]:
            problems.append(f"a total of two plans let {1 + sum(answered)} be answered")
    words = "; ".join(problems) or "the same bytes again, one plan of a study, the total kept"
    return Check("empirical", "one answer", not problems, words)
