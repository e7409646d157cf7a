"""One measurement of an encoding does not tell whether the point was clipped, nor what the record lacks.

Pairs of the same direction, inside and outside the ball, encoded in random order on one machine; the area
under the curve of "slower means clipped" is 0.5 where time tells nothing. With 12,000 pairs its deviation is
0.0037: 0.52 is five of them. (A point's time may still tell of other things, and other machines have other
clocks: docs/privacy-review.md.)
"""

import sys
import time

import numpy as np
import pytest

from benchmarks.timing import CLASSES, SCHEMA, area, usual
from coterie.encode import Client
from coterie.plan import Plan, protocols

PAIRS = 12_000
MOST = 0.52


def measured(encode, dimension, pairs=PAIRS):
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(pairs, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    seconds = np.empty((pairs, 2))
    for warm in directions[:200]:
        encode(warm)
    for pair, direction in enumerate(directions):
        for outside in rng.permutation(2):
            point = direction * (0.5, 3.0)[outside]
            start = time.perf_counter_ns()
            encode(point)
            seconds[pair, outside] = time.perf_counter_ns() - start
    return area(seconds[:, 1], seconds[:, 0])


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", protocols("local"))
@pytest.mark.parametrize("dimension", [3, 100])
def test_time_does_not_tell_clipped_from_inner_points(protocol, dimension):
    client = Client(Plan.design(dimension, 4, 1.0, 100_000, protocol=protocol))
    found = measured(client.encode, dimension)
    assert abs(found - 0.5) <= MOST - 0.5


def test_the_measurement_sees_a_branch():
    """The same measurement tells an encoder that takes a longer way for clipped points."""

    def branching(point):
        np.linalg.norm(point)
        if (point**2).sum() > 1:
            for _ in range(20):
                point = point / 1.5

    assert measured(branching, 20, pairs=1500) > 0.6


def steps(record):
    """What a record's point takes: how often each function is called, of Python and of C."""
    taken = {}

    def note(frame, event, what):
        if event in ("call", "c_call"):
            name = frame.f_code.co_qualname if event == "call" else what.__qualname__
            taken[name] = taken.get(name, 0) + 1

    sys.setprofile(note)
    try:
        SCHEMA.point(record)
    finally:
        sys.setprofile(None)
    return taken


@pytest.mark.parametrize("name", CLASSES)
def test_every_record_takes_the_same_steps(name):
    """`python -m benchmarks timing` measures it; this says which step one class has and another has not."""
    record = usual(np.random.default_rng(0))
    other = CLASSES[name](dict(record))
    for warm in (record, other):
        SCHEMA.point(warm)
    expected, found = steps(record), steps(other)
    assert {key: found.get(key, 0) - expected.get(key, 0) for key in {*found, *expected}} == dict.fromkeys(
        {*found, *expected}, 0
    )
