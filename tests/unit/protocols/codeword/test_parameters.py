import dataclasses

import pytest

from coterie.errors import PlanError
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.privacy import BASE_ODDS, largest_odds
from coterie.protocols.codeword.parameters import CodewordParameters

ODDS = largest_odds(1.0)
SQUARE = ((0, 0), (2**20, 0), (0, -(2**20)), (5, 7))


@pytest.fixture
def parameters():
    return CodewordParameters(256, 89, ODDS, 128, 419430, (CrossPolytope(128),))


def test_what_follows_from_the_parameters(parameters):
    assert (parameters.rows, parameters.answer_bytes, parameters.report_width) == (256, 1, 13)
    assert parameters.randomizer.total == 89 * ODDS + 167 * BASE_ODDS
    assert parameters.spent_epsilon() <= 1.0


def test_many_codewords_need_two_bytes():
    parameters = CodewordParameters(1024, 300, ODDS, 128, 0, (CrossPolytope(4, weight=3), CrossPolytope(8)))
    assert (parameters.report_width, parameters.rows) == (14, 24)


def test_views_of_all_kinds_can_mix():
    views = (CrossPolytope(2), Net(SQUARE), Halfspaces(2, (-3, 9), 2))
    parameters = CodewordParameters(16, 5, ODDS, 128, 0, views)
    assert parameters.rows == 10
    assert CodewordParameters.from_dict(parameters.to_dict()) == parameters
    assert hash(CodewordParameters.from_dict(parameters.to_dict())) == hash(parameters)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codewords": 1}, r"codewords must be in \[2, 4096\]"),
        ({"codewords": 256.0}, "codewords must be an integer"),
        ({"codewords": True}, "codewords must be an integer"),
        ({"cap": 0}, r"cap must be in \[1, 255\]"),
        ({"cap": 256}, r"cap must be in \[1, 255\]"),
        ({"odds": BASE_ODDS}, "odds must be in"),
        ({"odds": 2**52}, r"below 2\^53"),
        ({"odds": "1"}, "odds must be an integer, got '1'"),
        ({"embedding": 64}, "embedding must be in"),
        ({"embedding": 8192}, "embedding must be in"),
        ({"embedding": 129}, "embedding must be a power of two"),
        ({"count_weight": -1}, "count_weight must be in"),
        ({"count_weight": 2**20 + 1}, "count_weight must be in"),
        ({"views": ()}, "at least one view"),
        ({"views": 3}, "views must be a list"),
        ({"views": ("net",)}, r"views\[0\].cells must be one of cross-polytope, net, halfspaces"),
        ({"views": (CrossPolytope(4),) * 3}, "sum of the views' weights must be a power of two"),
        ({"views": (CrossPolytope(4, 256), CrossPolytope(4, 256))}, r"weights must be in \[1, 256\]"),
        ({"views": (CrossPolytope(2**15),) * 2}, r"at most 65536 rows in all, got 131072"),
        ({"views": (CrossPolytope(2**14, 3), Halfspaces(2**15, (0,) * 2**15), CrossPolytope(1, 4))}, "65538"),
        ({"views": (Net(((0,) * 300,) * 1024),)}, "at most 262144 coordinates in all, got 307200"),
    ],
)
def test_refuses(parameters, changes, message):
    with pytest.raises(PlanError, match=message):
        dataclasses.replace(parameters, **changes)


def test_the_plan_around_the_parameters_is_checked(parameters):
    parameters.check_fit(126)
    parameters.check_odds(1.0)
    with pytest.raises(PlanError, match=r"embedding must be at least dimension \+ 2 = 129"):
        parameters.check_fit(127)
    with pytest.raises(PlanError, match=r"odds 45605201 spend more than epsilon 0\.999999"):
        parameters.check_odds(0.999999)
    flat = dataclasses.replace(parameters, views=(Net(SQUARE),))
    with pytest.raises(PlanError, match=r"views\[0\]: net points must have dimension 3"):
        flat.check_fit(3)
    far = dataclasses.replace(
        parameters, embedding=256, views=(CrossPolytope(4), Halfspaces(1, (2**27 + 1,)))
    )
    far.check_fit(129)  # S = 256
    with pytest.raises(PlanError, match=r"views\[1\]: offset 0 must be in \[-134217728, 134217728\]"):
        far.check_fit(128)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("cap"), "parameters lacks the field 'cap'"),
        (lambda data: data.update(extra=1), "parameters has the unknown field 'extra'"),
        (lambda data: data.update(views=None), "views must be a list"),
        (
            lambda data: data.update(views=[None]),
            r"views\[0\].cells must be one of cross-polytope, net, halfspaces",
        ),
        (lambda data: data.update(views=[{"cells": ["net"]}]), r"views\[0\].cells must be one of"),
        (
            lambda data: data.update(views=[{"cells": "halfspaces", "rows": 1, "offsets": [0]}]),
            r"views\[0\] lacks the field 'weight'",
        ),
        (lambda data: data.update(views=[{"cells": "net"}]), r"views\[0\] lacks the field 'points'"),
        (
            lambda data: data["views"][0].update(points=[]),
            r"views\[0\] has the unknown field 'points'",
        ),
    ],
)
def test_refuses_json(parameters, change, message):
    data = parameters.to_dict()
    change(data)
    with pytest.raises(PlanError, match=message):
        CodewordParameters.from_dict(data)
    with pytest.raises(PlanError, match="parameters must be a JSON object"):
        CodewordParameters.from_dict([1])
