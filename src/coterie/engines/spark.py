"""A cluster: Spark reads the pieces, brings equal ids together, and adds the tables up in a tree.

    pieces ─> packets by the start of the id ─> (shuffle) ─> each id once ─> a table per slot ─> tree ─> one

What travels are packets of up to a mebibyte, not single reports, so a report costs its bytes and little more.
An id lies in one part and a part in one slot (`coterie.engines.spark_tasks`). The driver sees names of files,
counts and, at the end, one table; where the table is the reports themselves (net-tree) it takes them in turn.

*Failures.* Every step depends on its input alone: what a lost machine had is done again by another, and the
bits are those of every other engine. A file that is not whole fails the job before anything is counted.

*Secrets.* A store's address, which may hold a password, travels inside the tasks, never in names, plans of
queries or logs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from coterie.aggregate import Aggregate
from coterie.collect import IntakeCounts, Skipped
from coterie.collect.batches import have_ids
from coterie.engines.base import Counted, Paths, Tell
from coterie.engines.inline import Inline
from coterie.engines.pieces import Piece, batches_of, pieces_of
from coterie.errors import (
    CoterieError,
    MissingExtraError,
    ReportError,
    SettingError,
    bringing,
)
from coterie.plain.files import AnyPath
from coterie.plan import Plan
from coterie.store import Study, open_store
from coterie.wire.forms import report_form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FAN_IN: Final = 8  # tables that one task of the tree adds up
MOST_SLOTS: Final = 4096
MOST_BITS: Final = 16
PART_REPORTS: Final = 1 << 21  # that a part should have

_ROWS_PER_BATCH: Final = 64  # of up to a mebibyte each, from the JVM to Python
Task = Callable[..., Iterator[Any]]  # batches, the plan as text, and what else it needs -> batches

_TROUBLE_LINE: Final = re.compile(r"coterie-trouble (\[.*\])")


class Spark(Inline):
    """Counts on a Spark cluster; encodes, and adds up what is in memory, as `Inline` does: where it is.

    Parameters
    ----------
    master : str, optional
        Spark's master, such as `spark://host:7077`, `yarn` or `local[*]`. By default what `spark-submit` or
        Spark's own configuration says, and `local[*]` if nothing does.
    session : SparkSession, optional
        A session to use, and to leave running, instead.
    settings : mapping of str to str, optional
        Further settings of a session that is made here, such as `spark.executor.memory`.
    part_reports : int, optional
        Reports that a part of the ids should have: what a task holds in memory.

    Raises
    ------
    MissingExtraError
        If PySpark is not installed.
    SettingError
        If there is no Java for it.
    """

    def __init__(
        self,
        master: str | None = None,
        *,
        session: SparkSession | None = None,
        settings: dict[str, str] | None = None,
        part_reports: int | None = None,
    ) -> None:
        _pyspark()
        self._master = master
        self._given = session
        self._settings = {} if settings is None else dict(settings)
        self._part_reports = PART_REPORTS if part_reports is None else part_reports

    # ------------------------------------------------------------ what an engine does

    def count(self, plan: Plan, files: Paths, tell: Tell = None) -> Counted:
        """Return the table of report files or Parquet files, each id once, and what became of the reports.

        Executors open the files by the same names: they lie on a file system that all machines share, or,
        of Parquet files, on an object store (`s3://…`, `gs://…`, `hdfs://…`).
        """
        if plan.mixed:
            raise ReportError("reports of the shuffle model are mixed first: count their batches")
        pieces = pieces_of(plan, files)
        table, facts = self._once(plan, pieces, tell)
        skipped: tuple[Skipped, ...] = ()
        if facts.malformed:
            places = tuple(pieces[piece].place(number) for piece, number in facts.places)
            skipped = (Skipped(report_form(plan).reason, facts.malformed, places),)
        return Counted(
            table, IntakeCounts(len(files), facts.read, facts.duplicates, facts.conflicting, skipped)
        )

    def count_batches(self, plan: Plan, files: Paths, tell: Tell = None) -> Aggregate:
        """Return the table of shuffled files, each batch once and each id once."""
        pieces = batches_of(plan, files)
        if not have_ids(plan):
            return self._summed(plan, pieces, tell)
        table, facts = self._once(plan, pieces, tell)
        if facts.malformed:
            piece, number = facts.places[0]
            raise ReportError(f"{pieces[piece].place(number)}: {report_form(plan).reason}; nothing was added")
        return table

    def count_store(self, address: AnyPath, plan_id: str, tell: Tell = None) -> tuple[Aggregate, Study]:
        """Return the table of what counts in a collector's store, read by the executors, and the study.

        A store in PostgreSQL is read by ranges of ids, all as one snapshot sees it; a folder must lie where
        executors can read it. Batches of a shuffle plan, which the store keeps whole, are added up here.
        """
        with open_store(address, make=False) as store:
            if not store.study(plan_id).plan.mixed:
                with store.in_pieces(plan_id) as (study, pieces):
                    table = self._summed(study.plan, pieces, tell)
                return table, study
        return super().count_store(address, plan_id, tell)

    # ------------------------------------------------------------ steps

    def _once(self, plan: Plan, pieces: Sequence[Piece], tell: Tell) -> tuple[Aggregate, Any]:
        """Return the table of pieces, each id once, and what became of their reports."""
        from coterie.engines import spark_tasks as tasks

        total = sum(piece.count for piece in pieces)
        bits = min(MOST_BITS, max(0, (total - 1) // self._part_reports).bit_length())
        per_slot = -(-(1 << bits) // MOST_SLOTS)
        slots = -(-(1 << bits) // per_slot)
        with self._session() as spark, _watched(spark, total, tell):
            from pyspark.sql.functions import col

            numbers, cut = _numbered(spark, len(pieces)), (pieces, bits, per_slot)
            packets = _mapped(numbers, tasks.split, tasks.PACKETS, plan, *cut)
            placed = packets.repartitionById(slots, col("slot")).sortWithinPartitions("part")
            return _reduced(plan, _mapped(placed, tasks.counted, tasks.RESULTS, plan), slots)

    def _summed(self, plan: Plan, pieces: Sequence[Piece], tell: Tell) -> Aggregate:
        """Return the table of pieces all of whose reports, or messages, count."""
        from coterie.engines import spark_tasks as tasks

        with self._session() as spark, _watched(spark, sum(piece.count for piece in pieces), tell):
            numbers = _numbered(spark, len(pieces))
            tables = _mapped(numbers, tasks.summed, tasks.RESULTS, plan, pieces)
            return _reduced(plan, tables, len(pieces))[0]

    @contextlib.contextmanager
    def _session(self) -> Iterator[SparkSession]:
        """Yield a session whose settings are ours, and stop what was started here."""
        spark_session = _pyspark()
        running = self._given or spark_session.getActiveSession()
        with _own_python(self._master), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="pyspark")
            started = running is None
            root = running or self._start(spark_session)
            session = root.newSession()
            session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_ROWS_PER_BATCH))
            session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "false")
            session.conf.set("spark.sql.adaptive.enabled", "false")
            try:
                yield session
            except Exception as error:
                if (known := _known(error)) is None:
                    raise
                raise known from None
            finally:
                if started:
                    root.stop()

    def _start(self, spark_session: Any) -> SparkSession:
        if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
            raise SettingError(
                "Spark needs Java 17 or newer, and there is none: install it (Debian: "
                "openjdk-17-jre-headless), or set JAVA_HOME"
            )
        builder = spark_session.builder.appName("coterie")
        if self._master is not None:
            builder = builder.master(self._master)
        defaults = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
        for name, value in {**defaults, **self._settings}.items():
            builder = builder.config(name, value)
        session: SparkSession = builder.getOrCreate()
        return session


def _pyspark() -> Any:
    """Return PySpark's SparkSession, or say what to install."""
    with bringing("spark"):
        from pyspark.sql import DataFrame, SparkSession
    if not hasattr(DataFrame, "repartitionById"):
        raise MissingExtraError("pyspark 4.1 or newer", "spark")
    return SparkSession


@contextlib.contextmanager
def _own_python(master: str | None) -> Iterator[None]:
    """On this machine alone, let executors run the Python that runs this."""
    elsewhere = ("PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR")  # spark-submit, or a configuration
    local = master.startswith("local") if master else not any(name in os.environ for name in elsewhere)
    if not local or "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


def _numbered(spark: SparkSession, count: int) -> DataFrame:
    """Return the numbers of pieces, each a partition of its own."""
    return spark.range(0, count, 1, max(1, count))


def _mapped(frame: DataFrame, task: Task, schema: str, plan: Plan, *more: object) -> DataFrame:
    """Run one of `spark_tasks` on the executors, which read the plan for themselves."""
    text = plan.to_json()

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        return task(batches, text, *more)

    return frame.mapInArrow(run, schema)


def _reduced(plan: Plan, tables: DataFrame, slots: int) -> tuple[Aggregate, Any]:
    """Add the tables of all slots up, in a tree, and return the one table and all facts."""
    from pyspark.sql.functions import floor, spark_partition_id

    from coterie.engines import spark_tasks as tasks

    total, facts = Aggregate(plan), tasks.Facts()
    if Aggregate(plan).table.keeps_reports:
        for row in tables.toLocalIterator():
            facts.add(tasks.Facts.from_json(row["facts"]))
            total.add(bytes(row["body"]))
        return total, facts
    while slots > 1:
        slots = -(-slots // FAN_IN)
        group = floor(spark_partition_id() / FAN_IN).cast("int")
        keyed = tables.select(group.alias("slot"), "facts", "body")
        tables = _mapped(keyed.repartitionById(slots, "slot"), tasks.merged, tasks.RESULTS, plan)
    for row in tables.collect():
        facts.add(tasks.Facts.from_json(row["facts"]))
        total.merge(Aggregate.from_bytes(bytes(row["body"]), plan))
    return total, facts


@contextlib.contextmanager
def _watched(spark: SparkSession, total: int, tell: Tell) -> Iterator[None]:
    """Report about how many reports are through, by the tasks that have ended."""
    if tell is None:
        yield
        return
    context: Any = spark.sparkContext
    group = f"coterie-{secrets.token_hex(8)}"
    context.setJobGroup(group, "coterie")
    tracker, ended, told = context.statusTracker(), threading.Event(), 0

    def watch() -> None:
        nonlocal told
        while not ended.wait(0.5):
            stages = [
                info
                for job in tracker.getJobIdsForGroup(group)
                for stage in getattr(tracker.getJobInfo(job), "stageIds", ())  # None once it is forgotten
                if (info := tracker.getStageInfo(stage)) is not None
            ]
            tasks = sum(info.numTasks for info in stages)
            share = sum(info.numCompletedTasks for info in stages) / tasks if tasks else 0.0
            if (now := min(total, int(share * total))) > told:
                tell(now - told)
                told = now

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)
    tell(total - told)


def _known(error: BaseException) -> CoterieError | None:
    """Return the package's own error that an executor met, if that is what happened."""
    found = _TROUBLE_LINE.search(str(error))
    if found is None:
        return None
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        name, *words = json.loads(found[1])
        kind = getattr(sys.modules[CoterieError.__module__], name)
        return kind(*words) if issubclass(kind, CoterieError) else None
    return None
