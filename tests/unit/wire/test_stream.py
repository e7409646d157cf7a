import numpy as np
import pytest

from coterie.plan import Plan
from coterie.wire.rows import Rows
from coterie.wire.stream import PublicStream, signs_of

KEY = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
ROWS = Rows.of(Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100).parameters)
IDS = np.random.default_rng(0).integers(0, 256, size=(7, 12), dtype=np.uint8)


def test_the_block_cipher_is_aes_128():
    # FIPS 197, appendix C.1: id 00112233…bb, counter ccddeeff
    report_id = np.frombuffer(bytes.fromhex("00112233445566778899aabb"), dtype=np.uint8)[None]
    block = PublicStream(KEY).blocks(report_id, 0xCCDDEEFF, 1)
    assert block.tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


def test_blocks_of_many_reports_are_those_of_each():
    stream = PublicStream(KEY)
    together = stream.blocks(IDS, 3, 5)
    assert together.shape == (7, 5, 16)
    for number, row in enumerate(IDS):
        for j in range(5):
            assert (stream.blocks(row[None], 3 + j, 1)[0, 0] == together[number, j]).all()
    assert (stream.blocks_at(IDS, np.array([[7, 4]] * 7)) == together[:, [4, 1]]).all()


def test_ids_may_be_a_view_into_reports():
    reports = np.concatenate([IDS, np.zeros((7, 1), dtype=np.uint8)], axis=1)
    stream = PublicStream(KEY)
    assert (stream.blocks(reports[:, :12], 0, 1) == stream.blocks(IDS, 0, 1)).all()


@pytest.mark.parametrize(("codewords", "embedding"), [(256, 128), (5, 256), (3, 4096)])
def test_the_chosen_codeword_is_that_of_the_list(codewords, embedding):
    stream = PublicStream(KEY)
    indices = np.arange(7) * 3 % codewords
    packed = stream.blocks(IDS, 1, codewords * embedding // 128).reshape(len(IDS), codewords, embedding // 8)
    assert packed.shape == (7, codewords, embedding // 8)
    rows, flips, chosen = stream.chosen(IDS, indices, ROWS, embedding)
    assert (chosen == packed[np.arange(7), indices]).all()
    expected_rows, expected_flips = stream.choices(IDS, ROWS)
    assert (rows == expected_rows).all()
    assert (flips == expected_flips).all()


def test_signs_read_the_most_significant_bit_first():
    assert signs_of(np.array([[0b11110000, 0b00000001]], dtype=np.uint8)).tolist() == [
        [1.0] * 4 + [-1.0] * 11 + [1.0]
    ]


def test_no_reports_are_fine():
    stream = PublicStream(KEY)
    none = np.empty((0, 12), dtype=np.uint8)
    assert stream.reader(4, 1, 16)(none).shape == (0, 16, 16)
    assert [len(part) for part in stream.chosen(none, np.empty(0, dtype=np.int64), ROWS, 128)] == [0, 0, 0]


def test_a_reader_reads_the_same_blocks_again_and_again():
    stream, rng = PublicStream(bytes(range(16))), np.random.default_rng(0)
    read = stream.reader(7, 3, 40)
    for people in (7, 1, 0, 5):
        ids = rng.integers(256, size=(people, 24), dtype=np.uint8)[
            :, 5:17
        ]  # not one after the other in memory
        np.testing.assert_array_equal(read(ids), stream.blocks(ids, 3, 40))


def test_text_is_used_again_for_fewer_reports():
    stream = PublicStream(bytes(range(16)))
    read = stream.reader(len(IDS), 1, 3)
    whole = read(IDS).copy()
    assert (whole == stream.blocks(IDS, 1, 3)).all()
    assert (read(IDS[1:2]) == whole[1:2]).all()
    assert (read(IDS) == whole).all()
    text = stream.text(4, 2)
    text.plain[:] = 0
    assert text.encrypted(1).shape == (1, 2, 16)
    assert (text.encrypted(4) == text.encrypted(1)[0, 0]).all()
