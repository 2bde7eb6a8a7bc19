"""One conversation about one workspace: a session of the agent for as long as it lives, and then
another one under the same id."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable, Mapping, Sequence

from . import events
from .acp import Client, Session
from .failure import SESSION_BUSY, VALIDATION_ERROR, AgentError
from .outcomes import Approvals
from .recording import Recording
from .turn import Limits, Turn

# Seconds for a new session, which starts the user's tool servers.
OPENING = 60.0
# Seconds for the choice of a model, which takes none.
CHOOSING = 10.0
FORGOTTEN = (
    "The agent had to be started anew: what was said in this conversation before is forgotten."
)


@dataclass(frozen=True)
class Model:
    id: str
    name: str
    description: str


@dataclass(frozen=True)
class Models:
    """Those that the agent offers, and the id of the one it uses."""

    available: tuple[Model, ...]
    current: str


@dataclass(frozen=True)
class SessionInfo:
    """`turns` counts those that were begun, `usage` adds up those that ended; times are in UTC."""

    id: str
    workspace: str
    model: str
    is_busy: bool
    turns: int
    created: datetime
    last_used: datetime
    usage: events.Usage


class Conversation:
    """`workspace` is an absolute path; `recordings` the folder where the CLI keeps its own.
    `is_owned` says that somebody uses it by its id; who uses none does not get into it."""

    def __init__(self, workspace: str, recordings: str) -> None:
        self.id = secrets.token_hex(16)
        self.workspace = workspace
        self.turn: Turn | None = None
        self.is_owned = False
        self.created = self.last_used = datetime.now(timezone.utc)
        self._recordings = recordings
        self._approvals = Approvals()
        self._session: Session | None = None
        self._recording = Recording(recordings, "")
        self._models = Models((), "")
        self._wanted_model = ""
        self._usage = events.Usage()
        self._turns = 0
        self._has_history = self._was_lost = False
        self._is_reserved = self._is_cancelled = False
        # Held by who opens a session for it.
        self._opening = asyncio.Lock()

    @property
    def session(self) -> str | None:
        """The agent's id of the session that is open."""
        return None if self._session is None else self._session.id

    @property
    def is_busy(self) -> bool:
        return self._is_reserved or (self.turn is not None and not self.turn.is_over)

    @property
    def info(self) -> SessionInfo:
        return SessionInfo(
            self.id,
            self.workspace,
            self._wanted_model or self._models.current,
            self.is_busy,
            self._turns,
            self.created,
            self.last_used,
            self._usage if self.turn is None else _sum(self._usage, self.turn.usage),
        )

    @property
    def models(self) -> Models:
        return Models(self._models.available, self._wanted_model or self._models.current)

    def reserve(self) -> None:
        """Nobody else can begin a turn until `release`. Raises AgentError.

        Two at once would be worse than refused: the agent ends the first one silently
        (docs/gemini-cli-acp.md 2.13).
        """
        if self.is_busy:
            raise _busy()
        self._is_reserved = True

    def release(self) -> None:
        self._is_reserved = self._is_cancelled = False

    def cancel(self) -> None:
        """End the turn, or keep the one from being said for which the conversation is reserved."""
        self._is_cancelled = self._is_reserved
        if self.turn is not None:
            self.turn.cancel()

    async def connect(self, client: Client) -> None:
        """Make sure of a session, which the next turn has to begin with. Raises AgentError."""
        async with self._opening:
            if self._session is not None and self._session.client is client:
                return
            params = {"cwd": self.workspace, "mcpServers": []}
            async with client.opening:
                result = await client.request("session/new", params, OPENING)
            self._session = Session(client, str(result.get("sessionId")), self.workspace)
            self._recording = Recording(self._recordings, self._session.id)
            self._models = _models(result.get("models"))
            # The agent forgets what was approved, and so do we.
            self._approvals = Approvals()
            self._was_lost |= self._has_history
            self._has_history = False
            if self._wanted_model:
                await self._session.set_model(self._wanted_model, CHOOSING)

    def begin(
        self,
        parts: Sequence[Mapping[str, Any]],
        limits: Limits,
        asks: bool,
        ended: Callable[[events.Body], None],
    ) -> Turn:
        """A turn that runs, or one that is over where it was cancelled before; `connect` came
        before, the arguments are the turn's. Raises AgentError."""
        if self._session is None:
            raise AgentError(VALIDATION_ERROR, "The conversation has no session.")
        if self.turn is not None:
            self._usage = _sum(self._usage, self.turn.usage)
        turn = Turn(self.id, self._session, self._recording, self._approvals, limits, asks, ended)
        self.turn = turn
        self._turns += 1
        self.last_used = datetime.now(timezone.utc)
        if self._is_cancelled:
            turn.cancel()
        turn.start(parts, FORGOTTEN if self._was_lost else "")
        self._has_history, self._was_lost = True, False
        return turn

    async def set_model(self, model: str) -> None:
        """From now on. Raises AgentError; VALIDATION_ERROR where the agent does not offer it,
        SESSION_BUSY while a turn runs."""
        if self.turn is not None and not self.turn.is_over:
            raise _busy()
        known = [each.id for each in self._models.available]
        if self._session is None or model not in known:
            raise AgentError(
                VALIDATION_ERROR, f"Expected one of {', '.join(known)}; got {model!r}."
            )
        await self._session.set_model(model, CHOOSING)
        self._wanted_model = model


def _busy() -> AgentError:
    return AgentError(SESSION_BUSY, "The conversation is at work on another message.")


def _models(value: Any) -> Models:
    if not isinstance(value, dict):
        return Models((), "")
    available = tuple(
        Model(str(each["modelId"]), str(each.get("name") or ""), str(each.get("description") or ""))
        for each in value.get("availableModels") or []
        if isinstance(each, dict) and "modelId" in each
    )
    current = str(value.get("currentModelId") or "")
    if current and current not in {each.id for each in available}:
        # The one that the operator chose, which the CLI offers to nobody else.
        available = (*available, Model(current, current, ""))
    return Models(available, current)


def _sum(one: events.Usage, other: events.Usage) -> events.Usage:
    names = {**(one.by_model or {}), **(other.by_model or {})}
    none = (0, 0)
    by_model = {}
    for name in names:
        first, second = (one.by_model or {}).get(name, none), (other.by_model or {}).get(name, none)
        by_model[name] = (first[0] + second[0], first[1] + second[1])
    return events.Usage(
        one.input_tokens + other.input_tokens, one.output_tokens + other.output_tokens, by_model
    )
