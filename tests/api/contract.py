"""What openapi.json promises, held against real answers: each helper of the API's tests shows every
answer that it gets."""

from __future__ import annotations

import re
from typing import Any, Mapping

import jsonschema
from GeminiCompanion.companion.api import routes
from GeminiCompanion.companion.api.contract import openapi

DOCUMENT: Mapping[str, Any] = openapi.api_document(routes.API)
JSON = "application/json"


class Contract:
    """`seen` are the answers that came, as (method, path of the document, status)."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str, int]] = set()

    def check(self, method: str, path: str, status: int, body: Any) -> None:
        """An answer of JSON. Raises AssertionError or ValidationError where it is not promised."""
        known = _path_of(path.partition("?")[0])
        operation = DOCUMENT["paths"].get(known, {}).get(method.lower())
        if operation is None:
            _check(body, {"$ref": "#/components/schemas/ErrorResponse"})
            return
        self.seen.add((method, known or "", status))
        promised = operation["responses"].get(str(status))
        if promised is None:
            raise AssertionError(f"{method} {path} answers {status}, which is not described")
        _check(body, promised["content"][JSON]["schema"])

    def check_event(self, event: Mapping[str, Any]) -> None:
        _check(event, {"$ref": "#/components/schemas/StreamingEvent"})


def _path_of(path: str) -> str | None:
    for known in DOCUMENT["paths"]:
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path):
            return str(known)
    return None


def _check(value: Any, schema: Mapping[str, Any]) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(whole).validate(value)
