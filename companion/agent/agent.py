"""The agent as other programs use it: chat, decide, look. Knows no HTTP and no editor."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from ..base import jsonrpc, private_files
from ..base.background import in_thread
from ..base.folder_lock import FolderLock
from ..base.log import logger
from . import cli, events, failure, outcomes, prompt
from .account import Account
from .acp import Client, Listener
from .auth import Credentials, Store
from .cli_home import CliHome
from .conversation import Conversation, Models, SessionInfo
from .conversations import Conversations
from .event_feed import EventFeed
from .failure import AgentError
from .idle import IdleWatch
from .runner import Launch, Runner
from .transcripts import Page, PastTurn, Transcripts
from .turn import Limits, Turn

# How the CLI's log says that the model is asked once more, not in which session
# (docs/gemini-cli-acp.md 1.6).
RETRY = re.compile(r"Attempt (?P<attempt>\d+) failed(?: with status (?P<status>\d+))?.* Retrying")
# Seconds in which a cancelled turn ends its commands, with some to spare.
ENDING = 2.0
# Seconds between two looks at whether turns still run.
LOOKING = 0.05


@dataclass(frozen=True)
class Options:
    """`state` is a folder of ours (made where it is missing, its parent has to be there) for
    credentials and the agent's home. `fallback` counts until somebody configures, clears or logs
    out. `trusts_workspaces` says whether the CLI may take a workspace's own settings for its own.
    """

    launch: Launch
    state: str
    trusts_workspaces: bool = False
    fallback: Credentials | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Info:
    """Version and process id of the CLI; None while it does not run. `starts` counts its starts."""

    version: str | None
    pid: int | None
    starts: int

    @property
    def is_running(self) -> bool:
        return self.pid is not None


class Agent(Listener):
    """Made and used inside of one running loop; ended with `stop`. `account` says who the user is.

    Whatever cannot be raises AgentError, whose `code` is one of those in `failure`. The process is
    started when it is first needed, and again after it died. It is the one way into the room, which
    takes some methods more than the twenty.
    """

    def __init__(self, options: Options) -> None:
        private_files.make_folder(options.state)
        self._limits = options.limits
        self._lock = FolderLock(options.state)
        home = CliHome(os.path.join(options.state, "home"), options.trusts_workspaces)
        self.feed = EventFeed()
        transcripts = Transcripts(os.path.join(options.state, "conversations"))
        self._conversations = Conversations(transcripts, home.settings_folder, self.feed)
        self._command = options.launch.command
        self._runner = Runner(options.launch, home, self)
        self._idle = IdleWatch(self._runner, lambda: self._conversations.is_busy)
        self.account = Account(
            Store(options.state),
            options.fallback,
            home,
            self._runner,
            self._conversations,
        )

    async def load(self) -> None:
        """Take up the conversations that are on disk; before anything else, if at all. From now on
        until `stop` no other agent can. Raises FolderInUse, OSError."""
        await in_thread(self._lock.acquire)
        await self._conversations.load()

    # The process.

    def info(self) -> Info:
        """Never starts it."""
        client = self._runner.running
        if client is None:
            return Info(None, None, self._runner.starts)
        return Info(client.version, client.process.pid, self._runner.starts)

    @property
    def memory(self) -> int:
        """Bytes that the process holds; 0 without one, or where this machine does not say."""
        return self._runner.memory

    def can_start(self) -> bool:
        """Whether the process runs, or its program is there to be started."""
        return self._runner.running is not None or cli.is_there(self._command)

    async def prepare(self) -> None:
        """Start it now, so that the first message need not wait for it."""
        await self._client()

    async def stop(self) -> None:
        """Cancel what runs and end the process, within about eight seconds."""
        await self.end_turns()
        self._idle.stop()
        await self.account.abandon_login()
        await self._runner.stop()
        await self._conversations.write()
        self._lock.release()

    async def finish_turns(self, seconds: float) -> None:
        """Wait until no turn runs, for so long at most."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while self._conversations.is_busy and loop.time() < ends:
            await asyncio.sleep(LOOKING)

    async def end_turns(self) -> None:
        """Cancel all turns and wait for their ends, for two seconds at most: upon a cancellation
        the CLI ends the commands of its tools, which it leaves behind when it is just ended."""
        turns = [turn for turn in self._conversations.turns if not turn.is_over]
        ends = [asyncio.ensure_future(_end_of(turn)) for turn in turns]
        self.cancel()
        if ends:
            _done, late = await asyncio.wait(ends, timeout=ENDING)
            for each in late:
                each.cancel()

    # Chat.

    async def chat(
        self,
        workspace: str,
        message: str,
        files: Sequence[str] = (),
        session_id: str | None = None,
        new_session: bool = False,
        asks: bool = True,
    ) -> Turn:
        """Say something; what comes of it are the turn's events.

        It goes to the conversation `session_id`; without, to the newest one of the workspace (an
        absolute path of a folder) that nobody has used by its id, or a new one. `files` are paths
        to be read along. Where nobody can decide on tools, `asks` is False, and those that need it
        are rejected.

        Codes: VALIDATION_ERROR, FILE_NOT_FOUND, SESSION_NOT_FOUND, SESSION_BUSY, AUTH_NOT_SET,
        AUTH_REQUIRED, CLIENT_NOT_INITIALIZED and those of the agent itself.
        """
        conversation = self._conversations.find(workspace, session_id, new_session)
        said = prompt.message(message, files, conversation.workspace)
        conversation.reserve()
        try:
            await self._connect(conversation)
            return conversation.begin(said, self._limits, asks, self._turn_ended)
        finally:
            conversation.release()

    def turn(self, turn_id: str) -> Turn | None:
        """The running or last turn of a conversation, by its id."""
        return next((turn for turn in self._conversations.turns if turn.id == turn_id), None)

    def confirm(
        self,
        call_id: str,
        outcome: str,
        session_id: str | None = None,
        new_text: str | None = None,
    ) -> None:
        """Decide on a call that waits. The first decision counts. `new_text` is what is written
        instead of the agent's own text with the outcome "modify_with_editor".

        Codes: VALIDATION_ERROR for an outcome that there is not or that lacks its text;
        TOOL_CALL_NOT_FOUND; TOOL_INVALID_OUTCOME for one that this call does not allow. The call
        then goes on waiting.
        """
        if outcome not in outcomes.OUTCOMES:
            raise failure.not_among(outcomes.OUTCOMES, outcome)
        self._conversations.asking(call_id, session_id).confirm(call_id, outcome, new_text)

    def confirmations(self) -> tuple[events.Event, ...]:
        """The events of all calls that wait for a decision."""
        return tuple(event for turn in self._conversations.turns for event in turn.confirmations)

    def cancel(self, session_id: str | None = None) -> int:
        """End the turn of a conversation, or all turns; how many there were. A message that waits
        for the agent's start counts, and is not said any more.

        Code: SESSION_NOT_FOUND.
        """
        return self._conversations.cancel(session_id)

    # Conversations and models.

    def sessions(self) -> tuple[SessionInfo, ...]:
        """All conversations, the last used one last."""
        return tuple(conversation.info for conversation in self._conversations)

    async def new_session(self, workspace: str, is_temporary: bool = False) -> SessionInfo:
        """Begin a conversation, which is used by its id. A temporary one does not outlive the
        server."""
        conversation = self._conversations.find(workspace, None, True)
        conversation.own(is_temporary)
        await self._connect(conversation)
        return conversation.info

    async def models(self, workspace: str, session_id: str | None = None) -> Models:
        """What the agent offers for the conversation."""
        conversation = self._conversations.find(workspace, session_id, False)
        await self._connect(conversation)
        return conversation.models

    async def set_model(self, model: str, workspace: str, session_id: str | None = None) -> Models:
        """Choose for the conversation's next turns.

        Codes: VALIDATION_ERROR for a model that the agent does not offer; SESSION_BUSY while a
        turn runs.
        """
        conversation = self._conversations.find(workspace, session_id, False)
        await self._connect(conversation)
        await conversation.choose({"model": model})
        return conversation.models

    async def change(
        self, session_id: str, title: str | None, model: str | None, mode: str | None
    ) -> SessionInfo:
        """Change what is given. Codes: SESSION_NOT_FOUND; VALIDATION_ERROR for what the agent does
        not offer; SESSION_BUSY while a turn runs."""
        conversation = self._conversations.known(session_id)
        given = {"model": model, "mode": mode}
        wanted = {what: name for what, name in given.items() if name is not None}
        if wanted:
            await self._connect(conversation)
            await conversation.choose(wanted)
        if title is not None:
            conversation.set_title(title)
        return conversation.info

    def check_session(self, session_id: str) -> None:
        """Code: SESSION_NOT_FOUND."""
        self._conversations.known(session_id)

    async def page(self, session_id: str, limit: int, before: str | None) -> Page | None:
        """The last `limit` turns of a conversation; those before the turn `before`, where that is
        given, and None where there is no such turn. Code: SESSION_NOT_FOUND."""
        return await self._conversations.known(session_id).past.page(limit, before)

    async def since(self, session_id: str, turn_id: str) -> tuple[PastTurn, ...] | None:
        """The turn of a conversation and those that follow it; None where there is no such turn.
        Code: SESSION_NOT_FOUND."""
        return await self._conversations.known(session_id).past.since(turn_id)

    async def remove_when_over(self, session_id: str) -> None:
        """The same as `remove` once its turn, which was cancelled, is over."""
        turn = self._conversations.known(session_id).turn
        if turn is not None:
            await _end_of(turn)
        await self.remove(session_id)

    async def remove(self, session_id: str) -> None:
        """Delete a conversation for good. Codes: SESSION_NOT_FOUND, SESSION_BUSY."""
        await self._conversations.remove(session_id)

    # What the agent says.

    def update(self, session: str, update: Mapping[str, Any]) -> None:
        conversation = self._conversations.of_session(session)
        if conversation is not None:
            conversation.update(update)

    def permission(self, session: str, request: jsonrpc.Id, params: Mapping[str, Any]) -> None:
        turn = self._conversations.running(session)
        if turn is not None:
            turn.permission(request, params)
        elif self._runner.running is not None:
            # Nobody began what this asks for, so nobody can want it.
            self._runner.running.answer(request, {"outcome": {"outcome": "cancelled"}})

    def write_file(self, session: str, request: jsonrpc.Id, path: str, content: str) -> None:
        turn = self._conversations.running(session)
        if turn is not None:
            turn.write_file(request, path, content)
        elif self._runner.running is not None:
            self._runner.running.refuse(request, "The turn is over, so nothing was written.")

    def noise(self, text: str) -> None:
        self._runner.hear(text)

    def logged(self, text: str) -> None:
        found = RETRY.match(text)
        if found:
            for turn in self._conversations.turns:
                turn.retried(int(found.group("attempt")), found.group("status") or "")

    def ended(self) -> None:
        logger.info("the Gemini CLI ended")

    async def _client(self) -> Client:
        with self._idle.using():
            return await self._runner.client(self.account.credentials)

    def _turn_ended(self, body: events.Body) -> None:
        self.account.learn(body)
        self._idle.used()

    async def _connect(self, conversation: Conversation) -> None:
        """See to a session of the conversation, whose turn may be running."""
        self._conversations.remember(conversation)
        try:
            with self._idle.using():
                await conversation.connect(await self._client())
        except AgentError as error:
            self.account.learn_error(error.code)
            raise
        finally:
            if not conversation.has_begun:
                self._conversations.forget(conversation)
        # Somebody else's attempt may have failed before.
        self._conversations.restore(conversation)


async def _end_of(turn: Turn) -> None:
    async for _event in turn.events():
        pass
