"""Spark for real: a cluster of processes, and the bits of `inline` from it, also when one is killed."""

import importlib.util
import json

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

from benchmarks.spark import cluster, executor_processes, killing, write_files
from coterie.cli.app import app
from coterie.coins import SimulationCoins
from coterie.engines import Inline, engine
from coterie.engines.spark import Spark, _pyspark
from coterie.errors import FileError, ReportError
from coterie.plan import Plan
from coterie.store import open_store
from coterie.store.shuffle_files import shuffle_files
from coterie.wire.report_file import ReportFile, write_reports
from tests.plans import plans_of
from tools.programs import found

EXECUTORS = 2
SMALL = 4000  # reports of a part, so that there are several slots and a tree
PLAN = Plan.design(3, 2, 1.0, 1000)


@pytest.fixture(scope="module")
def session(needs):
    """A cluster of two executors, each a process of its own."""
    needs("Spark and Java", importlib.util.find_spec("pyspark") and found("java"))
    master, settings = cluster(EXECUTORS, 512, COTERIE_KERNELS="numpy")
    for which in ("driver", "executor"):  # short jobs: less compilation, one thread of it
        settings[f"spark.{which}.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings["spark.task.maxFailures"] = "2"  # a damaged file need not be read four times
    spark = Spark(master, settings=settings)
    with spark._session() as running:
        yield running


@pytest.fixture
def spark(session):
    return Spark(session=session, part_reports=SMALL)


def test_it_is_inline_bit_for_bit_when_an_executor_is_killed_in_the_middle(spark, tmp_path):
    files = write_files(tmp_path, PLAN, 100_000, 6, 0.05, seed=1)
    expected = engine("inline").count(PLAN, files)
    assert expected.counts.duplicates > 4000
    assert expected.counts.conflicting > 0
    told = []
    with killing(after_tasks=4) as killed:
        found = spark.count(PLAN, files, told.append)
    assert killed.process is not None  # while the job ran, with finished tasks on it or beside it
    assert killed.process not in executor_processes()
    assert found.table.to_bytes() == expected.table.to_bytes()
    assert found.counts == expected.counts
    assert sum(told) == expected.counts.read


def people(plan, count, seed=0):
    points = np.random.default_rng(seed).uniform(-0.5, 0.5, (count, plan.dimension))
    (partition,) = Inline().encode(plan, points, SimulationCoins(seed))
    return partition.reports


PROTOCOLS = plans_of(
    {
        "net-tree": (2, 2, 2.0, 3000, {"protocol": "net-tree", "levels": 3}),
        "lsh-tree": (2, 2, 2.0, 3000, {"protocol": "lsh-tree"}),
    }
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_and_parquet_give_the_same_table(spark, tmp_path, protocol):
    plan = PROTOCOLS[protocol]
    rows = people(plan, 3000)
    rows = np.concatenate([rows, rows[:200]])
    write_reports(tmp_path / "whole", plan, rows)
    write_reports(tmp_path / "half", plan, rows[:1500])
    column = arrow.array([row.tobytes() for row in rows[1500:]], arrow.binary())
    table = arrow.table({"day": [1] * len(column), "report": column})
    table = table.replace_schema_metadata({"coterie.plan_id": plan.id})
    parquet.write_table(table, tmp_path / "rest", row_group_size=400, write_page_checksum=True)
    expected = engine("inline").count(plan, [tmp_path / "whole"])
    found = Spark(session=spark._given, part_reports=500).count(plan, [tmp_path / "half", tmp_path / "rest"])
    assert found.table.to_bytes() == expected.table.to_bytes()
    assert found.counts.duplicates == expected.counts.duplicates == 200
    assert spark.aggregate(plan, [rows[:1000], rows[1000:3000]]).to_bytes() == found.table.to_bytes()


def test_shuffled_batches_add_up_and_each_counts_once(spark, tmp_path):
    plan = Plan.design(2, 2, 2.0, 40, protocol="vector-sums", model="shuffle", delta=1e-6, cells=4)
    batches = []
    for number in range(2):
        write_reports(tmp_path / f"reports{number}", plan, people(plan, 40, seed=number))
        batches.append(tmp_path / f"batch{number}")
        shuffle_files([tmp_path / f"reports{number}"], plan, batches[-1], tmp_path / "released")
    expected = engine("inline").count_batches(plan, batches)
    assert expected.count == 80
    assert spark.count_batches(plan, batches).to_bytes() == expected.to_bytes()
    with pytest.raises(ReportError, match="given twice"):
        spark.count_batches(plan, [batches[0], batches[0]])
    with pytest.raises(ReportError, match="mixed first"):
        spark.count(plan, [tmp_path / "reports0"])


def test_ids_that_two_batches_share_count_once(spark, tmp_path):
    plan = Plan.design(2, 2, 2.0, 60, model="shuffle", delta=1e-4)
    rows = people(plan, 120, seed=0)
    for name, some in (("a", rows[:80]), ("b", rows[40:])):
        write_reports(tmp_path / f"reports-{name}", plan, some)
        shuffle_files([tmp_path / f"reports-{name}"], plan, tmp_path / name, tmp_path / f"released-{name}")
    found = spark.count_batches(plan, [tmp_path / "a", tmp_path / "b"])
    assert found.count == 120
    assert (
        found.to_bytes() == engine("inline").count_batches(plan, [tmp_path / "a", tmp_path / "b"]).to_bytes()
    )


@pytest.mark.parametrize("kind", ["embedded", "postgres"])
def test_a_store_is_read_by_the_executors_as_one_snapshot_sees_it(
    spark, tmp_path, kind, request, monkeypatch
):
    monkeypatch.setattr("coterie.store.study_rows.BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("coterie.store.postgres.BLOCKS_PER_PIECE", 4)
    address = tmp_path / "store" if kind == "embedded" else request.getfixturevalue("database")
    rows = people(PLAN, 5000)
    with open_store(address) as store:
        store.put_plan(PLAN)
        store.append([(PLAN.id, rows), (PLAN.id, rows[:100])])
        with store.in_pieces(PLAN.id) as (study, pieces):
            assert study.counts.counted == sum(piece.count for piece in pieces) == 5000
            assert len(pieces) > 3 if kind == "postgres" else len(pieces) == 1
            if kind == "postgres":  # what others do meanwhile is not seen
                assert not any(part in repr(pieces) for part in (str(address), "postgresql"))
                with open_store(address) as other:
                    other.append([(PLAN.id, people(PLAN, 50, seed=9))])
                    other.compact(PLAN.id)
            seen = np.concatenate([chunk for piece in pieces for chunk in piece.chunks(PLAN)])
        np.testing.assert_array_equal(np.sort(seen.view("S13"), axis=0), np.sort(rows.view("S13"), axis=0))
    table, study = spark.count_store(address, PLAN.id)
    expected, same = engine("inline").count_store(address, PLAN.id)
    assert table.to_bytes() == expected.to_bytes()
    assert study.counts == same.counts


def test_a_file_that_is_not_whole_counts_for_nothing_and_is_named(spark, tmp_path):
    files = write_files(tmp_path, PLAN, 3000, 3, 0.05, seed=2)
    good = files[1].read_bytes()
    files[1].write_bytes(good[:500] + bytes([good[500] ^ 1]) + good[501:])
    with pytest.raises(FileError, match=r"reports-1\.coterie, byte 13064: expected the SHA-256"):
        spark.count(PLAN, files)
    files[1].write_bytes(good[:-1])
    with pytest.raises(FileError, match="cut short or added to"):
        spark.count(PLAN, files)
    rows = ReportFile.open(files[0]).read_all()
    widths = arrow.array([rows[0].tobytes(), b"short"], arrow.binary())
    parquet.write_table(arrow.table({"report": widths}), tmp_path / "narrow")
    with pytest.raises(FileError, match="reports of 13 bytes each, found others, among reports 0 to 2"):
        spark.count(PLAN, [tmp_path / "narrow"])


def test_the_command_takes_any_engine(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(Spark, "_start", lambda *_: pytest.fail("a second cluster"))
    monkeypatch.setattr("coterie.engines.spark.Spark.__init__", _with(spark._given))
    plan = Plan.design(2, 2, 2.0, 3000, protocol="net-tree", levels=3)
    plan.save(tmp_path / "plan.json")
    rows = people(plan, 1000)
    rows[7, -1] |= 1  # a bit after the last answer: no client sends it
    write_reports(tmp_path / "reports", plan, np.concatenate([rows, rows[:10]]))
    outcomes = []
    for name in ("inline", "parallel", "spark"):
        words = [
            "aggregate",
            "--plan",
            tmp_path / "plan.json",
            tmp_path / "reports",
            "--engine",
            name,
            "--json",
        ]
        words += ["--out", tmp_path / name, *(["--master", "local[1]"] if name == "spark" else [])]
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        outcomes.append(json.loads(done.stdout))
        del outcomes[-1]["out"]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[2]["skipped"][0]["count"] == 2
    assert (tmp_path / "spark").read_bytes() == (tmp_path / "inline").read_bytes()


def _with(session):
    def init(self, master=None):
        assert master == "local[1]"
        self._master, self._given, self._settings, self._part_reports = None, session, {}, SMALL

    return init


def test_pyspark_is_there(session):
    assert _pyspark().__name__ == "SparkSession"
