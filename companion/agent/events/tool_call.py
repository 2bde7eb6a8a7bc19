"""One call of a tool, read from the agent's protocol. Derives what the protocol leaves out, and
reads no file.

Source: docs/gemini-cli-acp.md 4. The CLI's protocol has no tool names and no arguments.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any, Mapping

from ..acp.messages import SUBAGENT_KIND, ToolCallUpdate
from ..sentence import Words, sentence
from ..turn_events import Diff, ToolResult

# Ids that do not begin with the tool's name and two underscores.
READ_MANY = "read_many_files"
RESOLVE_PROMPT = "resolve-prompt-"
SHELL = "run_shell_command"
# The kind of calls that run a command.
EXECUTE = "execute"
# The kinds of calls that edit files, and of those that ask for another mode.
EDIT = "edit"
SWITCH_MODE = "switch_mode"
# The beginning of the names of servers' tools; the titles of their calls: "add (sums MCP Server)".
OF_SERVER = "mcp_"
SERVER_TITLE = re.compile(r".* \((?P<server>.+) MCP Server\)", re.DOTALL)
# The names by which calls are shown. First Gemini CLI's own ones.
DISPLAY_NAMES = {
    "read_file": "ReadFile",
    "read_many_files": "ReadManyFiles",
    "write_file": "WriteFile",
    "replace": "Edit",
    "edit": "Edit",
    "run_shell_command": "Shell",
    "list_directory": "ReadFolder",
    "glob": "FindFiles",
    "grep_search": "SearchText",
    "web_fetch": "WebFetch",
    "google_web_search": "GoogleSearch",
    "save_memory": "SaveMemory",
    # The protocol's kinds, which are the names of calls of agents that tell no others.
    EXECUTE: "Shell",
    "read": "Read",
    "search": "Search",
    "fetch": "Fetch",
    "delete": "Delete",
    "move": "Move",
    "think": "Think",
    SUBAGENT_KIND: "Subagent",
    SWITCH_MODE: "SwitchMode",
}
# The names of calls of which the agent tells nothing but a title.
UNNAMED = ("other", "tool")
# "[current working directory /path] (what it is for)", "[in folder] (what it is for) [background]"
SHELL_NOTE = re.compile(
    r"\[(?:current working directory .*?|in (?P<folder>.*?))\](?: \((?P<purpose>.*?)\))?"
    r"(?P<background> \[background\])?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Call:
    """A call as the protocol describes it. `text` is what the agent shows of it. `kind` is "edit",
    "execute", "read", ... as in the protocol. `diffs` are its edits, of which most have one; `path`
    is the file that it is about, or empty, and `locations` are all places that it names. `tool` is
    the tool's name where the agent tells it as the protocol says. `parent` is the id of the call of
    the subagent that has made it, or empty. One that `asks_alone` is a question, and over with its
    answer. One that `can_stop` is a subagent that can be stopped alone."""

    id: str
    name: str
    title: str = ""
    kind: str = ""
    status: str = ""
    text: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    diffs: tuple[Diff, ...] = ()
    path: str = ""
    locations: tuple[str, ...] = ()
    tool: str = ""
    parent: str = ""
    asks_alone: bool = False
    can_stop: bool = False

    @property
    def diff(self) -> Diff | None:
        """The first of its edits."""
        return self.diffs[0] if self.diffs else None

    @property
    def display_name(self) -> str:
        if self.name in UNNAMED:
            return self.title or self.tool or "Tool"
        return DISPLAY_NAMES.get(self.name, self.name)

    @property
    def is_attachment(self) -> bool:
        """Whether it asks for a file that the user attached; the agent reports no end of those."""
        return self.id.startswith(RESOLVE_PROMPT)

    @property
    def is_command(self) -> bool:
        """Whether it runs a command, whatever kind it is said to be."""
        is_told = not self.is_of_server and bool(self.args.get("command"))
        return is_told or self.kind == EXECUTE or self.name == SHELL

    @property
    def is_of_server(self) -> bool:
        """Whether the tool belongs to a tool server."""
        return self.name.startswith(OF_SERVER)

    @property
    def has_args(self) -> bool:
        """Whether its arguments are known; the CLI does not send long ones."""
        return bool(self.args) or self.text.strip() in ("", "{}")

    @property
    def server(self) -> str:
        """The tool server's name; "" if it is not certain: the CLI replaces the title by an
        argument named "command", and does not send long arguments at all."""
        found = SERVER_TITLE.fullmatch(self.title)
        known = _json_members(self.text) if self.is_of_server else None
        is_certain = known is not None and "command" not in known
        return found.group("server") if found and is_certain else ""

    @property
    def command(self) -> str:
        """The whole text that would run or be written, because somebody decides on it."""
        if self.name == SHELL:
            return str(self.args.get("command") or self.title)
        if self.is_of_server:
            return f"{self.name} {self.text}"
        if self.is_command:
            return self.shell_line
        if self.diffs:
            return " ".join([self.name, *(diff.path for diff in self.diffs)])
        if self.name in UNNAMED:
            return self.title or self.name
        return f"{self.name} {self.title}".strip()

    @property
    def agent_note(self) -> str:
        """What the agent says of it, where that is not among its arguments."""
        is_read = self.name == SHELL and SHELL_NOTE.fullmatch(self.text) is not None
        is_in_command = self.is_of_server or is_read or (self.args and self.name != SHELL)
        return "" if is_in_command else self.text

    @property
    def shell_line(self) -> str:
        """The title, which may be a summary, counts only where the arguments have no command."""
        line = self.args.get("command")
        if isinstance(line, list) and line:
            return shlex.join(map(str, line))
        return line if isinstance(line, str) and line else self.title or self.name

    @property
    def summary(self) -> Words:
        """The result of the call, for a person."""
        if self.text or self.diff is None:
            return self.text
        before, after = self.diff.old_text.count("\n"), self.diff.new_text.count("\n")
        return sentence(
            "{path} ({before} -> {after} lines)", path=self.diff.path, before=before, after=after
        )


@dataclass(frozen=True)
class Record:
    """A call as the CLI recorded it. `status` is the CLI's word, "" if it has none. `ended` is when
    the call ended, as the CLI writes it."""

    name: str = ""
    display_name: str = ""
    status: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    error: str = ""
    display: str = ""
    ended: str = ""


def read_call(told: ToolCallUpdate, name: str = "", args: Mapping[str, Any] | None = None) -> Call:
    """`name` and `args` are given if the agent sends them."""
    name = name or name_of(told.id)
    diffs = tuple(Diff(diff.path, diff.old_text, diff.new_text) for diff in told.diffs)
    text = "\n".join(told.texts)
    path = next(filter(None, told.paths), "")
    if args is None:
        args = _certain_arguments(name, told.title, text, diffs[0] if diffs else None, path)
    path = diffs[0].path if diffs else path or str(args.get("file_path") or "")
    locations = tuple(filter(None, told.paths))
    return Call(
        told.id,
        name,
        told.title,
        told.kind,
        told.status,
        text,
        args,
        diffs,
        path,
        locations,
        told.tool,
    )


def reported_result(
    call: Call, before: Call | None, record: Record | None, success: bool
) -> ToolResult:
    """The result of a call: `call` as the agent reports its end, `before` as it reported its
    beginning."""
    record = record or Record()
    args = record.args or call.args or (before.args if before else {})
    text = record.output or record.error or call.text
    display = call.summary or record.display
    error: Words | None = None
    if not success:
        error = record.error or call.text or record.output or sentence("It failed.")
    name = record.name or call.name
    return ToolResult(call.id, name, args, text, display, success, error)


def unreported_result(call: Call, reason: Words, rejected: bool) -> ToolResult:
    """The result that the agent does not report."""
    return ToolResult(call.id, call.name, call.args, "", "", False, reason, rejected)


def name_of(id: str) -> str:
    """The tool's name.

    read_file__call_abc                   read_file
    write_file__write_file_1795_0         write_file
    mcp_a__b_add__mcp_a__b_add_1795_0     mcp_a__b_add
    """
    if id.startswith(READ_MANY + "-"):
        return READ_MANY
    if id.startswith(RESOLVE_PROMPT):
        return "read_file"
    at = id.find("__")
    while at > 0:
        # A name may contain two underscores; if it occurs twice, there is no doubt.
        if id[at + 2 :].startswith(id[:at] + "_"):
            return id[:at]
        at = id.find("__", at + 1)
    return id.partition("__")[0]


def _certain_arguments(
    name: str, title: str, text: str, diff: Diff | None, path: str
) -> dict[str, Any]:
    """The arguments that are certain."""
    if name == SHELL:
        return {"command": title, **_noted_arguments(text)}
    if diff is not None:
        content = {"content": diff.new_text} if name == "write_file" else {}
        return {"file_path": diff.path, **content}
    if name.startswith(OF_SERVER):
        return _json_members(text) or {}
    return {"file_path": path} if path else {}


def _noted_arguments(text: str) -> dict[str, Any]:
    """The other arguments in the note beside a command."""
    note = SHELL_NOTE.fullmatch(text)
    if note is None:
        return {}
    found = {"description": note.group("purpose"), "dir_path": note.group("folder")}
    background = {"is_background": True} if note.group("background") else {}
    return {**{name: value for name, value in found.items() if value}, **background}


def _json_members(text: str) -> dict[str, Any] | None:
    """The members of the object that the text contains as JSON; None if it contains none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
