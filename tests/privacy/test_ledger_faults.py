"""One report a person: crashes and races at every step of the ledger never yield two."""

import fcntl
import hashlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import coterie.encode.ledger as ledger_module
from coterie.encode.ledger import MAX_BYTES, Ledger
from coterie.errors import LedgerError
from coterie.plan import Plan

PLAN = Plan.design(dimension=1, clusters=1, epsilon=1.0, expected_users=100)
OTHER = Plan.design(dimension=1, clusters=1, epsilon=1.0, expected_users=101)
# The steps that change the disk, in the order in which they happen.
STEPS = ["write", "fsync new", "replace", "fsync folder"]


class Died(BaseException):
    """A process that ends here."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


def draw():
    return os.urandom(13)


def watch(monkeypatch, path, seen):
    """Call `seen(step, before)` around every step; `before` is True before it happens and False after."""
    names = {}

    def around(step, function, *arguments):
        seen(step, True)
        result = function(*arguments)
        seen(step, False)
        return result

    def open_(name, *arguments):
        handle = real_open(name, *arguments)
        names[handle] = {f"{path}.new": "new"}.get(os.fspath(name), "folder")
        return handle

    real_open, write, fsync, replace, flock = os.open, os.write, os.fsync, os.replace, fcntl.flock
    locks = {fcntl.LOCK_EX: "lock", fcntl.LOCK_UN: "unlock"}
    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "write", lambda *a: around("write", write, *a))
    monkeypatch.setattr(os, "fsync", lambda handle: around(f"fsync {names[handle]}", fsync, handle))
    monkeypatch.setattr(os, "replace", lambda *a: around("replace", replace, *a))
    monkeypatch.setattr(fcntl, "flock", lambda handle, kind: around(locks[kind], flock, handle, kind))


def test_the_order_is_lock_make_write_fsync_rename_fsync_return(path, monkeypatch):
    events = []
    watch(monkeypatch, path, lambda step, before: before or events.append(step))

    def make():
        events.append("make")
        return draw()

    report = Ledger(path).answer(PLAN, make)
    assert events == ["lock", "make", *STEPS, "unlock"]
    events.clear()
    assert Ledger(path).answer(PLAN, make) == report
    assert events == ["lock", "fsync folder", "unlock"]  # a found report may not be on the disk yet


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_failure_at_any_step_returns_nothing_and_a_retry_returns_one_report(
    path, monkeypatch, step, before
):
    def fail(at, is_before):
        if (at, is_before) == (step, before):
            raise Died

    with monkeypatch.context() as patch:
        watch(patch, path, fail)
        with pytest.raises(Died):
            Ledger(path).answer(PLAN, draw)
    first = Ledger(path).answer(PLAN, draw)
    assert [Ledger(path).answer(PLAN, draw) for _ in range(3)] == [first] * 3


@pytest.mark.parametrize("step", STEPS)
def test_a_disk_error_is_a_ledger_error_and_loses_nothing(path, monkeypatch, step):
    old = Ledger(path).answer(PLAN, draw)
    other = Plan.design(dimension=1, clusters=1, epsilon=1.0, expected_users=101)

    def full(at, before):
        if at == step and before:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        watch(patch, path, full)
        with pytest.raises(LedgerError, match=r"No space left on device.*no report was returned"):
            Ledger(path).answer(other, draw)
    assert Ledger(path).answer(PLAN, draw) == old
    new = Ledger(path).answer(other, draw)
    assert Ledger(path).answer(other, draw) == new


CRASH = """
import fcntl, os, sys
import numpy as np
from coterie.encode import Client
from coterie.plan import Plan

plan_text, ledger, step, when = sys.argv[1:]
count = 0

def dying(function, name):
    def call(*arguments):
        if name == step and when == "before":
            os._exit(9)
        result = function(*arguments)
        if name == step and when == "after":
            os._exit(9)
        return result
    return call

fsyncs = iter(["fsync new", "fsync folder"])
fsync = os.fsync
os.write = dying(os.write, "write")
os.fsync = lambda handle: dying(fsync, next(fsyncs))(handle)
os.replace = dying(os.replace, "replace")
report = Client(Plan.from_json(plan_text), ledger=ledger).encode(np.zeros(1))
print(report.hex())
"""


@pytest.mark.parametrize(
    ("step", "when", "answered"),
    [
        ("write", "before", False),
        ("write", "after", False),
        ("fsync new", "after", False),
        ("replace", "after", True),
        ("fsync folder", "after", True),
        ("none", "never", True),
    ],
)
def test_a_process_that_dies_never_leads_to_two_reports(path, step, when, answered):
    command = [sys.executable, "-c", CRASH, PLAN.to_json(), str(path), step, when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if step == "none" else 9), done.stderr
    made = []

    def make():
        made.append(draw())
        return made[-1]

    stored = Ledger(path).answer(PLAN, make)
    assert (not made) == answered
    if done.stdout:
        assert done.stdout.strip() == stored.hex()
    assert Ledger(path).answer(PLAN, make) == stored


RACE = """
import sys, time
from pathlib import Path
import numpy as np
from coterie.encode import Client
from coterie.plan import Plan

plan_text, ledger, start = sys.argv[1:]
client = Client(Plan.from_json(plan_text), ledger=ledger)
print("ready", flush=True)
while not Path(start).exists():
    time.sleep(0.001)
print(client.encode(np.zeros(1)).hex())
"""


@pytest.mark.slow
def test_racing_processes_get_one_report(path, tmp_path):
    start = tmp_path / "start"
    command = [sys.executable, "-c", RACE, PLAN.to_json(), str(path), str(start)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    start.touch()
    reports = {racer.communicate()[0].strip() for racer in racers}
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert len(reports) == 1
    assert reports == {Ledger(path).answer(PLAN, draw).hex()}


def test_racing_threads_get_one_report(path):
    barrier = threading.Barrier(8)

    def race(_):
        barrier.wait()
        return Ledger(path).answer(PLAN, draw)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(race, range(8)))) == 1


def test_two_names_of_one_ledger_meet_at_one_lock(path, tmp_path):
    first = Ledger(path).answer(PLAN, draw)
    (tmp_path / "alias").symlink_to(path)
    assert Ledger(tmp_path / "alias").answer(PLAN, draw) == first
    assert (tmp_path / "alias").is_symlink()


def test_no_file_that_can_be_removed_holds_the_lock(path, tmp_path):
    """Whatever vanishes from the folder while one answers, another waits for it."""
    inside, go = threading.Event(), threading.Event()

    def slow():
        inside.set()
        assert go.wait(10)
        return draw()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(Ledger(path).answer, PLAN, slow)
        assert inside.wait(10)
        for entry in tmp_path.iterdir():
            entry.unlink()
        second = pool.submit(Ledger(path).answer, PLAN, draw)
        with pytest.raises(TimeoutError):
            second.result(timeout=0.3)
        go.set()
        assert first.result(timeout=10) == second.result(timeout=10)


def test_a_second_name_of_the_ledger_is_refused(path, tmp_path):
    """The other name would keep the old contents, and lead to another report."""
    Ledger(path).answer(PLAN, draw)
    os.link(path, tmp_path / "twin")
    for name in ("ledger", "twin"):
        with pytest.raises(LedgerError, match="second name"):
            Ledger(tmp_path / name).answer(OTHER, unused)


def test_a_pipe_in_the_ledgers_place_keeps_nobody_waiting(path):
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(Ledger(path).answer, PLAN, unused)
        try:
            with pytest.raises(LedgerError, match="no ordinary file"):
                asked.result(timeout=5)
        finally:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))  # let a reader that waits go


def test_a_link_that_appears_in_the_ledgers_place_is_not_followed(path, tmp_path):
    ledger = Ledger(path)
    Ledger(tmp_path / "elsewhere").answer(PLAN, draw)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.answer(PLAN, unused)


@pytest.mark.parametrize("kind", ["file", "link", "hard link"])
def test_a_planted_new_file_is_not_written_to(path, tmp_path, kind):
    """Whoever planted it would hold a handle on, or a name of, what becomes the ledger."""
    planted, new = tmp_path / "planted", tmp_path / "ledger.new"
    planted.write_bytes(b"theirs")
    planted.chmod(0o666)
    if kind == "file":
        planted.rename(new)
        planted = new
    elif kind == "link":
        new.symlink_to(planted)
    else:
        os.link(planted, new)
    with planted.open("rb") as handle:
        Ledger(path).answer(PLAN, draw)
        assert handle.read() == b"theirs"
        assert os.fstat(handle.fileno()).st_ino != path.stat().st_ino
    assert path.stat().st_mode & 0o777 == 0o600
    assert not path.is_symlink()


FORK = """
import os, sys, time
from coterie.encode.ledger import Ledger
from coterie.errors import LedgerError
from coterie.plan import Plan

plan, path = Plan.from_json(sys.argv[1]), sys.argv[2]

def make():
    child = os.fork()
    if child == 0:
        return b"made by child"
    if sys.argv[3] == "die":
        print(child, flush=True)
        os._exit(9)
    assert os.waitpid(child, 0)[1] == 0
    return b"made by paren"

try:
    print(Ledger(path).answer(plan, make))
except LedgerError as error:
    assert "forked inside" in str(error)
    if sys.argv[3] == "die":
        time.sleep(20)
    os._exit(0)
"""


def test_a_child_forked_inside_the_lock_returns_nothing(path):
    command = [sys.executable, "-W", "ignore", "-c", FORK, PLAN.to_json(), str(path), "live"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "b'made by paren'"
    assert Ledger(path).answer(PLAN, unused) == b"made by paren"


def test_a_child_forked_inside_the_lock_does_not_keep_it(path):
    command = [sys.executable, "-W", "ignore", "-c", FORK, PLAN.to_json(), str(path), "die"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.wait()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(Ledger(path).answer, PLAN, draw)
            try:
                assert len(asked.result(timeout=5)) == 13
            finally:
                os.kill(child, 9)


def test_no_handle_stays_open_and_none_is_closed_in_a_child_later(path):
    """A handle's number is given out again: a child that closed it then would close somebody else's file."""
    lowest = os.dup(0)
    os.close(lowest)
    for plan in (PLAN, PLAN, OTHER):
        Ledger(path).answer(plan, draw)
    assert len(Ledger(path).spent().answers) == 2
    with pytest.raises(ZeroDivisionError):
        Ledger(path.with_name("other")).answer(PLAN, lambda: bytes(1 // 0))
    after = os.dup(0)
    os.close(after)
    assert after == lowest
    assert not ledger_module._held


def test_a_child_closes_its_copies_once():
    handle = os.dup(0)
    ledger_module._held.add(handle)
    ledger_module._give_up_locks()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)
    assert not ledger_module._held


def test_holds_what_was_answered_and_nothing_of_the_point(path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 86400.0 * 20000 + 5)
    report = Ledger(path).answer(PLAN, draw)
    body = b"COTERIE-LEDGER\n\x02" + 2 * PLAN.id_bytes + (20000).to_bytes(4, "big")
    body += b"\x00\x05\x00\x0d" + b"1 0 1" + report
    assert path.read_bytes() == body + hashlib.sha256(body).digest()
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(name.name for name in path.parent.iterdir()) == ["ledger"]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_one_plan_of_a_study_is_answered_ever(path, first):
    """Whichever came first: the plan that started the study or one that follows it up."""
    follow = [Plan.design(1, 1, 1.0, 100, study=PLAN.id, after=[PLAN.id], seed=seed) for seed in range(2)]
    plans = [PLAN, *follow]
    assert {plan.study_id for plan in plans} == {PLAN.id}
    report = Ledger(path).answer(plans[first], draw)
    for plan in plans:
        if plan is plans[first]:
            assert Ledger(path).answer(plan, unused) == report
        else:
            with pytest.raises(LedgerError, match=r"of the same study.*no report was made"):
                Ledger(path).answer(plan, unused)
    assert len(Ledger(path).answer(OTHER, draw)) == 13


def unused():
    raise AssertionError("a damaged ledger must never lead to another draw")


def test_a_damaged_ledger_is_never_a_reason_to_draw_again(path):
    Ledger(path).answer(PLAN, draw)
    good = path.read_bytes()
    damaged = [good[:length] for length in range(len(good))]
    damaged += [good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :] for i in range(len(good))]
    body = good[:-32]
    twice = body + body[16:]
    for wrong in (
        *(b"", body[:15], b"X" + body[1:], body[:-1], body + bytes(5), body[:15] + b"\1" + body[16:], twice),
        *(body.replace(b"1 0 1", other) for other in (b"1 0 x", b"0101 ", b"inf 1", b"1 0/0")),
    ):
        damaged.append(wrong + hashlib.sha256(wrong).digest())
    damaged.append(bytes(MAX_BYTES + 1))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(LedgerError, match="damaged"):
            Ledger(path).answer(PLAN, unused)


def test_a_full_ledger_says_so(path):
    body = b"COTERIE-LEDGER\n\x02"
    for number in range(16):
        body += number.to_bytes(32, "big") + bytes(36) + b"\x00\x05\xff\xf0" + b"1 0 1" + bytes(0xFFF0)
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(LedgerError, match="full"):
        Ledger(path).answer(PLAN, draw)
    assert path.read_bytes() == body + hashlib.sha256(body).digest()


def test_the_last_byte_of_a_ledger_can_be_used_and_no_more(path):
    """An answer that fits exactly is kept and found; one byte more is refused, and nothing is lost."""
    assert MAX_BYTES == 1 << 20
    record = 32 + 32 + 4 + 2 + 2 + len(b"1 0 1")
    body = b"COTERIE-LEDGER\n\x02"
    for number in range(15):
        body += number.to_bytes(32, "big") + bytes(36) + b"\x00\x05\xff\xf0" + b"1 0 1" + bytes(0xFFF0)
    room = MAX_BYTES - len(body) - 32 - record
    assert room < 1 << 16
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(LedgerError, match="full"):
        Ledger(path).answer(PLAN, lambda: bytes(room + 1))
    assert len(Ledger(path).spent().answers) == 15
    assert Ledger(path).answer(PLAN, lambda: bytes(room)) == bytes(room)
    assert path.stat().st_size == MAX_BYTES
    assert Ledger(path).answer(PLAN, unused) == bytes(room)
    spent = Ledger(path).spent()
    assert (len(spent.answers), spent.total.epsilon) == (16, 16)


def test_a_ledger_without_answers_is_no_damage(path):
    body = b"COTERIE-LEDGER\n\x02"
    path.write_bytes(body + hashlib.sha256(body).digest())
    assert Ledger(path).spent().answers == ()
    assert len(Ledger(path).answer(PLAN, draw)) == 13


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(LedgerError, match=r"No such file or directory.*no report was returned"):
        Ledger(tmp_path / "nowhere" / "ledger").answer(PLAN, unused)


def test_a_system_without_locks(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(LedgerError, match="needs POSIX file locks"):
        Ledger(path).answer(PLAN, unused)
