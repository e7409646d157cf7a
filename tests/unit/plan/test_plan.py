import dataclasses
import hashlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import FileError, PlanError
from coterie.plain.canonical import MAX_BYTES
from coterie.plan import Plan
from coterie.privacy import largest_odds


@pytest.fixture(scope="module")
def plan():
    return Plan.design(
        dimension=3, clusters=2, epsilon=1.0, expected_users=1000, center=[0.5, -1, 2], radius=3
    )


def edited(plan, **changes):
    data = json.loads(plan.to_json())
    parameters = {name: changes.pop(name) for name in list(changes) if name in data["parameters"]}
    return json.dumps({**data, **changes, "parameters": {**data["parameters"], **parameters}})


def test_the_id_is_the_hash_of_the_canonical_json(plan):
    assert plan.id == hashlib.sha256(plan.to_json().encode()).hexdigest()
    assert plan.id_bytes == bytes.fromhex(plan.id)


def test_the_json_has_the_fields_of_the_wire_format(plan):
    data = json.loads(plan.to_json())
    assert list(data) == sorted(data)
    assert set(data) == {
        "format", "version", "protocol", "model", "dimension", "clusters", "epsilon", "delta",
        "expected_users", "center", "radius", "seed", "ids", "study", "after", "parameters",
    }  # fmt: skip
    assert (data["format"], data["version"], data["delta"]) == ("coterie-plan", 1, 0)
    assert set(data["parameters"]) == {"codewords", "cap", "odds", "embedding", "count_weight", "views"}


def test_keys_are_bound_to_the_plan_and_the_label(plan):
    public = hashlib.sha256(b"coterie/1/public" + plan.id_bytes).digest()[:16]
    embedding = hashlib.sha256(b"coterie/1/rotation/embedding/" + plan.id_bytes).digest()[:16]
    view = hashlib.sha256(b"coterie/1/rotation/view/3/" + plan.id_bytes).digest()[:16]
    assert plan.randomness_key() == plan.randomness_key("public") == public
    assert plan.randomness_key("embedding") == embedding
    assert plan.randomness_key("view/3") == view
    block = hashlib.sha256(b"coterie/1/rotation/view/3/12/" + plan.id_bytes).digest()[:16]
    assert plan.randomness_key("view/3/12") == block
    for label in ("view/3/", "view/3/01", "view/3/1/0", "view//0"):
        with pytest.raises(PlanError, match="label"):
            plan.randomness_key(label)
    for label in ("", "view/", "view/03", "view/-1", "rotation/embedding", "view/1\n"):
        with pytest.raises(PlanError, match="a key's label is"):
            plan.randomness_key(label)


def test_is_frozen_hashable_and_replaceable(plan):
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.epsilon = 2.0
    other = dataclasses.replace(plan, seed=1)
    assert other != plan
    assert other.id != plan.id
    assert len({plan, other, dataclasses.replace(other, seed=0)}) == 2


def test_equal_plans_are_written_alike():
    common = {"dimension": 2, "clusters": 2, "epsilon": 1, "expected_users": 10}
    plans = [
        Plan.design(**common),
        Plan.design(**common, center=[0, -0.0]),
        Plan.design(**common, center=(0.0, 0)),
        Plan.design(**common, center=np.zeros(2), radius=np.float32(1)),
        Plan.design(2, np.int64(2), np.float64(1), 10, radius=1),
    ]
    assert len({plan.id for plan in plans}) == 1
    assert plans[0].center is None
    assert Plan.design(**common, center=[0.0, 1]).center == (0.0, 1.0)


def test_guarantee_states_what_is_spent(plan):
    assert plan.guarantee.epsilon == 1.0
    assert 0.9999 < plan.guarantee.spent <= 1.0
    assert plan.guarantee.model == "local"


def test_save_and_load(plan, tmp_path):
    path = tmp_path / "plan.json"
    plan.save(path)
    assert Plan.load(path) == plan
    assert hashlib.sha256(path.read_bytes()).hexdigest() == plan.id
    assert list(tmp_path.iterdir()) == [path]


def test_load_names_the_file(plan, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(edited(plan, epsilon=0.5))
    with pytest.raises(PlanError, match=r"plan\.json: odds \d+ spend more than epsilon 0\.5"):
        Plan.load(path)
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(FileError, match=r"plan\.json, byte 4194304: expected the end of a plan"):
        Plan.load(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Plan.load(tmp_path / "nowhere")


def test_spelling_does_not_matter(plan):
    pretty = json.dumps(dict(reversed(json.loads(plan.to_json()).items())), indent=2)
    assert Plan.from_json(pretty) == plan
    assert Plan.from_json(pretty).id == plan.id


def test_doubles_beyond_the_integers_survive():
    plan = Plan.design(2, 2, 1.0, 10, radius=1e20, center=[2.0**60, -1e300])
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "plan"}, "format must be 'coterie-plan'"),
        ({"version": 2}, "a plan like this one is of version 1, got version 2"),
        ({"version": True}, "version must be an integer from 1 to 2, got True"),
        ({"version": 1.0}, r"version must be an integer from 1 to 2, got 1\.0"),
        ({"protocol": "telepathy"}, "protocol must be one of codeword"),
        ({"protocol": ["codeword"]}, "protocol must be one of codeword"),
        ({"model": "shuffle"}, "parameters lacks the field 'local_epsilon'"),
        ({"model": "central"}, "protocol codeword does not run in the central model"),
        ({"model": "magic"}, "model must be one of local, shuffle, central"),
        ({"dimension": 0}, r"dimension must be in \[1, 3000\], got 0"),
        ({"dimension": 3001}, r"dimension must be in \[1, 3000\]"),
        ({"dimension": 4}, "center must have 4 coordinates"),
        ({"dimension": 3.5}, "dimension must be an integer"),
        ({"clusters": 0}, r"clusters must be in \[1, 4096\]"),
        ({"clusters": 1001}, r"clusters \(1001\) must not exceed expected_users \(1000\)"),
        ({"clusters": True}, "clusters must be an integer"),
        ({"epsilon": 0}, "epsilon must be in"),
        ({"epsilon": -1}, r"epsilon must be in \(0, 16\], got -1"),
        ({"epsilon": 17}, "epsilon must be in"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        ({"epsilon": None}, "epsilon must be a number"),
        ({"epsilon": math.nextafter(1.0, 0.0) - 1e-7}, "the plan would not keep its promise"),
        ({"odds": largest_odds(1.0) + 1}, "the plan would not keep its promise"),
        ({"delta": 1e-6}, "delta must be 0 in the local model"),
        ({"delta": 2}, "delta must be in"),
        ({"expected_users": 2**40 + 1}, "expected_users must be in"),
        ({"expected_users": 2**60}, "expected_users must be an integer"),
        ({"center": [0, 0]}, "center must have 3 coordinates"),
        ({"center": [0, 0, "a"]}, r"center\[2\] must be a number"),
        ({"center": 5}, "center must be a list"),
        ({"radius": 0}, "radius must be in"),
        ({"radius": -1}, "radius must be in"),
        ({"seed": -1}, "seed must be in"),
        ({"seed": 2**53}, "seed must be an integer"),
        ({"parameters": 3}, "parameters must be a JSON object"),
        ({"note": "hi"}, "unknown field 'note'"),
    ],
)
def test_a_plan_edited_by_hand_is_checked_again(plan, changes, message):
    if changes.keys() == {"parameters"}:
        text = json.dumps({**json.loads(plan.to_json()), **changes})
    else:
        text = edited(plan, **changes)
    with pytest.raises(PlanError, match=message):
        Plan.from_json(text)


@pytest.mark.parametrize(
    "name",
    [
        *("protocol", "dimension", "epsilon", "delta", "center", "seed", "parameters", "expected_users"),
        *("ids", "study", "after"),
    ],
)
def test_every_field_is_needed(plan, name):
    data = json.loads(plan.to_json())
    del data[name]
    with pytest.raises(PlanError, match=f"plan lacks the field '{name}'"):
        Plan.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimension": 0}, "dimension"),
        ({"dimension": 2.0}, "dimension must be an integer"),
        ({"clusters": 0}, "clusters"),
        ({"clusters": 11}, "must not exceed expected_users"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 100.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 1e-9}, "epsilon 1e-09 is too small"),
        ({"expected_users": 0}, "expected_users"),
        ({"radius": math.inf}, "radius"),
        ({"radius": 10**400}, "radius"),
        ({"radius": 5e-324}, "radius"),
        ({"center": [math.nan, 0.0]}, r"center\[0\]"),
        ({"center": np.zeros((2, 1))}, r"center\[0\] must be a number"),
        ({"center": 1.0}, "center must be a list"),
        ({"center": np.float64(1.0)}, "center must be a list"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"study": "A" * 64}, "study must be the id of a plan"),
        ({"study": b"a" * 64}, "study must be the id of a plan"),
        ({"after": "a" * 64}, "after must be a list"),
        ({"after": ["a" * 63]}, r"after\[0\] must be the id of a plan"),
        ({"after": ["a" * 64] * 2}, "names a plan twice"),
        ({"after": [f"{i:064x}" for i in range(65)]}, "at most 64 plans"),
        ({"ids": "fresh"}, "ids must be one of random, token"),
        ({"ids": "token", "model": "shuffle", "delta": 1e-6}, "ids must be random outside the local model"),
        ({"protocol": "lsh"}, "protocol must be one of"),
        ({"model": "central"}, "does not run in the central model"),
    ],
)
def test_design_refuses(arguments, message):
    common = {"dimension": 2, "clusters": 2, "epsilon": 1.0, "expected_users": 10}
    with pytest.raises(PlanError, match=message):
        Plan.design(**{**common, **arguments})


def test_the_parameters_must_be_the_protocols(plan):
    with pytest.raises(
        PlanError, match="parameters of protocol codeword in the local model are CodewordParameters"
    ):
        dataclasses.replace(plan, parameters=None)


def test_a_follow_up_names_its_study_and_what_it_was_designed_from(plan):
    follow = Plan.design(2, 2, 1.0, 100, study=plan.id, after=[plan.id, "0" * 64])
    assert (plan.study, plan.after, plan.study_id) == (None, (), plan.id)
    assert (follow.study, follow.after, follow.study_id) == (plan.id, (plan.id, "0" * 64), plan.id)
    assert Plan.from_json(follow.to_json()) == follow
    changed = [{"study": None}, {"after": ()}, {"after": follow.after[::-1]}, {"ids": "token"}]
    others = [dataclasses.replace(follow, **change) for change in changed]
    assert len({follow.id, *(other.id for other in others)}) == 5  # all of it is hashed


def page_fields(types):
    """Fields of the plan itself that the wire page gives one of these types."""
    page = (Path(__file__).parents[3] / "docs/wire-format.md").read_text(encoding="utf-8")
    fields = page[page.index("*field*: type; *allowed*") : page.index("*field of `collection`*: type")]
    return [name for name, kind in re.findall(r"^- `(\w+)`: (\w+); ", fields, re.M) if kind in types]


def spelt(plan, name, literal):
    """Return the plan's JSON with the value of one field followed by `literal`."""
    return re.sub(rf'("{name}":\d+)(?=[,}}])', rf"\g<1>{literal}", plan.to_json(), count=1)


@pytest.mark.parametrize("literal", [".0", "e0"])
def test_the_page_and_the_reader_agree_what_an_integer_is(plan, literal):
    integers, numbers = page_fields({"integer"}), page_fields({"number"})
    assert "version" in integers
    assert {"dimension", "clusters", "expected_users", "seed"} < set(integers)
    for name in integers:
        changed = spelt(plan, name, literal)
        assert changed != plan.to_json()
        with pytest.raises(PlanError, match=name):
            Plan.from_json(changed)
    for name in numbers:
        assert Plan.from_json(spelt(plan, name, literal)).id == plan.id
