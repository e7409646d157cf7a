"""The shuffler as a service: takes reports of shuffle plans in, mixes them, hands batches to a collector.

    shuffler = Shuffler(store, token=…, key=…, deliver_to="https://collector.example")
    app = create_app(shuffler)

It takes reports and withdrawals as a collector does, durably and once, and it never adds anything up. *When*
a batch is released must not be for senders to decide, or one of them could see to it that a batch holds one
person and himself (docs/decisions/0045-shuffler.md). So it is released

- by itself once the study is closed, by its window or by the operator, and all that came in is one batch;
- before that only when the operator says so;
- never because so many have come. Where a batch is full nothing more is taken in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from coterie.plan import Plan
from coterie.remote.collector import RemoteCollector
from coterie.service.endpoints import INTAKE_ROUTES, NO_STORE, at, json_response
from coterie.service.problems import Problem
from coterie.service.releases import Releases
from coterie.service.studies import Known
from coterie.service.taking import Taking
from coterie.store import Store
from coterie.wire.mixing import mixing_statement
from coterie.wire.shuffled_file import MOST_BATCH, bytes_per_person

DELIVERY_SECONDS: Final = 120.0  # to wait for the collector's answer
_OWN: Final[list[BaseRoute]] = []  # what a shuffler alone answers to


class Shuffler(Taking):
    """The parts of a shuffler around one store.

    Parameters
    ----------
    store, clock
        As for `Ending`.
    options
        As for `Taking`.
    key : bytes
        The Ed25519 key with which batches are signed.
    deliver_to : str
        Address of the collector.
    address : str
        Its own, as devices know it; without one it does not say that it mixes there.
    issuers : tuple of bytes
        Public keys of those who admit reports; without any, anybody may send.
    """

    model = "shuffle"
    role = "shuffler"

    def __init__(
        self,
        store: Store,
        *,
        key: bytes,
        deliver_to: str,
        address: str = "",
        issuers: tuple[bytes, ...] = (),
        clock: Callable[[], float] = time.time,
        **options: Any,
    ) -> None:
        self._address, self._issuers = address, issuers
        remote = RemoteCollector(deliver_to, attempts=1, timeout=DELIVERY_SECONDS)
        self.releases = Releases(store, key, remote, clock=clock)
        super().__init__(self.releases, issuers=issuers, **options)

    def statement(self, plan: Plan) -> bytes:
        """Return what this shuffler says of a plan: that it mixes it, by which key and where."""
        if not self._address:
            raise Problem("not-found", "this shuffler does not say its address: its setting `address`")
        return mixing_statement(self.ending.key, plan.id, self._address, self._issuers)

    def check_plan(self, plan: Plan) -> None:
        """Raise Problem unless reports of the plan are mixed, and a batch of them can be handed over."""
        if not plan.mixed:
            raise Problem("unfit-plan", f"a shuffler takes plans of the shuffle model, not of {plan.model}")
        if plan.minimum_batch * bytes_per_person(plan) > MOST_BATCH:
            raise Problem("unfit-plan", f"its smallest batch has more than {MOST_BATCH} bytes")


@at(_OWN, "/plans/{plan_id}/shuffler")
async def mixing(request: Request, shuffler: Shuffler, known: Known) -> Response:
    """Answer who mixes a plan here, signed."""
    return Response(shuffler.statement(known.plan), headers=NO_STORE, media_type="application/json")


@at(_OWN, "/plans/{plan_id}/release", "POST", operator=True)
async def release(request: Request, shuffler: Shuffler, known: Known) -> Response:
    """Make a batch of all that was gathered, and deliver it."""
    return json_response(await shuffler.ask(shuffler.releases.release, known.plan))


@at(_OWN, "/plans/{plan_id}/release", operator=True)
async def release_state(request: Request, shuffler: Shuffler, known: Known) -> Response:
    """Answer where the release is."""
    return json_response(await shuffler.ask(shuffler.releases.state, known.plan))


@at(_OWN, "/plans/{plan_id}/release", "DELETE", operator=True)
async def give_up(request: Request, shuffler: Shuffler, known: Known) -> Response:
    """Forget a batch that its collector refuses."""
    await shuffler.ask(shuffler.releases.give_up, known.plan)
    return Response(status_code=204)


ROUTES: Final = [*INTAKE_ROUTES, *_OWN]
