import importlib.util

import pytest

import coterie.wire.kernels as kernels_module
from coterie.errors import MissingExtraError
from coterie.wire.kernels import VARIABLE, kernels_of

STEP = "coterie.protocols.codeword.encode"
HAS_NUMBA = importlib.util.find_spec("numba") is not None


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def name(kernels, reports):
    return kernels_of(STEP, kernels, reports).__name__.removeprefix(f"{STEP}_")


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is an extra")
def test_numba_where_it_is_installed_and_pays():
    assert name(None, 10**6) == name("auto", 10**6) == name("numba", 1) == "numba"
    assert name(None, 1) == name("numpy", 10**6) == "numpy"


def test_without_numba_auto_is_numpy_and_asking_for_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(kernels_module, "find_spec", lambda _: None)
    assert name(None, 10**6) == "numpy"
    with pytest.raises(MissingExtraError, match=r"coterie\[fast\]"):
        kernels_of(STEP, "numba", 10**6)


def test_the_environment_decides_where_the_caller_does_not(monkeypatch):
    monkeypatch.setenv(VARIABLE, "numpy")
    assert name(None, 10**6) == "numpy"
    monkeypatch.setenv(VARIABLE, "cuda")
    assert name("numpy", 10**6) == "numpy"
    with pytest.raises(ValueError, match=r"COTERIE_KERNELS\) must be numpy, numba or auto, got 'cuda'"):
        kernels_of(STEP, None, 1)
