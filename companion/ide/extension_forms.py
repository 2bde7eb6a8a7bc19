"""How CLIs take up extensions and at which events they run hooks: the part of a CLI's row in `clis`
that concerns these. Every value is a fact of docs/protocol.md 9. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Iterable, Mapping

# The event of notifications of all kinds, in every CLI.
NOTIFICATION = "Notification"


class Moment(Enum):
    """When a hook runs, in words that hold for all CLIs. A turn goes from PROMPTED to ANSWERED, and
    in it a tool from TOOL_BEGINS to TOOL_ENDED; ASKS says that the user is asked in the terminal.
    """

    STARTED = "started"
    PROMPTED = "prompted"
    TOOL_BEGINS = "tool begins"
    ASKS = "asks"
    TOOL_ENDED = "tool ended"
    ANSWERED = "answered"
    ENDED = "ended"


class Kind(Enum):
    """What a tool of a CLI does, as far as the editor wants to know."""

    WRITE = "write"
    REPLACE = "replace"
    SHELL = "shell"


@dataclass(frozen=True)
class ToolForm:
    """One tool: the member of its input that names the file it writes, or has the command."""

    kind: Kind
    subject: str


@dataclass(frozen=True)
class ExtensionForm:
    """A folder below `extensions` in the CLI's home is an extension if it has a file of the name
    `manifest`. `here` stands for that folder in commands. `moments` are the CLI's events at which
    hooks run, `notifications` those of its event NOTIFICATION, by type. `matchers` are regular
    expressions that limit some events to certain tools. `tools` are the CLI's tools by name.
    `timeouts` is the number of units in a second in which the CLI counts timeouts. If
    it `can_ask`, a hook can make it ask about an edit in the editor, whatever mode it is in.
    """

    manifest: str
    here: str
    moments: Mapping[str, Moment]
    notifications: Mapping[str, Moment]
    matchers: Mapping[str, str]
    tools: Mapping[str, ToolForm]
    timeouts: int
    can_ask: bool = False

    @property
    def events(self) -> tuple[str, ...]:
        """All of the CLI's events at which hooks run."""
        return (*self.moments, NOTIFICATION)

    def moment(self, event: str, notification: str) -> Moment | None:
        """None for what does not matter here. `notification` is the type of a notification."""
        if event == NOTIFICATION:
            return self.notifications.get(notification)
        return self.moments.get(event)


_GEMINI_TOOLS = {
    "write_file": ToolForm(Kind.WRITE, "file_path"),
    "replace": ToolForm(Kind.REPLACE, "file_path"),
    "run_shell_command": ToolForm(Kind.SHELL, "command"),
}
_QWEN_TOOLS = {
    "write_file": ToolForm(Kind.WRITE, "file_path"),
    "edit": ToolForm(Kind.REPLACE, "file_path"),
    "run_shell_command": ToolForm(Kind.SHELL, "command"),
}


def _any_of(names: Iterable[str]) -> str:
    return f"^({'|'.join(names)})$"


GEMINI_EXTENSION = ExtensionForm(
    manifest="gemini-extension.json",
    here="${extensionPath}",
    moments={
        "SessionStart": Moment.STARTED,
        "BeforeAgent": Moment.PROMPTED,
        "BeforeTool": Moment.TOOL_BEGINS,
        "AfterTool": Moment.TOOL_ENDED,
        "AfterAgent": Moment.ANSWERED,
        "SessionEnd": Moment.ENDED,
    },
    notifications={"ToolPermission": Moment.ASKS},
    matchers={name: _any_of(_GEMINI_TOOLS) for name in ("BeforeTool", "AfterTool")},
    tools=_GEMINI_TOOLS,
    timeouts=1000,
    can_ask=True,
)

QWEN_EXTENSION = ExtensionForm(
    manifest="qwen-extension.json",
    here="${CLAUDE_PLUGIN_ROOT}",
    moments={
        "SessionStart": Moment.STARTED,
        "UserPromptSubmit": Moment.PROMPTED,
        "PermissionRequest": Moment.ASKS,
        "PreToolUse": Moment.TOOL_BEGINS,
        "PostToolUse": Moment.TOOL_ENDED,
        "Stop": Moment.ANSWERED,
        "SessionEnd": Moment.ENDED,
    },
    # After a rejection, too, which has no event of its own.
    notifications={"idle_prompt": Moment.ANSWERED},
    matchers={name: _any_of(_QWEN_TOOLS) for name in ("PreToolUse", "PostToolUse")},
    tools=_QWEN_TOOLS,
    timeouts=1,
)
