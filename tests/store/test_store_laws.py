"""What every store promises (store/base.py), on both of them."""

import hashlib
import itertools
import threading

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.collect import Intake
from coterie.store import (
    Batch,
    Counts,
    StoreError,
    StudyClosedError,
    StudyState,
    UnknownPlanError,
    open_store,
    study_rows,
)

from .conftest import found, ids, rows

REPORTS = rows((5, 1), (3, 2), (5, 1), (9, 4), (5, 0))


def mix(chunks):
    return b"batch:" + b"".join(chunk.tobytes() for chunk in chunks)


def test_what_counts_is_the_smallest_report_of_each_id(store, plan):
    assert store.put_plan(plan)
    assert store.append([(plan.id, REPORTS)]) == [None]
    assert found(store, plan) == [(3, 2), (5, 0), (9, 4)]
    assert store.study(plan.id).counts == Counts(received=5, counted=3, duplicates=1, conflicting=1)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_order_pieces_and_compactions_decide_nothing(store, plan, order):
    store.put_plan(plan)
    pieces = [REPORTS[:2], REPORTS[2:3], REPORTS[3:]]
    for place in order:
        store.append([(plan.id, pieces[place]), (plan.id, REPORTS[:1])])
        counts = store.compact(plan.id)
    assert found(store, plan) == [(3, 2), (5, 0), (9, 4)]
    assert (counts.received, counts.counted) == (8, 3)
    assert counts.duplicates + counts.conflicting == 5


def test_plans_are_kept_once_and_apart(store, plan, other_plan):
    assert store.plan_ids() == []
    assert store.put_plan(plan)
    assert not store.put_plan(plan)
    assert store.put_plan(other_plan)
    assert store.plan_ids() == sorted([plan.id, other_plan.id])
    store.append([(plan.id, rows((1, 1))), (other_plan.id, rows((1, 7), (2, 7)))])
    assert store.study(other_plan.id).plan == other_plan
    store.compact(plan.id)
    assert found(store, plan) == [(1, 1)]
    assert found(store, other_plan) == [(1, 7), (2, 7)]


def test_a_pair_that_cannot_be_taken_in_stops_no_other(store, plan, other_plan):
    store.put_plan(plan)
    store.put_plan(other_plan)
    store.close(other_plan.id)
    unknown = "00" * 32
    answers = store.append(
        [(unknown, rows((1, 1))), (plan.id, rows((1, 1))), (other_plan.id, rows((2, 2))), (plan.id, rows())]
    )
    assert [type(answer) for answer in answers] == [
        UnknownPlanError,
        type(None),
        StudyClosedError,
        type(None),
    ]
    assert found(store, plan) == [(1, 1)]
    assert found(store, other_plan) == []
    assert store.append([]) == []


@pytest.mark.parametrize("plan_id", ["00" * 32, "", "../../etc", "zz", "é" * 64])
def test_an_unknown_plan_is_refused_by_every_method(store, plan, plan_id):
    store.put_plan(plan)
    for call in (
        lambda: store.study(plan_id),
        lambda: store.withdraw(plan_id, ids(1)),
        lambda: store.close(plan_id),
        lambda: store.compact(plan_id),
        lambda: store.reports(plan_id),
        lambda: store.delete_reports(plan_id),
        lambda: store.stage_batch(plan_id, mix),
        lambda: store.staged_batch(plan_id),
        lambda: store.acknowledge_batch(plan_id, "00" * 32),
        lambda: store.put_batch(plan_id, Batch.of(b"").digest, b""),
        lambda: store.batches(plan_id),
        lambda: store.put_document(plan_id, "table", b""),
        lambda: store.document(plan_id, "table"),
        lambda: store.invite(plan_id, np.zeros((1, 32), dtype=np.uint8)),
        lambda: store.invited(plan_id, np.zeros((1, 32), dtype=np.uint8)),
    ):
        with pytest.raises(UnknownPlanError, match="holds no plan"):
            call()


def test_a_withdrawn_id_never_counts_whatever_comes_later(store, plan):
    store.put_plan(plan)
    store.append([(plan.id, rows((1, 1), (2, 2), (3, 3)))])
    store.withdraw(plan.id, ids(2, 7))
    assert found(store, plan) == [(1, 1), (3, 3)]
    store.append([(plan.id, rows((2, 2), (7, 7), (8, 8)))])
    store.withdraw(plan.id, ids(2))
    assert found(store, plan) == [(1, 1), (3, 3), (8, 8)]
    counts = store.study(plan.id).counts
    assert (counts.received, counts.counted, counts.withdrawn) == (6, 3, 2)


def test_closed_is_closed(store, plan):
    store.put_plan(plan)
    store.append([(plan.id, rows((1, 1)))])
    assert store.study(plan.id).state is StudyState.OPEN
    store.close(plan.id)
    store.close(plan.id)
    assert store.study(plan.id).state is StudyState.CLOSED
    assert isinstance(store.append([(plan.id, rows((2, 2)))])[0], StudyClosedError)
    with pytest.raises(StudyClosedError, match="closed"):
        store.withdraw(plan.id, ids(1))
    with pytest.raises(StudyClosedError, match="closed"):
        store.put_batch(plan.id, Batch.of(b"x").digest, b"x")
    assert not store.put_plan(plan)
    assert found(store, plan) == [(1, 1)]
    assert store.study(plan.id).counts.received == 1


def test_everything_is_there_after_a_restart(address, plan, other_plan):
    marks = np.arange(64, dtype=np.uint8).reshape(2, 32)
    with open_store(address) as store:
        store.put_plan(plan)
        store.put_plan(other_plan)
        store.append([(plan.id, rows((1, 1), (2, 2))), (other_plan.id, rows((4, 4)))])
        store.compact(plan.id)
        store.append([(plan.id, rows((3, 3), (1, 0)))])
        store.withdraw(plan.id, ids(2))
        store.put_document(plan.id, "table", b"bytes")
        store.invite(plan.id, marks)
        before = store.study(plan.id)
    for _ in range(2):
        with open_store(address) as store:
            assert store.study(plan.id) == before
            assert store.document(plan.id, "table") == b"bytes"
            assert store.invited(plan.id, marks).all()
            assert found(store, other_plan) == [(4, 4)]
    with open_store(address) as store:
        assert found(store, plan) == [(1, 0), (3, 3)]
        store.close(plan.id)
    with open_store(address) as store:
        assert store.study(plan.id).state is StudyState.CLOSED
        assert isinstance(store.append([(plan.id, rows((9, 9)))])[0], StudyClosedError)
        assert found(store, plan) == [(1, 0), (3, 3)]


def test_documents_are_kept_once_and_the_first_wins(store, plan, other_plan):
    store.put_plan(plan)
    store.put_plan(other_plan)
    assert store.document(plan.id, "table") is None
    assert store.put_document(plan.id, "table", b"first") == b"first"
    assert store.put_document(plan.id, "table", b"second") == b"first"
    assert store.document(plan.id, "table") == b"first"
    assert store.document(other_plan.id, "table") is None
    assert store.put_document(plan.id, "empty", b"") == b""
    assert store.document(plan.id, "empty") == b""
    for name in ("", "../plan", "Table", "a/b", "a" * 65, ".hidden"):
        with pytest.raises(ValueError, match="document's name"):
            store.put_document(plan.id, name, b"")
        with pytest.raises(ValueError, match="document's name"):
            store.document(plan.id, name)


def test_of_several_threads_one_document_wins(store, plan):
    store.put_plan(plan)
    answers = []
    threads = [
        threading.Thread(
            target=lambda n=n: answers.append(store.put_document(plan.id, "result", str(n).encode()))
        )
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert set(answers) == {store.document(plan.id, "result")}


def test_invitations(store, plan, other_plan):
    store.put_plan(plan)
    store.put_plan(other_plan)
    marks = np.frombuffer(b"".join(hashlib.sha256(bytes([n])).digest() for n in range(20)), dtype=np.uint8)
    marks = marks.reshape(20, 32).copy()
    marks[3, 20:] = 0  # zeros at the end are part of a mark
    assert not store.invited(plan.id, marks).any()
    store.invite(plan.id, marks[:5])
    store.invite(plan.id, marks[3:9])
    store.invite(plan.id, marks[:0])
    assert store.invited(plan.id, marks).tolist() == [True] * 9 + [False] * 11
    assert store.invited(plan.id, marks[::-1]).tolist() == [False] * 11 + [True] * 9
    assert not store.invited(other_plan.id, marks).any()
    short = marks[3:4].copy()
    short[0, 25] = 1
    assert not store.invited(plan.id, short).any()


def test_wrong_shapes_are_refused(store, plan):
    store.put_plan(plan)
    with pytest.raises(ValueError, match=r"uint8 of shape \(n, 13\)"):
        store.append([(plan.id, np.zeros((1, 12), dtype=np.uint8))])
    with pytest.raises(ValueError, match=r"ids must be uint8 of shape \(n, 12\)"):
        store.withdraw(plan.id, np.zeros((1, 13), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"marks must be uint8 of shape \(n, 32\)"):
        store.invite(plan.id, np.zeros((1, 31), dtype=np.uint8))
    assert store.study(plan.id).counts == Counts(0)


def test_deleting_leaves_plan_counts_and_documents(address, plan, other_plan):
    with open_store(address) as store:
        store.put_plan(plan)
        store.put_plan(other_plan)
        store.append([(plan.id, rows((1, 1), (1, 1), (2, 2))), (other_plan.id, rows((8, 8)))])
        store.put_batch(plan.id, Batch.of(b"x").digest, b"x")
        store.put_document(plan.id, "table", b"bytes")
        with pytest.raises(StoreError, match="open; close it"):
            store.delete_reports(plan.id)
        store.close(plan.id)
        store.delete_reports(plan.id)
        store.delete_reports(plan.id)
    with open_store(address) as store:
        study = store.study(plan.id)
        assert study.state is StudyState.DELETED
        assert study.counts == Counts(received=3, counted=2, duplicates=1)
        assert store.document(plan.id, "table") == b"bytes"
        for call in (store.reports, store.batches, lambda plan_id: store.stage_batch(plan_id, mix)):
            with pytest.raises(StoreError, match="were deleted"):
                call(plan.id)
        assert isinstance(store.append([(plan.id, rows((2, 2)))])[0], StudyClosedError)
        store.close(plan.id)
        assert store.study(plan.id).state is StudyState.DELETED
        assert found(store, other_plan) == [(8, 8)]


def test_a_batch_holds_what_counts_and_its_ids_are_released(address, plan):
    with open_store(address) as store:
        store.put_plan(plan)
        store.append([(plan.id, rows((5, 5), (1, 1), (5, 4), (2, 2)))])
        store.withdraw(plan.id, ids(2))
        assert store.staged_batch(plan.id) is None
        first = store.stage_batch(plan.id, mix)
        assert first == Batch.of(mix([rows((1, 1), (5, 4))]))
        store.append([(plan.id, rows((5, 0), (1, 1), (3, 3)))])  # a retry, a conflict, and somebody new
    with open_store(address) as store:
        assert store.stage_batch(plan.id, mix) == first  # not acknowledged yet
        assert store.staged_batch(plan.id) == first
        assert store.study(plan.id).counts.batches == 1
        store.close(plan.id)
        with pytest.raises(StoreError, match="not acknowledged"):
            store.delete_reports(plan.id)
        store.acknowledge_batch(plan.id, "00" * 32)
        assert store.staged_batch(plan.id) == first
        store.acknowledge_batch(plan.id, first.digest)
        store.acknowledge_batch(plan.id, first.digest)
        assert store.staged_batch(plan.id) is None
        assert found(store, plan) == [(3, 3)]
        counts = store.study(plan.id).counts
        assert (counts.received, counts.counted, counts.released, counts.batches) == (7, 1, 2, 0)
        assert store.stage_batch(plan.id, mix) == Batch.of(mix([rows((3, 3))]))
        assert list(store.batches(plan.id)) == []
        assert store.study(plan.id).counts.released == 3


def test_a_batch_that_cannot_be_mixed_changes_nothing(store, plan):
    def too_few(chunks):
        raise ValueError(f"{sum(map(len, chunks))} people")

    store.put_plan(plan)
    store.append([(plan.id, rows((1, 1), (2, 2)))])
    with pytest.raises(ValueError, match="2 people"):
        store.stage_batch(plan.id, too_few)
    assert store.staged_batch(plan.id) is None
    assert found(store, plan) == [(1, 1), (2, 2)]
    assert store.study(plan.id).counts.released == 0


def test_batches_are_taken_in_once(store, plan):
    store.put_plan(plan)
    batches = [Batch.of(bytes([n]) * 50) for n in range(5)] + [Batch.of(b"")]
    for batch in batches:
        assert store.put_batch(plan.id, batch.digest, batch.data)
    assert not store.put_batch(plan.id, batches[0].digest, batches[0].data)
    with pytest.raises(StoreError, match="digest it was sent under"):
        store.put_batch(plan.id, batches[1].digest, batches[0].data)
    assert list(store.batches(plan.id)) == sorted(batches, key=lambda batch: batch.digest)
    assert store.study(plan.id).counts.batches == 6
    store.close(plan.id)
    assert not store.put_batch(plan.id, batches[0].digest, batches[0].data)  # a retry after the close


def test_several_threads_lose_nothing_and_close_cuts_once(store, plan):
    store.put_plan(plan)
    taken, refused = [], []
    started = threading.Barrier(5)

    def send(first):
        started.wait()
        for number in range(first, first + 40):
            answer = store.append([(plan.id, rows((number, 1)))])[0]
            (taken if answer is None else refused).append(number)

    threads = [threading.Thread(target=send, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    while len(taken) < 40:
        store.compact(plan.id)
    store.close(plan.id)
    reports = found(store, plan)
    for thread in threads:
        thread.join()
    assert reports == found(store, plan) == sorted((number, 1) for number in taken)
    assert len(taken) + len(refused) == 160


def test_the_table_is_the_one_built_from_reports(address, plan):
    generator = np.random.default_rng(1)
    reports = generator.integers(0, 256, (3000, 13), dtype=np.uint8)
    reports[:, 12] &= 1
    sent = np.concatenate([reports, reports[::3], reports[::-5]])
    sent[3500:3600, 12] ^= 1
    with open_store(address) as store:
        store.put_plan(plan)
        for piece in np.array_split(generator.permutation(sent), 17):
            store.append([(plan.id, piece)])
        from_store = Aggregate(plan)
        for chunk in store.reports(plan.id):
            from_store.add(chunk)
    from_stream = Aggregate(plan)
    with Intake(plan) as intake:
        intake.add_stream([sent.tobytes()])
        for chunk in intake.chunks():
            from_stream.add(chunk)
    assert from_store.count == 3000
    assert from_store.to_bytes() == from_stream.to_bytes()


def test_a_reader_sees_one_moment_while_the_store_goes_on(store, plan):
    store.put_plan(plan)
    store.append([(plan.id, rows(*((n, 1) for n in range(50))))])
    chunks = store.reports(plan.id)
    first = next(chunks)
    store.append([(plan.id, rows((99, 1)))])
    store.compact(plan.id)
    assert len(first) + sum(len(chunk) for chunk in chunks) == 50
    assert len(found(store, plan)) == 51


def test_a_store_that_was_shut_says_so(address, plan):
    store = open_store(address)
    store.put_plan(plan)
    store.shut()
    with pytest.raises(StoreError, match="was shut"):
        store.study(plan.id)
    store.shut()


def test_many_blocks_and_little_memory_give_the_same(address, plan, monkeypatch):
    monkeypatch.setattr(study_rows, "BLOCK_BYTES", 130)
    monkeypatch.setattr(study_rows, "FETCHED_BYTES", 400)
    monkeypatch.setattr(study_rows, "PIECE_BYTES", 260)
    monkeypatch.setattr("coterie.wire.report_file.CHUNK_BYTES", 130)
    monkeypatch.setattr("coterie.store.log.SEGMENT_BYTES", 500)
    monkeypatch.setattr("coterie.collect.deduplicate.MEMORY_BYTES", 800)  # 6 reports
    numbers = np.random.default_rng(2).permutation(200).tolist()
    with open_store(address) as store:
        store.put_plan(plan)
        for start in range(0, 200, 50):
            some = numbers[start : start + 50]
            store.append([(plan.id, rows(*((n, 1) for n in some)))])
            store.withdraw(plan.id, ids(*some[:20]))
            store.compact(plan.id)
            store.append([(plan.id, rows(*((n, 0) for n in some[10:30])))])
        gone = {n for start in range(0, 200, 50) for n in numbers[start : start + 20]}
        smaller = {n for start in range(0, 200, 50) for n in numbers[start + 10 : start + 30]}
        expected = [(n, int(n not in smaller)) for n in range(200) if n not in gone]
        assert found(store, plan) == expected
        batch = store.stage_batch(plan.id, mix)
        assert batch == Batch.of(mix([rows(*expected)]))
        assert store.staged_batch(plan.id) == batch
        store.append([(plan.id, rows(*((n, 0) for n in range(210))))])
        assert found(store, plan) == [(n, 0) for n in range(200, 210)]
