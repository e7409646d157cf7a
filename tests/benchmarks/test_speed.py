"""The part of the benchmark of speed that runs processes of its own, from wherever it is started."""

import itertools

import pytest

from benchmarks.speed import measure_memory


@pytest.mark.whole
def test_memory_is_measured_in_a_process_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (found,) = itertools.islice(measure_memory(reports=1000, people=1000), 1)  # decoding takes a minute
    assert found.name == "memory for 1,000 reports"
    assert 50 < found.value < 1000
