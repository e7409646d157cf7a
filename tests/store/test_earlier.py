"""A folder that an earlier version wrote, with Parquet files, is brought forward when it is opened."""

import hashlib
import json

import pyarrow
import pyarrow.parquet
import pytest

from coterie.errors import FileError
from coterie.store import open_store
from coterie.store.sorted_file import SortedFile
from coterie.store.state import read_checked, write_checked
from tests.service.test_commands import run

from .conftest import found, ids, rows
from .test_store_laws import mix


def earlier(folder, plan):
    """Write a store of this version as version 1 had it: return its Parquet files."""
    study = folder / "studies" / plan.id
    state = json.loads(read_checked(study / "state"))
    written = []

    def as_parquet(name, file):
        data = SortedFile(**file).kind.open(study / file["name"], plan).read_all()
        column = pyarrow.array([row.tobytes() for row in data], pyarrow.binary(data.shape[1]))
        path = study / f"{name}-1.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"report": column}), path)
        (study / file["name"]).unlink()
        written.append(path)
        return {"name": path.name, "rows": len(data), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}

    state["reports"] = as_parquet("reports", state["reports"])
    for name in ("withdrawn", "released"):
        (file,) = state[name]
        state[name] = as_parquet(name, file)
    del state["handed"]
    write_checked(study / "state", json.dumps({**state, "version": 1}).encode())
    write_checked(folder / "store", b"coterie-store 1\n")
    return written


@pytest.fixture
def folder(tmp_path, plan):
    with open_store(tmp_path / "store") as store:
        store.put_plan(plan)
        store.append([(plan.id, rows((1, 1), (2, 2)))])
        store.stage_batch(plan.id, mix)
        store.withdraw(plan.id, ids(3))
        store.append([(plan.id, rows((3, 3), (4, 4), (5, 5)))])
        store.compact(plan.id)
    return tmp_path / "store"


def test_an_earlier_store_is_brought_forward_with_everything(folder, plan):
    files = earlier(folder, plan)
    assert "coterie store migrate" in run("store", "check", folder, code=1).stderr
    told = json.loads(run("store", "migrate", folder, "--json").stdout)
    assert (told["before"], told["version"], told["whole"]) == (1, 2, True)
    assert "has version 2 already" in run("store", "migrate", folder).stderr
    for received in (5, 7):
        with open_store(folder) as store:
            counts = store.study(plan.id).counts
            assert (counts.received, counts.withdrawn, counts.released) == (received, 1, 2)
            store.append([(plan.id, rows((1, 0), (3, 0)))])  # one was released, one is withdrawn
            assert found(store, plan) == [(4, 4), (5, 5)]
    assert not any(path.exists() for path in files)
    assert read_checked(folder / "store") == b"coterie-store 2\n"


@pytest.mark.parametrize("damage", ["gone", "flipped", "recomputed"])
def test_a_damaged_one_is_refused_and_left_as_it_is(folder, plan, damage):
    path = earlier(folder, plan)[0]
    data = bytearray(path.read_bytes())
    path.unlink()
    if damage != "gone":
        data[10] ^= 1
        path.write_bytes(data)
    if damage == "recomputed":
        path.write_bytes(b"PAR1" + bytes(40))
        state = folder / "studies" / plan.id / "state"
        fields = json.loads(read_checked(state))
        fields["reports"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        write_checked(state, json.dumps(fields).encode())
    for _ in range(2):
        with pytest.raises(FileError, match="parquet"):
            open_store(folder)
