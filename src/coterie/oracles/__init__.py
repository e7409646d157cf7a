"""Frequencies and vector sums of buckets, read off private reports, with their noise levels."""

from coterie.oracles.base import FrequencyOracle, VectorSumOracle
from coterie.oracles.explicit_hist import ExplicitHist
from coterie.oracles.explicit_hist_vector import ExplicitHistVector

__all__ = ["ExplicitHist", "ExplicitHistVector", "FrequencyOracle", "VectorSumOracle"]
