"""The agent as other programs use it: chat, decide, look. Knows no HTTP and no editor."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from functools import partial
from typing import Sequence

from ..base import private_files
from ..base.background import in_thread
from ..base.folder_lock import FolderLock
from . import events, failure, outcomes, prompt
from .account import Account
from .attachments import Attachments
from .backend import AgentInfo, Backend, make_cli
from .checkpoints import FileChange
from .clis import CLIS
from .conversation import Conversation, Models, SessionInfo
from .conversations import Conversations
from .event_feed import EventFeed
from .failure import AgentError
from .past_turns import on_disk
from .pool import ProcessInfo
from .runner import Launch
from .sentence import sentence
from .slash_commands import SlashCommand
from .tool_servers import ToolServer
from .transcripts import Page, PastTurn, Transcripts
from .turn import Limits, Turn

NOT_TRUSTED = sentence(
    "{cli} starts tool servers in trusted workspaces only; start the server with --trust to trust"
    " them."
)
# Seconds in which a cancelled turn ends its commands, with some to spare.
ENDING = 2.0
# Seconds between two looks at whether turns still run.
LOOKING = 0.05


@dataclass(frozen=True)
class Options:
    """`launch` is the CLI that is taken where nobody names any, `others` are those that are offered
    beside it. `state` is a folder of ours (made where it is missing, its parent has to be there)
    for credentials and the CLIs' homes. `trusts_workspaces` says whether a CLI may take a
    workspace's own settings for its own.
    """

    launch: Launch
    state: str
    trusts_workspaces: bool = False
    others: tuple[Launch, ...] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Info:
    """Version and id of the usual CLI's first process; None while none runs. `starts` counts the
    starts of all."""

    version: str | None
    pid: int | None
    starts: int

    @property
    def is_running(self) -> bool:
        return self.pid is not None


class Agent:
    """Made and used inside of one running loop; ended with `stop`. `account` says who the user is
    to the usual CLI.

    Whatever cannot be raises AgentError, whose `code` is one of those in `failure`. Processes are
    started when they are first needed, and again after they died. It is the one way into the room,
    which takes some methods more than the twenty.
    """

    def __init__(self, options: Options) -> None:
        private_files.make_folder(options.state)
        self._limits = options.limits
        self._trusts_workspaces = options.trusts_workspaces
        self._lock = FolderLock(options.state)
        self._usual = options.launch.agent
        clis = {id: make_cli(id, options.state, options.trusts_workspaces) for id in CLIS}
        self.feed = EventFeed()
        transcripts = Transcripts(os.path.join(options.state, "conversations"))
        self._conversations = Conversations(transcripts, clis, self.feed)
        self._backends = {
            each.agent: Backend(each, clis[each.agent], options.state, self._conversations)
            for each in (options.launch, *options.others)
        }

    async def load(self) -> None:
        """Take up the conversations that are on disk; before anything else, if at all. From now on
        until `stop` no other agent can. Raises FolderInUse, OSError."""
        await in_thread(self._lock.acquire)
        await self._conversations.load()

    # The CLIs and their processes.

    def agents(self) -> tuple[AgentInfo, ...]:
        """Those that are offered, the usual one first. Starts none."""
        return tuple(it.info(it.cli.id == self._usual) for it in self._backends.values())

    @property
    def account(self) -> Account:
        return self.account_of(None)

    def account_of(self, agent: str | None) -> Account:
        """Who the user is to the CLI with this id, None for the usual one. Raises AgentError."""
        return self._backend(agent).account

    @property
    def processes(self) -> tuple[ProcessInfo, ...]:
        """All that run."""
        return tuple(each for it in self._backends.values() for each in it.pool.running)

    def info(self) -> Info:
        """Never starts it."""
        pool = self._backend(None).pool
        for first in pool.running:
            return Info(first.version, first.pid, pool.starts)
        return Info(None, None, pool.starts)

    def can_start(self) -> bool:
        """Whether each CLI runs, or its program is there to be started."""
        return all(backend.can_start for backend in self._backends.values())

    async def prepare(self) -> None:
        """Start the usual CLI now, so that the first message need not wait for it."""
        await self._backend(None).pool.prepare(self.account.credentials)

    async def stop(self) -> None:
        """Cancel what runs and end the processes, within about eight seconds."""
        await self.end_turns()
        await asyncio.gather(*(backend.stop() for backend in self._backends.values()))
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
        agent: str | None = None,
        attachments: Sequence[str] = (),
    ) -> Turn:
        """Say something; what comes of it are the turn's events.

        It goes to the conversation `session_id`; without, to the newest one of the workspace (an
        absolute path of a folder) that nobody has used by its id, or a new one. `files` are paths
        to be read along, `attachments` ids of those of the conversation. Where nobody can decide on
        tools, `asks` is False, and those that need it are rejected. `agent` is the CLI's id, where
        it is not to be the usual one.

        Codes: VALIDATION_ERROR, FILE_NOT_FOUND, SESSION_NOT_FOUND, SESSION_BUSY, AUTH_NOT_SET,
        AUTH_REQUIRED, CLIENT_NOT_INITIALIZED and those of the agent itself.
        """
        conversation = self._find(workspace, session_id, new_session, agent)
        said = prompt.message(message, files, conversation.workspace, conversation.cli.text_for)
        conversation.reserve()
        try:
            await self._connect(conversation)
            said = await conversation.attaching(said, attachments)
            ended = partial(self._turn_ended, conversation)
            return conversation.begin(said, self._limits, asks, ended)
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

    async def new_session(
        self,
        workspace: str,
        agent: str | None = None,
        is_temporary: bool = False,
        servers: Sequence[ToolServer] = (),
    ) -> SessionInfo:
        """Begin a conversation, which is used by its id, with the CLI of this id. A temporary one
        does not outlive the server. `servers` are tool servers that it has beside the CLI's own;
        code TOOL_SERVERS_DISABLED where workspaces are not trusted."""
        conversation = self._find(workspace, None, True, agent)
        if servers and not conversation.cli.trusted:
            # The CLI would leave them out in silence (docs/gemini-cli-acp.md 11.65).
            told = NOT_TRUSTED.filled(cli=conversation.cli.name)
            raise AgentError(failure.TOOL_SERVERS_DISABLED, told)
        conversation.bring(servers)
        conversation.own(is_temporary)
        await self._connect(conversation)
        return conversation.info

    async def models(
        self, workspace: str, session_id: str | None = None, agent: str | None = None
    ) -> Models:
        """What the agent offers for the conversation."""
        conversation = self._find(workspace, session_id, False, agent)
        await self._connect(conversation)
        return conversation.models

    async def commands(self, session_id: str) -> tuple[SlashCommand, ...]:
        """What the agent offers in a conversation to be said as `/name`."""
        conversation = self._conversations.known(session_id)
        await self._connect(conversation)
        return await conversation.commands()

    def attachments(self, session_id: str) -> Attachments:
        """Those of a conversation. Code: SESSION_NOT_FOUND."""
        return self._conversations.known(session_id).attachments

    async def set_model(
        self,
        model: str,
        workspace: str,
        session_id: str | None = None,
        agent: str | None = None,
    ) -> Models:
        """Choose for the conversation's next turns.

        Codes: VALIDATION_ERROR for a model that the agent does not offer; SESSION_BUSY while a
        turn runs.
        """
        conversation = self._find(workspace, session_id, False, agent)
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

    async def changed_files(self, session_id: str, turn_id: str) -> list[FileChange] | None:
        """What a turn made of files, and where that stands; None where there is no such turn. Code:
        SESSION_NOT_FOUND."""
        conversation = self._conversations.known(session_id)
        files = await on_disk(partial(conversation.checkpoints.files, turn_id))
        return files if files or await conversation.past.since(turn_id) else None

    async def undo(self, session_id: str, turn_id: str) -> list[FileChange] | None:
        """Put back the files that are still as a turn left them; all of its files, as they stand
        then, or None where there is no such turn. Codes: SESSION_NOT_FOUND, SESSION_BUSY."""
        conversation = self._conversations.known(session_id)
        files = await conversation.undo(turn_id)
        return files if files or await conversation.past.since(turn_id) else None

    async def remove_when_over(self, session_id: str) -> None:
        """The same as `remove` once its turn, which was cancelled, is over."""
        turn = self._conversations.known(session_id).turn
        if turn is not None:
            await _end_of(turn)
        await self.remove(session_id)

    async def remove(self, session_id: str) -> None:
        """Delete a conversation for good. Codes: SESSION_NOT_FOUND, SESSION_BUSY."""
        conversation = self._conversations.known(session_id)
        await self._conversations.remove(session_id)
        if conversation.cli.id in self._backends:
            self._backends[conversation.cli.id].pool.leave(conversation)

    def _backend(self, agent: str | None) -> Backend:
        """Raises AgentError, code VALIDATION_ERROR."""
        found = self._backends.get(agent or self._usual)
        if found is None:
            told = sentence(
                "This server does not offer the agent {got}; it offers {offered}.",
                got=repr(agent),
                offered=", ".join(self._backends),
            )
            raise AgentError(failure.VALIDATION_ERROR, told)
        return found

    def _find(
        self, workspace: str, session_id: str | None, new: bool, agent: str | None
    ) -> Conversation:
        """Raises AgentError, also where its CLI is not offered."""
        self._backend(agent)
        return self._conversations.find(workspace, session_id, new, agent, self._usual)

    def _turn_ended(self, conversation: Conversation, body: events.Body) -> None:
        backend = self._backend(conversation.cli.id)
        backend.account.learn(body)
        backend.pool.place_of(conversation).idle.used()

    async def _connect(self, conversation: Conversation) -> None:
        """See to a session of the conversation, whose turn may be running. Raises AgentError."""
        backend = self._backend(conversation.cli.id)
        self._conversations.remember(conversation)
        place = backend.pool.place_of(conversation)
        try:
            with place.using():
                client = await place.runner.client(backend.account.credentials)
                await conversation.connect(client)
        except AgentError as error:
            backend.account.learn_error(error.code)
            raise
        finally:
            if not conversation.has_begun:
                self._conversations.forget(conversation)
                backend.pool.leave(conversation)
        # Somebody else's attempt may have failed before.
        self._conversations.restore(conversation)
        place.enter(conversation)


async def _end_of(turn: Turn) -> None:
    async for _event in turn.events():
        pass
