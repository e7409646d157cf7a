"""Each id once: one suite of laws for every way in which reports are freed of repeated ids.

In memory, in sorted runs (little of it in memory, by one thread or several, with what was sorted before, on a
cluster's executor) and in stores, a folder or PostgreSQL: of each id the smallest report counts, once,
without the ids that are left out, whatever the order and the pieces.
"""

import itertools
import shutil

import numpy as np
import pyarrow as arrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.aggregate import Aggregate
from coterie.collect import Deduplicator, Intake, kernels_numba, kernels_numpy
from coterie.collect.deduplicate import sort, without
from coterie.engines import spark_tasks
from coterie.plan import Plan
from coterie.store import open_store
from coterie.wire.report_file import write_reports

PLAN = Plan.design(2, 2, 1.0, 1000)
WIDTH = PLAN.report_width

# Ids of few values, so that they repeat, begin alike and differ in their last bytes only.
_byte = st.sampled_from([0, 1, 255])
_reports = st.lists(st.builds(lambda *b: bytes([*b[:2], *[0] * 9, *b[2:]]), *[_byte] * 4), max_size=60)
_pieces = st.lists(_reports, max_size=5)
_ids = st.sets(st.builds(lambda *b: bytes([*b[:2], *[0] * 9, b[2]]), *[_byte] * 3), max_size=5)


def as_rows(reports, width=WIDTH):
    return np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(-1, width)


def reference(pieces, left_out):
    """What counts, and how many were removed, as one would write it without thinking of memory."""
    reports = sorted(itertools.chain(*pieces))
    smallest = {}
    for report in reports:
        smallest.setdefault(report[:12], report)
    counted = [report for identity, report in smallest.items() if identity not in left_out]
    distinct = len(set(reports))
    return counted, (len(reports) - distinct, distinct - len(smallest))


# ---------------------------------------------------------------- pieces, ids left out -> reports, removed


def in_memory(folder, pieces, left_out, **options):
    ids = [iter([as_rows(sorted(left_out), 12)])] if left_out else []
    with Deduplicator(WIDTH, folder=folder, without=ids, **options) as reports:
        for piece in pieces:
            reports.add(as_rows(piece))
        rows = [row.tobytes() for chunk in reports.chunks() for row in chunk]
    return rows, (reports.duplicates, reports.conflicting)


def in_runs(folder, pieces, left_out):
    return in_memory(folder, pieces, left_out, memory_reports=4)


def with_kept(folder, pieces, left_out):
    """Half of it sorted before, in two sources that may share ids."""
    half = len(pieces) // 2
    kept = [sorted(set(piece)) for piece in pieces[:half]]
    removed = sum(map(len, pieces[:half])) - sum(map(len, kept))
    sources = [iter([as_rows(piece[:2]), as_rows(piece[2:])]) for piece in kept]
    rows, (duplicates, conflicting) = in_memory(
        folder, pieces[half:], left_out, memory_reports=3, kept=sources
    )
    return rows, (duplicates + removed, conflicting)


def by_threads(folder, pieces, left_out):
    paths = []
    for number, piece in enumerate(pieces):
        paths.append(folder / f"{number}.coterie")
        write_reports(paths[-1], PLAN, as_rows(piece), overwrite=True)
    with pytest.MonkeyPatch.context() as patch, Intake(PLAN, workers=3, folder=folder) as taken:
        patch.setattr("coterie.collect.deduplicate.PART_REPORTS", 3)
        taken._stretch = 5
        taken._reports._memory_reports = 8
        taken.add_files(paths)
        once = taken.once()
        chunks = (rows for part in once.parts for rows in once.reports_of(part))
        if left_out:
            chunks = without(chunks, iter([as_rows(sorted(left_out), 12)]))
        rows = [row.tobytes() for chunk in chunks for row in chunk]
    assert taken.counts.read == sum(map(len, pieces))
    return rows, (taken.counts.duplicates, taken.counts.conflicting)


def on_executor(folder, pieces, left_out):
    """A slot of two parts: reports that begin with 0, and others."""
    del folder
    packets = [(int(report[0] > 0), report) for report in itertools.chain(*pieces)]
    parts, bodies = zip(*sorted(packets, key=lambda packet: packet[0]), strict=True) if packets else ((), ())
    columns = [arrow.array([0] * len(parts), arrow.int32()), arrow.array(parts, arrow.int32())]
    columns.append(arrow.array(bodies, arrow.binary()))
    batch = arrow.RecordBatch.from_arrays(columns, names=["slot", "part", "body"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_tasks, "MOST_IN_MEMORY", 6)
        patch.setattr(type(Aggregate(PLAN).table), "keeps_reports", True)
        found = [*spark_tasks.counted(iter([batch]), PLAN.to_json())]
    facts = spark_tasks.Facts.from_json(found[-1].column(1)[0].as_py())
    rows = b"".join(each.column(2)[0].as_py() for each in found)
    kept = [rows[start : start + WIDTH] for start in range(0, len(rows), WIDTH)]
    return [row for row in kept if row[:12] not in left_out], (facts.duplicates, facts.conflicting)


WAYS = [in_memory, in_runs, with_kept, by_threads, on_executor]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@given(pieces=_pieces, left_out=_ids)
def test_the_smallest_report_of_each_id_counts_once(tmp_path_factory, way, pieces, left_out):
    folder = tmp_path_factory.mktemp("once")
    counted, removed = reference(pieces, left_out)
    assert way(folder, pieces, left_out) == (counted, removed)
    assert [path for path in folder.iterdir() if path.suffix != ".coterie"] == []


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@given(pieces=_pieces, order=st.randoms())
def test_order_and_pieces_decide_nothing(tmp_path_factory, way, pieces, order):
    folder = tmp_path_factory.mktemp("once")
    reports = [*itertools.chain(*pieces)]
    order.shuffle(reports)
    cuts = sorted(order.randrange(len(reports) + 1) for _ in range(2))
    again = [reports[: cuts[0]], reports[cuts[0] : cuts[1]], reports[cuts[1] :]]
    assert way(folder, again, set()) == way(folder, pieces, set())


@pytest.fixture(params=["folder", "postgres"])
def fresh_store(request, tmp_path):
    """A function that opens an empty store: sorted runs on disk, or PostgreSQL."""
    if request.param == "folder":
        return lambda: (
            shutil.rmtree(tmp_path / "store", ignore_errors=True),
            open_store(tmp_path / "store"),
        )[1]
    import psycopg

    address = request.getfixturevalue("database")

    def opened():
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA IF EXISTS coterie CASCADE")
        return open_store(address)

    return opened


@given(pieces=_pieces, left_out=_ids, released=_ids, compacted=st.sets(st.integers(0, 4)))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stores_keep_the_same_law(fresh_store, pieces, left_out, released, compacted):
    """Withdrawn and handed over before or after, compacted at any time."""
    with fresh_store() as store:
        store.put_plan(PLAN)
        handed = as_rows(sorted(identity + b"\0" for identity in released))
        store.stage_batch(PLAN.id, lambda chunks: b"".join(map(bytes, chunks)), reports=iter([handed]))
        for number, piece in enumerate(pieces):
            store.append([(PLAN.id, as_rows(piece))])
            if number == 1 and left_out:
                store.withdraw(PLAN.id, as_rows(sorted(left_out), 12))
            if number in compacted:
                store.compact(PLAN.id)
        if len(pieces) < 2 and left_out:
            store.withdraw(PLAN.id, as_rows(sorted(left_out), 12))
        counted, removed = reference(pieces, left_out | released)
        assert [row.tobytes() for chunk in store.reports(PLAN.id) for row in chunk] == counted
        counts = store.study(PLAN.id).counts
        assert (counts.received, counts.counted) == (sum(map(len, pieces)), len(counted))
        if not compacted:
            assert (counts.duplicates, counts.conflicting) == removed
        else:  # what was removed is not kept: a repetition of it may be noticed as the other kind, or as new
            assert counts.duplicates + counts.conflicting <= sum(removed)


# ---------------------------------------------------------------- the kernels under all of them


@pytest.mark.slow
@pytest.mark.parametrize("kernels", [kernels_numpy, kernels_numba])
@given(reports=_reports, bits=st.integers(0, 16))
def test_parts_hold_the_ids_that_begin_alike(kernels, reports, bits):
    rows = as_rows(reports)
    out = np.empty_like(rows)
    starts = kernels.split(rows, bits, out)
    assert sorted(row.tobytes() for row in out) == sorted(reports)
    assert len(starts) == 2**bits + 1
    for part, (start, stop) in enumerate(itertools.pairwise(starts)):
        for row in out[start:stop]:
            assert int.from_bytes(row[:2].tobytes(), "big") >> (16 - bits) == part


@pytest.mark.slow
@given(reports=_reports)
def test_rows_are_sorted_as_their_bytes(reports):
    assert [row.tobytes() for row in sort(as_rows(reports))] == sorted(reports)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 4, 8, 12])
def test_many_rows_are_sorted_however_much_they_agree(first):
    """Whoever sends reports chooses their ids: none makes a sort slow, or wrong."""
    rows = np.random.default_rng(first).integers(256, size=(5000, 26), dtype=np.uint8)
    rows[:, :first] = 7
    assert [row.tobytes() for row in sort(rows)] == sorted(row.tobytes() for row in rows)
