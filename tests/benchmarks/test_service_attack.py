"""Everything at once against a real server, in small: healthy clients are served, and memory is bounded."""

import pytest

from benchmarks.service_attack import ATTACKS, MOST_MIB, RATE, measure


@pytest.mark.slow
@pytest.mark.whole
def test_attackers_take_neither_the_healthy_clients_rate_nor_the_memory():
    found = measure(list(ATTACKS), 6.0)
    assert found["rate"] > RATE / 2  # the benchmark has the bar; other tests run beside this one
    assert found["mib"] < MOST_MIB
    assert found["log_lines"] < 10
