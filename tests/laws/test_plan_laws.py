"""Laws of plans: one JSON and one id each, whatever the values; a changed text is another plan or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import PlanError
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.plan.views import CrossPolytope, Halfspaces, Net
from coterie.privacy import BASE_ODDS, largest_odds
from coterie.protocols.codeword.parameters import CodewordParameters

positive = st.floats(min_value=1e-300, max_value=1e300)
coordinates = st.integers(min_value=-(2**20), max_value=2**20)


@st.composite
def views(draw, dimension):
    cells = draw(st.sampled_from([2, 4, 8]))
    net = st.lists(st.tuples(*[coordinates] * dimension), min_size=cells, max_size=cells).map(tuple)
    rotation = st.just(CrossPolytope(cells // 2))
    offsets = st.lists(st.integers(-(2**27), 2**27), min_size=cells, max_size=cells)
    halfspaces = offsets.map(lambda listed: Halfspaces(cells, tuple(listed)))
    kinds = st.one_of(net.map(Net), rotation, halfspaces)
    count = draw(st.sampled_from([1, 2]))
    return tuple(draw(kinds) for _ in range(count))


@st.composite
def collections(draw, users):
    precision = draw(st.sampled_from([1, 60, 3600, 86_400]))
    opens, closes = sorted(draw(st.lists(st.integers(0, 10**6), min_size=2, max_size=2, unique=True)))
    return Collection(
        opens=draw(st.sampled_from([None, opens * precision])),
        closes=draw(st.sampled_from([None, closes * precision])),
        time_precision=precision,
        minimum=draw(st.integers(1, users)),
        retention=draw(st.none() | st.integers(0, 2**32)),
    )


@st.composite
def plans(draw):
    dimension = draw(st.integers(1, 4))
    epsilon = draw(st.floats(min_value=1e-6, max_value=8.0))
    codewords = draw(st.integers(2, 1024))
    users = draw(st.integers(1, 2**40))
    return Plan(
        protocol="codeword",
        model="local",
        dimension=dimension,
        clusters=draw(st.integers(1, min(users, 4096))),
        epsilon=epsilon,
        delta=0.0,
        expected_users=users,
        center=draw(st.none() | st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * dimension)),
        radius=draw(positive),
        seed=draw(st.integers(0, 2**53 - 1)),
        collection=draw(st.none() | collections(users)),
        parameters=CodewordParameters(
            codewords=codewords,
            cap=draw(st.integers(1, codewords - 1)),
            odds=draw(st.integers(BASE_ODDS + 1, largest_odds(epsilon))),
            embedding=draw(st.sampled_from([128, 256, 4096])),
            count_weight=draw(st.integers(0, 2**20)),
            views=draw(views(dimension)),
        ),
    )


@pytest.mark.slow
@given(plans())
def test_json_round_trip(plan):
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert again.to_json() == plan.to_json()
    assert again.id == plan.id
    assert hash(again) == hash(plan)


@pytest.mark.slow
@given(plans(), plans())
def test_one_plan_one_id(first, second):
    assert (first == second) == (first.id == second.id) == (first.to_json() == second.to_json())


@pytest.mark.slow
@given(plans(), st.data())
def test_a_changed_byte_is_another_plan_or_none(plan, data):
    """A byte may also respell the same double; then it is the same plan under the same id."""
    text = bytearray(plan.to_json().encode())
    place = data.draw(st.integers(0, len(text) - 1))
    text[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[place]))
    try:
        other = Plan.from_json(bytes(text))
    except PlanError:
        return
    assert (other.id == plan.id) == (other == plan)
    if other == plan:
        assert other.to_json() != text.decode()


FIXED = Plan.design(2, 2, 1.0, 100, center=[0.1, -2e-7]).to_json().encode()
NASTY = [b"null", b"1e999", b"-0", b"[[[[", b'"', b"{}", b"true", b"1" * 40, b"\\ud800"]


@given(st.data())
def test_nothing_but_a_plan_error_comes_out_of_garbage(data):
    text = bytearray(FIXED)
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(len(text), start + 30)))
        text[start:stop] = data.draw(st.binary(max_size=8) | st.sampled_from(NASTY))
    try:
        Plan.from_json(bytes(text))
    except PlanError as error:
        str(error).encode()  # printable: no half of a surrogate pair in it


@given(st.text() | st.binary())
def test_nothing_but_a_plan_error_comes_out_of_any_text(text):
    with pytest.raises(PlanError):
        Plan.from_json(text)
