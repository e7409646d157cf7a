"""What all tests share."""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from coterie.centers import explain, population, repeats
from tools.postgres import running
from tools.programs import found

# Fixed examples, so that a check that passed passes again; no deadline, because machines are shared.
settings.register_profile("check", derandomize=True, deadline=None, database=None)
# Fresh examples every time, and more of them: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("check")


def pytest_terminal_summary(terminalreporter):
    """Say why tests were skipped, once a reason."""
    skipped = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in skipped.items():
        terminalreporter.line(f"{count} {reason}")


def pytest_collection_modifyitems(items):
    """Leave whole pages and benchmarks to `make check`."""
    if os.environ.get("COTERIE_TOOLS") != "all":
        for item in items:
            if item.get_closest_marker("whole"):
                item.add_marker(pytest.mark.skip("runs a whole page or benchmark: `make check` does"))


@pytest.fixture(autouse=True, scope="session")
def fewer_atoms():
    """Decode with fewer atoms and repeats, for time; the benchmarks have the real numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "ATOMS", 600)
        patch.setattr(repeats, "REPEATS", 3)
        patch.setattr(explain, "MEMBERS", 2)
        yield


@pytest.fixture(scope="module")
def hardly_any_atoms():
    """Decode as fast as it goes, for tests of what is around the decoder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "ATOMS", 300)
        patch.setattr(repeats, "REPEATS", 2)
        patch.setattr(explain, "MEMBERS", 1)
        yield


@pytest.fixture(scope="session")
def needs():
    """Skip a test of what pip does not bring, unless this run has seen to it: then it must be there."""

    def need(program, present):
        if os.environ.get("COTERIE_TOOLS") != "all":
            pytest.skip(f"needs {program}: `make check` sees to it (COTERIE_TOOLS=all)")
        if not present:
            pytest.fail(f"{program} is not there: python tools/programs.py brings it")

    return need


@pytest.fixture(scope="session")
def postgres(needs):
    """A PostgreSQL server of this test process, real and fresh."""
    needs("PostgreSQL", found("initdb"))
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
