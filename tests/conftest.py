"""What all tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

from coterie.centers import explain, population, repeats
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
        patch.setattr(repeats, "REPEATS", 3)
        patch.setattr(explain, "MEMBERS", 2)
        yield


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of this test process, real and fresh; installed where it is missing."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    with running(memory if memory.is_dir() else None) as server:
        yield server


@pytest.fixture
def database(postgres):
    """The address of a database in which there is no store yet."""
    import psycopg

    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA IF EXISTS coterie CASCADE")
    return postgres.url()
