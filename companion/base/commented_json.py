"""Reads JSON with comments and with commas before closing brackets, as people write settings, and
changes it in place, so that the rest of the text stays as it is. Knows no file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Sequence

BOM = "\ufeff"
# The most levels of brackets; settings never have more.
MAX_DEPTH = 100
SPACE = re.compile(r"[ \t\r\n]*")
LINE_COMMENT = re.compile(r"//[^\r\n]*")
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
SCALAR = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])")
# The part of a broken text that a message shows.
WORD = re.compile(r"[\w.+-]{1,20}|.", re.DOTALL)
# What may stand between a value and the end of its line.
REST_OF_LINE = re.compile(r"(?:[ \t]|/\*(?:(?!\*/)[^\r\n])*\*/)*(?://[^\r\n]*)?")
INDENTATION = re.compile(r"[ \t]*\Z")
UNIT = "  "


class Broken(Exception):
    """The text cannot be read. `line` counts from 1; `what` says what is wrong there."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line
        self.what = what


@dataclass(frozen=True)
class Node:
    """A value and its place, as offsets in the text. `members` are those of an object, in order,
    each with the offset of its key. `comma` is the offset of a comma before the closing bracket, -1
    if there is none. `value` is the value for Python."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, int, Node], ...] = ()
    comma: int = -1

    def member(self, name: str) -> Node | None:
        """The member of that name that counts: the last one."""
        return next((node for key, _, node in reversed(self.members) if key == name), None)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith(BOM) else 0
        self.commas: list[int] = []

    def broken_at(self, what: str, at: int | None = None) -> Broken:
        at = self.at if at is None else at
        return Broken(self.text.count("\n", 0, at) + 1, what)

    def next_token(self) -> str:
        """The next token, for an error message."""
        word = WORD.match(self.text, self.at)
        return repr(word.group()) if word else "the end of the file"

    def skip(self) -> None:
        """Skip space and comments."""
        while True:
            self.at = _end_of_match(SPACE, self.text, self.at)
            if self.text.startswith("//", self.at):
                self.at = _end_of_match(LINE_COMMENT, self.text, self.at)
            elif self.text.startswith("/*", self.at):
                comment = BLOCK_COMMENT.match(self.text, self.at)
                if comment is None:
                    raise self.broken_at("the comment that begins here has no end")
                self.at = comment.end()
            else:
                return

    def value(self, depth: int) -> Node:
        start = self.at
        if depth > MAX_DEPTH:
            raise self.broken_at(f"brackets are nested more than {MAX_DEPTH} deep")
        if self.text.startswith("{", start):
            return self.object(depth)
        if self.text.startswith("[", start):
            return self.array(depth)
        if self.text.startswith('"', start):
            string = self.string()
            return Node(start, self.at, string)
        scalar = SCALAR.match(self.text, start)
        if scalar is None:
            raise self.broken_at(f"expected a value, found {self.next_token()}")
        self.at = scalar.end()
        return Node(start, self.at, json.loads(scalar.group()))

    def string(self) -> str:
        match = STRING.match(self.text, self.at)
        if match is None:
            raise self.broken_at("the string that begins here does not end in its line")
        try:
            value: str = json.loads(match.group())
        except ValueError:
            raise self.broken_at(f"{match.group()} has an escape that JSON does not know") from None
        self.at = match.end()
        return value

    def object(self, depth: int) -> Node:
        start = self.at
        members: list[tuple[str, int, Node]] = []
        comma = -1
        self.at += 1
        while not self.closes("}", comma, bool(members), '"name": value'):
            key_at = self.at
            if not self.text.startswith('"', key_at):
                raise self.broken_at(f"expected a name in double quotes, found {self.next_token()}")
            key = self.string()
            self.skip()
            if not self.text.startswith(":", self.at):
                raise self.broken_at(f'expected ":" after "{key}", found {self.next_token()}')
            self.at += 1
            self.skip()
            members.append((key, key_at, self.value(depth + 1)))
            comma = self.separator()
        value = {key: node.value for key, _, node in members}
        return Node(start, self.at, value, tuple(members), comma)

    def array(self, depth: int) -> Node:
        start = self.at
        items: list[Any] = []
        comma = -1
        self.at += 1
        while not self.closes("]", comma, bool(items), "a value"):
            items.append(self.value(depth + 1).value)
            comma = self.separator()
        return Node(start, self.at, items, (), comma)

    def closes(self, bracket: str, comma: int, has_items: bool, item: str) -> bool:
        """Whether the bracket ends here."""
        self.skip()
        if self.text.startswith(bracket, self.at):
            self.at += 1
            if comma >= 0:
                self.commas.append(comma)
            return True
        if has_items and comma < 0:
            raise self.broken_at(f'expected "," or "{bracket}", found {self.next_token()}')
        if self.at == len(self.text):
            raise self.broken_at(f'expected {item} or "{bracket}", found {self.next_token()}')
        return False

    def separator(self) -> int:
        """The offset of the comma here; -1 if there is none."""
        self.skip()
        if not self.text.startswith(",", self.at):
            return -1
        self.at += 1
        return self.at - 1


def _end_of_match(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _read_node(text: str) -> tuple[Node | None, list[int]]:
    reader = _Reader(text)
    reader.skip()
    if reader.at == len(text):
        return None, []
    node = reader.value(0)
    reader.skip()
    if reader.at < len(text):
        raise reader.broken_at(f"expected the end of the file, found {reader.next_token()}")
    return node, reader.commas


def parse_node(text: str) -> Node | None:
    """The value of the text; None if it contains only space and comments. Raises Broken."""
    return _read_node(text)[0]


def strict_text(text: str) -> tuple[str, int]:
    """The text without a byte order mark and without commas before closing brackets, and the number
    of those: some readers of comments refuse them. Raises Broken."""
    commas = _read_node(text)[1]
    for at in sorted(commas, reverse=True):
        text = text[:at] + text[at + 1 :]
    return text[text.startswith(BOM) :], len(commas)


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the value under these nested names. Missing objects are created in the style of
    the text. Raises Broken, also if a value on the way is not an object."""
    node = parse_node(text)
    if node is None:
        begin = text.rstrip() + _line_end(text) if text.strip(BOM + " \t\r\n") else text.rstrip()
        text = begin + "{}" + _line_end(text)
        node = parse_node(text)
    for depth, name in enumerate(path):
        if node is None or not isinstance(node.value, dict):
            raise _no_object(text, node, ".".join(path[:depth]))
        inner = node.member(name)
        if inner is None:
            return _with_member(text, node, name, path[depth + 1 :], value)
        node = inner
    if node is None:
        return text
    return text[: node.start] + json.dumps(value) + text[node.end :]


def _no_object(text: str, node: Node | None, name: str) -> Broken:
    at = node.start if node is not None else 0
    found = text[at : node.end] if node is not None else "nothing"
    what = f'"{name}"' if name else "the file"
    short = found if len(found) <= 40 else found[:40] + "..."
    line = text.count("\n", 0, at) + 1
    return Broken(line, f"{what} has to be an object in braces, and is {short}")


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_member(text: str, parent: Node, name: str, path: Sequence[str], value: Any) -> str:
    """The text with one more member at the end of the object; `path` has the names below it."""
    for each in reversed(path):
        value = {each: value}
    if not parent.members:
        return _first_member(text, parent, name, value)
    key_at, last = parent.members[-1][1:]
    indent = _indentation_before(text, key_at)
    if indent is None:
        at = parent.comma if parent.comma >= 0 else last.end
        return f"{text[:at]}, {json.dumps(name)}: {json.dumps(value)}{text[at:]}"
    newline = _line_end(text)
    line = (
        newline
        + indent
        + _member_lines(name, value, indent, _indentation_unit(text, parent, indent), newline)
    )
    if parent.comma >= 0:
        at = _end_of_match(REST_OF_LINE, text, parent.comma + 1)
        return text[:at] + line + "," + text[at:]
    at = _end_of_match(REST_OF_LINE, text, last.end)
    return text[: last.end] + "," + text[last.end : at] + line + text[at:]


def _first_member(text: str, parent: Node, name: str, value: Any) -> str:
    newline, outer = _line_end(text), _line_indent(text, parent.start)
    unit = _first_indent(text) or UNIT
    inside = text[parent.start + 1 : parent.end - 1].rstrip()
    member = _member_lines(name, value, outer + unit, unit, newline)
    body = inside + newline + outer + unit + member + newline + outer
    return text[: parent.start + 1] + body + text[parent.end - 1 :]


def _member_lines(name: str, value: Any, indent: str, unit: str, newline: str) -> str:
    """The lines of a member; the first one is already indented."""
    lines = json.dumps(value, indent=unit).split("\n")
    return f"{json.dumps(name)}: " + (newline + indent).join(lines)


def _indentation_before(text: str, at: int) -> str | None:
    """The text before the offset in its line; None if that is not only space."""
    found = INDENTATION.search(text, text.rfind("\n", 0, at) + 1, at)
    begins = found is not None and found.start() == text.rfind("\n", 0, at) + 1
    return found.group() if found is not None and begins and "\n" in text[:at] else None


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indentation_unit(text: str, parent: Node, indent: str) -> str:
    """The indentation of one level."""
    outer = _line_indent(text, parent.start)
    deeper = indent[len(outer) :] if indent.startswith(outer) else ""
    return deeper or UNIT


def _first_indent(text: str) -> str:
    """The first indentation in the text, which is that of one level."""
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return found.group(1) if found else ""
