"""Which of two implementations does the heavy counting: numpy, or numba where it is installed.

Encoding and aggregation each have one small file of kernels in numpy and one in numba with the same
functions and the same integers out, so the choice is about time alone. numba comes with `coterie[fast]`; it
is faster by two to six times once it has compiled its kernels, which takes a second or two in every new
process. Compiled code is not kept on disk: numba's cache is a folder of pickles, which whoever can write
there turns into code.

The environment variable COTERIE_KERNELS (numpy, numba or auto) decides where a caller does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final, Literal, TypeVar, cast

from coterie.errors import MissingExtraError, SettingError, bringing

Kernels = Literal["numpy", "numba", "auto"]
KERNELS: Final[tuple[Kernels, ...]] = ("numpy", "numba")
VARIABLE: Final = "COTERIE_KERNELS"

_COMPILING_PAYS: Final = 1000  # reports at a time below which `auto` stays with numpy
_Function = TypeVar("_Function", bound=Callable[..., object])


def kernels_of(step: str, kernels: Kernels | None, reports: int) -> ModuleType:
    """Return a step's module of kernels for a batch of so many reports.

    Parameters
    ----------
    step : str
        What the modules are called before `_numpy` and `_numba`.
    kernels : {"numpy", "numba", "auto"} or None
        None asks the environment variable COTERIE_KERNELS, and that failing is "auto": numba where it is
        installed and the batch is no handful.
    reports : int
        Size of the batch.

    Examples
    --------
    >>> kernels_of("coterie.protocols.codeword.encode", "numpy", 10**6).__name__
    'coterie.protocols.codeword.encode_numpy'
    """
    chosen = kernels or os.environ.get(VARIABLE, "auto")
    if chosen not in ("numpy", "numba", "auto"):
        raise SettingError(f"kernels (or {VARIABLE}) must be numpy, numba or auto, got {chosen[:20]!r}")
    if chosen == "auto":
        chosen = "numba" if reports >= _COMPILING_PAYS and find_spec("numba") else "numpy"
    elif chosen == "numba" and not find_spec("numba"):
        raise MissingExtraError("numba", "fast")
    with bringing("analyst"):
        return import_module(f"{step}_{chosen}")


def compiled(function: _Function) -> _Function:
    """Compile a kernel with numba, to run without the interpreter's lock; for modules of numba kernels."""
    import numba

    return cast("_Function", numba.njit(nogil=True)(function))


def compiled_in_any_order(function: _Function) -> _Function:
    """Compile as `compiled` does, and let sums be taken in any order: for doubles that are integers."""
    import numba

    return cast("_Function", numba.njit(nogil=True, fastmath={"reassoc"})(function))
