"""What a front end hears of an open chat, as a frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.auth_method import AuthMethod
from ..agent.credentials import UsedLogin
from ..agent.session_state import ConfigOptions, ContextUsage, SlashCommand
from ..agent.turn_events import Diff, Queue
from .question import ChatQuestion
from .rendered import Patch

# The agent is being started or found; nothing runs; a turn runs; it is being stopped; it cannot be
# used, and the next message tries again.
STARTING, READY, WORKING = "starting", "ready", "working"
STOPPING, FAILED = "stopping", "failed"


@dataclass(frozen=True)
class UnaskedChange:
    """What the agent has written in this turn without asking; see `ToolResult`."""

    turn: str
    diff: Diff


@dataclass(frozen=True)
class UndoneTurn:
    """A turn that was undone in these files: they are what they were before it."""

    turn: str
    paths: frozenset[str]


@dataclass(frozen=True)
class ChatUpdate:
    """A chat as it is now. `state` is one of those above; of FAILED, `problem` is the sentence and
    `code` one of `agent/failure`, or empty.

    `patches` are the changes of its document since the update before. If the document `is_anew`,
    they begin with an empty one. `waiting` are the questions to the user, the oldest first.

    `agent` is the CLI's id and `agent_name` its name for people; `mode` and `model` are the true
    ones, `options` are all that can be chosen, and `login` is that of the agent. `other_folders`
    (real paths) are those that the agent has beside the `workspace`. What is not known yet is
    empty, `usage` is None.
    `sign_ins` are the ways to log in that the agent tells, where it asks for a login.
    `unasked` are the edits that the agent has made without asking since the update before,
    `changed` the paths of all files that it has changed since then, `undone` the turns that were
    undone since then.
    `turn` is the id of the running or last one; empty if none has begun in this process. It
    `is_unanswered` until its agent says anything, and while that asks its model again.
    """

    conversation_id: str
    state: str
    problem: str = ""
    code: str = ""
    patches: tuple[Patch, ...] = ()
    is_anew: bool = False
    waiting: tuple[ChatQuestion, ...] = ()
    queue: Queue = Queue((), False)
    title: str = ""
    agent: str = ""
    agent_name: str = ""
    login: UsedLogin = UsedLogin()
    workspace: str = ""
    other_folders: tuple[str, ...] = ()
    mode: str = ""
    model: str = ""
    options: ConfigOptions = ConfigOptions()
    commands: tuple[SlashCommand, ...] = ()
    usage: ContextUsage | None = None
    sign_ins: tuple[AuthMethod, ...] = ()
    unasked: tuple[UnaskedChange, ...] = ()
    changed: tuple[str, ...] = ()
    undone: tuple[UndoneTurn, ...] = ()
    turn: str = ""
    is_unanswered: bool = False
