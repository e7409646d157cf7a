"""Hostile bytes for every parser: whatever comes in, nothing but a CoterieError comes out.

Inputs are good ones, damaged: bytes flipped, cut, inserted, joined; values of JSON replaced by edges; digests
repaired half of the time, so that what lies behind them is reached, too; arrays and Parquet pages that an
archive or a state vouches for. 100,000 inputs on every change, a million by `make nightly`; `make fuzz`
prints how many of each kind were refused. A seed and a number name every input.
"""

import contextlib
import hashlib
import io
import json
import random
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.centers import Population
from coterie.cli.points import open_points
from coterie.collect import Intake, take_in
from coterie.encode import Client
from coterie.encode.ledger import Ledger
from coterie.errors import CoterieError
from coterie.features import Category, Flag
from coterie.plain.canonical import parse_object
from coterie.plan import Plan
from coterie.service.manifest import make_manifest
from coterie.sheet import checked_sheet, draft_sheet, read_sheet
from coterie.store import open_store
from coterie.store.check import check_store
from coterie.store.segments import Entry, write_segment
from coterie.store.state import State
from coterie.wire.admission import ADMISSION_BYTES
from coterie.wire.manifest import read_manifest
from coterie.wire.mixing import check_mixing, mixing_statement
from coterie.wire.report_file import ReportFile, writing_reports
from coterie.wire.shuffled_file import ShuffledFile
from tests.plans import plans_of

QUICK, WHOLE = 100_000, 1_000_000
SEEDS = 4  # among which the quick ones are divided: workers share them
MORE = [pytest.param(seed, marks=pytest.mark.whole) for seed in range(1, SEEDS)]
KEY = bytes(32)
EDGES = [
    0, 1, -1, 2, 3, 7, 255, 256, 2**24, 2**31, 2**40, 2**46, 2**53 - 1, 2**53, -(2**63), 10**30, 1e-320,
    1e-30, 1e-5, 0.5, 1e308, -0.0, True, False, None, "", "x", "0" * 64, "\ud800", [], {}, [[]],
    [None], [0.5, 1e308],
]  # fmt: skip

_CENTRAL = {"protocol": "vector-sums", "model": "central", "delta": 1e-6, "cells": 4}
PLANS = plans_of(
    {
        "codeword": (2, 2, 1.0, 100, {"ids": "token"}),
        "net-tree": (2, 2, 1.0, 100, {"protocol": "net-tree", "levels": 3}),
        "lsh-tree": (2, 2, 1.0, 100, {"protocol": "lsh-tree"}),
        "central": (2, 2, 1.0, 100, _CENTRAL),
    }
)
TEXTS = [plan.to_json() for plan in PLANS.values()]
SHARES = Plan.design(2, 2, 1.0, 100, protocol="vector-sums", model="shuffle", delta=1e-6, cells=2)
AMPLIFIED = Plan.design(2, 2, 1.0, 200, model="shuffle", delta=1e-4)


KINDS = {  # how often each, of 100; a store's files cost as much as twenty others
    "plan": 20, "text": 25, "reports": 6, "shuffled": 3, "ledger": 4, "store": 1, "table": 4, "added": 4,
    "uploads": 8, "admitted": 1, "stream": 5, "npy": 3, "csv": 4, "population": 4, "signed": 8,
}  # fmt: skip


class Fuzzer:
    """Damages good inputs and feeds them to the parsers."""

    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(str(seed))  # noqa: S311 - it repeats itself, and hides nothing
        self.good = {}
        rows = np.random.default_rng(0).integers(0, 256, (20, 13), dtype=np.uint8)
        self.local = Plan.design(2, 2, 1.0, 100)
        self.client = Client(self.local)
        with writing_reports(folder / "r", self.local) as writer:
            writer.append(rows)
        with writing_reports(folder / "s", AMPLIFIED, ShuffledFile) as writer:
            writer.append(rows)
        Ledger(folder / "l").answer(self.local, lambda: rows[0].tobytes())
        with open_store(folder / "m") as store:
            store.put_plan(self.local)
            store.append([(self.local.id, rows[:5])])
            store.stage_batch(self.local.id, lambda chunks: b"".join(map(bytes, chunks)))
            store.withdraw(self.local.id, rows[5:6, :12].copy())
            store.append([(self.local.id, rows[5:15])])
            store.compact(self.local.id)
            store.put_document(self.local.id, "table", b"contents")
            store.put_batch(self.local.id, hashlib.sha256(b"batch").hexdigest(), b"batch")
            store.invite(self.local.id, np.zeros((1, 32), dtype=np.uint8))
            store.append([(self.local.id, rows[10:])])
        Population(np.eye(2), np.ones(2), "a" * 64, ("a" * 64,)).save(folder / "a.npz")
        self.manifest = json.loads(make_manifest(self.local, b"", b'{"count": 1}', {"counted": 1}, 0, KEY))
        self.statement = json.loads(mixing_statement(KEY, self.local.id, "https://a.example"))
        self.asking = Plan.design(
            features=[Category("a", ["x", 7]), Flag("b")], clusters=1, epsilon=1.0, expected_users=100
        )
        (folder / "sheet.toml").write_text(
            '[languages.en]\ntitle = "T"\npurpose = "P"\nwho = "W"\ncontact = "C"\nconsent = "A"\n'
            'questions.a = {ask = "?", answers = {x = "X", 7 = "Seven"}}\n'
        )
        self.sheet = draft_sheet(folder / "sheet.toml", self.asking)
        tables = {}
        for name, plan in {**PLANS, "codeword": Plan.design(1, 1, 1.0, 100), "shares": SHARES}.items():
            if name != "central":
                tables[name] = Aggregate(plan).to_bytes()
        np.save(folder / "p.npy", np.zeros((5, 2)))
        self.good = {
            "reports": (folder / "r").read_bytes(),
            "shuffled": (folder / "s").read_bytes(),
            "ledger": (folder / "l").read_bytes(),
            "population": (folder / "a.npz").read_bytes(),
            "tables": list(tables.values()),
            "npy": (folder / "p.npy").read_bytes(),
            "csv": b"x,y\n0.5,1\n2,3\n-1e3,+4\n",
        }

    def bytes_of(self, good):
        data = bytearray(good)
        for _ in range(self.random.choice((1, 1, 2, 4))):
            place = int(self.random.random() ** 2 * (len(data) + 1))
            match self.random.randrange(5):
                case 0 if data:
                    data[min(place, len(data) - 1)] ^= 1 << self.random.randrange(8)
                case 1:
                    del data[place:]
                case 2:
                    data[place:place] = self.random.randbytes(self.random.randrange(1, 9))
                case 3:
                    data[place : place + self.random.randrange(1, 9)] = b""
                case _:
                    data[place : place + 8] = self.random.choice(
                        (bytes(8), b"\xff" * 8, b"\x7f" + b"\xff" * 7)
                    )
        if self.random.random() < 0.5 and len(data) > 32:
            data[-32:] = hashlib.sha256(data[:-32]).digest()
        return bytes(data)

    def edited(self, value, depth=0):
        if isinstance(value, dict) and value and self.random.random() < 0.9:
            key = self.random.choice(list(value))
            if self.random.random() < 0.05:
                return {k: v for k, v in value.items() if k != key}
            return {**value, key: self.edited(value[key], depth + 1)}
        if isinstance(value, list) and value and self.random.random() < 0.7:
            place = self.random.randrange(len(value))
            return [*value[:place], self.edited(value[place], depth + 1), *value[place + 1 :]]
        return self.random.choice(EDGES)

    # ------------------------------------------------------------ the parsers

    def plan(self):
        text = self.random.choice(TEXTS)
        if self.random.random() < 0.7:
            text = json.dumps(self.edited(json.loads(text)))
            if self.random.random() < 0.2:
                text = json.dumps(self.edited(json.loads(text)) if text[0] == "{" else text)
            Plan.from_json(text)
        else:
            Plan.from_json(self.bytes_of(text.encode()))

    def mixed_plan(self):
        data = json.loads(self.random.choice((SHARES, AMPLIFIED)).to_json())
        plan = Plan.from_json(json.dumps({**data, "parameters": self.edited(data["parameters"])}))
        _ = plan.guarantee, plan.spending, plan.report_width

    def text(self):
        parse_object(self.bytes_of(b'{"a":[1,2.5,{"b":null,"c":"\\u00e9"}],"d":-1e-3}'))

    def reports(self):
        (self.folder / "x").write_bytes(self.bytes_of(self.good["reports"]))
        if self.random.random() < 0.5:
            ReportFile.open(self.folder / "x").verify()
        else:
            with take_in([self.folder / "x"], self.local) as intake:
                list(intake.chunks())

    def shuffled(self):
        (self.folder / "x").write_bytes(self.bytes_of(self.good["shuffled"]))
        ShuffledFile.open(self.folder / "x", AMPLIFIED).read_all()

    def ledger(self):
        (self.folder / "y").write_bytes(self.bytes_of(self.good["ledger"]))
        ledger = Ledger(self.folder / "y")
        ledger.spent(days=self.random.choice((None, 30)))

    def store(self):
        """A file of a store, damaged; what is behind its digest is reached, too."""
        if self.random.random() < 0.8:  # most say it all in their state, and need no disk
            state = next((self.folder / "m").rglob("state"))
            text = json.dumps(self.edited(json.loads(state.read_bytes()[:-32]))).encode()
            (self.folder / "x").write_bytes(self.bytes_of(text + hashlib.sha256(text).digest()))
            State.read(self.folder / "x")
            return
        shutil.rmtree(self.folder / "x-store", ignore_errors=True)
        shutil.copytree(self.folder / "m", self.folder / "x-store")
        files = sorted(path for path in (self.folder / "x-store").rglob("*") if path.is_file())
        path = self.random.choice(files)
        if path.suffix == ".segment" and self.random.random() < 0.5:
            number, body = int(path.stem), self.random.randbytes(self.random.choice((12, 13, 24, 26, 30)))
            write_segment(path, number, [Entry(self.random.randrange(1, 4), self.local.id_bytes, body)])
        elif path.name == "state" and self.random.random() < 0.8:
            text = json.dumps(self.edited(json.loads(path.read_bytes()[:-32]))).encode()
            path.write_bytes(text + hashlib.sha256(text).digest())
        else:
            path.write_bytes(self.bytes_of(path.read_bytes()))
        checked = check_store(self.folder / "x-store")
        try:
            self.use_store()
        except CoterieError:
            assert checked.findings, path  # whatever stops a reader is found by looking
            raise

    def use_store(self):
        with open_store(self.folder / "x-store") as store:
            for plan_id in store.plan_ids():
                store.study(plan_id)
                store.staged_batch(plan_id)
                store.document(plan_id, "table")
                store.invited(plan_id, np.zeros((1, 32), dtype=np.uint8))
                for chunk in store.reports(plan_id):
                    assert chunk.shape[1] == 13
                list(store.batches(plan_id))
                store.close(plan_id)

    def population(self):
        """Bytes of the archive damaged, or an array in an archive that is whole."""
        data = self.bytes_of(self.good["population"])
        if self.random.random() < 0.7:
            with np.load(io.BytesIO(self.good["population"])) as archive:
                arrays = dict(archive)
            name = self.random.choice(list(arrays))
            kind = self.random.choice((None, None, "f4", "c16", "S3", "U1", "M8[s]", "V2"))
            with contextlib.suppress(
                ValueError, TypeError, OverflowError, FloatingPointError
            ):  # no such array
                made = np.array(self.random.choice((*EDGES, arrays[name])))
                arrays[name] = made if kind is None else made.astype(kind)
            if arrays[name].dtype != object:
                np.savez(file := io.BytesIO(), **arrays)
                data = file.getvalue()
                if self.random.random() < 0.5:
                    data = self.header_of(data)
        (self.folder / "x.npz").write_bytes(data)
        assert Population.load(self.folder / "x.npz").weights.sum() > 0

    def header_of(self, data):
        """The header of one array damaged, under a checksum of the archive that fits."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        name = self.random.choice(list(parts))
        head = parts[name][:128]
        parts[name] = self.bytes_of(head)[:128].ljust(128, b" ") + parts[name][128:]
        with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
            for each, part in parts.items():
                archive.writestr(each, part)
        return file.getvalue()

    def signed(self):
        """A manifest, a sheet, or what a shuffler says, with a field that is something else."""
        document = self.random.choice((self.manifest, self.statement, self.sheet))
        if document is self.sheet and self.random.random() < 0.8:
            checked_sheet(self.edited(document), self.asking)
            return
        data = json.dumps(self.edited(document)).encode()
        if self.random.random() < 0.2:
            data = self.bytes_of(data)
        if document is self.manifest:
            read_manifest(data, self.random.choice((None, "0" * 64, "\ud800")))
        elif document is self.sheet:
            read_sheet(data, self.asking)
        else:
            check_mixing(data, [self.statement["public_key"]], self.local.id, "https://a.example")

    def admitted(self):
        width = ADMISSION_BYTES + AMPLIFIED.report_width
        pieces = [self.random.randbytes(self.random.choice((width, self.random.randrange(width))))]
        with Intake(AMPLIFIED, most_reports=self.random.choice((0, 100))) as intake:
            intake.add_admitted(pieces, [self.random.randbytes(32)])
            assert sum(len(chunk) for chunk in intake.chunks()) == intake.counts.unique == 0

    def table(self):
        _ = Aggregate.from_bytes(self.bytes_of(self.random.choice(self.good["tables"]))).count

    def added(self):
        plan = self.random.choice([*PLANS.values(), SHARES])
        width = self.random.choice((plan.message_width, plan.message_width, 1))
        Aggregate(plan).add(self.random.randbytes(width * self.random.randrange(4)))

    def uploads(self):
        plan = PLANS["codeword"]
        pieces = [self.random.randbytes(self.random.randrange(3 * plan.upload_width)) for _ in range(3)]
        with Intake(plan, most_reports=self.random.choice((2, 100))) as intake:
            intake.add_uploads(pieces, issued=(bytes(16),), spent=set())
            assert sum(len(chunk) for chunk in intake.chunks()) == intake.counts.unique

    def stream(self):
        pieces = [self.random.randbytes(self.random.randrange(40)) for _ in range(3)]
        with Intake(self.local, most_reports=self.random.choice((2, 100))) as intake:
            intake.add_stream(pieces)
            assert sum(len(chunk) for chunk in intake.chunks()) == intake.counts.unique

    def npy(self):
        self.points("x.npy", self.good["npy"])

    def csv(self):
        self.points("x.csv", self.good["csv"])

    def points(self, name, good):
        (self.folder / name).write_bytes(self.bytes_of(good))
        for rows, _ in open_points(self.folder / name, 2).chunks():
            self.client.encode_many(rows)

    def run(self, count):
        """Feed so many; return how many of each kind were refused."""
        refused = dict.fromkeys([*KINDS, "mixed_plan"], 0)
        names = [name for name, times in KINDS.items() for _ in range(times)]
        for number in range(count):
            name = "mixed_plan" if number % 500 == 0 else self.random.choice(names)
            try:
                getattr(self, name)()
            except CoterieError:
                refused[name] += 1
            except Exception as error:
                raise AssertionError(f"input {number} of {name}: {error!r}") from error
        return refused


def fuzz(tmp_path, count, seed):
    with np.errstate(all="raise", under="ignore"):
        refused = Fuzzer(tmp_path, seed).run(count)
    assert all(refused.values()), refused  # every parser met something to refuse
    return refused


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *MORE])
def test_nothing_but_our_own_errors_comes_out(tmp_path, seed):
    fuzz(tmp_path, QUICK // SEEDS, seed=[1, seed])


@pytest.mark.nightly
def test_nothing_but_our_own_errors_comes_out_of_a_million(tmp_path):
    fuzz(tmp_path, WHOLE, seed=2)


if __name__ == "__main__":  # make fuzz
    total = int(sys.argv[1]) if len(sys.argv) > 1 else QUICK
    with tempfile.TemporaryDirectory() as made:
        refusals = fuzz(Path(made), total, seed=3)
    print(f"{total:,} inputs, {sum(refusals.values()):,} refused, every one with an error of ours:")
    for kind, number in refusals.items():
        print(f"  {kind:10} {number:,}")
