import numpy as np
import pytest

from coterie.coins import SimulationCoins
from coterie.encode import Client
from coterie.errors import PointError, ReportError
from coterie.geometry.ball import quantize
from coterie.plan import Plan
from coterie.protocols.paper.answers import unpack_bits
from coterie.protocols.paper.net_tree.encode import NetTreeEncoder
from coterie.protocols.paper.net_tree.report import NetTreeStream
from coterie.protocols.paper.nets.projection import Projection
from coterie.protocols.paper.tree.decode import nets_of


@pytest.fixture(scope="module")
def plan():
    return Plan.design(8, 3, 2.0, 10**5, protocol="net-tree", levels=3, projected=3)


def points_and_ids(count, dimension=8):
    generator = np.random.default_rng(0)
    points = generator.normal(0, 0.25, (count, dimension))
    return points, generator.integers(0, 256, (count, 12), dtype=np.uint8)


def test_true_answers_are_the_papers_encoder_step_by_step(plan):
    # kMeansEncoder written out for one person at a time.
    points, ids = points_and_ids(40)
    parameters, nets, stream = plan.parameters, nets_of(plan), NetTreeStream(plan)
    projection = Projection.from_key(plan.randomness_key("subspace"), 8, 3, parameters.scale)
    quantized, _ = quantize(points, None, 1.0)
    answers = NetTreeEncoder(plan).true_answers(quantized, ids)
    for person in range(40):
        unit = quantized[person] / 2**20
        projected = unit @ projection.basis
        place = (
            parameters.scale * projected if np.linalg.norm(projected) <= 1 / parameters.scale else np.zeros(3)
        )
        name = nets.closest(place[None], 3)  # y^T
        names = {3: name}
        for level in (2, 1):  # y^j: the closest point to y^(j+1)
            names[level] = nets.closest(nets.points(level + 1, names[level + 1]), level)
        choices = stream.choices(ids[[person]])
        parity = bin(int(choices.root_masks[0]) & int(nets.root_words(names[1])[0])).count("1")
        for level in (1, 2, 3):
            digit = int(nets.digits(names[level])[0])
            parity += bin(int(choices.digit_masks[0, level - 1]) & digit).count("1")
            sign = (-1) ** parity
            assert answers[person, level - 1] == (sign * choices.count_signs[0, level - 1] > 0)
            lift = np.append(
                quantized[person], np.floor(np.sqrt(2.0**40 - quantized[person] @ quantized[person]))
            )
            height = stream.directions(ids[[person]], level)[0].astype(float) @ lift
            towards = 1 if height >= 0 else -1
            assert answers[person, 3 + level - 1] == (sign * choices.vector_signs[0, level - 1] * towards > 0)


def test_answers_are_flipped_as_often_as_the_odds_say(plan):
    points, ids = points_and_ids(20_000)
    encoder = NetTreeEncoder(plan)
    quantized, _ = quantize(points, None, 1.0)
    sent = unpack_bits(encoder.encode(points, ids, SimulationCoins(2)), 6) > 0
    lies = (sent != encoder.true_answers(quantized, ids)).mean(axis=0)
    expected = 1 - plan.parameters.count_odds / plan.parameters.count_response.total
    assert np.abs(lies - expected).max() < 5.5 * np.sqrt(expected * (1 - expected) / 20_000)


def test_points_beyond_the_projections_ball_are_counted():
    plan = Plan.design(8, 3, 2.0, 10**5, protocol="net-tree", levels=2, projected=3, shrink=0.5)
    points, _ = points_and_ids(200)
    assert plan.parameters.projection(plan.randomness_key, 8).apply(points)[1] > 0


def test_the_client_encodes(plan):
    client = Client(plan)
    assert len(client.encode(np.zeros(8))) == plan.report_width == 13
    assert len(client.encode_many(np.ones((4, 8)))) == 4 * 13
    assert client.clipped == 4


def test_refusals(plan):
    encoder = NetTreeEncoder(plan)
    with pytest.raises(ReportError, match="ids must be uint8"):
        encoder.encode(np.zeros((2, 8)), np.zeros((1, 12), dtype=np.uint8), SimulationCoins(0))
    with pytest.raises(PointError, match="shape"):
        encoder.encode(np.zeros((2, 7)), np.zeros((2, 12), dtype=np.uint8), SimulationCoins(0))
