"""From a table to k centers: denoising, weighted k-means, one decoder a protocol.

All of it is post-processing of private reports and costs no privacy.
"""

from coterie.centers.decode import decode
from coterie.centers.result import Population, Result

__all__ = ["Population", "Result", "decode"]
