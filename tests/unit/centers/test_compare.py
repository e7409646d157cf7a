"""Labels compared on the same groups: a change is seen, none is made up, other things are refused."""

from dataclasses import replace

import numpy as np
import pytest

from coterie import Aggregate, Plan, compare, simulate
from coterie.centers import decode
from coterie.centers.labels import read_labels
from coterie.centers.repeats import own_means
from coterie.errors import DecodeError
from coterie.features import Flag, Number, Schema
from coterie.protocols.codeword.decode import codeword_table

pytestmark = pytest.mark.slow

SCHEMA = Schema((Number("age", 0, 100, unit="years"), Flag("member")))
PEOPLE = 40_000
SURE = 2.5  # half widths of a 90 % interval: four deviations


def points(share, age=30.0):
    rng = np.random.default_rng(0)
    old = np.arange(4000) >= 4000 * share
    ages = rng.normal(np.where(old, 75, age), 5)
    return SCHEMA.points({"age": ages, "member": rng.random(4000) < np.where(old, 0.1, 0.9)})


def table(share, seed, age=30.0, **options):
    plan = Plan.design(features=SCHEMA, clusters=2, epsilon=2.0, expected_users=PEOPLE, seed=seed, **options)
    return simulate(plan, points(share, age), PEOPLE, random_state=seed)


@pytest.fixture(scope="module")
def tables():
    return [table(0.6, 1), table(0.6, 2), table(0.45, 3, age=36.0)]


@pytest.fixture(scope="module")
def found(tables):
    return compare(tables, ("before", "before", "after"), random_state=0)


def true(found, share, age=30.0):
    """Return share and mean of the people nearest to each common center."""
    return own_means((points(share, age), np.ones(4000)), found.result.centers)


def test_differences_are_those_of_the_people_nearest_to_the_common_centers(found):
    (before, shares), (after, later) = true(found, 0.6), true(found, 0.45, 36.0)
    for each in found.differences:
        away = each.value - (later - shares)[each.group]
        assert abs(away) < SURE * (each.high - each.low) / 2
        assert each.moved
    for each in (each for each in found.figures if each.feature == "age"):
        ages = [SCHEMA.describe_point(means[each.group])[0].value for means in (before, after)]
        assert abs(each.value - (ages[1] - ages[0])) < SURE * (each.high - each.low) / 2
        assert each.unit == "years"
    assert found.moved == (0, 1)
    assert found.words.startswith("Two of two shares moved (A and B)")
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    still = replace(found, differences=tuple(replace(each, moved=False) for each in found.differences))
    assert still.words.startswith("None of two shares moved; ")
    one = replace(found, differences=(found.differences[0], *still.differences[1:]))
    assert one.words.startswith("One of two shares moved (A); ")


def test_tables_of_one_label_are_read_together(found):
    assert found.labels == ("before", "after")
    assert found.counts == (2 * PEOPLE, PEOPLE)
    assert any("3 studies" in note for note in found.notes)


def test_no_change_is_made_up(tables, found):
    read = read_labels(
        [[codeword_table(each)] for each in tables[:2]],
        tables[2].plan,
        (found.result.population.points / tables[2].plan.radius, found.result.population.weights),
        found.result.centers / tables[2].plan.radius,
    )
    away = (read[1].shares - read[0].shares) / np.sqrt(read[0].share_variances + read[1].share_variances)
    assert np.abs(away).max() < 4


def test_published_groups_are_compared_without_a_model(tables):
    first = tables[0].plan
    plan = first.follow_up(decode(tables[0], random_state=0), PEOPLE, confirm=True)
    asked = [simulate(plan, points(share), PEOPLE, random_state=i) for i, share in enumerate((0.6, 0.45))]
    told = compare(asked, ("one", "other"))
    assert told.exact
    assert all(each.moved for each in told.differences)
    shift = told.differences[0]
    half = (shift.high - shift.low) / 2
    assert half < 0.06
    assert abs(abs(shift.value) - 0.15) < SURE * half


def test_page_and_json_say_the_same(found):
    page, told = found.page(), found.to_dict()
    assert found.words in page
    assert page.count("<svg") == 2
    assert told["words"] == found.words
    assert len(told["differences"]) == 2
    assert "before to after" in found.describe()


def test_what_cannot_be_compared_is_refused(tables):
    with pytest.raises(DecodeError, match="2 to 64 labels"):
        compare(tables[:2], ("May", "May"))
    with pytest.raises(DecodeError, match="as many labels"):
        compare(tables[:2], ("May",))
    with pytest.raises(DecodeError, match="a label is a text"):
        compare(tables[:2], ("May", "\n"))
    with pytest.raises(DecodeError, match="empty"):
        compare([tables[0], Aggregate(tables[1].plan)])
    plain = [
        simulate(Plan.design(2, 2, 2.0, 1000, center=(place, 0.0)), [[place, 0.0]], 1000)
        for place in (0.0, 3.0)
    ]
    with pytest.raises(DecodeError, match="hardly meet"):
        compare(plain)
    with pytest.raises(DecodeError, match="same features"):
        compare([tables[0], plain[0]])
