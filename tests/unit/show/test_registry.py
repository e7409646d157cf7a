"""A plan's record for the OpenDP registry keeps to that registry's schema, tier by tier."""

import copy

import pytest

from coterie import Plan
from coterie.errors import SettingError
from coterie.show.registry import registry_entry

from .registry_schema import check_entry

ABOUT = {"curator": "A university", "region": "EU", "published": "2026-05-01"}
PLAN = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)


def test_each_tier_tells_more_and_names_the_promise_from_the_second_on():
    entries = [registry_entry(PLAN, tier=tier, **ABOUT) for tier in (1, 2, 3)]
    parts = [set(entry["deployment"]) for entry in entries]
    assert parts[0] == {"basic", "administrative"}
    assert parts[1] - parts[0] == {"dp_variant", "privacy_loss", "deployment_model"}
    assert parts[2] - parts[1] == {"accounting", "implementation"}
    shuffled = Plan.design(2, 2, 1.0, 5000, model="shuffle", delta=1e-6, minimum_batch=1000)
    entries.append(registry_entry(shuffled, tier=2, **ABOUT))
    told = entries[-1]["deployment"]
    assert told["dp_variant"]["variant_name"] == "Approximate DP"
    assert told["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert told["deployment_model"]["model_name"] == "Shuffle"
    for entry in entries:
        check_entry(entry)


@pytest.mark.parametrize("day", ["1/1/2026", "2026-02-30", "20260501"])
def test_a_day_that_is_none_is_refused(day):
    with pytest.raises(SettingError, match="publication_date must be a date"):
        registry_entry(PLAN, **{**ABOUT, "published": day})


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        ("tier", 0, "tier must be one of 1, 2, 3"),
        ("surprise", 1, "no field 'surprise'"),
        ("status", None, "status is missing"),
        ("deployment.basic.publication_date", "1/1/2026", "publication_date must be a date"),
        ("deployment.basic.publication_date", "2026-02-30", "publication_date must be a date"),
        ("deployment.basic.data_product_region", None, "data_product_region is missing"),
        ("deployment.basic.data_curators", [], "data_curators"),
        ("deployment.privacy_loss.privacy_parameters.epsilon", "1", "epsilon"),
        ("deployment.deployment_model.model_name", "local", "model_name must be one of"),
    ],
)
def test_the_schema_refuses_what_the_registry_does(where, value, words):
    entry = copy.deepcopy(registry_entry(PLAN, **ABOUT))
    *path, last = where.split(".")
    part = entry
    for name in path:
        part = part[name]
    if value is None:
        del part[last]
    else:
        part[last] = value
    with pytest.raises(ValueError, match=words):
        check_entry(entry)
