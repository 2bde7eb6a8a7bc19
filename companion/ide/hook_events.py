"""What a CLI reports at one of its events, as a frozen value. Pure. Source: docs/protocol.md 9."""

from __future__ import annotations

import ntpath
import posixpath
from dataclasses import dataclass, replace
from typing import Any, Mapping, TypeVar

from ..base.jsonrpc import kind_of_value as kind_of
from ..base.path_maps import is_of_windows
from .clis import Cli, CliSession
from .extension_forms import EDITS, ExtensionForm, Moment, ToolKind

# Characters kept of a prompt, a command and a name: the user reads them in one line.
SHOWN = 500
# Characters of a path or a command by which a tool is known: longer than any path.
MAX_SUBJECT = 1 << 15
# The subjects of Gemini CLI's questions, as its `details` name them.
_ASKED = {"edit": ToolKind.WRITE, "exec": ToolKind.SHELL}

T = TypeVar("T")


class BadHook(Exception):
    """The body is not an event of the CLI; the text is a sentence for whoever reads it."""


@dataclass(frozen=True)
class HookEvent:
    """`name` is the CLI's own name for the event. `cli_session_id` is the CLI's, not that of an MCP
    session. `pid` is the CLI's process, and `folder` is its folder. `prompt` is given at PROMPTED.
    `tool` is the name of the tool, empty if the event has none; `kind` is None for all tools that
    do not matter here. `subject` is the path that the tool writes, as the CLI knows it, or its
    command. `arguments` are the input of the tool; `response` is its result at TOOL_ENDED.
    `new_text` is the whole file after an edit, where the CLI tells it at ASKS or TOOL_ENDED.
    `version` is the extension's. `transcript` is the path of the CLI's recording of the session.
    `namespace` is Linux's name for the processes among which `pid` counts, empty if it is not told.
    A hook that is `only_connected` is for the window to which its CLI is connected. One that
    `replaces` begins a session in the place of the process's earlier one, as after /clear.
    """

    cli: Cli
    name: str
    moment: Moment
    cli_session_id: str
    pid: int
    folder: str = ""
    prompt: str = ""
    tool: str = ""
    kind: ToolKind | None = None
    subject: str = ""
    arguments: Mapping[str, Any] | None = None
    response: Any = None
    new_text: str | None = None
    version: str = ""
    transcript: str = ""
    namespace: str = ""
    only_connected: bool = False
    replaces: bool = False

    @property
    def cli_session(self) -> CliSession:
        return CliSession(self.cli.id, self.cli_session_id)

    @property
    def has_failed(self) -> bool:
        """Whether the tool did nothing, at TOOL_ENDED."""
        return isinstance(self.response, dict) and bool(self.response.get("error"))

    def written_paths(self) -> frozenset[str]:
        """The absolute paths by which the CLI may know the file that the tool writes: as the model
        named it, and as the result has it."""
        if self.kind not in EDITS or not self.subject:
            return frozenset()
        paths = ntpath if is_of_windows(self.folder or self.subject) else posixpath
        response = self.response if isinstance(self.response, dict) else {}
        written = _text_member(_object_member(response, "returnDisplay"), "filePath")
        named = paths.normpath(paths.join(self.folder, self.subject))
        return frozenset({named, written} - {""})


def read_hook(cli: Cli, body: Any) -> HookEvent | None:
    """The event in the body of a request; None for an event that does not matter here. Raises
    BadHook."""
    form = cli.extension
    if form is None:
        raise BadHook(f"Expected a CLI with hooks; {cli.name} has none.")
    told, pid = _required_member(body, "input", dict), _required_member(body, "pid", int)
    name = _required_member(told, "hook_event_name", str)
    moment = form.moment(name, _text_member(told, "notification_type"))
    if moment is None:
        return None
    event = HookEvent(
        cli,
        name,
        moment,
        _required_member(told, "session_id", str)[:SHOWN],
        pid,
        _text_member(told, "cwd"),
        _text_member(told, "prompt")[:SHOWN],
        response=_tool_response(told),
        new_text=_new_text(_object_member(_object_member(told, "tool_response"), "returnDisplay")),
        version=_text_member(body, "version")[:SHOWN],
        transcript=_text_member(told, "transcript_path"),
        namespace=_text_member(body, "pid_namespace"),
        only_connected=body.get("only_connected") is True,
        replaces=moment is Moment.STARTED and _text_member(told, "source") == "clear",
    )
    return _with_tool(event, form, told)


def _tool_response(told: Mapping[str, Any]) -> Any:
    """The result of the tool. Where that has an event of its own for a failure, as with Claude
    Code, the error stands beside it."""
    return told.get("tool_response", {"error": told["error"]} if "error" in told else None)


def _with_tool(event: HookEvent, form: ExtensionForm, told: Mapping[str, Any]) -> HookEvent:
    details = _object_member(told, "details")
    if details:
        kind = _ASKED.get(_text_member(details, "type"))
        subject = _text_member(details, "filePath") or _text_member(details, "command")
        new_text = _new_text(details)
        return replace(event, kind=kind, subject=subject[:MAX_SUBJECT], new_text=new_text)
    name, arguments = _text_member(told, "tool_name"), _object_member(told, "tool_input")
    tool = form.tools.get(name)
    if tool is None:
        return replace(event, tool=name[:SHOWN], arguments=arguments)
    subject = _text_member(arguments, tool.subject)[:MAX_SUBJECT]
    return replace(event, tool=name, kind=tool.kind, subject=subject, arguments=arguments)


def _object_member(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The member; an empty one if there is none."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _new_text(value: Mapping[str, Any]) -> str | None:
    return value["newContent"] if isinstance(value.get("newContent"), str) else None


def _text_member(value: Mapping[str, Any], name: str) -> str:
    """The member; empty if there is none."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _required_member(value: Any, name: str, wanted: type[T]) -> T:
    """Raises BadHook."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, wanted) or isinstance(found, bool):
        expected = {str: "a string", int: "a number", dict: "an object"}[wanted]
        raise BadHook(f'Expected "{name}" to be {expected}; got {kind_of(found)}.')
    return found
