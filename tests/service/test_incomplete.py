"""A study that lost acknowledged reports is decoded only once somebody has accepted that."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from coterie.errors import StudyIncompleteError
from coterie.plan.collection import Collection
from coterie.service.decoder import Decoder
from coterie.service.results import Results
from coterie.service.studies import Studies
from coterie.service.writer import problem_of
from coterie.store import open_store
from coterie.store.check import check_store

from .conftest import KEY, finished, reports_of, small_plan


def test_a_hole_is_told_until_it_is_accepted_and_then_in_the_manifest(tmp_path, monkeypatch):
    monkeypatch.setattr(Decoder, "run", lambda *_: (b"{}", b"table"))
    plan = small_plan(Collection(minimum=5))
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        store.append([(plan.id, reports_of(plan, 30))])
        store.compact(plan.id)
        store.append([(plan.id, reports_of(plan, 7, seed=1))])
        store.close(plan.id)
    (segment,) = (tmp_path / "store/log").iterdir()
    segment.unlink()
    check_store(tmp_path / "store", mend=True)
    with open_store(tmp_path / "store") as store, ThreadPoolExecutor(1) as threads:
        known = finished(Studies(store, threads).find(plan.id))
        results = Results(store, KEY, timeout=1)
        with pytest.raises(StudyIncompleteError, match="7 or more reports") as refused:
            results.decode(known)
        problem = problem_of(refused.value)
        assert (problem.kind, problem.status) == ("incomplete", 409)
        assert not results.is_decoded(plan.id)
        store.accept_loss(plan.id)
        counts = json.loads(results.decode(known).manifest)["counts"]
        assert (counts["counted"], counts["lost"]) == (30, 7)
