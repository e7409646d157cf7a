"""Processes that are killed: `python -m tests.store.crashes writers|steps …`; it has one thread and may fork.

writers   keep writers running on a store and kill them with SIGKILL at random moments, again and again
steps     do one operation of the embedded store and stop dead before its first, second, … file operation
"""

import json
import os
import shutil
import signal
import struct
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from coterie.plan import Plan
from coterie.store import Batch, StudyState, open_store

# ---------------------------------------------------------------- writers


def batch_bytes(chunks):
    return b"BATCH" + b"".join(chunk.tobytes() for chunk in chunks)


def write(address, plan, reports, size, wanted, acknowledged, pipe, seed, delivered):
    """Send batches in a random order, some of them again, and tell which were acknowledged."""
    generator = np.random.default_rng(seed)
    with open_store(address) as store:
        repeatable = [number for number in acknowledged if number % 2 == 0]  # a lost odd one stays lost
        again = generator.permutation(repeatable)[: len(wanted) // 4].tolist()
        order = generator.permutation([*wanted, *again]).tolist()
        while order:
            some, order = order[: (few := int(generator.integers(1, 6)))], order[few:]
            pairs = [(plan.id, reports[number * size : (number + 1) * size]) for number in some]
            assert store.append(pairs) == [None] * len(pairs)
            os.write(pipe, b"".join(struct.pack(">I", number) for number in some))
            if generator.random() < 0.04:
                store.compact(plan.id)
            if delivered is not None and generator.random() < 0.15:
                deliver(store, plan, delivered)
        if delivered is not None:
            deliver(store, plan, delivered)


def deliver(store, plan, folder):
    """Stage what there is, hand it over, acknowledge: as a shuffler and its receiver do."""
    batch = store.stage_batch(plan.id, batch_bytes)
    temporary = folder / f".{batch.digest}.{os.getpid()}"
    temporary.write_bytes(batch.data)
    temporary.replace(folder / batch.digest)
    store.acknowledge_batch(plan.id, batch.digest)


def writers(address, plan_path, reports_path, size, kills, count, seed, delivered):
    plan, reports = Plan.load(plan_path), np.load(reports_path)
    total = len(reports) // size
    generator = np.random.default_rng(seed)
    acknowledged, killed, running, runs = set(), 0, {}, 0
    while len(acknowledged) < total or running or killed < kills:
        while len(running) < count:
            runs += 1
            wanted = [number for number in range(total) if number not in acknowledged]
            reading, writing = os.pipe()
            if (child := os.fork()) == 0:
                status = 1
                try:
                    os.close(reading)
                    write(address, plan, reports, size, wanted, acknowledged, writing, seed + runs, delivered)
                    status = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            os.close(writing)
            running[child] = reading
        child = int(generator.choice([*running]))
        if killed < kills:
            time.sleep(generator.uniform(0.01, 0.35))
            if os.waitpid(child, os.WNOHANG)[0] == 0:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                killed += 1
        elif os.waitpid(child, 0)[1] != 0:
            raise SystemExit("a writer failed")
        with os.fdopen(running.pop(child), "rb") as pipe:
            for (number,) in struct.iter_unpack(">I", pipe.read()):
                acknowledged.add(number)
        if killed >= kills and len(acknowledged) == total:
            count = len(running)
    print(json.dumps({"killed": killed, "runs": runs, "acknowledged": len(acknowledged)}))


# ---------------------------------------------------------------- steps

PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
OTHER = Plan.design(dimension=3, clusters=2, epsilon=2.0, expected_users=100)
NEW = Plan.design(dimension=4, clusters=2, epsilon=2.0, expected_users=100)
MARKS = np.arange(96, dtype=np.uint8).reshape(3, 32)


def numbered(*numbers):
    return np.array([[*bytes(11), number, 1] for number in numbers], dtype=np.uint8)


def prepare(folder):
    """A store in the middle of its life."""
    with open_store(folder) as store:
        for plan in (PLAN, OTHER):
            store.put_plan(plan)
        store.append([(PLAN.id, numbered(9, 1, 2)), (OTHER.id, numbered(5))])
        store.stage_batch(OTHER.id, batch_bytes)
        store.compact(PLAN.id)
        store.invite(PLAN.id, MARKS[:1])
        store.append([(PLAN.id, numbered(3, 1, 7)), (OTHER.id, numbered(6, 5))])
        store.withdraw(PLAN.id, numbered(2)[:, :12])


def warm(store):
    """Let a segment grow."""
    store.append([(PLAN.id, numbered(8)), (OTHER.id, numbered(6))])


def close_and_delete(store):
    store.close(PLAN.id)
    store.delete_reports(PLAN.id)


OPERATIONS = {
    "put_plan": lambda store: store.put_plan(NEW),
    "append": lambda store: store.append([(PLAN.id, numbered(11, 1)), (OTHER.id, numbered(12))]),
    "withdraw": lambda store: store.withdraw(PLAN.id, numbered(1)[:, :12]),
    "close": lambda store: store.close(PLAN.id),
    "compact": lambda store: store.compact(PLAN.id),
    "delete_reports": close_and_delete,
    "stage_batch": lambda store: store.stage_batch(PLAN.id, batch_bytes),
    "acknowledge_batch": lambda store: store.acknowledge_batch(
        OTHER.id, Batch.of(batch_bytes([numbered(5)])).digest
    ),
    "put_batch": lambda store: store.put_batch(PLAN.id, Batch.of(b"data").digest, b"data"),
    "put_document": lambda store: store.put_document(PLAN.id, "table", b"contents"),
    "invite": lambda store: store.invite(PLAN.id, MARKS[1:2]),
    "shut": lambda store: store.shut(),
}


def seen(folder):
    """Everything that a store shows; each study as one string."""
    with open_store(folder) as store:
        shown = {}
        for plan_id in store.plan_ids():
            study = store.study(plan_id)
            deleted = study.state is StudyState.DELETED
            reports = (
                [] if deleted else [row.tobytes().hex() for part in store.reports(plan_id) for row in part]
            )
            batches = [] if deleted else [batch.digest for batch in store.batches(plan_id)]
            staged = store.staged_batch(plan_id)
            shown[plan_id] = repr(
                (
                    study.state,
                    study.counts.received,
                    study.counts.released,
                    store.study(plan_id).counts.withdrawn,
                    reports,
                    batches,
                    staged,
                    store.document(plan_id, "table"),
                    store.invited(plan_id, MARKS).tolist(),
                )
            )
        return shown


FILE_OPERATIONS = (
    *("write", "pwrite", "fsync", "fdatasync", "replace", "rename", "link", "unlink", "mkdir", "rmdir"),
    *("ftruncate", "truncate", "utime"),
)


def stop_before(step, torn):
    """Let this process die, as if killed, before file operation number `step` (from 0)."""
    done = 0
    for name in FILE_OPERATIONS:
        real = getattr(os, name)

        def counting(*arguments, _name=name, _real=real, **named):
            nonlocal done
            if done == step:
                if torn and _name == "write":
                    _real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os._exit(77)
            done += 1
            return _real(*arguments, **named)

        setattr(os, name, counting)


def steps(operation, folder, torn):
    """Stop an operation before each of its file operations; print how many there are."""
    prepared = folder / "prepared"
    prepare(prepared)
    act = OPERATIONS[operation]
    work = folder / "work"

    def fresh():
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(prepared, work)
        return work

    def after_calls(*calls):
        with open_store(fresh()) as store:
            for call in (warm, *calls):
                call(store)
        return seen(work)

    before, after = after_calls(), after_calls(act)
    between = after_calls(OPERATIONS["close"]) if operation == "delete_reports" else before
    walk(operation, fresh, act, warm, torn, before, between, after)


def create(folder, torn):
    """Stop the making of a store before each of its file operations."""
    work = folder / "new"

    def fresh():
        shutil.rmtree(work, ignore_errors=True)
        return work

    walk("create", fresh, lambda _: open_store(work).shut(), None, torn, {}, {}, {})


def walk(operation, fresh, act, warm, torn, before, between, after):
    step = 0
    while True:
        work = fresh()
        if (child := os.fork()) == 0:
            status = 1
            try:
                store = open_store(work) if warm else None
                if warm:
                    warm(store)
                stop_before(step, torn)
                act(store)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status not in (0, 77):
            raise SystemExit(f"step {step}: the operation failed")
        found = seen(work)
        if found != seen(work):
            raise SystemExit(f"step {step}: opening the store again changes what it holds")
        if status == 0:
            if found != after:
                raise SystemExit("an operation that returned has not happened")
            break
        # Pairs of one append may be there one by one, for different plans; anything else wholly or not.
        for plan_id, study in found.items():
            if study not in (before.get(plan_id), after[plan_id], between.get(plan_id)):
                raise SystemExit(f"step {step}: a study is neither as before nor as after: {study}")
        if set(found) - set(after) or set(before) - set(found):
            raise SystemExit(f"step {step}: plans are missing")
        left = [path.name for path in work.rglob("*") if path.name.endswith(".tmp")]
        if left or any((work / "work").iterdir()):
            raise SystemExit(f"step {step}: temporary files were left: {left}")
        step += 1
    print(json.dumps({"operation": operation, "steps": step}))


def main(words):
    warnings.simplefilter("error")
    if words[0] == "writers":
        address, plan, reports, size, kills, count, seed, delivered = words[1:]
        delivered = Path(delivered) if delivered else None
        writers(address, plan, reports, int(size), int(kills), int(count), int(seed), delivered)
    elif words[1] == "create":
        create(Path(words[2]), words[3] == "torn")
    else:
        steps(words[1], Path(words[2]), words[3] == "torn")


if __name__ == "__main__":
    main(sys.argv[1:])
