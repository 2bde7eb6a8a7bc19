"""A value checked against its JSON Schema; the room's only importer of jsonschema, which is a tenth
of the package's memory, and so imported when it is first needed."""

from __future__ import annotations

from typing import Any, Mapping

from jsonschema import Draft7Validator, ValidationError

__all__ = ["ValidationError", "problem"]


def problem(schema: Mapping[str, Any], value: Any) -> ValidationError | None:
    """The first thing that does not fit."""
    return next(Draft7Validator(schema).iter_errors(value), None)
