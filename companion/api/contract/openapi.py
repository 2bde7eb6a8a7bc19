"""The description of the API in OpenAPI 3.1, made from the table of routes and the schemas."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any, Mapping, Sequence

from ... import __version__
from . import examples
from .refusal import KINDS
from .route import Route
from .schemas import (
    BYTES,
    COMPONENTS,
    ENVELOPE,
    MULTIPART,
    UPLOAD_FIELD,
    Schema,
    schema_reference,
)

# Statuses that every route may answer.
ALWAYS = (400, 403, 429, 500, 503)
WITH_TOKEN = (401,)
FOR_BODIES = (408, 413, 415)
WITH_BODY = ("POST", "PATCH")
JSON = "application/json"
FORM = {
    "type": "object",
    "properties": {
        UPLOAD_FIELD: {
            "type": "string",
            "format": "binary",
            "description": "A PNG, JPEG, GIF or WebP image, or a PDF; at most 10 MiB.",
        }
    },
    "required": [UPLOAD_FIELD],
}
LAST_SEEN = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that the client has; the events after it are sent.",
    "schema": {"type": "string"},
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request with the same key is done once, and gets the same answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
# Statuses that a key may lead to.
FOR_KEYS = (409, 422)
SESSION_ID = {
    "name": "Session-Id",
    "in": "header",
    "required": False,
    "description": "The conversation of the request, for what stands before several servers; a new"
    " conversation gets this id, if it is 32 hexadecimal digits and free.",
    "schema": {"type": "string"},
}
# OpenAPI 3.1 cannot describe streams; its tools take such a schema as that of each event.
SSE_EVENT = {
    "description": "Each event of the stream.",
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "data": {
            "type": "string",
            "contentMediaType": JSON,
            "contentSchema": schema_reference("StreamingEvent"),
        },
    },
    "required": ["id", "data"],
}
RETRY_AFTER = {
    "description": "Seconds until a new attempt may succeed; absent if Google's quota is used up.",
    "schema": {"type": "integer"},
}
# The schemas of errors, with an example of each.
ERRORS = {
    name: {**COMPONENTS[name], "examples": [example]}
    for name, example in (
        ("ErrorResponse", examples.ERROR),
        ("OpenAiErrorResponse", examples.OPENAI_ERROR),
    )
}
LINE = {"type": "string", "description": "Each line is a StreamingEvent as JSON."}


def encoded_document(routes: Sequence[Route[Any]]) -> bytes:
    return json.dumps(api_document(routes), ensure_ascii=False).encode("utf-8")


def api_document(routes: Sequence[Route[Any]]) -> dict[str, Any]:
    """Every body gets a name: generators of clients use it for a class or a type."""
    paths: dict[str, dict[str, Any]] = {}
    bodies: dict[str, Schema] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation_object(route)
        if route.method in WITH_BODY and not route.uploads:
            bodies[_request_name(route)] = _body_schema(route)
        if route.answer:
            whole = route.answer if route.is_openai else _whole_answer(route.answer)
            bodies[_response_name(route)] = whole
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gemini CLI API",
            "version": __version__,
            "description": "The real Gemini CLI as an HTTP server on this machine.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**COMPONENTS, **ERRORS, **bodies},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation_object(route: Route[Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_name(route),
        "tags": [_operation_tag(route)],
        "summary": route.summary,
        "description": _operation_description(route),
        "parameters": _operation_parameters(route),
        "responses": _operation_responses(route),
    }
    if route.is_open:
        operation["security"] = []
    else:
        operation["x-scope"] = route.scope
    if route.uploads:
        operation["requestBody"] = {"required": True, "content": {MULTIPART: {"schema": FORM}}}
    elif route.method in WITH_BODY:
        is_needed = bool(_body_schema(route).get("required"))
        operation["requestBody"] = {
            "required": is_needed,
            "content": {
                JSON: {
                    "schema": schema_reference(_request_name(route)),
                    **_example_member(examples.REQUESTS, route),
                }
            },
        }
    return operation


def _operation_description(route: Route[Any]) -> str:
    told = inspect.getdoc(route.handler) or route.summary
    if route.is_open:
        return told
    more = "".join(f" `{name}` also needs {scope}." for name, scope in route.narrower.items())
    return f"{told}\n\nThe token's scope: {route.scope}.{more}"


def _operation_name(route: Route[Any]) -> str:
    words = re.findall(r"[A-Za-z]+", route.path)
    return route.method.lower() + "".join(map(_with_capital, words))


def _request_name(route: Route[Any]) -> str:
    return _with_capital(_operation_name(route)) + "Request"


def _response_name(route: Route[Any]) -> str:
    return _with_capital(_operation_name(route)) + "Response"


def _with_capital(word: str) -> str:
    return word[0].upper() + word[1:]


def _operation_tag(route: Route[Any]) -> str:
    """The tag is the name of the handler's module: chat_handlers gives "chat"."""
    module = route.handler.__module__.rpartition(".")[2]
    return module[: -len("_handlers")] if module.endswith("_handlers") else "server"


def _example_member(table: Mapping[str, Any], route: Route[Any]) -> dict[str, Any]:
    """The member of an example, if there is one; the tests want one for each."""
    key = f"{route.method} {route.path}"
    return {"example": table[key]} if key in table else {}


def _whole_answer(answer: Schema) -> dict[str, Any]:
    """An answer as one object, with the members that all answers have: generators cannot merge
    several schemas."""
    required = [*ENVELOPE, *answer.get("required", ())]
    return {
        **answer,
        "properties": {**ENVELOPE, **answer["properties"]},
        "required": list(dict.fromkeys(required)),
    }


def _operation_parameters(route: Route[Any]) -> list[dict[str, Any]]:
    found = [dict(LAST_SEEN)] if route.streams else []
    found += [dict(IDEMPOTENCY_KEY)] if _takes_key(route) else []
    in_path = _in_path(route)
    names = set(route.form.schema["properties"]) - set(in_path)
    if route.method in WITH_BODY and ("sessionId" in names or route.path == "/sessions"):
        found.append(dict(SESSION_ID))
    for name, schema in route.form.schema["properties"].items():
        if route.method in WITH_BODY and name not in in_path:
            continue
        place = "path" if name in in_path else "query"
        found.append(
            {
                "name": name,
                "in": place,
                "required": name in route.form.schema.get("required", ()),
                "schema": _in_query(schema),
                **({"example": examples.PARAMETERS[name]} if name in examples.PARAMETERS else {}),
            }
        )
    return found


def _takes_key(route: Route[Any]) -> bool:
    return route.method != "GET" and not route.uploads


def _in_path(route: Route[Any]) -> list[str]:
    return re.findall(r"\{(\w+)\}", route.path)


def _body_schema(route: Route[Any]) -> Schema:
    """The fields that come in the body, not in the path."""
    schema, in_path = route.form.schema, _in_path(route)
    if not in_path:
        return schema
    properties = {
        name: field for name, field in schema["properties"].items() if name not in in_path
    }
    required = [name for name in schema.get("required", ()) if name not in in_path]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
    }


def _in_query(schema: Schema) -> dict[str, Any]:
    """A query cannot contain null."""
    type = schema["type"]
    choices = (
        {"enum": [value for value in schema["enum"] if value is not None]}
        if "enum" in schema
        else {}
    )
    return {**schema, "type": type if isinstance(type, str) else type[0], **choices}


def _operation_responses(route: Route[Any]) -> dict[str, Any]:
    statuses = {*ALWAYS, *route.refusals}
    statuses |= set() if route.is_open else set(WITH_TOKEN)
    statuses |= set(FOR_KEYS) if _takes_key(route) else set()
    statuses |= set(FOR_BODIES) if route.method in WITH_BODY else set()
    well: dict[str, Any] = {"description": "It went well.", "content": _answer_content(route)}
    responses = {"200": {**well, "links": route.links} if route.links else well}
    if route.streams:
        responses["204"] = {"description": "The last event of the stream was seen."}
    error = "OpenAiErrorResponse" if route.is_openai else "ErrorResponse"
    for status in sorted(statuses):
        codes = sorted(code for code, (number, _title) in KINDS.items() if number == status)
        responses[str(status)] = {
            "description": "One of " + ", ".join(codes) + ".",
            "content": {JSON: {"schema": schema_reference(error)}},
        }
    for limited in ("429", "503"):
        responses[limited]["headers"] = {"Retry-After": RETRY_AFTER}
    return responses


def _answer_content(route: Route[Any]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if route.media_type:
        binary = {"format": "binary"} if route.media_type == BYTES else {}
        text = {"type": "string", **binary}
        content[route.media_type] = {"schema": text, **_example_member(examples.TEXTS, route)}
    if route.answer:
        answers = examples.OPENAI_ANSWERS if route.is_openai else examples.ANSWERS
        schema = schema_reference(_response_name(route))
        content[JSON] = {"schema": schema, **_example_member(answers, route)}
    if route.streams:
        content["text/event-stream"] = {"schema": SSE_EVENT, "example": examples.EVENT}
        content["application/x-ndjson"] = {"schema": LINE, "example": examples.LINE}
    return content or {JSON: {"schema": {"type": "object"}}}
