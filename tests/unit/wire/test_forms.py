import dataclasses

import numpy as np
import pytest

from coterie import Aggregate
from coterie.coins import SimulationCoins
from coterie.collect import Intake
from coterie.engines import Inline
from coterie.errors import PlanError, ReportError
from coterie.plan import Plan
from coterie.protocols import PROTOCOLS
from coterie.wire.forms import message_form, report_form
from tests.plans import plans_of

MIXED = {"model": "shuffle", "delta": 1e-4}
TREE_SUMS = {"protocol": "net-tree-sums", "levels": 2, "buckets": 20}
PLANS = plans_of(
    {
        "codeword": (2, 2, 1.0, 100, {}),
        "net-tree": (2, 2, 1.0, 100, {"protocol": "net-tree", "levels": 3}),
        "lsh-tree": (2, 2, 1.0, 100, {"protocol": "lsh-tree"}),
        "vector-sums": (2, 2, 2.0, 100, {"protocol": "vector-sums", "cells": 4, **MIXED}),
        "net-tree-sums": (2, 2, 2.0, 100, {**TREE_SUMS, **MIXED}),
    }
)
FEW = dataclasses.replace(
    PLANS["codeword"], parameters=dataclasses.replace(PLANS["codeword"].parameters, codewords=200)
)
TREE = Plan.design(2, 2, 1.0, 100, protocol="net-tree", randomizer="codeword")


def test_every_protocol_is_looked_at():
    assert set(PROTOCOLS) == set(PLANS)


@pytest.mark.parametrize("plan", [*PLANS.values(), FEW, TREE], ids=lambda plan: plan.protocol)
def test_what_clients_send_and_tables_add_has_its_form(plan):
    points = np.random.default_rng(0).normal(0, 0.3, (100, 2))
    (partition,) = Inline().encode(plan, points, SimulationCoins(0))
    assert not report_form(plan).foreign(partition.reports).any()
    assert Inline().aggregate(plan, [partition.reports]).count == 100  # which checks the messages


def test_what_nobody_can_have_sent_is_told():
    padded = [PLANS[name] for name in ("net-tree", "lsh-tree") if name in PLANS]
    for plan, byte in ((FEW, 200), *((plan, 1) for plan in padded)):
        rows = np.zeros((3, plan.report_width), dtype=np.uint8)
        rows[1, -1] = byte
        assert report_form(plan).foreign(rows).tolist() == [False, True, False]
        with pytest.raises(ReportError, match=r"report 1 of 3: .*; none of these reports was added"):
            Aggregate(plan).add(rows)


@pytest.mark.parametrize("protocol", [name for name in PLANS if PROTOCOLS[name].message_form])
@pytest.mark.parametrize("written", ["modulus", "255"])  # the smallest and the largest share that is none
def test_a_share_lies_in_its_field(protocol, written):
    plan = PLANS[protocol]
    size = plan.parameters.sums().mixer.share_bytes
    share = b"\xff" * size if written == "255" else plan.parameters.modulus.to_bytes(size, "big")
    report = np.zeros((2, plan.report_width), dtype=np.uint8)
    report[1, -size:] = np.frombuffer(share, dtype=np.uint8)
    assert report_form(plan).foreign(report).tolist() == [False, True]
    message = np.zeros((2, plan.message_width), dtype=np.uint8)
    message[1, -size:] = np.frombuffer(share, dtype=np.uint8)
    assert message_form(plan).foreign(message).tolist() == [False, True]
    last = plan.parameters.rows * plan.parameters.coordinates
    message[:] = 0
    message[0, :4], message[1, :4] = ([*number.to_bytes(4, "big")] for number in (last - 1, last))
    assert message_form(plan).foreign(message).tolist() == [False, True]


def test_a_protocol_without_a_form_is_refused(monkeypatch):
    monkeypatch.setattr(type(PLANS["codeword"].parameters), "parts", lambda self: ())
    for use in (report_form, message_form, Intake, Aggregate):
        with pytest.raises(PlanError, match="nobody knows the form of a report of protocol codeword"):
            use(PLANS["codeword"])
