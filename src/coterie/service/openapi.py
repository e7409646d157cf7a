"""The description of the HTTP interface, OpenAPI 3.1, as it is served and tested."""

from __future__ import annotations

from typing import Any, Final

from coterie import __version__
from coterie.service.problems import KINDS, URN
from coterie.service.studies import REASONS

_HEX: Final = "^[0-9a-f]{64}$"
_SHUFFLED: Final = "application/vnd.coterie.shuffled"
_REPORTS: Final = "application/vnd.coterie.reports"
_COUNT: Final = {"type": "integer", "minimum": 0}
_MAYBE_NUMBERS: Final = {"type": "array", "items": {"type": ["number", "null"]}}


def _object(properties: dict[str, Any], *, more: bool = False) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": more,
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_SCHEMAS: Final[dict[str, Any]] = {
    "Problem": _object(
        {
            "type": {"type": "string", "enum": [URN + kind for kind in KINDS]},
            "title": {"type": "string"},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string"},
        }
    ),
    "Failures": _object(
        {
            "failures": {
                "type": "array",
                "items": _object(
                    {
                        "id": {"type": "string", "pattern": "^[0-9a-f]{24}$"},
                        "reason": {"type": "string", "enum": list(REASONS)},
                    }
                ),
            }
        }
    ),
    "Collection": _object(
        {
            "opens": {"type": ["integer", "null"]},
            "closes": {"type": ["integer", "null"]},
            "time_precision": {"type": "integer", "minimum": 1},
            "minimum": {"type": "integer", "minimum": 1},
            "retention": {"type": ["integer", "null"]},
        }
    ),
    "Forecast": {"type": ["array", "null"], "items": {"type": "object"}},
    "Status": _object(
        {
            "plan_id": {"type": "string", "pattern": _HEX},
            "study_id": {"type": "string", "pattern": _HEX},
            "model": {"type": "string", "enum": ["local", "shuffle", "central"]},
            "ids": {"type": "string", "enum": ["random", "token"]},
            "state": {"type": "string", "enum": ["early", "open", "closed", "deleted"]},
            "decoded": {"type": "boolean"},
            "decoding": {"type": "boolean"},
            "collection": _ref("Collection"),
            "report_bytes": {"type": "integer", "minimum": 13},
            "upload_bytes": {"type": "integer", "minimum": 13},
            "expected_users": {"type": "integer", "minimum": 1},
            "reports": _COUNT,
            "rejected": _object(dict.fromkeys(REASONS, _COUNT)),
            "expected": _object({"now": _ref("Forecast"), "planned": _ref("Forecast")}),
        }
    ),
    "Result": {
        "type": "object",
        "description": "`Result.to_dict()`, null for NaN; results of earlier versions have no `version`",
        "required": ["centers", "weights", "errors", "supported", "notes", "count", "plan_id", "words"],
        "properties": {
            "version": {"type": "integer", "minimum": 2},
            "centers": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "weights": {"type": "array", "items": {"type": "number"}},
            "errors": _MAYBE_NUMBERS,
            "weight_errors": _MAYBE_NUMBERS,
            "clear": {"type": "array", "items": {"type": "boolean"}},
            "coverage": {"type": ["number", "null"]},
            "supported": _COUNT,
            "explained": _ref("Interval"),
            "mean": {"type": "array", "items": {"type": "number"}},
            "mean_error": {"type": ["number", "null"]},
            "alternatives": {"type": "array", "items": {"type": "array", "items": _COUNT}},
            "choices": {
                "type": "array",
                "items": _object(
                    {"clusters": _COUNT, "explained": _ref("Interval"), "apart": {"type": "boolean"}}
                ),
            },
            "groups": {"type": "array", "items": _ref("Group")},
            "everybody": {"type": "array", "items": _ref("Estimate")},
            "count": _COUNT,
            "notes": {"type": "array", "items": {"type": "string"}},
            "words": {"type": "array", "items": {"type": "string"}},
            "plan_id": {"type": "string", "pattern": _HEX},
        },
    },
    "Interval": _object({name: {"type": ["number", "null"]} for name in ("value", "low", "high")}),
    "Group": _object(
        {
            "number": _COUNT,
            "share": {"type": "number"},
            "low": {"type": ["number", "null"]},
            "high": {"type": ["number", "null"]},
            "clear": {"type": "boolean"},
            "estimates": {"type": "array", "items": _ref("Estimate")},
            "apart": {"type": "array", "items": {"type": "string"}},
        }
    ),
    "Estimate": _object(
        {
            "feature": {"type": "string"},
            "what": {"type": "string"},
            "label": {"type": ["string", "number", "boolean", "null"]},
            **{name: {"type": ["number", "null"]} for name in ("value", "low", "high")},
            "unit": {"type": "string"},
        }
    ),
    "Release": _object(
        {
            "waiting": {"type": ["string", "null"], "pattern": _HEX},
            "bytes": _COUNT,
            "refusal": {"type": ["string", "null"]},
            "released": _COUNT,
        }
    ),
    "Manifest": {
        "type": "object",
        "description": "Version 1 has `centers` instead of `stated`",
        "required": ["format", "version", "plan_id", "table", "result", "counts", "decoding", "signature"],
        "properties": {
            "version": {"type": "integer", "enum": [1, 2]},
            "stated": {"type": "object"},
            "centers": {"type": "array"},
            "decoding": {"type": "object", "required": ["random_state"]},
        },
    },
}


def _answer(words: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"description": words, **({} if content is None else {"content": content})}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _operation(
    name: str,
    summary: str,
    answers: dict[str, Any],
    problems: str,
    *,
    operator: bool = False,
    shuffler: bool = False,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an operation; `problems` are the statuses that it may answer with besides."""
    refused = _answer("A problem", {"application/problem+json": {"schema": _ref("Problem")}})
    every = {status: refused for status in sorted({*problems.split(), *(["401"] if operator else [])})}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {**answers, **every},
        **({"security": [{"operator": []}]} if operator else {}),
        **({"security": [{"shuffler": []}]} if shuffler else {}),
        **({} if body is None else {"requestBody": {"required": True, "content": body}}),
    }


_ROWS: Final = {_REPORTS: {"schema": {"type": "string", "format": "binary"}}}
_FATES: Final = {"200": _answer("Durable, but for the failures, in order", _json(_ref("Failures")))}
_RESULT: Final = {"200": _answer("The result, the same bytes each time", _json(_ref("Result")))}
_BYTES: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_REFUSALS: Final = "400 403 404 413 415 429 503 507"


_RESULTS: Final = ("decode", "result", "table", "manifest", "invitations", "batches/{digest}")


def _paths() -> dict[str, Any]:
    plan = {
        "parameters": [
            {
                "name": "plan_id",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "pattern": _HEX},
                "description": "SHA-256 of the plan's canonical JSON",
            }
        ]
    }
    count = _object({"count": {"type": "integer", "minimum": 1, "maximum": 100_000}})
    tokens = _object({"tokens": {"type": "array", "items": {"type": "string", "pattern": "^[0-9a-f]{32}$"}}})
    ok = _object({"status": {"type": "string"}})
    ids = _object({"plans": {"type": "array", "items": {"type": "string", "pattern": _HEX}}})
    named = _json(_object({"plan_id": {"type": "string", "pattern": _HEX}}))
    named_batch = _json(_object({"batch": {"type": "string", "pattern": _HEX}}))
    text = {"text/plain": {"schema": {"type": "string"}}}
    return {
        "/healthz": {"get": _operation("health", "Does it run", {"200": _answer("Yes", _json(ok))}, "503")},
        "/metrics": {
            "get": _operation("metrics", "Prometheus", {"200": _answer("Figures", text)}, "", operator=True)
        },
        "/openapi.json": {
            "get": _operation("openapi", "This", {"200": _answer("This", _json({"type": "object"}))}, "")
        },
        "/plans": {
            "get": _operation(
                "listPlans", "All plans", {"200": _answer("Their ids", _json(ids))}, "503", operator=True
            )
        },
        "/plans/{plan_id}": {
            **plan,
            "get": _operation(
                "getPlan",
                "The plan in canonical JSON; never changes",
                {"200": _answer("The plan", _json({"type": "object"})), "304": _answer("You have it")},
                "404 503",
            ),
            "put": _operation(
                "putPlan",
                "Open a study",
                {"200": _answer("It was here", named), "201": _answer("It is here now", named)},
                "400 409 413 422 503 507",
                operator=True,
                body=_json({"type": "object"}),
            ),
        },
        "/plans/{plan_id}/reports": {
            **plan,
            "post": _operation(
                "sendReports", "Reports back to back; safe to repeat", _FATES, _REFUSALS, body=_ROWS
            ),
            "delete": _operation(
                "deleteReports",
                "Delete the reports of a closed study",
                {"204": _answer("They are gone")},
                "404 409 503 507",
                operator=True,
            ),
        },
        "/plans/{plan_id}/withdrawals": {
            **plan,
            "post": _operation(
                "withdraw", "Reports that must not count; safe to repeat", _FATES, _REFUSALS, body=_ROWS
            ),
        },
        "/plans/{plan_id}/status": {
            **plan,
            "get": _operation(
                "status",
                "Where the study is, coarsely",
                {"200": _answer("It", _json(_ref("Status")))},
                "404 503",
            ),
        },
        "/plans/{plan_id}/close": {
            **plan,
            "post": _operation(
                "close",
                "Close the study for good; twice is once",
                {"200": _answer("When, rounded", _json(_object({"closed": _COUNT})))},
                "404 503 507",
                operator=True,
            ),
        },
        "/plans/{plan_id}/decode": {
            **plan,
            "post": _operation(
                "decode",
                "Decode a closed study; `Prefer: wait=60` says for how long to wait",
                {
                    **_RESULT,
                    "202": _answer("It takes longer", _json(_object({"state": {"type": "string"}}))),
                },
                "404 409 410 422 503 507",
                operator=True,
            ),
        },
        "/plans/{plan_id}/result": {
            **plan,
            "get": _operation("result", "The result, once decoded", _RESULT, "404 503"),
        },
        "/plans/{plan_id}/table": {
            **plan,
            "get": _operation(
                "table", "The table, once decoded", {"200": _answer("A table file", _BYTES)}, "404 503"
            ),
        },
        "/plans/{plan_id}/manifest": {
            **plan,
            "get": _operation(
                "manifest",
                "What was decoded from what, signed",
                {"200": _answer("The manifest", _json(_ref("Manifest")))},
                "404 503",
            ),
        },
        "/plans/{plan_id}/batches/{digest}": {
            "parameters": [
                *plan["parameters"],
                {
                    "name": "digest",
                    "in": "path",
                    "required": True,
                    "schema": {"type": "string", "pattern": _HEX},
                    "description": "SHA-256 of the batch",
                },
            ],
            "put": _operation(
                "putBatch",
                "A batch that a shuffler released; safe to repeat",
                {"200": _answer("It was here", named_batch), "201": _answer("It is durable", named_batch)},
                "400 403 404 409 413 415 422 503 507",
                shuffler=True,
                body={_SHUFFLED: {"schema": {"type": "string", "format": "binary"}}},
            ),
        },
        "/plans/{plan_id}/invitations": {
            **plan,
            "post": _operation(
                "invite",
                "Issue one-time tokens",
                {"201": _answer("The tokens; only their marks are kept", _json(tokens))},
                "400 404 409 410 413 422 503 507",
                operator=True,
                body=_json(count),
            ),
        },
    }


def _shuffler_paths(plan: dict[str, Any]) -> dict[str, Any]:
    """Return what a shuffler has instead of results."""
    state = {"200": _answer("Where the release is", _json(_ref("Release")))}
    return {
        "/plans/{plan_id}/release": {
            **plan,
            "post": _operation(
                "release",
                "Make a batch of all that was gathered, and deliver it; twice is once",
                state,
                "404 409 410 503 507",
                operator=True,
            ),
            "get": _operation("releaseState", "The batch that waits", state, "404 503", operator=True),
            "delete": _operation(
                "giveUp",
                "Forget a batch that its collector refuses",
                {"204": _answer("Its people do not count")},
                "404 409 503 507",
                operator=True,
            ),
        }
    }


def openapi_document(role: str = "collector") -> dict[str, Any]:
    """Return the document of a service of this role.

    Examples
    --------
    >>> sorted(openapi_document()["paths"])[0]
    '/healthz'
    """
    paths = _paths()
    if role == "shuffler":
        plan = {"parameters": paths["/plans/{plan_id}"]["parameters"]}
        paths = {path: paths[path] for path in paths if path.rpartition("}/")[2] not in _RESULTS}
        paths |= _shuffler_paths(plan)
    words = {
        "collector": "Takes private reports in, keeps them, decodes them (docs/collector.md).",
        "shuffler": "Takes reports in, mixes them, hands them to a collector (docs/shuffler.md).",
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"coterie {role}",
            "version": __version__,
            "description": words[role],
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                "operator": {"type": "http", "scheme": "bearer"},
                "shuffler": {"type": "http", "scheme": "ed25519"},
            },
        },
    }
