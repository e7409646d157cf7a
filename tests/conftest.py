"""What all tests share."""

import pytest
from hypothesis import settings

from coterie.centers import population, repeats

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
        yield
