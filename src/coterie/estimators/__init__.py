"""scikit-learn estimators that play a whole protocol in one process, one file a model of trust."""

from coterie.estimators.caveats import (
    ClippedPointsWarning,
    DataDependentBallWarning,
    DataDependentScaleWarning,
    SeededFitWarning,
    UnreadColumnsWarning,
    UnsupportedCentersWarning,
)
from coterie.estimators.local import LocalKMeans
from coterie.estimators.shuffle import ShuffleKMeans

__all__ = [
    "ClippedPointsWarning",
    "DataDependentBallWarning",
    "DataDependentScaleWarning",
    "LocalKMeans",
    "SeededFitWarning",
    "ShuffleKMeans",
    "UnreadColumnsWarning",
    "UnsupportedCentersWarning",
]
