"""The `lsh-tree` encoder: a point in, an id and two private bits out (with the paper's choices).

    quantize -> SimHash code -> for each level answered for: sign of the code under the id's mask
    -> histogram: the sign through randomized response (ExplicitHist)
    -> vector: sign·(lifted point) through Duchi, Jordan and Wainwright's law in one bit, or through codewords
       (ExplicitHistVector)

Why that is ε-private, in three lines. Given the public id, a point fixes which answers are the likely ones: a
bit, or exactly m of 256 indices. Each answer has odds A or B, is drawn independently, and its total odds are
the same for every point: so any report's probabilities under two points differ by at most the product of all
A/B ≤ e^ε, which the plan checks in integers. ∎ Which level a person serves is public randomness.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coins import Coins
from coterie.geometry.ball import as_points
from coterie.geometry.lift import lift
from coterie.geometry.rotation import Rotation
from coterie.geometry.rounding import rounded
from coterie.plain.pieces import pieces
from coterie.plan import Plan
from coterie.protocols.codeword.encode import Scored
from coterie.protocols.encoder import Encoder, Ids, Reports, checked_people
from coterie.protocols.paper.answers import pack_reports
from coterie.protocols.paper.lsh_tree.parameters import LshTreeParameters
from coterie.protocols.paper.lsh_tree.report import LshChoices, LshTreeStream
from coterie.protocols.paper.lsh_tree.simhash import SimHash
from coterie.randomizers.codeword import CODEWORDS
from coterie.randomizers.sphere import lifted
from coterie.wire.kernels import kernels_of

_NORMALS_AT_A_TIME: Final = 1 << 19  # coordinates of directions held at a time: 4 MB in float64
_CODEWORDS_AT_A_TIME: Final = 256  # people whose codewords are held at a time


class LshTreeEncoder(Encoder):
    """Encodes points under one plan. Holds no secret and no state; threads may share it.

    Parameters
    ----------
    plan : Plan
        A plan of the `lsh-tree` protocol.

    Examples
    --------
    >>> from coterie.coins import SimulationCoins
    >>> plan = Plan.design(dimension=3, clusters=2, epsilon=2.0, expected_users=10**5, protocol="lsh-tree")
    >>> ids = np.zeros((2, 12), dtype=np.uint8)  # a real client's ids are random
    >>> LshTreeEncoder(plan).encode([[0.1, 0.2, 0.3], [0.0, 0.0, -1.0]], ids, SimulationCoins(0)).shape
    (2, 13)
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        parameters = LshTreeParameters.of(plan)
        self._parameters = parameters
        self._stream = LshTreeStream(plan)
        self._hashes = SimHash.from_key(plan.randomness_key("hyperplanes"), plan.dimension, parameters.levels)
        self._by_codeword = parameters.randomizer == "privunit"
        if self._by_codeword:
            rotation = Rotation.from_key(plan.randomness_key("embedding"), parameters.embedding)
            self._embed = rotation.for_width(self._stream.lifted)

    def encode_counting(self, points: ArrayLike, ids: Ids | None, coins: Coins) -> tuple[Reports, int]:
        """Return what `encode` does, and how many points were clipped. The count is not private."""
        points, ids = checked_people(points, ids, self._plan.dimension, coins)
        parameters, people = self._parameters, len(points)
        # All coins first: what they decide does not depend on how the work is cut.
        flips, ranks = self._draw(people, coins)
        positive, indices = np.empty(flips.shape, dtype=np.bool_), np.empty(ranks.shape, dtype=np.uint8)
        step = max(1, _NORMALS_AT_A_TIME // self._stream.lifted)
        choose: Any = None
        if self._by_codeword:
            step, heavy = _CODEWORDS_AT_A_TIME, kernels_of("coterie.protocols.codeword.encode", None, people)
            choose = heavy.Chooser(min(step, people), CODEWORDS, parameters.embedding)
        clipped = 0
        for piece in pieces(people, step):
            quantized, outside = self.quantize(points[piece])
            clipped += outside
            codes, body = self._hashes.codes(quantized), self._lift(quantized)
            scored = rounded(self._embed(body)) if self._by_codeword else body
            for answer in range(parameters.answers):
                choices = self._stream.choices(ids[piece], answer)
                signs = self._signs(codes, choices)
                if not parameters.joint:
                    positive[piece, answer] = signs * choices.count_signs > 0
                signs *= choices.vector_signs
                if self._by_codeword:
                    words = self._stream.codewords(ids[piece], answer)
                    indices[piece, answer] = choose(words, scored * signs[:, None], ranks[piece, answer])
                else:  # the last bits
                    towards = self._towards(body, ids[piece], answer)
                    positive[piece, answer - parameters.answers] = towards * signs > 0
        return pack_reports(ids, positive ^ flips, indices), clipped

    def scored(self, points: ArrayLike, ids: Ids, answer: int) -> Scored:
        """Return an answer's codewords, eight bits a byte, and the integers that they are scored against.

        (n, d), (n, 12) -> (n, 256, P/8), (n, P). For privunit. A public function of point and id, before any
        coin: **not private**. For audits.
        """
        points = as_points(points, self._plan.dimension)
        quantized, _ = self.quantize(points)
        choices = self._stream.choices(ids, answer)
        signs = self._signs(self._hashes.codes(quantized), choices) * choices.vector_signs
        scored = rounded(self._embed(self._lift(quantized)))
        return self._stream.codewords(ids, answer), scored * signs[:, None]

    def _draw(self, people: int, coins: Coins) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Draw all secret coins: flips of histogram bits, then of vector bits, and places of codewords."""
        parameters = self._parameters
        shape = people, parameters.answers
        laws = [] if parameters.joint else [parameters.count_response]
        laws += [] if self._by_codeword else [parameters.vector_response]
        flips = np.concatenate(
            [np.zeros((people, 0), np.bool_), *(law.flips(shape, coins) for law in laws)], 1
        )
        if not self._by_codeword:
            return flips, np.zeros((people, 0), np.int64)
        law = parameters.codeword_response
        return flips, law.ranks(coins.below_many(law.total, people * parameters.answers)).reshape(shape)

    def _lift(self, quantized: NDArray[np.float64]) -> NDArray[np.float64]:  # (n, d) -> (n, D)
        return lift(quantized, self._parameters.count_weight) if self._parameters.joint else lifted(quantized)

    def _signs(self, codes: NDArray[np.int64], choices: LshChoices) -> NDArray[np.int8]:
        """Return (-1)^popcount(code & mask) at each report's level: (n,) -> (n,)."""
        parity = np.bitwise_count((codes >> (self._parameters.levels - choices.levels)) & choices.masks) & 1
        return np.asarray(1 - 2 * parity.astype(np.int8))

    def _towards(self, body: NDArray[np.float64], ids: Ids, answer: int) -> NDArray[np.int8]:
        """Return on which side of each report's direction the vector lies: (n, D) -> (n,) of ±1."""
        directions = self._stream.directions(ids, answer).astype(np.float64)
        heights = np.einsum("ij,ij->i", directions, body)  # exact integers
        return np.where(heights >= 0, 1, -1).astype(np.int8)
