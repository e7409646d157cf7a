"""The minimum of people, in both models: looked at once, before anything is decoded."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest

from coterie.collect.shuffler import batch_bytes
from coterie.plan.collection import Collection
from coterie.service.decoder import Decoder
from coterie.service.problems import Problem
from coterie.service.results import Results
from coterie.service.studies import Studies
from coterie.store import Batch, open_store

from .conftest import KEY, finished, reports_of, small_plan
from .shuffled import AMPLIFIED, SHARES
from .shuffled import reports_of as mixed_reports_of

MINIMUM = 58


def with_minimum(plan):
    return dataclasses.replace(plan, collection=Collection(minimum=MINIMUM))


PLANS = [small_plan(Collection(minimum=MINIMUM)), with_minimum(AMPLIFIED), with_minimum(SHARES)]


def take_in(store, plan, people):
    if plan.model == "local":
        store.append([(plan.id, reports_of(plan, people))])
        return
    rows = mixed_reports_of(plan, people)
    batch = Batch.of(batch_bytes(plan, rows[rows[:, :12].copy().view("S12")[:, 0].argsort()]))
    store.put_batch(plan.id, batch.digest, batch.data)


@pytest.mark.parametrize("plan", PLANS, ids=["local", "amplified", "shares"])
@pytest.mark.parametrize(("people", "decoded"), [(MINIMUM - 1, False), (MINIMUM, True)])
def test_too_few_people_are_refused_before_the_decoder_runs(tmp_path, monkeypatch, plan, people, decoded):
    runs = []
    monkeypatch.setattr(Decoder, "run", lambda *_: runs.append(1) or (b"{}", b"table"))
    with open_store(tmp_path / "store") as store, ThreadPoolExecutor(1) as threads:
        store.put_plan(plan)
        take_in(store, plan, people)
        store.close(plan.id)
        known = finished(Studies(store, threads).find(plan.id))
        results = Results(store, KEY, timeout=1)
        if decoded:
            assert results.decode(known).table == b"table"
        else:
            with pytest.raises(Problem, match=f"wants {MINIMUM} people") as refused:
                results.decode(known)
            assert refused.value.kind == "too-few"
        assert len(runs) == decoded
