"""The table of commands (`companion/ui/commands/table.py`), read without the editor that its
classes need."""

from __future__ import annotations

import ast
import functools
import os
from typing import Any, NamedTuple

from GeminiCompanion.headless.commands import command_name

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "companion", "ui", "commands")
# What opens a list.
OPENER = "gemini_companion_list"


class Entry(NamedTuple):
    """What a palette or a menu says of a command."""

    caption: str
    command: str
    arguments: dict[str, Any]


class Row(NamedTuple):
    entry: Entry
    list: str


def rows() -> list[Row]:
    """The commands for users, in the order of the table."""
    defaults = ["", "", {}]
    found = []
    for call in _table("ROWS").elts:
        command, *values = call.args
        given = [ast.literal_eval(value) for value in values]
        caption, name, arguments = given + defaults[len(given) :]
        found.append(Row(Entry(caption, command_name(command.attr), arguments), name))
    return found


def lists() -> dict[str, str]:
    """The captions of the lists, by their names."""
    found: dict[str, str] = ast.literal_eval(_table("LISTS"))
    return found


def internal() -> list[str]:
    """The commands that stand in no menu."""
    return [command_name(node.attr) for node in _table("INTERNAL").elts]


def palette() -> list[Entry]:
    """What the palette has to offer: each list stands where its first row is."""
    captions, found = lists(), []
    for entry, name in rows():
        opener = Entry(captions[name], OPENER, {"list": name}) if name else entry
        if opener not in found:
            found.append(opener)
    return found


@functools.lru_cache(maxsize=None)
def _table(name: str) -> Any:
    """The value of the table's global variable, as it is written."""
    with open(os.path.join(FOLDER, "table.py"), encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    (value,) = [
        node.value
        for node in body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
    ]
    return value
