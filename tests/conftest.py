"""What all tests share."""

import secrets

import pytest
from hypothesis import settings

from coterie.centers import explain, population
from tools.postgres import running

# Fixed examples, so that a check that passed passes again; no deadline, because machines are shared.
settings.register_profile("check", derandomize=True, deadline=None, database=None)
# Fresh examples every time, and more of them: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("check")


@pytest.fixture(autouse=True, scope="session")
def fewer_atoms():
    """Decode with fewer atoms and repeats, for time; the benchmarks have the real numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "ATOMS", 1000)
        patch.setattr(explain, "REPEATS", 3)
        yield


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of this test process, real and fresh; installed where it is missing."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres):
    """The address of an empty database."""
    import psycopg

    name = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.url(name)
