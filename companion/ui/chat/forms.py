"""Questions of an agent that are forms, as panels one after the other, or addresses. The agent's
message itself stands in the chat. UI thread only."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

import sublime

from ...agent.elicitation import (
    ACCEPT,
    BOOLEAN,
    CHOICE,
    CHOICES,
    DECLINE,
    INTEGER,
    NUMBER,
    STRING,
    Field,
)
from ...base.web_address import web_address
from ...chat.amounts import count_text, one_line, shorten_text
from ...chat.question import ChatQuestion
from .. import application
from ..panels import Panel

# The action, and the values of the fields by their names. None: the user has not decided.
Reply = Optional[Tuple[str, Optional[Mapping[str, Any]]]]

# What a field can become beside a value: the one before is asked again; there is no value.
BACK, NOTHING = object(), object()
YES, NO, LEAVE_OUT = "Yes", "No", "Leave it out"
CHOSEN, NOT_CHOSEN = "☑", "☐"
DONE = "Done, with {} chosen"
SEND, DECLINE_IT, REVIEW = "Send these answers", "Decline", "Send these answers, or change one"
# What the review of all fields ends with, beside the number of one of them.
SENT, REFUSED = 1_000_001, 1_000_002
NONE = "(left out)"
OPEN, COPY = "Open {} in the browser", "Copy the address"
OTHER_ADDRESS = "This is no address for a browser."
WRONG = "{} does not take that: {}."
NEEDED = "{} needs an answer; Escape goes back."
KINDS = {STRING: "a text", NUMBER: "a number", INTEGER: "a whole number"}
# Code points of what a panel shows of a field.
MAX_CAPTION, MAX_VALUE = 120, 60


async def fill_form(panel: Panel, question: ChatQuestion, tell: Callable[[str], None]) -> Reply:
    """Field by field; Escape goes back by one."""
    filling, count = _Filling(panel, question.fields, tell), len(question.fields)
    at = 0
    while at >= 0 and not panel.is_withdrawn:
        if at < count:
            at += await filling.ask_field(at)
            continue
        chosen = await filling.review_answers() if count != 1 else SENT
        if chosen == SENT:
            return ACCEPT, filling.content
        if chosen == REFUSED:
            return DECLINE, None
        if chosen < 0:
            at -= 1
        else:
            await filling.ask_field(chosen)
    return None


async def confirm_address(panel: Panel, question: ChatQuestion, window: sublime.Window) -> Reply:
    """The user sees the whole address before it is opened."""
    url, found = question.url, web_address(question.url)
    ways = [[OPEN.format(found.host), url]] if found else []
    ways += [[COPY, url], [DECLINE_IT, "" if found else OTHER_ADDRESS]]
    chosen = await panel.ask_choice(ways, one_line(question.title))
    if chosen < 0 or chosen == len(ways) - 1:
        return None if chosen < 0 else (DECLINE, None)
    if found and chosen == 0:
        window.run_command("open_url", {"url": found.url})
    else:
        application.copy_text(url)
    return ACCEPT, None


class _Filling:
    """The values so far, by the names of the fields."""

    def __init__(self, panel: Panel, fields: Sequence[Field], tell: Callable[[str], None]) -> None:
        self._panel = panel
        self._fields = fields
        self._tell = tell
        self.content: dict[str, Any] = {}

    async def ask_field(self, at: int) -> int:
        """Ask for a field; by how many to go on."""
        field = self._fields[at]
        if field.kind in KINDS:
            value = await self._ask_text(at, field)
        elif field.kind == CHOICES:
            value = await self._ask_choices(at, field)
        else:
            value = await self._ask_choice(at, field)
        if value is BACK:
            return -1
        if value is NOTHING:
            self.content.pop(field.name, None)
        else:
            self.content[field.name] = value
        return 1

    async def review_answers(self) -> int:
        """All values once more: SENT, REFUSED, the number of a field to change, or -1."""
        rows = [[_field_title(field), self._shown_value(field)] for field in self._fields]
        items = [[SEND, count_text(len(self.content), "answer")], *rows, [DECLINE_IT, ""]]
        chosen = await self._panel.ask_choice(items, REVIEW)
        if chosen == 0:
            return SENT
        return REFUSED if chosen > len(rows) else max(chosen - 1, -1)

    def _shown_value(self, field: Field) -> str:
        if field.name not in self.content:
            return NONE
        value = self.content[field.name]
        if field.kind == BOOLEAN:
            return YES if value else NO
        names = {each.value: each.name for each in field.choices}
        parts = value if isinstance(value, list) else [value]
        return shorten_text(
            one_line(", ".join(str(names.get(part, part)) for part in parts)), MAX_VALUE
        )

    def _field_caption(self, at: int, field: Field) -> str:
        count = len(self._fields)
        place = f" ({at + 1} of {count})" if count > 1 else ""
        told = f": {field.description}" if field.description else ""
        return shorten_text(one_line(f"{_field_title(field)}{place}{told}"), MAX_CAPTION)

    def _known_value(self, field: Field) -> Any:
        return self.content.get(field.name, field.default)

    async def _ask_text(self, at: int, field: Field) -> Any:
        known = self._known_value(field)
        text = "" if known is None else str(known)
        while True:
            typed = await self._panel.ask_line(self._field_caption(at, field), text)
            if typed is None:
                return BACK
            text = typed
            if not text:
                if not field.is_required:
                    return NOTHING
                self._tell(NEEDED.format(_field_title(field)))
                continue
            value = _parse_value(field, text)
            if field.takes_value(value):
                return value
            self._tell(WRONG.format(_field_title(field), _expected_value(field)))

    async def _ask_choice(self, at: int, field: Field) -> Any:
        is_choice = field.kind == CHOICE
        values: list[Any] = (
            [choice.value for choice in field.choices] if is_choice else [True, False]
        )
        names = [choice.name for choice in field.choices] if is_choice else [YES, NO]
        if not field.is_required:
            values, names = [*values, NOTHING], [*names, LEAVE_OUT]
        known = self._known_value(field)
        first = values.index(known) if known in values else 0
        chosen = await self._panel.ask_choice(
            names, self._field_caption(at, field), selected_index=first
        )
        return BACK if chosen < 0 else values[chosen]

    async def _ask_choices(self, at: int, field: Field) -> Any:
        chosen = set(self._known_value(field) or ())
        number = 0
        while True:
            marks = [CHOSEN if choice.value in chosen else NOT_CHOSEN for choice in field.choices]
            names = [f"{mark} {choice.name}" for mark, choice in zip(marks, field.choices)]
            items = [*names, DONE.format(len(chosen))]
            caption = self._field_caption(at, field)
            number = await self._panel.ask_choice(items, caption, selected_index=number)
            if number < 0:
                return BACK
            if number < len(names):
                chosen ^= {field.choices[number].value}
                continue
            values = [choice.value for choice in field.choices if choice.value in chosen]
            if not values and not field.is_required:
                return NOTHING
            if field.takes_value(values):
                return values
            self._tell(WRONG.format(_field_title(field), _expected_value(field)))


def _field_title(field: Field) -> str:
    return field.title or field.name


def _parse_value(field: Field, text: str) -> Any:
    """None for what is no number."""
    if field.kind == STRING:
        return text
    try:
        return int(text) if field.kind == INTEGER else float(text)
    except ValueError:
        return None


def _expected_value(field: Field) -> str:
    """What a field takes, for the user."""
    what = KINDS.get(field.kind, "")
    unit = {STRING: " characters", CHOICES: " chosen"}.get(field.kind, "")
    least = f"at least {field.least:g}{unit}" if field.least is not None else ""
    most = f"at most {field.most:g}{unit}" if field.most is not None else ""
    return ", ".join(words for words in (what, least, most) if words)
