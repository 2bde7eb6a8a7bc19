"""The shape that a client wants an answer in: JSON, perhaps by a JSON Schema of its own. The model
is told in words, and its answer is checked.

The schema comes from outside, so nothing in it may make the server load something or compute for
long: references lead into the schema itself, no regular expression is tried, and the check has a
limited number of steps. What is not supported is refused, never left out; also where a reference
makes a schema of what is data otherwise.
"""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any, Callable, Iterator, Mapping
from urllib.parse import unquote

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators

from ...agent.failure import VALIDATION_ERROR
from ..contract.refusal import UNSUPPORTED_PARAMETER, Refusal

# The steps of one check; an answer of ten thousand values takes about as many.
MAX_STEPS = 200_000
# The most characters of an answer that is checked, of a number in it, and of what the model is told
# of an error; and of a schema, which the model reads with each message.
MAX_ANSWER, MAX_NUMBER, MAX_REASON = 1 << 20, 300, 500
MAX_SCHEMA = 1 << 18
# The most characters of all parts that references lead to, one part within another one counted
# again.
MAX_LED = 4 * MAX_SCHEMA
# Keywords whose check can take very long, that lead out of the schema, or that the library checks
# wrongly: it refuses what `unevaluatedItems` allows, and fails where items have several types.
REFUSED = ("patternProperties", "$schema", "$id", "$anchor", "$dynamicRef",
           "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "unevaluatedItems")  # fmt: skip
# Keywords that the model is told of and that are not checked: a regular expression can take for
# ever.
TOLD = ("pattern",)
# Keywords whose check looks at all members of a value, however short they are themselves.
WHOLE = ("additionalProperties", "unevaluatedProperties")
# Keywords whose values are data or names, not schemas.
DATA = ("enum", "const", "default", "examples", "dependentRequired")
NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
FENCE = "```"
ASKED = "Answer with JSON only: no words around it and no code fence."
OBJECT = "The JSON must be one object."
BY_SCHEMA = "The JSON must be valid by this JSON Schema{about}:\n{schema}"
AGAIN = "That answer cannot be used: {reason}\n{asked}"
# The field of a request that all of this is about.
FIELD = "response_format.json_schema.schema"


class Unfit(Exception):
    """An answer does not have the shape; the text says why, in English, for the model."""


class _TooMuch(Exception):
    """The check takes too many steps."""


class OutputShape:
    """`schema` is None for any JSON object. `about` are the client's words on it."""

    def __init__(self, schema: Mapping[str, Any] | None, about: str = "") -> None:
        """Raises Refusal."""
        words = OBJECT
        if schema is not None:
            # It names the language of the whole, which is always this one.
            schema = {name: value for name, value in schema.items() if name != "$schema"}
            written = json.dumps(schema, ensure_ascii=False)
            if len(written) > MAX_SCHEMA:
                raise Refusal(VALIDATION_ERROR, "field_long", field=FIELD, limit=MAX_SCHEMA)
            _check_schema(schema)
            told = f" ({about})" if about else ""
            words = BY_SCHEMA.format(about=told, schema=written)
        self._schema = schema
        # Requests with the same shape have the same.
        self.instructions = f"{ASKED} {words}"

    def retry_message(self, reason: str) -> str:
        """The message after an answer that does not fit."""
        return AGAIN.format(reason=reason, asked=self.instructions)

    def fitting_json(self, answer: str) -> str:
        """The JSON of the answer, without a fence around it. Takes time. Raises Unfit."""
        text = _without_fence(answer.strip())
        if len(text) > MAX_ANSWER:
            raise Unfit(f"It is longer than {MAX_ANSWER} characters.")
        try:
            value = json.loads(
                text, parse_constant=_no_number, parse_int=_whole_number, parse_float=_finite_number
            )
            if self._schema is None and not isinstance(value, dict):
                raise Unfit("It is not a JSON object.")
            problem = None if self._schema is None else _find_problem(self._schema, value)
        except ValueError as error:
            raise Unfit(f"It is not JSON: {error}.") from None
        except (RecursionError, OverflowError, _TooMuch):
            reason = "It is nested too deeply, or has too many or too large values to be checked."
            raise Unfit(reason) from None
        if problem is not None:
            where = "/".join(map(str, problem.absolute_path))
            raise Unfit(f"At /{where}: {problem.message[:MAX_REASON]}.")
        return text


def of_format(wanted: Mapping[str, Any]) -> OutputShape | None:
    """The shape that a `response_format` asks for; None for any text. Raises Refusal."""
    if wanted["type"] == "text":
        return None
    if wanted["type"] == "json_object":
        return OutputShape(None)
    given = wanted.get("json_schema")
    if given is None:
        field = "response_format.json_schema"
        raise Refusal(VALIDATION_ERROR, "field_missing", field=field)
    return OutputShape(given.get("schema") or {}, given.get("description") or "")


class _Within:
    """Follows references for jsonschema, whose own way would load addresses."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        # To read a long one takes longer than a step of the check.
        self._known: dict[str, Any] = {}

    def resolve(self, reference: str) -> tuple[str, Any]:
        if reference not in self._known:
            self._known[reference] = _resolve_reference(self._schema, reference)
        return reference, self._known[reference]

    def push_scope(self, scope: str) -> None:
        """References depend on no scope: `$id` is refused."""

    def pop_scope(self) -> None:
        pass


def _check_schema(schema: Mapping[str, Any]) -> None:
    """Raises Refusal if the schema is wrong or has what is not supported."""
    # By reference, what it leads to. That is a schema, too, wherever it stands.
    led = {"#": schema}
    left: list[Any] = [schema]
    room = MAX_LED
    try:
        while left:
            part = left.pop()
            room -= len(json.dumps(part))
            if room < 0:
                reason = "too much of it is led to by references"
                raise Refusal(VALIDATION_ERROR, "schema_wrong", field=FIELD, problem=reason)
            _refuse_unsupported(part)
            Draft202012Validator.check_schema(part)
            # A reference that leads nowhere shows only when it is followed.
            references = {str(value) for keyword, value in _all_keywords(part) if keyword == "$ref"}
            new = {each: _resolve_reference(schema, each) for each in references.difference(led)}
            led.update(new)
            left.extend(new.values())
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path))
        reason = f"/{where}: {error.message[:MAX_REASON]}"
        raise Refusal(VALIDATION_ERROR, "schema_wrong", field=FIELD, problem=reason) from None
    except RecursionError:
        raise Refusal(VALIDATION_ERROR, "body_deep", field=FIELD) from None


def _refuse_unsupported(schema: Any) -> None:
    """Raises Refusal."""
    for keyword, value in _all_keywords(schema):
        is_far = keyword == "$ref" and not str(value).startswith("#")
        if keyword in REFUSED or is_far:
            key = "schema_far" if is_far else "schema_keyword"
            raise Refusal(UNSUPPORTED_PARAMETER, key, field=FIELD, keyword=keyword)


def _all_keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """All keywords of the schema and of those within it."""
    if isinstance(schema, list):
        for each in schema:
            yield from _all_keywords(each)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        yield keyword, value
        if keyword in NAMED and isinstance(value, dict):
            for each in value.values():
                yield from _all_keywords(each)
        elif keyword not in DATA:
            yield from _all_keywords(value)


def _resolve_reference(schema: Mapping[str, Any], reference: str) -> Any:
    """What the reference leads to (RFC 6901, section 6). Raises Refusal if that is nothing."""
    first, *parts = unquote(reference[1:]).split("/")
    found: Any = None if first else schema
    for part in parts:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            found = None
    if found is None:
        reason = f"there is no {reference[:MAX_REASON]}"
        raise Refusal(VALIDATION_ERROR, "schema_wrong", field=FIELD, problem=reason)
    return found


def _find_problem(schema: Mapping[str, Any], value: Any) -> ValidationError | None:
    """Raises _TooMuch, RecursionError."""
    left = [MAX_STEPS]
    checks: dict[str, Callable[..., Iterator[ValidationError]]] = {
        name: partial(_count_check, name, check, left)
        for name, check in Draft202012Validator.VALIDATORS.items()
    }
    checks.update(dict.fromkeys(TOLD, _pass_check))
    extend: Any = validators.extend
    counting = extend(Draft202012Validator, checks)
    validator = counting(schema, resolver=_Within(schema))
    found: ValidationError | None = next(validator.iter_errors(value), None)
    return found


def _pass_check(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    return iter(())


def _count_check(
    name: str,
    check: Callable[..., Any],
    left: list[int],
    validator: Any,
    rule: Any,
    value: Any,
    schema: Any,
) -> Iterator[ValidationError]:
    """A keyword's check, which costs steps: one, and as many as it compares values."""
    left[0] -= 1 + (len(rule) if isinstance(rule, (list, dict)) else 0)
    if name == "uniqueItems" and isinstance(value, list):
        # Each is compared with each other one.
        left[0] -= len(value) ** 2
    elif name in WHOLE and isinstance(value, (list, dict)):
        left[0] -= len(value)
    if left[0] < 0:
        raise _TooMuch
    yield from check(validator, rule, value, schema) or ()


def _without_fence(text: str) -> str:
    """The text without a code fence around it."""
    first, newline, rest = text.partition("\n")
    is_fenced = first.strip().lower() in (FENCE, FENCE + "json") and rest.endswith(FENCE)
    return rest[: -len(FENCE)].strip() if newline and is_fenced else text


def _finite_number(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


def _whole_number(digits: str) -> int:
    # Python takes the square of their number.
    if len(digits) > MAX_NUMBER:
        raise ValueError(f"a number has more than {MAX_NUMBER} digits")
    return int(digits)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
