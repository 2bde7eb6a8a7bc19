"""Questions of an agent to the user beside permissions: a form of a few fields, or an address to be
opened in a browser.

Source: the Agent Client Protocol's schema, version 1: `CreateElicitationRequest`,
`CreateElicitationResponse`, `ElicitationSchema`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Mapping, Tuple, Union

from ..base import jsonrpc
from .acp.members import Unreadable, object_of, objects_of, required_text, text_of
from .session_state import OptionChoice
from .wording.surrogates import clean_surrogates

METHOD = "elicitation/create"
# The kinds of questions.
FORM, URL = "form", "url"
# What the user can do: answer, refuse to, or neither.
ACCEPT, DECLINE, CANCEL = ACTIONS = ("accept", "decline", "cancel")
# The kinds of fields; of the last two the choices are given.
STRING, NUMBER, INTEGER, BOOLEAN, CHOICE, CHOICES = KINDS = (
    *("string", "number", "integer", "boolean", "choice", "choices"),
)
# The most fields, and the most choices of one.
MOST_FIELDS, MOST_CHOICES = 100, 1000

# The value of a field.
Value = Union[str, int, float, bool, Tuple[str, ...]]


@dataclass(frozen=True)
class Field:
    """`kind` is one of KINDS. `format` is "email", "uri", "date" or "date-time", or empty. `least`
    and `most` are limits of a number, of a text's length, or of how many are chosen. `default` is
    None if there is none."""

    name: str
    kind: str
    title: str = ""
    description: str = ""
    is_required: bool = False
    choices: tuple[OptionChoice, ...] = ()
    default: Value | None = None
    least: float | None = None
    most: float | None = None
    format: str = ""

    def takes_value(self, value: Any) -> bool:
        """Whether a user may answer with it. Patterns and formats are checked by the agent."""
        if self.kind == BOOLEAN:
            return isinstance(value, bool)
        if self.kind in (NUMBER, INTEGER):
            kinds = (int,) if self.kind == INTEGER else (int, float)
            return (
                isinstance(value, kinds)
                and not isinstance(value, bool)
                and self._number_fits(value)
            )
        known = {each.value for each in self.choices}
        if self.kind == CHOICES:
            is_list = isinstance(value, (list, tuple)) and all(
                isinstance(text, str) for text in value
            )
            return is_list and known.issuperset(value) and self._number_fits(len(value))
        if not isinstance(value, str):
            return False
        return value in known if self.kind == CHOICE else self._number_fits(len(value))

    def _number_fits(self, size: float) -> bool:
        too_small = self.least is not None and size < self.least
        too_large = self.most is not None and size > self.most
        is_number = isinstance(size, int) or math.isfinite(size)
        return is_number and not too_small and not too_large


@dataclass(frozen=True)
class ElicitationRequest:
    """`id` is the id of the agent's request. `session` is empty where it belongs to none. Of a FORM
    there are `fields`, of an URL there is the `url`. `call` is the id of the call that it belongs
    to, or empty."""

    session: str
    id: jsonrpc.Id
    mode: str
    message: str
    fields: tuple[Field, ...] = ()
    url: str = ""
    call: str = ""


def elicitation_result(action: str, content: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The result that answers the request. `content` are the values of a form's fields."""
    return {"action": action} if content is None else {"action": action, "content": content}


def read_request(request: jsonrpc.Request) -> ElicitationRequest:
    """Raises Unreadable."""
    params = clean_surrogates(request.params)
    mode = text_of(params, "mode")
    if mode not in (FORM, URL):
        raise Unreadable(METHOD, f"{FORM} or {URL} as mode", mode)
    return ElicitationRequest(
        text_of(params, "sessionId"),
        request.id,
        mode,
        required_text(params, "message", METHOD),
        tuple(_read_fields(object_of(params, "requestedSchema"))) if mode == FORM else (),
        required_text(params, "url", METHOD) if mode == URL else "",
        text_of(params, "toolCallId"),
    )


def _read_fields(schema: Mapping[str, Any]) -> list[Field]:
    """Raises Unreadable for a field that cannot be asked for: the form would lack it."""
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    told = object_of(schema, "properties").items()
    if len(told) > MOST_FIELDS:
        raise Unreadable(METHOD, f"at most {MOST_FIELDS} fields", len(told))
    return [_read_field(name, of, name in names) for name, of in told]


def _read_field(name: str, told: Any, is_required: bool) -> Field:
    if not isinstance(told, dict):
        raise Unreadable(METHOD, f"an object as field {name}", told)
    kind, choices = _read_kind(told)
    if kind not in KINDS:
        raise Unreadable(METHOD, f"a known type of the field {name}", kind)
    low, high = _LIMITS.get(kind, ("minimum", "maximum"))
    field = Field(
        name,
        kind,
        text_of(told, "title") or name,
        text_of(told, "description"),
        is_required,
        choices,
        None,
        _read_number(told, low),
        _read_number(told, high),
        text_of(told, "format"),
    )
    default = told.get("default")
    given = tuple(default) if isinstance(default, list) else default
    return Field(**{**vars(field), "default": given}) if field.takes_value(given) else field


_LIMITS = {STRING: ("minLength", "maxLength"), CHOICES: ("minItems", "maxItems")}


def _read_kind(told: Mapping[str, Any]) -> tuple[str, tuple[OptionChoice, ...]]:
    """The kind of a field, and its choices."""
    kind = text_of(told, "type")
    if kind == STRING:
        choices = _read_choices(told, "oneOf")
        return (CHOICE if choices else STRING), choices
    if kind == "array":
        choices = _read_choices(object_of(told, "items"), "anyOf")
        return (CHOICES if choices else kind), choices
    return kind, ()


def _read_choices(told: Mapping[str, Any], name: str) -> tuple[OptionChoice, ...]:
    """The choices: those with titles in the member of this name, those without in `enum`."""
    values = told.get("enum")
    plain = values if isinstance(values, list) else []
    titled = [
        (text_of(choice, "const"), _choice_title(choice)) for choice in objects_of(told, name)
    ]
    found = [*((text, text) for text in plain if isinstance(text, str)), *titled]
    return tuple(
        OptionChoice(value, title or value) for value, title in found[:MOST_CHOICES] if value
    )


def _choice_title(told: Mapping[str, Any]) -> str:
    """The choice's title with what it means: some agents write that into the title themselves."""
    title, meaning = text_of(told, "title") or text_of(told, "const"), text_of(told, "description")
    return f"{title} — {meaning}" if meaning else title


def _read_number(told: Mapping[str, Any], name: str) -> float | None:
    value = told.get(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else None
