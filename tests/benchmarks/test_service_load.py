"""The load on a real server, in small: it runs, and every acknowledged report is counted."""

import pytest

from benchmarks.service_load import measure


@pytest.mark.parametrize("store", [None, "embedded"])
def test_a_server_is_loaded_and_measured(store):
    found = measure("small", store, 10, 2, 0.5)
    assert found["reports"] == 10 * found["requests"] > 0
    assert found["rate"] > 0
