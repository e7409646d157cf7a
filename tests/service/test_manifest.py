"""The manifest of a study: signed, and refused as soon as anything in it or in its result is another."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from coterie import Aggregate, decode
from coterie.centers import explain, population, repeats
from coterie.centers.result import Interval
from coterie.errors import CoterieError
from coterie.plain.canonical import canonical_bytes, finite
from coterie.service import verify as judging
from coterie.service.decoder import result_document
from coterie.service.manifest import decoding_seed, environment, make_manifest
from coterie.service.verify import verify
from coterie.wire.manifest import ManifestError, read_manifest
from coterie.wire.signing import is_signed, new_key, public_key, sign
from tests.service.conftest import KEY, reports_of, small_plan

PLAN = small_plan()
PEOPLE = 3000


@pytest.fixture(scope="module")
def table():
    found = Aggregate(PLAN)
    found.add(reports_of(PLAN, PEOPLE))
    return found


@pytest.fixture(scope="module")
def result(table):
    """A result with a note (fewer people came than planned), decoded once."""
    found = decode(table, random_state=decoding_seed(PLAN))
    assert found.supported == 2
    assert found.notes
    return found


@pytest.fixture
def decoded(monkeypatch, result):
    """Let every recomputation be this one: what is compared is of interest here, not how it is found."""
    monkeypatch.setattr("coterie.centers.decode", lambda table, random_state: result)


def published(table, result, count=PEOPLE):
    """Return manifest, table and result of somebody who publishes this."""
    document, data = result if isinstance(result, bytes) else result_document(result), table.to_bytes()
    return make_manifest(PLAN, data, document, {"counted": count}, 3600, KEY), data, document


@pytest.fixture(scope="module")
def waves(table, result):
    """Two tables of one study, of which the second confirms, and what they say."""
    plan = PLAN.follow_up(result, PEOPLE, confirm=True)
    second = Aggregate(plan)
    second.add(reports_of(plan, 1000, seed=1))
    return [table, second], decode([table, second], random_state=decoding_seed(plan))


@pytest.fixture
def both_decoded(monkeypatch, result, waves):
    """The same of one table and of both."""
    monkeypatch.setattr(
        "coterie.centers.decode",
        lambda tables, random_state: waves[1] if isinstance(tables, list) and len(tables) > 1 else result,
    )


def published_waves(waves, result):
    """Return manifest, tables and result of somebody who publishes this of both waves."""
    (first, second), document = waves[0], result_document(result)
    data, counts = second.to_bytes(), {"counted": second.count}
    before = published(first, b"{}")[0]
    manifest = make_manifest(second.plan, data, document, counts, 3600, KEY, before=before)
    return manifest, [first.to_bytes(), data], document


def checked(parts, **options):
    manifest, data, document = parts
    return verify(manifest, data, result=document, **options)


def signed_again(manifest, without=(), **changes):
    """The manifest with other fields, signed by somebody."""
    document = {**json.loads(manifest), **changes}
    for name in ("signature", *without):
        del document[name]
    return canonical_bytes(
        {**document, "signature": sign(KEY, "coterie/1/manifest", canonical_bytes(document)).hex()}
    )


def test_anyone_can_recompute_the_result(table, result):
    manifest, data, document = published(table, result)
    found = verify(manifest, data, public_key(KEY).hex(), result=document)
    assert (found.away, found.elsewhere, found.words) == (0.0, False, True)


@pytest.mark.usefixtures("decoded")
def test_keys_tables_and_results_are_those_of_the_manifest(table, result):
    manifest, data, document = published(table, result)
    assert not verify(manifest, data).words
    with pytest.raises(ManifestError, match="not by"):
        verify(manifest, data, public_key(new_key()).hex())
    other = Aggregate(PLAN)
    other.add(reports_of(PLAN, PEOPLE, seed=1))
    with pytest.raises(ManifestError, match="another table"):
        verify(manifest, other.to_bytes())
    with pytest.raises(ManifestError, match="another result"):
        verify(manifest, data, result=document + b" ")


@pytest.mark.usefixtures("decoded")
def test_what_a_manifest_says_besides_is_checked(table, result):
    manifest, data, _ = published(table, result)
    stated = json.loads(manifest)["stated"]
    for changes, message in [
        ({"counts": {"counted": PEOPLE - 1}}, "holds 3000 reports"),
        ({"counts": 3}, "holds 3000 reports"),
        ({"plan_id": "0" * 64}, "the table is of plan"),
        ({"decoding": {"random_state": 0}}, "the seed of decoding"),
        ({"stated": 7}, "must be an object"),
        ({"stated": {}}, "no result of this version"),
        ({"stated": {**stated, "centers": stated["centers"][:1]}}, "centers of shape"),
        ({"stated": {**stated, "centers": [["x"]]}}, "centers must be numbers"),
        ({"stated": {**stated, "centers": [[None] * 3] * 2}}, "centers differ"),
        ({"stated": {**stated, "choices": [{}]}}, "no result of this version"),
        ({"stated": {**stated, "profile": None}}, "profile"),
        ({"stated": {**stated, "count": PEOPLE + 1}}, "count does not follow"),
        ({"stated": {**stated, "epsilon": 1}}, "epsilon does not follow"),
        ({"stated": {**stated, "supported": 1}}, "supported does not follow"),
        ({"stated": {**stated, "coverage": 0.99}}, "coverage does not follow"),
        ({"stated": {**stated, "more": 1}}, "has no field 'more'"),
    ]:
        with pytest.raises(ManifestError, match=message):
            verify(signed_again(manifest, **changes), data)


def exchanged(result):
    """Two groups in the other order, with everything that is said of them."""
    turned = {name: getattr(result, name)[::-1] for name in ("centers", "weights", "errors", "weight_errors")}
    return replace(result, **turned, clear=result.clear[::-1])


def moved_shares(result):
    return replace(result, weights=result.weights + np.array([0.02, -0.02]))


DOCTORED = {
    "shares": moved_shares,
    "errors halved": lambda result: replace(result, errors=result.errors / 2),
    "errors gone": lambda result: replace(result, errors=result.errors * 0),
    "share errors halved": lambda result: replace(result, weight_errors=result.weight_errors / 2),
    "a note dropped": lambda result: replace(result, notes=result.notes[1:]),
    "a note added": lambda result: replace(result, notes=(*result.notes, "All is well.")),
    "groups exchanged": exchanged,
    "a center moved": lambda result: replace(
        result, centers=result.centers + np.array([[1.5], [0.0]]) * result.errors[0]
    ),
    "both centers moved": lambda result: replace(result, centers=result.centers * 0.5),
    "clear": lambda result: replace(result, clear=np.array([True, False])),
    "explained": lambda result: replace(result, explained=Interval(0.5, 0.4, 0.6)),
    "choices": lambda result: replace(
        result,
        choices=tuple(one._replace(explained=Interval(0.0, 0.0, 0.0)) for one in result.choices),
    ),
    "one choice less": lambda result: replace(result, choices=result.choices[:-1]),
    "all apart": lambda result: replace(
        result, choices=tuple(one._replace(apart=not one.apart) for one in result.choices)
    ),
    "alternatives": lambda result: replace(result, alternatives=((0,), (1,), (0, 1), ())),
    "an alternative of no group": lambda result: replace(result, alternatives=((2,),)),
    "mean": lambda result: replace(result, mean=result.mean + 0.01),
    "mean error": lambda result: replace(result, mean_error=result.mean_error / 2),
    "profile": lambda result: replace(result, profile=result.profile / 2),
}


NOTICED = {  # as what
    "shares": "weights differ",
    "errors halved": "recomputed errors differ",
    "errors gone": "recomputed errors differ",
    "share errors halved": "weight_errors differ",
    "a note dropped": "notes differ",
    "a note added": "notes differ",
    "groups exchanged": "centers differ",
    "a center moved": "centers differ",
    "both centers moved": "centers differ",
    "clear": "clear differ",
    "explained": "explained differ",
    "choices": "choices differ",
    "one choice less": "choices differ",
    "all apart": "choices differ",
    "alternatives": "alternatives differ",
    "an alternative of no group": "alternatives differ",
    "mean": "mean differ",
    "mean error": "mean_error differ",
    "profile": "profile differ",
}


@pytest.mark.usefixtures("decoded")
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("name", DOCTORED)
def test_a_doctored_result_is_refused_though_it_is_signed(table, result, name, elsewhere, monkeypatch):
    if elsewhere:
        monkeypatch.setattr(judging, "environment", lambda: {**environment(), "blas": "openblas Other"})
    assert checked(published(table, result)).elsewhere is elsewhere
    with pytest.raises(ManifestError, match=NOTICED[name]):
        checked(published(table, DOCTORED[name](result)))


def of_group(result, **changes):
    """What was confirmed, with other figures of its first group."""
    groups = result.confirmed.groups
    changed = replace(
        groups[0], **{name: change(getattr(groups[0], name)) for name, change in changes.items()}
    )
    return replace(result.confirmed, groups=(changed, *groups[1:]))


def of_pair(result, **changes):
    return replace(result.confirmed, pairs=(replace(result.confirmed.pairs[0], **changes),))


def narrowed(interval):
    return interval._replace(
        low=(interval.value + interval.low) / 2, high=(interval.value + interval.high) / 2
    )


def nearer(estimates):
    return (replace(estimates[0], low=(estimates[0].value + estimates[0].low) / 2), *estimates[1:])


CONFIRMED = {  # what was stated of published groups, doctored
    "a share's interval": lambda result: of_group(result, share=narrowed),
    "a share's interval among all": lambda result: of_group(result, share_together=narrowed),
    "a figure's interval": lambda result: of_group(result, estimates=nearer),
    "a figure's interval among all": lambda result: of_group(result, together=nearer),
    "a mean": lambda result: of_group(result, mean=lambda mean: mean + 1e-4),
    "nobody": lambda result: of_group(result, empty=lambda chance: 0.5),
    "one group": lambda result: of_pair(result, one=0.5),
    "a gap": lambda result: of_pair(result, gap=result.confirmed.pairs[0].gap * 1.01),
    "a published center": lambda result: of_group(result, center=lambda center: center / 2),
    "people": lambda result: replace(result.confirmed, people=PEOPLE),
    "the rate": lambda result: replace(result.confirmed, coverage=0.99),
    "a group less": lambda result: replace(result.confirmed, groups=result.confirmed.groups[:1]),
    "no pair": lambda result: replace(result.confirmed, pairs=()),
}


@pytest.mark.usefixtures("both_decoded")
@pytest.mark.parametrize("name", CONFIRMED)
def test_doctored_figures_of_published_groups_are_refused(waves, name):
    result = waves[1]
    manifest, data, _ = published_waves(waves, result)
    stated = json.loads(manifest)["stated"]
    doctored = json.loads(canonical_bytes(finite(CONFIRMED[name](result).to_dict())))
    assert doctored != stated["confirmed"]
    with pytest.raises(ManifestError, match="confirmed does not follow"):
        verify(signed_again(manifest, stated={**stated, "confirmed": doctored}), data)


@pytest.mark.usefixtures("both_decoded")
def test_figures_of_published_groups_are_judged_as_others_are(waves):
    """To a millionth: other processors have other last digits, of these as of all."""
    result = waves[1]
    for by, refused in ((1e-8, False), (1e-4, True)):

        def moved(estimates, by=by):
            return tuple(
                replace(each, value=each.value * (1 + by), low=each.low * (1 - by)) for each in estimates
            )

        confirmed = of_group(
            result,
            share=lambda interval, by=by: interval._replace(low=interval.low * (1 + by)),
            estimates=moved,
        )
        with pytest.raises(ManifestError, match="confirmed") if refused else contextlib.nullcontext():
            assert checked(published_waves(waves, replace(result, confirmed=confirmed))).words


@pytest.mark.usefixtures("decoded")
def test_words_that_do_not_follow_from_figures_are_refused(table, result):
    document = json.loads(result_document(result))
    groups, words = document["groups"], document["words"]
    lower = [{**groups[0], "low": 0.0}, groups[1]]
    for changes in (
        {"words": words[::-1]},
        {"groups": groups[::-1]},
        {"groups": lower},
        {"everybody": []},
        {"words": [words[0]]},
        {"note": "All is well."},
    ):
        doctored = json.dumps({**document, **changes}).encode()
        with pytest.raises(ManifestError, match=next(iter(changes))):
            checked(published(table, doctored))
    manifest, data, _ = published(table, result)
    for foreign in (b"[]", b"{", b"\xff", b"[" * 100_000):
        digest = judging.hashlib.sha256(foreign).hexdigest()
        with pytest.raises(ManifestError, match="no JSON"):
            verify(signed_again(manifest, result=digest), data, result=foreign)


@pytest.mark.usefixtures("decoded")
def test_the_weight_of_forged_reports_must_follow(table, result):
    manifest, data, _ = published(table, result)
    stated = json.loads(manifest)["stated"]
    assert np.allclose(stated["fragile"], result.fragile)
    for doctored in (
        {name: value for name, value in stated.items() if name != "fragile"},
        {**stated, "fragile": (2 * result.fragile).tolist()},
    ):
        with pytest.raises(ManifestError, match="fragile"):
            verify(signed_again(manifest, stated=doctored), data)


def test_a_manifest_of_version_1_is_refused_by_name(table, result):
    """It stated centers alone, and no program that wrote one was ever released."""
    manifest, data, _ = published(table, result)
    before = signed_again(manifest, ["stated"], version=1, centers=result.centers.tolist())
    with pytest.raises(ManifestError, match="version 1, which stated no figures"):
        verify(before, data)


def test_every_field_is_signed(table, result):
    document = json.loads(published(table, result)[0])
    for name in document:
        changed = {**document, name: "00" * 64 if name == "signature" else 7 if name != "version" else 1.5}
        with pytest.raises(ManifestError):
            read_manifest(canonical_bytes(changed))
    with pytest.raises(ManifestError, match="lacks the field"):
        read_manifest(b"{}")
    with pytest.raises(ManifestError, match="not JSON"):
        read_manifest(published(table, result)[0][:-1])


@pytest.mark.parametrize("name", ["plan_id", "format", "version", "public_key", "stated", "new"])
@pytest.mark.parametrize("value", ['"\\ud800"', "[]", "{}", "null", "1e300", '{"\\udfff":1}'])
def test_foreign_manifests_end_in_one_kind_of_error(table, result, name, value):
    document = json.loads(published(table, result)[0])
    text = json.dumps({**document, name: "HERE"}).replace('"HERE"', value)
    with pytest.raises(ManifestError) as caught:
        read_manifest(text.encode())
    assert isinstance(caught.value, CoterieError)
    str(caught.value).encode()


def test_the_manifest_names_libraries_and_processor(table, result):
    decoding = json.loads(published(table, result)[0])["decoding"]
    assert decoding["numpy"] == np.__version__
    cores = {each["architecture"] for each in threadpool_info() if "architecture" in each}
    assert any(core in decoding["blas"] for core in cores)
    assert set(decoding) == {"random_state", *environment()}


def test_signatures_are_of_one_kind_of_document():
    signature = sign(KEY, "a", b"data")
    assert is_signed(public_key(KEY), signature, "a", b"data")
    assert not is_signed(public_key(KEY), signature, "b", b"data")
    assert not is_signed(public_key(KEY), signature, "a", b"Data")
    assert not is_signed(public_key(new_key()), signature, "a", b"data")
    assert not is_signed(b"short", signature, "a", b"data")


# What another processor's kernels make of tables; OpenBLAS has those of several, chosen when it is loaded.
CORES = {"Haswell": "avx2", "SkylakeX": "avx512f", "Zen": "avx2", "Nehalem": "sse4_2"}
THREADS = {"one thread": "1", "two threads": "2", "one core": "2"}
ONE_CORE = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
ELSEWHERE = """
import sys
from coterie import Aggregate, decode
from coterie.centers import explain, population, repeats
from coterie.service.decoder import result_document
from coterie.service.following import asked_in, is_same
from coterie.service.manifest import decoding_seed, make_manifest
*sizes, population.ATOMS, repeats.REPEATS, explain.MEMBERS = map(int, sys.argv[1:])
tables, manifest, last = [], None, None
for size in sizes:
    data = sys.stdin.buffer.read(size)
    tables.append(table := Aggregate.from_bytes(data))
    plan = table.plan
    assert last is None or is_same(plan, tables[0].plan.follow_up(last, **asked_in(plan)))
    last = decode(tables, random_state=decoding_seed(plan))
    counts, result = {"counted": table.count}, result_document(last)
    manifest = make_manifest(plan, data, result, counts, 3600, bytes(range(32)), before=manifest)
    for each in (manifest, result):
        sys.stdout.buffer.write(len(each).to_bytes(8, "big") + each)
"""


def processor_has(feature):
    known = Path("/proc/cpuinfo")
    return known.exists() and feature in known.read_text(encoding="utf-8").split()


@pytest.mark.usefixtures("both_decoded")
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("core", CORES)
def test_studies_that_another_processor_decoded_verify(waves, core, threads):
    """One that finds groups, and the wave that confirms them."""
    if not processor_has(CORES[core]):
        pytest.skip(f"this processor cannot do as {core} does")
    tables = [each.to_bytes() for each in waves[0]]
    smaller = (population.ATOMS, repeats.REPEATS, explain.MEMBERS)
    bound = ONE_CORE if threads == "one core" else ""
    command = [sys.executable, "-c", bound + ELSEWHERE, *map(str, (*map(len, tables), *smaller))]
    done = subprocess.run(
        command,
        input=b"".join(tables),
        env={**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": THREADS[threads]},
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    out = io.BytesIO(done.stdout)
    for number in (1, 2):
        manifest, document = (out.read(int.from_bytes(out.read(8), "big")) for _ in range(2))
        found = verify(manifest, tables[:number], result=document)
        assert found.away < 1e-9
        blas = json.loads(manifest)["decoding"]["blas"]
        assert ("Haswell" if core == "Zen" else core) in blas
        assert found.elsewhere is (blas != environment()["blas"])
