"""Numbers of an lsh-tree plan are taken up to their ends and no further."""

from dataclasses import replace

import pytest

from coterie import Plan
from coterie.errors import PlanError
from coterie.privacy.odds import BASE_ODDS
from coterie.randomizers.codeword import CodewordRandomizer

LSH = Plan.design(20, 5, 2.0, 1000, protocol="lsh-tree", randomizer="privunit")
BITS = Plan.design(20, 5, 2.0, 1000, protocol="lsh-tree")
ENDS = [  # parameters, field, the least, the most
    (LSH, "cap", 1, 255),
    (LSH, "levels", 1, 14),
    (LSH, "vector_odds", BASE_ODDS + 1, None),
    (BITS, "levels", 1, 14),
    (BITS, "count_odds", BASE_ODDS + 1, 1 << 48),
    (BITS, "vector_odds", BASE_ODDS + 1, 1 << 48),
    (BITS, "cap", 0, 0),
    (BITS, "embedding", 0, 0),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: f"{end[0].parameters.randomizer}-{end[1]}")
def test_a_number_is_taken_up_to_its_ends_and_no_further(end):
    plan, name, least, most = end
    for value in {least, most} - {None}:
        assert getattr(replace(plan.parameters, **{name: value}), name) == value
    for value in {least - 1, None if most is None else most + 1} - {None}:
        with pytest.raises(PlanError, match=name):
            replace(plan.parameters, **{name: value})


@pytest.mark.parametrize("embedding", [128, 4096])
def test_embeddings_are_powers_of_two_within_their_ends(embedding):
    assert replace(LSH.parameters, embedding=embedding).embedding == embedding
    for wrong in (64, 129, 8192):
        with pytest.raises(PlanError, match="embedding"):
            replace(LSH.parameters, embedding=wrong)


def test_laws_are_those_of_the_odds():
    parameters = LSH.parameters
    assert parameters.codeword_response == CodewordRandomizer(256, parameters.cap, parameters.vector_odds)
    assert BITS.parameters.count_response.odds == BITS.parameters.count_odds
    assert BITS.parameters.vector_response.odds == BITS.parameters.vector_odds
