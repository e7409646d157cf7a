import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from coterie.wire import workers
from coterie.wire.workers import default_workers, in_shares, is_helper, on_all_cores, sharing_the_cores


@pytest.mark.parametrize("workers", [0, 1, 2, 5, 100])
@pytest.mark.parametrize("pieces", [0, 1, 2, 7])
def test_every_piece_is_dealt_once(workers, pieces):
    shares = in_shares(list, range(0, 10 * pieces, 10), workers)
    assert sorted(start for share in shares for start in share) == list(range(0, 10 * pieces, 10))
    assert 1 <= len(shares) <= max(workers, 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_blas_has_one_thread_inside(workers):
    np.ones((2, 2)) @ np.ones((2, 2))  # so that BLAS is loaded
    counts = in_shares(
        lambda _: [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"],
        range(2),
        workers,
    )
    assert {count for each in counts for count in each} == {1}


def test_an_error_in_a_share_reaches_the_caller():
    def fail(starts):
        raise ValueError("a bad share")

    with pytest.raises(ValueError, match="a bad share"):
        in_shares(fail, range(2), workers=2)


def test_a_slow_thread_holds_nobody_up():
    done = threading.Event()

    def work(starts):
        count = 0
        for start in starts:
            if start == 0:
                assert done.wait(timeout=10)  # until someone has taken the last piece
            count += 1
            if start == 99:
                done.set()
        return count

    assert sorted(in_shares(work, range(100), workers=2)) == [1, 99]


def test_shares_run_beside_each_other():
    both = threading.Barrier(2, timeout=10)  # breaks unless two threads meet there
    in_shares(lambda _: both.wait(), range(2), workers=2)


def test_at_least_one_worker():
    assert default_workers() >= 1


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(workers, "default_workers", lambda: 2)


@pytest.mark.usefixtures("two_cores")
def test_calls_on_all_cores_run_beside_each_other_and_come_back_in_order():
    both = threading.Barrier(2, timeout=10)

    def work(number):
        both.wait()
        return number, is_helper()

    with on_all_cores() as map_all:
        assert list(map_all(work, range(4))) == [(number, True) for number in range(4)]
    assert not is_helper()


@pytest.mark.usefixtures("two_cores")
def test_libraries_have_one_thread_on_all_cores():
    """OpenMP's limit belongs to a thread: what a caller has set does not reach the pool's."""
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads

    before = openmp_threads()
    with on_all_cores() as map_all:
        assert set(map_all(lambda _: openmp_threads(), range(8))) == {1}
        assert openmp_threads() == 1
        counts = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
        assert counts == {1}
    assert openmp_threads() == before


@pytest.mark.usefixtures("two_cores")
def test_a_share_and_a_helper_call_one_after_the_other():
    def nested(_):
        with on_all_cores() as map_all:
            return list(map_all(lambda _: threading.get_ident(), range(3)))

    with on_all_cores() as map_all:
        assert all(len(set(idents)) == 1 for idents in map_all(nested, range(2)))
    with sharing_the_cores(), on_all_cores() as map_all:
        assert set(map_all(lambda _: threading.get_ident(), range(3))) == {threading.get_ident()}


@pytest.mark.usefixtures("two_cores")
def test_an_error_on_all_cores_reaches_the_caller():
    with pytest.raises(ZeroDivisionError), on_all_cores() as map_all:
        list(map_all(lambda number: 1 / number, range(2)))
