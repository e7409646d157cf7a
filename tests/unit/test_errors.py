import inspect
import pickle
from pathlib import Path

import pytest

from coterie import errors

TREE = {cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, Exception)}


def test_every_error_hangs_on_the_root_and_is_drawn():
    for error in TREE:
        assert issubclass(error, errors.CoterieError)
        assert error.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.PlanError, ValueError),
        (errors.PointError, ValueError),
        (errors.ReportError, ValueError),
        (errors.FileError, ValueError),
        (errors.AggregateError, ValueError),
        (errors.DecodeError, ValueError),
        (errors.SettingError, ValueError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_errors_are_also_what_python_calls_them(error, builtin):
    assert issubclass(error, builtin)


def test_a_ledger_error_is_not_an_operating_system_error():
    # Callers retry on OSError; a retry must never make a second report.
    assert not issubclass(errors.LedgerError, OSError)


def test_file_error_names_file_offset_and_expectation():
    error = errors.FileError(Path("reports.coterie"), 16, "version 1", "version 9")
    assert (error.path, error.offset, error.expected, error.found) == (
        "reports.coterie",
        16,
        "version 1",
        "version 9",
    )
    assert str(error) == "reports.coterie, byte 16: expected version 1, found version 9"
    assert str(errors.FileError("x", 0, "a plan")) == "x, byte 0: expected a plan"


@pytest.mark.parametrize(
    "error",
    [
        errors.FileError("a", 3, "more bytes"),
        errors.MissingExtraError("pyarrow", "parquet"),
        errors.PlanError("no"),
    ],
)
def test_errors_survive_the_trip_from_a_worker_process(error):
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes, as multiprocessing sends them
    assert type(copy) is type(error)
    assert str(copy) == str(error)


def test_missing_extra_says_what_to_install():
    with pytest.raises(ImportError, match=r'pip install "coterie\[parquet\]"'):
        raise errors.MissingExtraError("pyarrow", "parquet")
