"""What executors run, without a cluster: any cut into parts and packets gives the table of `inline`."""

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregate import Aggregate
from coterie.engines import engine, spark_tasks
from coterie.engines.pieces import pieces_of
from coterie.errors import FileError
from coterie.plan import Plan
from coterie.wire.report_file import write_reports

PLAN = Plan.design(2, 2, 2.0, 3000)
TREE = Plan.design(2, 2, 2.0, 3000, protocol="net-tree", levels=3)  # its reports have a form
WIDTH = TREE.report_width


def numbers(count):
    yield arrow.RecordBatch.from_arrays([arrow.array(range(count))], names=["id"])


def played(plan, files, bits, per_slot):
    """Split, bring slots together as the shuffle does, count each, merge."""
    text, pieces = plan.to_json(), pieces_of(plan, files)
    packets = arrow.Table.from_batches(
        spark_tasks.split(numbers(len(pieces)), text, pieces, bits, per_slot)
    ).sort_by("part")
    total, facts = Aggregate(plan), spark_tasks.Facts()
    for slot in range(-(-(1 << bits) // per_slot)):
        here = packets.filter(arrow.compute.equal(packets["slot"], slot))
        for batch in spark_tasks.counted(iter(here.to_batches(max_chunksize=3)), text):
            facts.add(spark_tasks.Facts.from_json(batch.column(1)[0].as_py()))
            body = batch.column(2)[0].as_py()
            if Aggregate(plan).table.keeps_reports:
                total.add(body)
            else:
                total.merge(Aggregate.from_bytes(body, plan))
    places = [pieces[piece].place(number) for piece, number in facts.places]
    return total, facts, places


def reports(seed, count, ids=200, first_bytes=256):
    """Reports with few ids, so that some repeat and some conflict, and a few without the plan's form."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((count, WIDTH), dtype=np.uint8)
    rows[:, 0] = rng.integers(0, first_bytes, count)
    rows[:, 11] = rng.integers(0, ids, count)
    rows[:, 12] = rng.integers(0, 3, count) * 4 + (rng.random(count) < 0.01)
    return rows


@pytest.mark.slow
@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    bits=st.integers(0, 9),
    per_slot=st.integers(1, 5),
    packet=st.sampled_from([1, 40, 1 << 20]),
    memory=st.sampled_from([1, 30, 1 << 20]),
    alike=st.sampled_from([1, 256]),
)
def test_any_cut_gives_the_table_and_counts_of_inline(
    tmp_path_factory, seed, bits, per_slot, packet, memory, alike
):
    folder = tmp_path_factory.mktemp("cut")
    files = [folder / "a", folder / "b"]
    for number, path in enumerate(files):
        write_reports(path, TREE, reports(2 * seed + number, 150 + 100 * number, ids=40, first_bytes=alike))
    expected = engine("inline").count(TREE, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_tasks, "PACKET_BYTES", packet * WIDTH)
        patch.setattr(spark_tasks, "MOST_IN_MEMORY", memory)
        patch.setattr(spark_tasks, "STRETCH_BYTES", 64 * WIDTH)
        total, facts, places = played(TREE, files, bits, per_slot)
    assert total == expected.table
    counts = expected.counts
    assert (facts.read, facts.duplicates, facts.conflicting) == (
        *(counts.read, counts.duplicates, counts.conflicting),
    )
    assert facts.malformed == counts.malformed
    assert places == [place for each in counts.skipped for place in each.places]


def test_tables_merge_with_their_facts():
    table = Aggregate(PLAN)
    table.add(np.zeros((3, PLAN.report_width), dtype=np.uint8))
    facts = spark_tasks.Facts(3, 1, 2, 1, [[1, 5]])
    rows = [(facts.to_json(), table.to_bytes())] * 2
    columns = [arrow.array([0, 0]), *(arrow.array(list(each)) for each in zip(*rows, strict=True))]
    batch = arrow.RecordBatch.from_arrays(columns, names=["slot", "facts", "body"])
    (merged,) = spark_tasks.merged(iter([batch]), PLAN.to_json())
    both = Aggregate.from_bytes(merged.column(2)[0].as_py(), PLAN)
    assert both.count == 6
    found = spark_tasks.Facts.from_json(merged.column(1)[0].as_py())
    assert found == spark_tasks.Facts(6, 2, 4, 2, [[1, 5], [1, 5]])
    assert [*spark_tasks.merged(iter([]), PLAN.to_json())] == []


@pytest.mark.parametrize("kind", [arrow.binary(), arrow.large_binary(), arrow.binary(WIDTH)])
def test_parquet_of_any_binary_type_is_read_in_pieces(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("coterie.engines.pieces._PIECE_BYTES", 100 * WIDTH)
    rows = reports(3, 450)
    column = arrow.array([row.tobytes() for row in rows], kind)
    parquet.write_table(arrow.table({"x": range(450), "report": column}), tmp_path / "p", row_group_size=60)
    pieces = pieces_of(TREE, [tmp_path / "p"])
    assert [(piece.start, piece.count) for piece in pieces] == [(0, 120), (120, 120), (240, 120), (360, 90)]
    read = np.concatenate([chunk for piece in pieces for chunk in piece.chunks(TREE)])
    np.testing.assert_array_equal(read, rows)
    assert pieces[1].place(5) == f"{tmp_path / 'p'}, report 125"


def test_parquet_that_is_something_else_is_refused(tmp_path):
    def refused(match, **columns):
        parquet.write_table(arrow.table(columns), tmp_path / "p")
        with pytest.raises(FileError, match=match):
            [[*piece.chunks(TREE)] for piece in pieces_of(TREE, [tmp_path / "p"])]

    good = [row.tobytes() for row in reports(1, 10)]
    refused("a column 'report' of binary values of 13 bytes, found None", other=good)
    refused("a column 'report'", report=["words"])
    refused("a column 'report'", report=arrow.array([b"12"], arrow.binary(2)))
    refused("reports of 13 bytes each", report=[*good, good[0] + b"!"])
    refused("reports of 13 bytes each", report=[*good, None])
    table = arrow.table({"report": good})
    parquet.write_table(table.replace_schema_metadata({"coterie.plan_id": PLAN.id}), tmp_path / "p")
    with pytest.raises(FileError, match=f"reports of plan {TREE.id}, found another plan's"):
        pieces_of(TREE, [tmp_path / "p"])
    plain = {"compression": "NONE", "use_dictionary": False, "write_statistics": False}
    parquet.write_table(table, tmp_path / "p", write_page_checksum=True, **plain)
    data = bytearray((tmp_path / "p").read_bytes())
    data[data.index(good[4])] ^= 1
    (tmp_path / "p").write_bytes(data)
    (piece,) = pieces_of(TREE, [tmp_path / "p"])
    with pytest.raises(FileError, match="damaged pages"):
        list(piece.chunks(TREE))
    (tmp_path / "p").write_bytes(data[:-9])
    with pytest.raises(FileError, match="a whole Parquet file, found something else, or a damaged one"):
        pieces_of(TREE, [tmp_path / "p"])
