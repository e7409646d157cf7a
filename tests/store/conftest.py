"""What the tests of stores share: addresses of both kinds, plans, reports."""

import numpy as np
import pytest

from coterie.plan import Plan
from coterie.store import open_store

WIDTH = 13


@pytest.fixture(params=["embedded", "postgres"])
def address(request, tmp_path):
    """Where a store is to be: a folder, or an empty database."""
    return tmp_path / "store" if request.param == "embedded" else request.getfixturevalue("database")


@pytest.fixture
def store(address):
    with open_store(address) as opened:
        yield opened


@pytest.fixture(scope="session")
def plan():
    return Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)


@pytest.fixture(scope="session")
def other_plan():
    return Plan.design(dimension=3, clusters=2, epsilon=2.0, expected_users=100)


def rows(*reports):
    """Reports from pairs of numbers (id, contents): (n, 13)."""
    return np.array(
        [[*number.to_bytes(12, "big"), byte] for number, byte in reports], dtype=np.uint8
    ).reshape(-1, WIDTH)


def ids(*numbers):
    return rows(*((number, 0) for number in numbers))[:, :12]


def found(store, plan):
    """What counts, as pairs of numbers."""
    return [
        (int.from_bytes(row[:12].tobytes(), "big"), int(row[12]))
        for chunk in store.reports(plan.id)
        for row in chunk
    ]
