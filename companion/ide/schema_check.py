"""Checks a value against its JSON Schema. The only module of the room that imports jsonschema,
which needs a tenth of the package's memory and so is imported when it is first needed."""

from __future__ import annotations

from typing import Any, Mapping

from jsonschema import Draft7Validator, ValidationError

__all__ = ["ValidationError", "find_problem"]


def find_problem(schema: Mapping[str, Any], value: Any) -> ValidationError | None:
    """The first error; None if the value fits."""
    return next(Draft7Validator(schema).iter_errors(value), None)
