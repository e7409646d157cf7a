"""The manifest of a study: signed, and refused as soon as anything in it is another."""

import json

import pytest

from coterie import Aggregate, decode
from coterie.plain.canonical import canonical_bytes
from coterie.service.decoder import result_document
from coterie.service.manifest import ManifestError, decoding_seed, make_manifest, read_manifest, verify
from coterie.wire.signing import is_signed, new_key, public_key, sign
from tests.service.conftest import KEY, reports_of, small_plan

PLAN = small_plan()


@pytest.fixture(scope="module")
def study():
    table = Aggregate(PLAN)
    table.add(reports_of(PLAN, 3000))
    result = result_document(decode(table, random_state=decoding_seed(PLAN)))
    data = table.to_bytes()
    manifest = make_manifest(PLAN, data, result, json.loads(result)["centers"], {"counted": 3000}, 3600, KEY)
    return manifest, data


def signed_again(manifest, **changes):
    """The manifest with other fields, signed by somebody."""
    document = {**json.loads(manifest), **changes}
    del document["signature"]
    return canonical_bytes(
        {**document, "signature": sign(KEY, "coterie/1/manifest", canonical_bytes(document)).hex()}
    )


def test_anyone_can_recompute_the_centers(study):
    manifest, table = study
    assert verify(manifest, table) <= 1e-9
    assert verify(manifest, table, public_key(KEY).hex()) <= 1e-9
    with pytest.raises(ManifestError, match="not by"):
        verify(manifest, table, public_key(new_key()).hex())


def test_another_table_or_other_centers_are_noticed(study):
    manifest, table = study
    other = Aggregate(PLAN)
    other.add(reports_of(PLAN, 3000, seed=1))
    with pytest.raises(ManifestError, match="another table"):
        verify(manifest, other.to_bytes())
    centers = json.loads(manifest)["centers"]
    moved = [[x + 1e-8 for x in center] for center in centers]
    with pytest.raises(ManifestError, match="recomputed centers differ"):
        verify(signed_again(manifest, centers=moved), table)
    for changes, message in [
        ({"counts": {"counted": 2999}}, "holds 3000 reports"),
        ({"plan_id": "0" * 64}, "the table is of plan"),
        ({"decoding": {"random_state": 0, "software": "x"}}, "the seed of decoding"),
        ({"centers": centers[:1]}, "centers of shape"),
        ({"centers": [["x"]]}, "rows of numbers"),
    ]:
        with pytest.raises(ManifestError, match=message):
            verify(signed_again(manifest, **changes), table)


def test_every_field_is_signed(study):
    document = json.loads(study[0])
    for name in document:
        changed = {**document, name: "00" * 64 if name == "signature" else 7 if name != "version" else 1.5}
        with pytest.raises(ManifestError):
            read_manifest(canonical_bytes(changed))
    with pytest.raises(ManifestError, match="lacks the field"):
        read_manifest(b"{}")
    with pytest.raises(ManifestError, match="not JSON"):
        read_manifest(study[0][:-1])


def test_signatures_are_of_one_kind_of_document():
    signature = sign(KEY, "a", b"data")
    assert is_signed(public_key(KEY), signature, "a", b"data")
    assert not is_signed(public_key(KEY), signature, "b", b"data")
    assert not is_signed(public_key(KEY), signature, "a", b"Data")
    assert not is_signed(public_key(new_key()), signature, "a", b"data")
    assert not is_signed(b"short", signature, "a", b"data")
