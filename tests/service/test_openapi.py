"""The OpenAPI document against the running server: every answer is one that is written there."""

import functools
import json
import operator
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import coterie
from coterie.centers.result import Interval
from coterie.plan.collection import Collection
from coterie.service.endpoints import ROUTES
from coterie.service.manifest import make_manifest
from coterie.service.openapi import openapi_document
from coterie.service.problems import KINDS, URN
from coterie.service.shuffler import ROUTES as SHUFFLER_ROUTES
from coterie.service.shuffler import Shuffler
from coterie.service.studies import REASONS
from coterie.service.study_endpoints import ROUTES as STUDY_ROUTES
from tests.service.conftest import KEY, OPERATOR, REPORTS, TOKEN, ask, reports_of, serving, small_plan
from tests.service.shuffled import AMPLIFIED
from tests.service.shuffled import reports_of as shuffled_reports
from tests.service.test_pages import written

DOCUMENT = openapi_document()
PROBLEM = DOCUMENT["components"]["responses"]["problem"]
PLAN = small_plan(Collection(minimum=5))
TOKENS = small_plan(ids="token")


def operations(document):
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]


OPERATIONS = operations(DOCUMENT)
RELEASES = [each for each in operations(openapi_document("shuffler")) if each[0].endswith("/release")]
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def check(value, schema, where="$"):
    """Check a value against the part of JSON Schema that the document uses."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return check(value, DOCUMENT["components"]["schemas"][name], where)
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    fits = [isinstance(value, TYPES[kind]) and (kind == "boolean" or value is not True) for kind in kinds]
    assert any(fits), f"{where} must be {kinds}, is {value!r}"
    assert "enum" not in schema or value in schema["enum"], f"{where}: {value!r}"
    if isinstance(value, str) and "pattern" in schema:
        assert re.search(schema["pattern"], value), f"{where}: {value!r}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), f"{where}: {value!r}"
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            check(item, schema["items"], f"{where}[{number}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        assert set(schema.get("required", ())) <= value.keys(), f"{where} lacks {schema['required']}"
        if schema.get("additionalProperties") is False:
            assert value.keys() <= known.keys(), f"{where} has {sorted(value.keys() - known.keys())} besides"
        for name, item in value.items():
            if name in known:
                check(item, known[name], f"{where}.{name}")
    return None


def check_answer(operation, answer):
    status, headers, body = answer
    assert str(status) in operation["responses"], (operation["operationId"], status, body[:300])
    described = operation["responses"][str(status)]
    content = (PROBLEM if "$ref" in described else described).get("content")
    if content is None:
        assert body == b""
        return
    kind = headers["content-type"].partition(";")[0]
    assert kind in content, (operation["operationId"], status, kind)
    if kind.endswith("json"):
        check(json.loads(body), content[kind]["schema"])


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("data"), most_body=1 << 16) as running:
        for plan in (PLAN, TOKENS):
            running.store.put_plan(plan)
        yield running.url


def test_every_route_is_described_and_every_description_has_a_route():
    uploads = {(f"/plans/{{plan_id}}/{each}", "POST") for each in ("reports", "withdrawals")}
    for role, routes in (("collector", (*ROUTES, *STUDY_ROUTES)), ("shuffler", SHUFFLER_ROUTES)):
        described = {(path, method.upper()) for path, method, _ in operations(openapi_document(role))}
        routed = {(route.path, method) for route in routes for method in route.methods - {"HEAD"}}
        assert described == routed | uploads
    assert len({operation["operationId"] for _, _, operation in OPERATIONS}) == len(OPERATIONS)


def test_kinds_of_problems_reasons_and_references_are_those_of_the_service():
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["Problem"]["properties"]["type"]["enum"] == [URN + kind for kind in KINDS]
    fate = schemas["Failures"]["properties"]["failures"]["items"]["properties"]["reason"]
    assert fate["enum"] == list(schemas["Status"]["properties"]["rejected"]["properties"]) == list(REASONS)
    for role in ("collector", "shuffler"):
        document = openapi_document(role)
        assert document["info"]["version"] == coterie.__version__
        assert role in document["info"]["title"]
        known = {int(status) for _, _, each in operations(document) for status in each["responses"]}
        assert known - {200, 201, 202, 204, 304} <= {status for status, _ in KINDS.values()}
        for reference in re.findall(r'"\$ref": "#/([^"]*)"', json.dumps(document)):
            assert functools.reduce(operator.getitem, reference.split("/"), document)


ANY_BODY = st.one_of(
    st.binary(max_size=200),
    st.integers(1, 40).map(lambda n: reports_of(PLAN, n).tobytes()),
    st.integers(0, 40).map(lambda n: bytes(29 * n)),
    st.just(b"x" * 70_000),
    st.just(PLAN.to_json().encode()),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
    st.integers(-1, 5).map(lambda count: json.dumps({"count": count}).encode()),
)
IDS = st.one_of(
    st.sampled_from([PLAN.id, TOKENS.id, "0" * 64, PLAN.id.upper(), PLAN.id[:-1], "..", "%00", "a" * 200]),
    st.text("0123456789abcdef", min_size=64, max_size=64),
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.sampled_from([REPORTS, REPORTS, "application/json", "", "text/plain; x", ";;"]),
        "authorization": st.sampled_from([OPERATOR["authorization"]] * 3 + ["Bearer", f"Basic {TOKEN}", ""]),
        "prefer": st.sampled_from(["wait=0", "wait=x", "wait=-1", "respond-async, wait=0"]),
        "if-none-match": st.sampled_from([f'"{PLAN.id}"', "*", '""']),
        "content-encoding": st.just("gzip"),
    },
)


@pytest.mark.parametrize(
    ("path", "method", "operation"), OPERATIONS, ids=[each[2]["operationId"] for each in OPERATIONS]
)
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_every_answer_is_described(url, path, method, operation, data):
    if operation["operationId"] in ("close", "decode", "deleteReports"):
        plan_id = data.draw(IDS.filter(lambda each: each != PLAN.id))  # which stays open for the others
    else:
        plan_id = data.draw(IDS)
    body = data.draw(ANY_BODY) if method in ("post", "put") else None
    answer = ask(url, method.upper(), re.sub(r"{(plan|study)_id}", plan_id, path), body, data.draw(HEADERS))
    assert answer[0] < 500
    if plan_id not in ("..", "%00"):  # which are other paths
        check_answer(operation, answer)


@pytest.fixture(scope="module")
def shuffler_url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    with serving(folder, kind=Shuffler, deliver_to="http://127.0.0.1:9") as running:
        running.store.put_plan(AMPLIFIED)
        running.store.append([(AMPLIFIED.id, shuffled_reports(AMPLIFIED))])
        yield running.url


@pytest.mark.parametrize(
    ("path", "method", "operation"), RELEASES, ids=[each[2]["operationId"] for each in RELEASES]
)
@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plan_id=st.sampled_from([AMPLIFIED.id, PLAN.id, "0", "a" * 200]), headers=HEADERS)
def test_every_answer_of_a_shuffler_is_described(shuffler_url, path, method, operation, plan_id, headers):
    answer = ask(shuffler_url, method.upper(), path.replace("{plan_id}", plan_id), None, headers)
    assert answer[0] < 500
    check_answer(operation, answer)


def test_results_and_manifests_are_described():
    result = written(PLAN, np.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.1]]), explained=Interval(*[np.nan] * 3))
    manifest = make_manifest(PLAN, b"", result, {"counted": 10}, 3600, KEY)
    for name, text in (("Result", result), ("Manifest", manifest)):
        schema = DOCUMENT["components"]["schemas"][name]
        document = json.loads(text)
        check(document, schema)
        if name == "Result":  # but for what says whose it is, everything that it has is described
            plans = {"profile", "epsilon", "delta", "model", "plan_ids", "study_id"}
            assert set(document) - set(schema["properties"]) == plans
        with pytest.raises(AssertionError):
            check({**document, "version": "2"}, schema)


def test_the_checker_itself_notices():
    with pytest.raises(AssertionError):
        check({"failures": [{"id": "x", "reason": "malformed"}]}, {"$ref": "#/components/schemas/Failures"})
    with pytest.raises(AssertionError):
        check({"failures": [], "more": 1}, {"$ref": "#/components/schemas/Failures"})
    with pytest.raises(AssertionError):
        check(True, {"type": "integer"})
    check({"failures": []}, {"$ref": "#/components/schemas/Failures"})
