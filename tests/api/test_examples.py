"""The examples of openapi.json, held against its schemas."""

from __future__ import annotations

import re
import unittest
from typing import Any, Iterator

import jsonschema
from GeminiCompanion.companion.api import routes
from GeminiCompanion.companion.api.contract import examples, openapi

DOCUMENT = openapi.api_document(routes.API)
JSON = "application/json"


def check(value: Any, schema: Any) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(whole).validate(value)


def operations() -> Iterator[tuple[str, Any]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


class Examples(unittest.TestCase):
    def test_every_operation_has_an_example_of_all_that_it_takes_and_gives(self) -> None:
        for name, operation in operations():
            with self.subTest(name):
                if name == "GET /openapi.json":
                    continue
                for media, content in operation.get("requestBody", {}).get("content", {}).items():
                    if media == JSON:
                        check(content["example"], content["schema"])
                for content in operation["responses"]["200"]["content"].values():
                    check(content["example"], content["schema"])
                for each in operation["parameters"]:
                    if each["in"] != "header":
                        check(each["example"], each["schema"])

    def test_no_example_is_of_an_operation_that_is_not_there(self) -> None:
        known = {name for name, _operation in operations()}
        for table in (examples.REQUESTS, examples.ANSWERS, examples.OPENAI_ANSWERS):
            self.assertLessEqual(set(table), known)

    def test_the_server_takes_what_the_examples_send(self) -> None:
        for route in routes.API:
            name = f"{route.method} {route.path}"
            if name in examples.REQUESTS:
                fields = re.findall(r"\{(\w+)\}", route.path)
                in_path = {field: examples.PARAMETERS[field] for field in fields}
                with self.subTest(name):
                    route.form.check_fields({**examples.REQUESTS[name], **in_path})

    def test_the_events_of_examples_are_events(self) -> None:
        event = {"$ref": "#/components/schemas/StreamingEvent"}
        for each in (examples.CONTENT, examples.CONFIRMATION, examples.ELICITATION):
            check(each, event)

    def test_errors_have_examples_of_their_two_forms(self) -> None:
        for name in ("ErrorResponse", "OpenAiErrorResponse"):
            schema = DOCUMENT["components"]["schemas"][name]
            for each in schema["examples"]:
                check(each, schema)
