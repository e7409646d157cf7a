import numpy as np
import pytest

from coterie.errors import ReportError
from coterie.wire.layout import as_rows


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_become_rows_in_place(kind):
    rows = as_rows(kind(bytes(range(26))), width=13)
    assert rows.tolist() == [list(range(13)), list(range(13, 26))]
    assert not rows.flags.owndata


def test_rows_stay_rows():
    rows = np.zeros((4, 13), dtype=np.uint8)
    assert as_rows(rows, width=13) is rows
    assert as_rows(b"", width=13).shape == (0, 13)


def test_a_list_of_reports_is_joined():
    whole = bytes(range(39))
    for given in ([whole[:13], whole[13:]], (whole[:26], bytearray(whole[26:])), [memoryview(whole)]):
        assert as_rows(given, width=13).tobytes() == whole
    assert as_rows([], width=13).shape == (0, 13)


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (bytes(25), "13 bytes each; 25 bytes are no whole number"),
        ("a" * 13, "bytes, a list of bytes or an array of uint8, got str"),
        ([0] * 13, "a list of reports holds bytes; item 0 is int"),
        ([bytes(13), bytes(12), bytes(14)], "13 bytes each; item 1 has 12"),
        ({bytes(13)}, "got set"),
        (None, "got NoneType"),
        (np.zeros(13, dtype=np.uint8), r"shape \(n, 13\), got uint8 of shape \(13,\)"),
        (np.zeros((2, 14), dtype=np.uint8), r"got uint8 of shape \(2, 14\)"),
        (np.zeros((2, 13), dtype=np.int64), r"got int64 of shape \(2, 13\)"),
        (memoryview(bytes(52))[::2], "a memoryview with gaps"),
    ],
)
def test_refuses(reports, message):
    with pytest.raises(ReportError, match=message):
        as_rows(reports, width=13)
