"""One tree of errors; everything this package raises on purpose hangs on it.

::

    CoterieError
    ├── PlanError          (ValueError)    a plan, or a number meant for one, is not usable
    ├── PointError         (ValueError)    points to encode have the wrong shape, type or contents
    ├── ReportError        (ValueError)    report bytes do not fit the plan
    ├── FileError          (ValueError)    a file is truncated, foreign, of another version or corrupt
    ├── AggregateError     (ValueError)    tables cannot be merged or hold what they must not
    ├── DecodeError        (ValueError)    a table cannot be turned into centers
    ├── SettingError       (ValueError)    a setting of a call or of the environment does not exist
    ├── PolicyError        (ValueError)    a plan asks for more than the owner of the device allows
    ├── LedgerError                        the device's memory of its answer is unusable
    ├── StoreError                         a store cannot do what was asked of it, or is not whole
    │   ├── UnknownPlanError  (KeyError)   it holds no plan of this id
    │   ├── StudyClosedError               nothing more is taken in or withdrawn
    │   ├── StudyIncompleteError           acknowledged reports of a study are lost
    │   ├── StoreFullError                 its disk is full
    │   └── StoreUnavailableError          it cannot be reached, or its disk failed
    ├── CollectorError                     a collector refused, or could not be reached
    ├── RequestError                       a request to a service; `service.problems.Problem` is its answer
    ├── ManifestError                      a manifest is not whole, not signed, or does not fit
    ├── SheetError         (ValueError)    a study's sheet is not whole, not signed, or does not fit its plan
    ├── BrokenLawError                     an encoder does not draw or write what its plan says
    └── MissingExtraError  (ImportError)   an optional dependency is not installed

A message says what was wrong, where, what was expected and what to do. It never contains a person's value
or anything computed from one: messages end up in logs, and logs are not private.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


class CoterieError(Exception):
    """Root of all errors raised on purpose by this package."""


class PlanError(CoterieError, ValueError):
    """A plan, or a number meant for one, is not usable."""


class PointError(CoterieError, ValueError):
    """Points to encode have the wrong shape, type or contents. Never quotes a coordinate."""


class ReportError(CoterieError, ValueError):
    """Report bytes do not fit the plan."""


class FileError(CoterieError, ValueError):
    """A file could not be read as what it should be; nothing of it was counted.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    offset : int
        Byte position, from the start of the file, at which reading went wrong.
    expected : str
        What should have been there.
    found : str, optional
        What was there instead, where that helps and is public.

    Examples
    --------
    >>> raise FileError("reports.coterie", 0, "the magic bytes of a report file")
    Traceback (most recent call last):
    ...
    coterie.errors.FileError: reports.coterie, byte 0: expected the magic bytes of a report file
    """

    def __init__(
        self, path: str | os.PathLike[str], offset: int, expected: str, found: str | None = None
    ) -> None:
        self.path = os.fspath(path)
        self.offset = offset
        self.expected = expected
        self.found = found
        # All four go to Exception.args, so that the error survives a trip between processes.
        super().__init__(self.path, offset, expected, found)

    def __str__(self) -> str:
        found = "" if self.found is None else f", found {self.found}"
        return f"{self.path}, byte {self.offset}: expected {self.expected}{found}"


class AggregateError(CoterieError, ValueError):
    """Tables cannot be merged, or hold what they must not."""


class DecodeError(CoterieError, ValueError):
    """A table cannot be turned into centers."""


class SettingError(CoterieError, ValueError):
    """A setting of a call or of the environment does not exist."""


class PolicyError(CoterieError, ValueError):
    """A plan asks for more than the owner of the device allows; nothing was drawn."""


class LedgerError(CoterieError):
    """The device's memory of its answer is unusable; no second report was made."""


class StoreError(CoterieError):
    """A store cannot do what was asked of it, or is not whole."""


class UnknownPlanError(StoreError, KeyError):
    """The store holds no plan of this id."""

    __str__ = Exception.__str__


class StudyClosedError(StoreError):
    """The study is closed: nothing more is taken in or withdrawn."""


class StudyIncompleteError(StoreError):
    """Reports of the study that were acknowledged are lost; what is left counts once somebody says so."""


class StoreFullError(StoreError):
    """The disk is full. Nothing that was accepted before is lost, nothing of this request was taken in."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached, or its disk failed. What was acknowledged is kept; ask again later."""


class CollectorError(CoterieError):
    """A collector refused, or could not be reached.

    Attributes
    ----------
    status : int or None
        The HTTP status; None where there was no answer.
    kind : str
        What is wrong, as `unknown-plan`: the last part of the problem's type. Empty where none was given.
    """

    def __init__(self, words: str, status: int | None = None, kind: str = "") -> None:
        super().__init__(words)
        self.status = status
        self.kind = kind


class RequestError(CoterieError):
    """A request to a service is not one that can be answered as it was asked."""


class ManifestError(CoterieError):
    """A manifest is not whole, not signed, or does not fit its table or its result."""


class SheetError(CoterieError, ValueError):
    """A study's sheet is not whole, not signed, or does not fit its plan."""


class BrokenLawError(CoterieError):
    """An encoder does not draw, or does not write, what its plan says."""


class MissingExtraError(CoterieError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The package that is missing.
    extra : str
        The extra of coterie that brings it.

    Examples
    --------
    >>> raise MissingExtraError("pyarrow", "parquet")
    Traceback (most recent call last):
    ...
    coterie.errors.MissingExtraError: pyarrow is not installed: pip install "coterie[parquet]" brings it
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(package, extra)

    def __str__(self) -> str:
        return f'{self.package} is not installed: pip install "coterie[{self.extra}]" brings it'


# What imports find missing, by the extra that brings it. The device's part does without all of it.
_BROUGHT = {
    "analyst": ("jinja2", "rich", "scipy", "sklearn", "threadpoolctl", "typer"),
    "frames": ("narwhals",),
    "parquet": ("pyarrow",),
    "plot": ("matplotlib",),
    "qr": ("segno",),
    "service": (
        *("httptools", "prometheus_client", "psycopg", "psycopg_pool", "starlette", "uvicorn", "uvloop"),
    ),
    "spark": ("pyspark",),
    "torch": ("torch",),
}
_CALLED = {"sklearn": "scikit-learn", "psycopg_pool": "psycopg", "prometheus_client": "prometheus-client"}


@contextlib.contextmanager
def bringing(extra: str) -> Iterator[None]:
    """Name what to install where an import in the block finds a package of an extra missing.

    Examples
    --------
    >>> with bringing("analyst"):
    ...     raise ModuleNotFoundError("No module named 'scipy'", name="scipy.special")
    Traceback (most recent call last):
    ...
    coterie.errors.MissingExtraError: scipy is not installed: pip install "coterie[analyst]" brings it
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _BROUGHT[extra]:
            raise
        raise MissingExtraError(_CALLED.get(package, package), extra) from None
