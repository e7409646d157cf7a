"""What all tests share."""

import pytest
from hypothesis import settings

from coterie.centers import explain, population

# Fixed examples, so that a check that passed passes again; no deadline, because machines are shared.
settings.register_profile("check", derandomize=True, deadline=None, database=None)
# Fresh examples every time, and more of them: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("check")


@pytest.fixture(autouse=True)
def fewer_atoms(request, monkeypatch):
    """Decode with fewer atoms and repeats, for time; what needs the real numbers is marked full_size."""
    if request.node.get_closest_marker("full_size") is None:
        monkeypatch.setattr(population, "ATOMS", 1000)
        monkeypatch.setattr(explain, "REPEATS", 3)
