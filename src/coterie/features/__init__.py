"""Records: declared features, the ball that follows from them, the way from a record to a point and back."""

from coterie.features.category import Category
from coterie.features.cycle import Cycle
from coterie.features.embedding import Embedding
from coterie.features.feature import Feature
from coterie.features.flag import Flag
from coterie.features.number import Number
from coterie.features.ordinal import Ordinal
from coterie.features.reading import Estimate
from coterie.features.schema import Schema

__all__ = ["Category", "Cycle", "Embedding", "Estimate", "Feature", "Flag", "Number", "Ordinal", "Schema"]
