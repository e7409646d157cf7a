"""The description of the HTTP interface, OpenAPI 3.1: `openapi.json`, as it is served and tested.

An operation that one role alone has carries its tag. Tests hold the document to the routes, to the kinds of
problems and to every answer of a running service.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from coterie import __version__


@cache
def openapi_document(role: str = "collector") -> dict[str, Any]:
    """Return the document of a service of this role.

    Examples
    --------
    >>> sorted(openapi_document()["paths"])[0]
    '/healthz'
    """
    document: dict[str, Any] = json.loads(
        files("coterie.service").joinpath("openapi.json").read_text(encoding="utf-8")
    )
    (tag,) = (each for each in document["tags"] if each["name"] == role)
    document["info"] |= {
        "title": f"coterie {role}",
        "version": __version__,
        "description": tag["description"],
    }
    for path, operations in list(document["paths"].items()):
        for name, operation in list(operations.items()):
            if name != "parameters" and role not in operation.get("tags", (role,)):
                del operations[name]
        if not operations.keys() - {"parameters"}:
            del document["paths"][path]
    return document
