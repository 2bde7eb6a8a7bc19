"""How CLIs load extensions, and at which events they run hooks: the part of a CLI's row in `clis`
about these. Every value is a fact of docs/protocol.md 9, or of 11 for Claude Code. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Iterable, Mapping

# The event of notifications of all kinds, in every CLI.
NOTIFICATION = "Notification"


class Moment(Enum):
    """When a hook runs, in terms that apply to all CLIs. A turn lasts from PROMPTED to ANSWERED,
    and a tool in it from TOOL_BEGINS to TOOL_ENDED. ASKS: the user is asked in the terminal."""

    STARTED = "started"
    PROMPTED = "prompted"
    TOOL_BEGINS = "tool begins"
    ASKS = "asks"
    TOOL_ENDED = "tool ended"
    ANSWERED = "answered"
    ENDED = "ended"


class ToolKind(Enum):
    """What a tool of a CLI does, as far as it matters to the editor."""

    WRITE = "write"
    REPLACE = "replace"
    SHELL = "shell"


EDITS = (ToolKind.WRITE, ToolKind.REPLACE)


@dataclass(frozen=True)
class ToolForm:
    """One tool: the member of its input that names the file to write, or contains the command."""

    kind: ToolKind
    subject: str


@dataclass(frozen=True)
class ExtensionForm:
    """A folder below `folder` in the CLI's home is an extension if it has a file with the name
    `manifest`. In commands, `here` stands for that folder. `program` is the file in it that hooks
    run. `moments` are the CLI's events at which
    hooks run; `notifications` are those of its event NOTIFICATION, by type. `matchers` are regular
    expressions that limit some events to certain tools. `tools` are the CLI's tools by name.
    `timeouts` is the number of the CLI's units of time in a second. `since` are the first two
    numbers of the oldest version that loads it. If it `can_ask`, a hook can make it ask about an
    edit in the editor, in every mode; with `decides_permission` it says so in its own part of the
    answer. `refused` is what the CLI adds to its recording where the user has refused in the
    terminal. If it `groups_commands`, every new group of processes below it is a command. If it
    `is_plugin`, its hooks reach the editor by pipes and a script, and its settings name what is
    switched off. One that `finds_problems` asks the editor for them if it is connected. If it
    `asks_by_path`, the path of a file is the same in its questions and at its tools."""

    manifest: str
    here: str
    moments: Mapping[str, Moment]
    notifications: Mapping[str, Moment]
    matchers: Mapping[str, str]
    tools: Mapping[str, ToolForm]
    timeouts: int
    since: tuple[int, int]
    can_ask: bool = False
    folder: str = "extensions"
    program: str = "companion.cjs"
    decides_permission: bool = False
    refused: bytes = b'"content":"Request cancelled."'
    groups_commands: bool = True
    is_plugin: bool = False
    finds_problems: bool = False
    asks_by_path: bool = False

    @property
    def events(self) -> tuple[str, ...]:
        """All of the CLI's events at which hooks run."""
        return (*self.moments, NOTIFICATION)

    def moment(self, event: str, notification: str) -> Moment | None:
        """None for an event that does not matter here. `notification` is a notification's type."""
        if event == NOTIFICATION:
            return self.notifications.get(notification)
        return self.moments.get(event)


_GEMINI_TOOLS = {
    "write_file": ToolForm(ToolKind.WRITE, "file_path"),
    "replace": ToolForm(ToolKind.REPLACE, "file_path"),
    "run_shell_command": ToolForm(ToolKind.SHELL, "command"),
}
_QWEN_TOOLS = {
    "write_file": ToolForm(ToolKind.WRITE, "file_path"),
    "edit": ToolForm(ToolKind.REPLACE, "file_path"),
    "run_shell_command": ToolForm(ToolKind.SHELL, "command"),
}
_CLAUDE_TOOLS = {
    "Write": ToolForm(ToolKind.WRITE, "file_path"),
    "Edit": ToolForm(ToolKind.REPLACE, "file_path"),
    "MultiEdit": ToolForm(ToolKind.REPLACE, "file_path"),
    "NotebookEdit": ToolForm(ToolKind.REPLACE, "notebook_path"),
    "Bash": ToolForm(ToolKind.SHELL, "command"),
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
    since=(0, 26),
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
    # Also after a rejection, which has no event of its own.
    notifications={"idle_prompt": Moment.ANSWERED},
    matchers={name: _any_of(_QWEN_TOOLS) for name in ("PreToolUse", "PostToolUse")},
    tools=_QWEN_TOOLS,
    timeouts=1,
    since=(0, 24),
)

CLAUDE_PLUGIN = ExtensionForm(
    manifest=".claude-plugin/plugin.json",
    here="${CLAUDE_PLUGIN_ROOT}",
    moments={
        "SessionStart": Moment.STARTED,
        "UserPromptSubmit": Moment.PROMPTED,
        "PreToolUse": Moment.TOOL_BEGINS,
        "PermissionRequest": Moment.ASKS,
        "PostToolUse": Moment.TOOL_ENDED,
        "PostToolUseFailure": Moment.TOOL_ENDED,
        "Stop": Moment.ANSWERED,
        "StopFailure": Moment.ANSWERED,
        "SessionEnd": Moment.ENDED,
    },
    # Also after a rejection, which has no event of its own.
    notifications={"idle_prompt": Moment.ANSWERED},
    matchers={
        **{
            name: _any_of(_CLAUDE_TOOLS)
            for name in ("PreToolUse", "PostToolUse", "PostToolUseFailure")
        },
        NOTIFICATION: "idle_prompt",
    },
    tools=_CLAUDE_TOOLS,
    timeouts=1,
    since=(2, 1),
    can_ask=True,
    folder="skills",
    program="report.sh",
    decides_permission=True,
    refused=b'"toolUseResult":"User rejected tool use"',
    # Hooks run in groups of their own, too, and the status line.
    groups_commands=False,
    is_plugin=True,
    finds_problems=True,
    asks_by_path=True,
)
