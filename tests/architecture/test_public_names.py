"""The public interface is exactly these names; to add or lose one is a decision, and changes this file."""

import importlib.metadata

import pytest

import coterie

PUBLIC = [
    "Aggregate",
    "Client",
    "ClippedPointsWarning",
    "CoterieError",
    "DataDependentBallWarning",
    "DataDependentScaleWarning",
    "LocalKMeans",
    "Plan",
    "Policy",
    "Population",
    "RemoteCollector",
    "Result",
    "SeededFitWarning",
    "ShuffleKMeans",
    "UnreadColumnsWarning",
    "UnsupportedCentersWarning",
    "__version__",
    "decode",
    "errors",
    "simulate",
    "write_reports",
]


def test_exactly_the_public_names_are_exported():
    assert coterie.__all__ == PUBLIC
    assert set(PUBLIC) <= set(dir(coterie))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name):
    assert getattr(coterie, name) is not None
    assert getattr(coterie, name) is getattr(coterie, name)


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        _ = coterie.KMeans


def test_the_version_is_the_installed_one():
    assert coterie.__version__ == importlib.metadata.version("coterie")
