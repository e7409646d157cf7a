import pytest

from coterie.errors import FileError
from coterie.plain.files import read_bounded, replacing


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
