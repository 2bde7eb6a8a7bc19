"""All that is decided with the answer to a question about a call, as one text for a person: the
same one wherever a question is shown.

A command alone stands as it is. With other arguments beside it, each is named, at the beginning of
a line; further lines of a value are indented, so that no value looks like another argument:

    command:
        cd build
        make
    workdir: /elsewhere

Nothing in it is hidden (`base/shown_text`), and nothing left out, but what the edits show.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, Tuple

from .display import shown
from .sentence import ENGLISH, sentence, translated_text
from .turn_events import ToolConfirmation

# What stands before the text that would run, where no argument is that text; before what the agent
# says of the call, where it tells no arguments.
CALL, SAID = sentence("call"), sentence("said")
INDENT = "    "
# JSON of so many characters stands in one line.
MAX_LINE = 80
# The arguments by which tools get the texts of an edit and name its file.
OF_EDIT = ("content", "new_string", "newString", "old_string", "oldString")
OF_FILE = ("file_path", "filePath", "filepath", "path")
# A name that needs no quotes.
PLAIN_NAME = re.compile(r"\w[\w.-]*")
# A name, and its value as a text.
Part = Tuple[str, str]


def question_text(body: ToolConfirmation, language: str = ENGLISH) -> str:
    """Empty for an edit of which the edits show everything."""
    parts = list(_question_parts(body, language))
    if len(parts) == 1 and parts[0][1] == body.command:
        return shown.display_text(body.command, language)
    return "\n".join(
        _named_value(name, shown.display_text(value, language)) for name, value in parts
    )


def _question_parts(body: ToolConfirmation, language: str) -> Iterator[Part]:
    args = {name: value for name, value in body.args.items() if not _is_in_edits(value, name, body)}
    head = next((name for name, value in args.items() if _is_command(value, body)), "")
    if head:
        yield head, body.command
    elif not _only_names(body):
        yield translated_text(CALL, language), body.command
    for name, value in args.items():
        if name != head:
            yield name, value if isinstance(value, str) else _value_as_json(value)
    if body.beside:
        yield translated_text(SAID, language), body.beside


def _is_command(value: object, body: ToolConfirmation) -> bool:
    return isinstance(value, str) and bool(value) and value == body.command


def _only_names(body: ToolConfirmation) -> bool:
    """Whether the command is made of what stands elsewhere: the name of the tool, and the files of
    its edits or its arguments."""
    if body.diffs:
        return is_edit(body)
    rest = body.command[len(body.name) :] if body.command.startswith(body.name) else ""
    if not body.args or not rest.strip():
        return bool(body.args) and body.command.strip() == body.name
    try:
        return bool(json.loads(rest) == body.args)
    except (ValueError, RecursionError):
        return False


def is_edit(body: ToolConfirmation) -> bool:
    """Whether it would only make its edits."""
    return bool(body.diffs) and body.command == " ".join(
        [body.name, *(diff.path for diff in body.diffs)]
    )


def _is_in_edits(value: object, name: str, body: ToolConfirmation) -> bool:
    """Whether the edits, which are shown as well, have this argument."""
    if not isinstance(value, str):
        return False
    if name in OF_FILE:
        return any(value == diff.path for diff in body.diffs)
    if name not in OF_EDIT:
        return False
    both = [text for diff in body.diffs for text in (diff.old_text, diff.new_text)]
    return any(_with_line_feeds(value) in _with_line_feeds(text) for text in both)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n")


def _value_as_json(value: Any) -> str:
    told = json.dumps(value, ensure_ascii=False, default=str)
    if len(told) <= MAX_LINE:
        return told
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except RecursionError:
        # Without line ends it may lie deeper.
        return told


def _named_value(name: str, value: str) -> str:
    named = shown.display_line(name if PLAIN_NAME.fullmatch(name) else json.dumps(name), ENGLISH)
    if "\n" not in value:
        return f"{named}: {value}"
    return "\n".join([f"{named}:", *(INDENT + line for line in value.rstrip("\n").split("\n"))])
