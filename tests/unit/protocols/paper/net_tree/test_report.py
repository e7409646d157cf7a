import hashlib

import numpy as np
import pytest

from coterie.errors import PlanError, ReportError
from coterie.plan import Plan
from coterie.protocols.paper.answers import pack_reports, unpack_bits
from coterie.protocols.paper.net_tree.report import NetTreeStream
from coterie.randomizers.sphere import normal_table
from coterie.wire.forms import report_form
from coterie.wire.stream import PublicStream


@pytest.fixture(scope="module")
def plan():
    return Plan.design(10, 3, 2.0, 10**5, protocol="net-tree", levels=5, projected=4)


def test_answers_round_trip():
    answers = np.random.default_rng(0).random((50, 10)) < 0.5
    reports = pack_reports(np.zeros((50, 12), dtype=np.uint8), answers)
    assert reports.shape == (50, 14)
    assert ((unpack_bits(reports, 10) > 0) == answers).all()


def test_the_layout_in_hex():
    ids = np.arange(12, dtype=np.uint8)[None]
    report = pack_reports(ids, np.array([[True, False, False, True, True, True, False, False, False, True]]))
    # id ‖ 1001 1100 | 01 then six zeros
    assert report.tobytes().hex() == "000102030405060708090a0b" + "9c" + "40"


def test_choices_are_the_streams_bits_in_order(plan):
    ids = np.random.default_rng(1).integers(0, 256, (3, 12), dtype=np.uint8)
    stream = NetTreeStream(plan)
    choices = stream.choices(ids)
    bits = np.unpackbits(PublicStream(plan.randomness_key()).blocks(ids, 0, 1)[:, 0], axis=1)
    assert (choices.count_signs == 1 - 2 * bits[:, :5].astype(int)).all()
    assert (choices.vector_signs == 1 - 2 * bits[:, 5:10].astype(int)).all()
    as_text = ["".join(map(str, row)) for row in bits]
    assert choices.root_masks.tolist() == [int(text[10:26], 2) for text in as_text]  # 4·d' = 16 bits
    for level in range(5):
        start = 26 + 4 * level
        assert choices.digit_masks[:, level].tolist() == [int(text[start : start + 4], 2) for text in as_text]


def test_directions_follow_the_head_and_agree_one_by_one(plan):
    ids = np.random.default_rng(2).integers(0, 256, (4, 12), dtype=np.uint8)
    stream = NetTreeStream(plan)
    everything = stream.all_directions(ids)
    assert everything.shape == (4, 5, 11)
    for level in range(1, 6):
        assert (stream.directions(ids, level) == everything[:, level - 1]).all()
    blocks = PublicStream(plan.randomness_key()).blocks(
        ids, 1 + 2 * 2, 2
    )  # head of one block, two blocks a level
    words = blocks.reshape(4, -1).view(">u2")[:, :11]
    assert (stream.directions(ids, 3) == normal_table()[words]).all()


def test_the_normal_table_never_changes():
    digest = hashlib.sha256(normal_table().astype("<i2").tobytes()).hexdigest()
    assert digest == "1ea009ce409dac97d6bd609266910f809c5fb912f78e16bd89145b08174d6fc5"


def test_malformed_reports_are_refused(plan):
    good = np.zeros((3, 14), dtype=np.uint8)
    form = report_form(plan)
    form.check(good)
    bad = good.copy()
    bad[1, -1] = 1
    with pytest.raises(ReportError, match="report 1 of 3: a bit is set after the last answer"):
        form.check(bad)


def test_a_plan_of_another_protocol_is_refused():
    with pytest.raises(PlanError, match="needs a plan with NetTreeParameters, got one of protocol codeword"):
        NetTreeStream(Plan.design(2, 2, 1.0, 1000))
