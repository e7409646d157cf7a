"""Vectors of what a collector signs and takes, for tests/vectors/collector.json (`make_vectors.py`)."""

import hashlib
import json
import runpy
from pathlib import Path

HERE = Path(__file__).parent
Collector = runpy.run_path(str(HERE / "collector_reference.py"))
Files = runpy.run_path(str(HERE / "files_reference.py"))
Shuffle = runpy.run_path(str(HERE / "make_shuffle_vectors.py"))
Reference, report_id = Shuffle["Reference"], Shuffle["report_id"]
canonical = Collector["canonical"]

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
PLAN = bytes(range(100, 132))
DOCUMENT = {
    "format": "coterie-manifest", "version": 2, "plan_id": PLAN.hex(), "table": "ab" * 32,
    "result": "cd" * 32,
    "stated": {"centers": [[0.5, -0.25]], "weights": [1], "errors": [0.125]},
    "counts": {"reports": 3000}, "closed": 1798761600,
    "decoding": {"random_state": Collector["decoding_seed"](PLAN), "coterie": "0.1.0"},
}  # fmt: skip


def manifests():
    for name, document in {
        "version 2": DOCUMENT,
        "version 1": {
            **{key: value for key, value in DOCUMENT.items() if key != "stated"},
            "version": 1, "centers": [[0.5, -0.25]],
        },
    }.items():  # fmt: skip
        data, text = Collector["signed"](document, KEY)
        yield {
            "name": name, "key": KEY.hex(), "public_key": Collector["public_key"](KEY).hex(),
            "signed": data.hex(), "manifest": text,
        }  # fmt: skip


def bad_manifests():
    _, text = Collector["signed"](DOCUMENT, KEY)
    good = json.loads(text)

    def changed(**fields):
        return canonical({**good, **fields})

    for name, bad in {
        "another figure": changed(stated={**good["stated"], "weights": [2]}),
        "another count": changed(counts={"reports": 3001}),
        "another key": changed(public_key=Collector["public_key"](OTHER_KEY).hex()),
        "a signature of something else": Collector["signed"](DOCUMENT, KEY, "coterie/1/put-batch")[1],
        "a field more": changed(note=1),
        "no counts": canonical({key: value for key, value in good.items() if key != "counts"}),
        "a later version": changed(version=3),
        "a signature cut short": changed(signature=good["signature"][:-2]),
    }.items():
        yield {"name": name, "manifest": bad}


def batch(rows, plan_id):
    return Files["report_file"](plan_id, 13, rows, magic=Files["SHUFFLED"])


def batches():
    """A batch as a shuffler puts it."""
    text, plan_id, rows = people()
    data = batch(rows, plan_id)
    digest = hashlib.sha256(data).digest()
    yield {
        "plan": text, "file": data.hex(), "digest": digest.hex(), "people": len(rows), "key": KEY.hex(),
        "authorization": Collector["put_batch"](KEY, plan_id, digest),
    }  # fmt: skip


def people():
    text = Shuffle["canonical"](Shuffle["amplified"](local_epsilon=1, minimum_batch=2, cap=89))
    rows = sorted(report_id("batch", i) + bytes([7 + i]) for i in range(3))
    return text, hashlib.sha256(text.encode()).digest(), rows


def bad_batches():
    """Files whose digest is right and that a collector refuses; `counts` says what a table makes of one."""
    text, plan_id, rows = people()
    for name, given, counts in (
        ("not in the order of their bytes", [rows[1], rows[0], rows[2]], 3),
        ("an id twice", sorted([*rows, rows[0][:12] + b"\x63"]), 3),
        ("fewer people than the smallest batch", rows[:1], 1),
    ):
        yield {"name": name, "plan": text, "file": batch(given, plan_id).hex(), "counts": counts}


def sections():
    return {
        "manifests": manifests(), "bad_manifests": bad_manifests(),
        "batches": batches(), "bad_batches": bad_batches(),
    }  # fmt: skip
