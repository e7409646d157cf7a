"""What these tests share."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _fast(hardly_any_atoms):
    """Decode as fast as it goes: these tests are about what is around the decoder."""
