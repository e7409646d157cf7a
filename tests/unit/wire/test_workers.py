import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from coterie.wire.workers import default_workers, in_threads


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
def test_results_keep_their_order(workers):
    assert in_threads(lambda piece: piece * piece, range(20), workers) == [
        piece * piece for piece in range(20)
    ]
    assert in_threads(abs, [], workers) == []


def test_blas_has_one_thread_inside():
    np.ones((2, 2)) @ np.ones((2, 2))  # so that BLAS is loaded
    counts = in_threads(
        lambda _: [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"],
        [0, 1],
        workers=2,
    )
    assert {count for each in counts for count in each} == {1}


def test_an_error_in_a_piece_reaches_the_caller():
    def fail(piece):
        raise ValueError(f"piece {piece}")

    with pytest.raises(ValueError, match="piece 0"):
        in_threads(fail, [0, 1], workers=2)


def test_pieces_run_beside_each_other():
    both = threading.Barrier(2, timeout=10)  # breaks unless two threads meet there
    in_threads(lambda _: both.wait(), [0, 1], workers=2)


def test_at_least_one_worker():
    assert default_workers() >= 1
