"""Coins that were drawn before: what an encoder makes of every draw can then be looked at."""

import numpy as np


class FixedCoins:
    """Gives these draws, once and all together; each must be one that real coins could have given."""

    def __init__(self, draws):
        self.draws = np.asarray(draws, dtype=np.int64)

    def bytes(self, count):
        raise NotImplementedError

    def below(self, bound):
        raise NotImplementedError

    def below_many(self, bound, size):
        assert size == len(self.draws)
        assert ((self.draws >= 0) & (self.draws < bound)).all()
        return self.draws
