import contextlib

import numpy as np
import pytest

from coterie.cli.points import ROWS, open_points
from coterie.cli.points_csv import csv_chunks
from coterie.errors import FileError, MissingExtraError, PointError

POINTS = np.random.default_rng(0).standard_normal((2 * ROWS + 5, 2))


def read(path, dimension=2, **options):
    source = open_points(path, dimension, **options)
    chunks = list(source.chunks())
    assert sum(done for _, done in chunks) == source.total
    return np.concatenate([rows for rows, _ in chunks])


def test_all_formats_give_the_same_rows(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    from pyarrow import parquet

    np.save(tmp_path / "p.npy", POINTS)
    np.savetxt(tmp_path / "p.csv", POINTS, delimiter=",", fmt="%.17g")
    parquet.write_table(arrow.table({"x": POINTS[:, 0], "y": POINTS[:, 1]}), tmp_path / "p.parquet")
    for name in ("p.npy", "p.csv", "p.parquet"):
        np.testing.assert_array_equal(read(tmp_path / name), POINTS)


@pytest.mark.parametrize(
    "text",
    [
        "0.5,1\n2,3\n",
        "x,y\n0.5,1\n2,3\n",
        '"x","y"\n"0.5","1"\n2,3\n',
        "\ufeffx,y\r\n0.5, 1\r\n\r\n2,3",
        " 0.5 ,1\n2e0,+3\n",
    ],
)
def test_csv_dialects(tmp_path, text):
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    assert read(tmp_path / "p.csv").tolist() == [[0.5, 1], [2, 3]]


def test_a_header_of_numbers_must_be_named(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("0,1\n0.5,1\n")
    with pytest.raises(PointError, match="line 1: 0,1,2,… may name columns"):
        read(path)
    assert read(path, header=False).tolist() == [[0, 1], [0.5, 1]]
    assert read(path, header=True).tolist() == [[0.5, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,1\n1,2\n", "line 1: some fields are numbers and some are not"),
        ("1,2\n\n3,hunter2\n", "line 3: field 2 is no number; nothing was encoded"),
        ("1,2\n3,\n", "line 2: field 2 is no number"),
        ("1,2\n3,4,5\n", "line 2: expected 2 numbers"),
        ("1,2,3\n4,5,6\n", "line 1: expected 2 numbers, found 3 fields"),
        ("1;2\n3;4\n1;3\n", "line 2"),
        ('1,2\n1,"2\n3"\n', "line 2: a quote is opened and not closed"),
    ],
)
def test_bad_csv_names_the_line_and_never_the_value(tmp_path, text, message):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(PointError, match=message) as caught:
        read(tmp_path / "p.csv")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_endless_lines_and_other_encodings_are_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"1,2\n" + b"1" * 100_000)
    with pytest.raises(FileError, match="a line of at most 192 bytes"):
        read(path)
    path.write_bytes(b"1,2\n\xff\xfe\n")
    with pytest.raises(FileError, match="byte 4: expected text in UTF-8"):
        read(path)


def test_empty_csv_has_no_rows(tmp_path):
    (tmp_path / "p.csv").write_text("")
    assert list(csv_chunks(tmp_path / "p.csv", 2, None, 100)) == []
    (tmp_path / "p.csv").write_text("x,y\n")
    assert list(csv_chunks(tmp_path / "p.csv", 2, None, 100)) == []


@pytest.mark.parametrize(
    "shape", ["(" + "-" * 9000 + "1,2)", "(" * 9000, f"({'9' * 40},2)", "(True,2)", "(4611686018427387904,2)"]
)
def test_npy_headers_that_break_the_parser_are_no_points(tmp_path, shape):
    header = f"{{'descr':'<f8','fortran_order':False,'shape':{shape}}}\n".encode()
    path = tmp_path / "p.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(32))
    with pytest.raises(FileError, match="byte 0: expected a whole NumPy array file"):
        read(path)


@pytest.mark.parametrize("start", [b"", b"PK and no archive", b"\x80\x04K\x01."])
def test_what_is_no_npy_is_no_points(tmp_path, start):
    (tmp_path / "p.npy").write_bytes(start)
    with pytest.raises(FileError, match="byte 0: expected a whole NumPy array file"):
        read(tmp_path / "p.npy")


def test_parquet_that_is_no_points(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    from pyarrow import parquet

    path = tmp_path / "p.parquet"
    for table, message in (
        (arrow.table({"x": [1.0]}), "expected 2 columns of numbers, found 1"),
        (arrow.table({"x": [1.0], "y": ["a"]}), "column 'y' must hold numbers, it holds string"),
        (arrow.table({"x": [1.0], "y": [None]}, arrow.schema([("x", "f8"), ("y", "f8")])), "missing"),
    ):
        parquet.write_table(table, path)
        with pytest.raises(PointError, match=message):
            read(path)
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FileError, match="a whole Parquet file"):
        read(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "p.parquet").touch()
    with pytest.raises(MissingExtraError, match=r"coterie\[parquet\]"):
        read(tmp_path / "p.parquet")


def test_damaged_parquet_is_a_file_error(tmp_path):
    """Whatever a flipped byte makes pyarrow raise, and wherever: at the start or in a later batch."""
    arrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    from pyarrow import parquet

    path = tmp_path / "p.parquet"
    parquet.write_table(arrow.table({"x": POINTS[:300, 0], "y": POINTS[:300, 1]}), path)
    good = path.read_bytes()
    refused = 0
    for place in range(4, len(good), 7):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0xA5]) + good[place + 1 :])
        with contextlib.suppress(PointError):  # other names or types of columns
            try:
                read(path)
            except FileError:
                refused += 1
    assert refused > 30
    for cut in (0, 4, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:cut])
        with pytest.raises(FileError, match="a whole Parquet file"):
            read(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere.parquet")
