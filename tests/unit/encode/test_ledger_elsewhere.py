"""A ledger on a system without POSIX: no locks of folders, no flags against links. A stand-in for Windows."""

import importlib.util
import os
import sys
import threading
import time
import types

import filelock
import pytest

from coterie import Plan
from coterie.encode import ledger as room
from coterie.errors import LedgerError

PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)


class NoPosix(types.ModuleType):
    """The module os as it is where there are no flags against links and pipes."""

    def __getattr__(self, name):
        if name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "register_at_fork"):
            raise AttributeError(name)
        return getattr(os, name)


@pytest.fixture
def elsewhere(monkeypatch):
    """The room as it is loaded where neither fcntl nor the flags are there."""
    name = "coterie.encode.ledger_elsewhere"
    spec = importlib.util.spec_from_file_location(name, room.__file__)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    with monkeypatch.context() as loading:
        loading.setitem(sys.modules, "os", NoPosix("os"))
        spec.loader.exec_module(module)
    monkeypatch.setattr(module, "sync_folder", lambda folder: None)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    return module


def test_one_answer_for_good(elsewhere, tmp_path):
    path = tmp_path / "answers"
    first = elsewhere.Ledger(path).answer(PLAN, lambda: b"thirteen byte")
    assert elsewhere.Ledger(path).answer(PLAN, lambda: b"another bytes") == first
    assert [answer.sent for answer in elsewhere.Ledger(path).spent().answers] == [first]


def test_threads_take_turns(elsewhere, tmp_path):
    made, sent = [], []

    def make():
        made.append(threading.get_ident())
        time.sleep(0.05)  # long enough for every other to look meanwhile
        return f"{len(made):>13}".encode()

    def answer():
        sent.append(elsewhere.Ledger(tmp_path / "answers").answer(PLAN, make))

    threads = [threading.Thread(target=answer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(set(sent)) == 1
    assert len(sent) == 4


def test_whoever_holds_the_lock_is_waited_for(elsewhere, tmp_path):
    path, done = tmp_path / "answers", threading.Event()

    def answer():
        elsewhere.Ledger(path).answer(PLAN, lambda: b"thirteen byte")
        done.set()

    with filelock.FileLock(f"{path}.lock"):
        thread = threading.Thread(target=answer)
        thread.start()
        assert not done.wait(0.2)
        assert not path.exists()
    thread.join()
    assert done.is_set()


def test_without_a_lock_no_report_is_made(elsewhere, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(LedgerError, match="pip install filelock"):
        elsewhere.Ledger(tmp_path / "answers").answer(PLAN, lambda: pytest.fail("a report was made"))
