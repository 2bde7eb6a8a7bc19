"""Checks the fields of a request against their schema. An error names the field and what was
expected, never the value. Imports jsonschema, as `ide/schema_check` does."""

from __future__ import annotations

import re
from typing import Any, Iterator, Sequence

from jsonschema import Draft7Validator, ValidationError, validators

from ...agent.failure import VALIDATION_ERROR
from .refusal import Refusal
from .schemas import Schema

# The most digits of a number in a query.
MAX_DIGITS = 15


def _check_pattern(
    validator: Any, pattern: str, value: Any, schema: Any
) -> Iterator[ValidationError]:
    # "$" is the end of the text in JSON Schema; Python's also stands before a last line end.
    whole = pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern
    if isinstance(value, str) and not re.search(whole, value):
        yield ValidationError("")


_Validator: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft7Validator, {"pattern": _check_pattern}
)


class Form:
    """The fields that one route takes."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._validator = _Validator(schema)

    def check_fields(self, value: Any) -> dict[str, Any]:
        """The fields that were given. Raises Refusal."""
        if not isinstance(value, dict):
            raise Refusal(VALIDATION_ERROR, "body_no_object")
        problem = next(self._validator.iter_errors(value), None)
        if problem is not None:
            raise _refusal_of(problem)
        return {name: value[name] for name in value if value[name] is not None}

    def of_query(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The fields of a query, whose values are texts. Raises Refusal."""
        value = {name: self._as_number(name, text) for name, text in pairs}
        known = [name for name, _text in pairs if name in self.schema["properties"]]
        twice = next((name for name in known if known.count(name) > 1), None)
        if twice is not None:
            raise Refusal(VALIDATION_ERROR, "field_twice", field=twice)
        return self.check_fields(value)

    def _as_number(self, name: str, text: str) -> Any:
        """The text as a number, if the field takes one and it is one."""
        wants = "integer" in self.schema["properties"].get(name, {}).get("type", ())
        is_one = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        return int(text) if wants and is_one else text


def _refusal_of(problem: ValidationError) -> Refusal:
    kind = str(problem.validator)
    wanted: Any = problem.validator_value
    rules: Any = problem.schema
    given: Any = problem.instance
    field = ".".join(map(str, problem.absolute_path))
    if kind == "anyOf":
        return _refusal_of(_of_chosen(problem))
    if kind == "required":
        missing = next(name for name in wanted if name not in given)
        field = f"{field}.{missing}" if field else missing
        return Refusal(VALIDATION_ERROR, "field_missing", field=field)
    if kind == "enum":
        expected = ", ".join(value for value in wanted if value is not None)
        return Refusal(VALIDATION_ERROR, "field_value", field=field, expected=expected)
    if kind in ("minLength", "minItems") or (kind == "pattern" and not given):
        return Refusal(VALIDATION_ERROR, "field_short", field=field)
    if kind in ("maxLength", "maxItems"):
        sentence = "field_long" if kind == "maxLength" else "field_many"
        return Refusal(VALIDATION_ERROR, sentence, field=field, limit=wanted)
    if kind in ("minimum", "maximum"):
        low, high = rules.get("minimum"), rules.get("maximum")
        return Refusal(VALIDATION_ERROR, "field_number", field=field, low=low, high=high)
    if kind == "pattern":
        return Refusal(VALIDATION_ERROR, "field_letters", field=field)
    expected = wanted if isinstance(wanted, str) else wanted[0]
    return Refusal(VALIDATION_ERROR, "field_type", field=field, expected=expected)


def _of_chosen(problem: ValidationError) -> ValidationError:
    """The error by the alternative that the client meant: the first one whose constants and choices
    match the given ones, or else whose constants do."""
    alternatives: dict[Any, list[ValidationError]] = {}
    for each in problem.context:
        alternatives.setdefault(each.relative_schema_path[0], []).append(each)
    for excluding in (("const", "enum"), ("const",)):
        for them in alternatives.values():
            if not any(error.validator in excluding for error in them):
                return them[0]
    return problem.context[0]
