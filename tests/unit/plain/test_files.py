import errno
import os
import subprocess
import sys

import numpy as np
import pytest

import coterie
from coterie import Aggregate, Plan, Population
from coterie.errors import FileError
from coterie.plain.files import read_bounded, replacing

PLAN = Plan.design(2, 2, 1.0, 100)
SAVED = {
    "plan": PLAN.save,
    "table": Aggregate(PLAN).save,
    "population": Population(np.eye(2), np.array([0.25, 0.75]), "a" * 64, ("a" * 64,)).save,
    "reports": lambda path, **options: coterie.write_reports(path, PLAN, [bytes(13)], **options),
}


def write_and_fail(path):
    with replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_and_fail(path)
    assert path.read_bytes() == b"old"
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_reads_no_more_than_the_bound(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5, "a note") == b"12345"
    with pytest.raises(FileError, match=r"file, byte 4: expected the end of a note \(at most 4 bytes\)"):
        read_bounded(path, 4, "a note")


@pytest.mark.parametrize("kind", SAVED)
def test_a_file_that_exists_is_replaced_only_if_told(tmp_path, kind):
    path = tmp_path / kind
    SAVED[kind](path)
    whole = path.read_bytes()
    path.write_bytes(b"something dear")
    with pytest.raises(FileExistsError, match=f"{kind} exists already; overwrite=True replaces it"):
        SAVED[kind](path)
    assert path.read_bytes() == b"something dear"
    SAVED[kind](path, overwrite=True)
    assert len(path.read_bytes()) == len(whole)
    assert list(tmp_path.iterdir()) == [path]


def write_while_another_comes(path):
    with replacing(path, overwrite=False) as file:
        file.write(b"ours")
        path.write_bytes(b"theirs")


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_stays(tmp_path, monkeypatch, links):
    if not links:  # as on a file system that has none
        monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    path = tmp_path / "file"
    with pytest.raises(FileExistsError, match="file exists already"):
        write_while_another_comes(path)
    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    with replacing(path, overwrite=False) as file:
        file.write(b"ours")
    assert path.read_bytes() == b"ours"
    assert list(tmp_path.iterdir()) == [path]


def refuse(code):
    def refused(*arguments, **options):
        raise OSError(code, os.strerror(code), *arguments[:1])

    return refused


# Bounds how long a file may get, as a full disk does: a write beyond fails with an error without a name.
SMALL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
sys.dont_write_bytecode = True
sys.argv = ["coterie", *sys.argv[1:]]
from coterie.cli import main
main()
"""


@pytest.mark.slow
def test_a_disk_that_is_full_is_said_of_the_right_file(tmp_path):
    numbers = {"dimension": 2, "clusters": 2, "epsilon": 1, "users": 100}
    options = [f"--{name}={value}" for name, value in numbers.items()]
    command = [sys.executable, "-c", SMALL_DISK, "plan", *options, "--out", "p.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: p.json: File too large\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_every_step_of_writing_names_the_file_that_is_meant(tmp_path, monkeypatch, call, code):
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse(code))
        with pytest.raises(OSError, match=os.strerror(code)) as caught, replacing(tmp_path / "plan.json"):
            pass
    assert (caught.value.errno, caught.value.filename) == (code, str(tmp_path / "plan.json"))
    assert caught.value.filename2 is None


def read_what_is_not_there(path, other):
    with replacing(path):
        other.read_bytes()


def test_an_error_about_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        read_what_is_not_there(tmp_path / "out", tmp_path / "nothing")
    assert caught.value.filename == str(tmp_path / "nothing")
