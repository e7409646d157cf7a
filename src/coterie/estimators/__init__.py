"""scikit-learn estimators that play a whole protocol in one process, one file a model of trust."""

from coterie.estimators.local import DataDependentBallWarning, LocalKMeans
from coterie.estimators.shuffle import ShuffleKMeans

__all__ = ["DataDependentBallWarning", "LocalKMeans", "ShuffleKMeans"]
