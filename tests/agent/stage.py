"""A session of no agent, for tests of a turn: keeps what the agent is told, and says what it is
made to say."""

from __future__ import annotations

import asyncio
from typing import Any

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.acp.agent_state import AgentState
from GeminiCompanion.companion.agent.acp.version_1 import Version1
from GeminiCompanion.companion.agent.agents.cli import AgentCli
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.credentials import OURS
from GeminiCompanion.companion.agent.events.event_log import EventLog
from GeminiCompanion.companion.agent.turn.agent_session import AgentSession
from GeminiCompanion.companion.agent.turn.shown_images import ShownImages


def options_of(cli: type[AgentCli]) -> tuple[messages.PermissionOption, ...]:
    """The answer that counts once is the agent's own; one for good is offered as well."""
    once = next(id for id, outcome in cli.options.items() if outcome == events.ONCE)
    kinds = {
        "always": messages.ALLOW_ALWAYS,
        once: messages.ALLOW_ONCE,
        "cancel": messages.REJECT_ONCE,
    }
    return tuple(messages.PermissionOption(id, id, kind) for id, kind in kinds.items())


class Session:
    """As `acp_client.Session`; `told` is what the agent was told, in order; `prompts` are its
    messages."""

    def __init__(self, folder: str = "/work") -> None:
        self.id, self.folder, self.client, self.home = "session", folder, self, OURS
        self.told: list[tuple[Any, ...]] = []
        self.prompts: list[Any] = []
        self.end: asyncio.Future[messages.TurnEnd] | None = None
        self.protocol = Version1()

    @property
    def roots(self) -> tuple[str, ...]:
        return (self.folder,)

    def prompt(self, blocks: Any) -> asyncio.Future[messages.TurnEnd]:
        self.told.append(("prompt",))
        self.prompts.append(blocks)
        self.end = asyncio.get_running_loop().create_future()
        return self.end

    def cancel(self) -> None:
        self.told.append(("cancel",))

    def answer_permission(self, request: messages.PermissionRequest, option: str | None) -> None:
        self.told.append((request.id, option))

    def answer_request(self, request: Any, result: Any) -> None:
        self.told.append((request, result))

    def refuse_request(self, request: Any, error: Any) -> None:
        self.told.append((request, error))

    def give_up(self) -> None:
        self.told.append(("give up",))


class Stage:
    """`story` are the bodies of the events so far."""

    def __init__(self, home: str, cli: type[AgentCli] = GeminiCli) -> None:
        self.session = Session()
        self.log = EventLog("conversation", lambda event: self.story.append(event.body))
        self.story: list[Any] = []
        given: Any = self.session
        self.agent = AgentSession(given, cli(home, False), AgentState())
        self.images = ShownImages(home)
        self._options = options_of(cli)
        self._requests = 0

    def of(self, kind: type) -> list[Any]:
        return [body for body in self.story if isinstance(body, kind)]

    def asked(self, call: messages.ToolCallUpdate) -> messages.PermissionRequest:
        """A request for this call; each has an id of its own, from 1 on."""
        self._requests += 1
        return messages.PermissionRequest("session", self._requests, call, self._options)

    def statuses(self, call_id: str) -> list[str]:
        told = self.of(events.ToolExecution)
        return [execution.status for execution in told if execution.call_id == call_id]


def shell(id: str = "1", status: str = "", text: str = "") -> messages.ToolCallUpdate:
    texts = (text,) if text else ()
    name = f"run_shell_command__{id}"
    return messages.ToolCallUpdate(name, "ls", "execute", status, texts)


def edit(path: str, id: str = "1", status: str = "") -> messages.ToolCallUpdate:
    diffs = (messages.FileDiff(path, "", "new\n"),)
    return messages.ToolCallUpdate(f"write_file__{id}", "w", "edit", status, diffs=diffs)
