"""The agent as other programs use it: chat, decide, inspect. Knows no HTTP and no editor."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import AsyncIterator, Sequence

from ..base import private_files
from ..base.background import in_thread
from . import failure
from . import turn_events as events
from .acp.messages import Models
from .acp.session_list import ListedSession
from .conversations import shared_folder
from .conversations.conversation import Conversation, SessionInfo
from .conversations.index_file import IndexFile
from .conversations.listing import Listed, Listing, every_conversation
from .conversations.outbox import Outbox
from .conversations.past_turns import PastTurns
from .conversations.registry import Conversations, folder_of, last_used
from .conversations.transcript_reader import ConversationSummary
from .conversations.transcripts import Transcripts, on_disk
from .conversations.turns import ENDING, end_of
from .credentials import home_of
from .events.event_feed import EventFeed, Gone
from .failure import AgentError
from .open_files import NO_EDITOR, OpenFiles
from .processes import own_sessions
from .processes.account import Account
from .processes.backend import AgentInfo, Backend, Backends, Clis
from .processes.login import Login
from .processes.runner import Launch
from .sentence import sentence
from .session_state import SlashCommand
from .tool_servers import ToolServer
from .turn.outcomes import CallDecision
from .turn.turn import Limits, Turn

# For other rooms also what the operations take, give and raise, which stands in the folders.
__all__ = [
    "Account",
    "Agent",
    "AgentInfo",
    "Backend",
    "CallDecision",
    "Conversation",
    "ConversationSummary",
    "EventFeed",
    "Gone",
    "Info",
    "Launch",
    "Limits",
    "ListedSession",
    "Login",
    "Models",
    "Options",
    "PastTurns",
    "SessionInfo",
    "Turn",
    "folder_of",
    "on_disk",
]

NO_FOLDER = sentence("The folder of this conversation is no longer known; begin a new one.")
NOT_TRUSTED = sentence(
    "{cli} starts tool servers in trusted workspaces only; start the server with --trust to trust"
    " them."
)


@dataclass(frozen=True)
class Options:
    """`launch` is the CLI that is used if none is named; `others` are offered beside it. `state` is
    a folder of ours for credentials and the CLIs' homes; it is created if it is missing, but its
    parent must exist. `trusts_workspaces` says whether a CLI may use a workspace's own settings;
    in the `trusted_folders` (absolute paths) it may in any case.
    `cache` is a folder on a local disk for what can be made anew; it is created when it is needed.
    If it is empty, the next start reads all conversations. `open_files` are those of the editor.
    """

    launch: Launch
    state: str
    trusts_workspaces: bool = False
    trusted_folders: tuple[str, ...] = ()
    others: tuple[Launch, ...] = ()
    cache: str = ""
    limits: Limits = field(default_factory=Limits)
    open_files: OpenFiles = NO_EDITOR


@dataclass(frozen=True)
class Info:
    """Version and process id of the usual CLI's first process; None while none runs. `starts`
    counts the starts of all processes."""

    version: str | None
    pid: int | None
    starts: int

    @property
    def is_running(self) -> bool:
        return self.pid is not None


class Agent:
    """Created and used inside one running loop; ends with `stop`. `backends` are the CLIs that are
    offered, `state` is their folder. `conversations` are the existing ones, `listing` has their
    pages, `turns` their turns, `clis` their CLIs, `outbox` sends messages, and `feed` has events.

    Whatever is not possible raises AgentError, whose `code` is one of those in `failure`. Processes
    are started when they are first needed, and again after they have died. Other rooms
    reach the operations of all folders by it.
    """

    def __init__(self, options: Options) -> None:
        self.state = options.state
        private_files.make_folder(options.state)
        self.outbox = Outbox(options.limits, self._connected_conversation, self._turn_ended)
        clis = self.clis = Clis(options.state, options.trusts_workspaces, options.open_files)
        clis.trust_folders(options.trusted_folders)
        self.feed = EventFeed()
        transcripts = Transcripts(os.path.join(options.state, "conversations"))
        file = IndexFile(options.cache, transcripts.folder) if options.cache else None
        self.conversations = Conversations(transcripts, clis, self.feed, file)
        self.listing = Listing(self.conversations)
        launches = (options.launch, *options.others)
        self.turns = self.conversations.turns
        self.backends = Backends(launches, clis, options.state, self.turns)
        self.conversations.releases.subscribe(self.backends.leave_conversation)

    async def load_conversations(self) -> None:
        """Load the conversations that are on disk; must come before everything else, if at all.
        Agents of other servers may use the same folder. Raises OSError."""
        await self.conversations.load()

    @property
    def account(self) -> Account:
        """Who the user is to the usual CLI."""
        return self.backends[None].account

    def process_info(self) -> Info:
        """Never starts a process."""
        pool = self.backends[None].pool
        for first in pool.running_processes:
            return Info(first.version, first.pid, pool.starts)
        return Info(None, None, pool.starts)

    async def stop(self) -> None:
        """Cancel the turns and end the processes, within about eight seconds. If the disk takes
        longer, the conversations stay held until everything is written."""
        self.outbox.is_closed = True
        try:
            await self.turns.cancel_and_wait()
            await asyncio.gather(*(backend.stop() for backend in self.backends))
            # An undo that waits for the disk is not a turn.
            await self.turns.wait_until_idle(ENDING)
        finally:
            await self.conversations.write_and_release()

    async def send_message(
        self,
        workspace: str,
        message: str,
        files: Sequence[str] = (),
        session_id: str | None = None,
        new_session: bool = False,
        asks: bool = True,
        agent: str | None = None,
        attachments: Sequence[str] = (),
        new_id: str = "",
    ) -> Turn:
        """Send a message; the turn's events are the answer.

        The message goes to the conversation `session_id`. Without that, it goes to the newest
        conversation of the workspace (an absolute path of a folder) that nobody has used by its id,
        or to a new one. `files` are paths of files for the model to read; `attachments` are ids of
        attachments of the conversation. `asks` is False if nobody can decide on tools; then calls
        that need a decision are rejected. `agent` is the CLI's id, if it is not to be the usual
        one. `new_id` is for a new conversation, if it is free.

        Codes: VALIDATION_ERROR, FILE_NOT_FOUND, SESSION_NOT_FOUND, SESSION_BUSY, AUTH_NOT_SET,
        AUTH_REQUIRED, CLIENT_NOT_INITIALIZED and those of the agent itself.
        """
        conversation = await self._find_conversation(
            workspace, session_id, new_session, agent, new_id
        )
        return await self.outbox.send_message(conversation, message, files, attachments, asks)

    def list_sessions(self, listed: Listed = every_conversation) -> tuple[SessionInfo, ...]:
        """All conversations that are known so far but temporary ones, the last used one last; of
        them those that are to be `listed`."""
        found = sorted(filter(listed, self.conversations.known_summaries()), key=last_used)
        return tuple(map(self.conversations.session_info, found))

    async def new_session(
        self,
        workspace: str,
        agent: str | None = None,
        is_temporary: bool = False,
        servers: Sequence[ToolServer] = (),
        new_id: str = "",
    ) -> SessionInfo:
        """Begin a conversation that is used by its id, with the CLI of this id. A temporary one is
        deleted with the end of the server. `servers` are tool servers beside the CLI's own; code
        TOOL_SERVERS_DISABLED if workspaces are not trusted. `new_id` is its id, if that is free."""
        conversation = await self._find_conversation(workspace, None, True, agent, new_id)
        trusts = partial(conversation.cli.trusts_workspace, conversation.workspace)
        if servers and not await in_thread(trusts):
            # The CLI would ignore them without a message (docs/gemini-cli-acp.md 11.65).
            told = NOT_TRUSTED.with_values(cli=conversation.cli.name)
            raise AgentError(failure.TOOL_SERVERS_DISABLED, told)
        conversation.session.use_servers(servers)
        conversation.record.mark_owned(is_temporary)
        async with self._connected_conversation(conversation):
            if is_temporary:
                # To its end, for a server that finds it free deletes it.
                conversation.hold.keep_held()
            return conversation.session_info

    async def refresh_conversation(self, session_id: str) -> None:
        """Learn what another server has made of this conversation, as far as it is on disk. Raises
        AgentError."""
        await shared_folder.learn_changes(self.conversations, session_id)

    async def refresh_conversations(self) -> None:
        """Learn which conversations were made, changed and deleted by other servers, a moment ago
        at the latest."""
        await shared_folder.look_at_all(self.conversations)

    async def list_own_sessions(self, backend: Backend, folder: str) -> tuple[ListedSession, ...]:
        """The sessions of the CLI in the folder (a real path) that are no conversations here, the
        last used ones first. Raises AgentError."""
        return await own_sessions.list_own_sessions(backend, self.conversations, folder)

    async def take_over_session(
        self, backend: Backend, folder: str, session: ListedSession
    ) -> Conversation:
        """A new conversation that goes on with one of these sessions. Raises AgentError."""
        return await own_sessions.take_over(backend, self.conversations, folder, session)

    async def fork_conversation(self, session_id: str, turn: str | None) -> SessionInfo | None:
        """A new conversation with everything that was said in this one, or until the end of that
        turn; None if there is no such turn. Its agent remembers the whole of one by a fork of its
        own session, if it has that open and can; else it gets the conversation as a text. Raises
        AgentError as `Conversations.fork`."""
        source = self.conversations.known_conversation(session_id)
        said = source.record.turns
        made = await self.conversations.fork(session_id, turn)
        if made is None or turn not in (None, source.turn and source.turn.id):
            return made
        session = "" if source.is_busy else await source.session.fork_session()
        target = self.conversations.known_conversation(made.id)
        if session and source.record.turns == said and not source.is_busy:
            async with target.hold.exclusive_use():
                target.record.change_state(replace(target.record.state, session=session))
        return target.session_info

    async def list_models(
        self, workspace: str, session_id: str | None = None, agent: str | None = None
    ) -> Models:
        """The models that the agent offers for the conversation."""
        conversation = await self._find_conversation(workspace, session_id, False, agent)
        async with self._connected_conversation(conversation):
            return conversation.session.choices.models

    async def list_commands(self, session_id: str) -> tuple[SlashCommand, ...]:
        """The commands that the agent offers in a conversation, to be written as `/name`."""
        conversation = self.conversations.known_conversation(session_id)
        async with self._connected_conversation(conversation):
            return (await conversation.session.offered_commands()).commands

    async def choose_option(self, session_id: str, id: str, value: str | bool) -> Conversation:
        """Choose another value of one of the agent's options. Codes: SESSION_NOT_FOUND;
        OPTION_NOT_FOUND; VALIDATION_ERROR for a value that the agent does not offer; SESSION_BUSY
        for an option that it cannot change while a turn runs."""
        conversation = self.conversations.known_conversation(session_id)
        async with self._connected_conversation(conversation):
            await conversation.choose_option(id, value)
        return conversation

    async def set_model(
        self,
        model: str,
        workspace: str,
        session_id: str | None = None,
        agent: str | None = None,
    ) -> Models:
        """Choose the model for the conversation's next turns.

        Codes: VALIDATION_ERROR for a model that the agent does not offer; SESSION_BUSY while a
        turn runs.
        """
        conversation = await self._find_conversation(workspace, session_id, False, agent)
        async with self._connected_conversation(conversation):
            await conversation.choose_options({"model": model})
            return conversation.session.choices.models

    async def change_session(
        self, session_id: str, title: str | None, model: str | None, mode: str | None
    ) -> SessionInfo:
        """Change the values that are given. Codes: SESSION_NOT_FOUND; VALIDATION_ERROR for values
        that the agent does not offer; SESSION_BUSY while a turn runs."""
        conversation = self.conversations.known_conversation(session_id)
        given = {"model": model, "mode": mode}
        wanted = {what: name for what, name in given.items() if name is not None}
        if wanted:
            async with self._connected_conversation(conversation):
                await conversation.choose_options(wanted)
        if title is not None:
            async with conversation.hold.exclusive_use():
                conversation.record.rename(title)
        return conversation.session_info

    async def remove_when_over(self, session_id: str) -> None:
        """Call `delete_session` once the cancelled turn is over."""
        turn = self.conversations.known_conversation(session_id).turn
        if turn is not None:
            await end_of(turn)
        await self.delete_session(session_id)

    async def delete_session(self, session_id: str) -> None:
        """Delete a conversation for good, also in the own files of an agent that
        `removes_sessions`. Codes: SESSION_NOT_FOUND, SESSION_BUSY."""
        await self.conversations.remove(session_id)

    async def _find_conversation(
        self,
        workspace: str,
        session_id: str | None,
        new: bool,
        agent: str | None,
        new_id: str = "",
    ) -> Conversation:
        """The conversation with this id. Without an id, the last used one of the workspace with
        that CLI that nobody has asked for by its id; or, if there is none and with `new`, a new
        one. Raises AgentError, also if the CLI is not offered."""
        backend, conversations = self.backends[agent], self.conversations
        cli = backend.cli
        if session_id is not None and not new:
            known = await shared_folder.own_conversation(conversations, session_id, agent)
            self.backends[known.cli.id].account.check_for_clients(known.record.state.chat_home)
            return known
        backend.account.check_for_clients()
        folder = folder_of(workspace)
        found = None if new else await shared_folder.open_to_all(conversations, folder, cli)
        return found or conversations.new_conversation(folder, cli, new_id)

    def _turn_ended(self, conversation: Conversation, body: events.Body) -> None:
        conversation.tell_unsaved()
        conversation.hold.give_soon()
        backend = self.backends[conversation.cli.id]
        backend.account.learn_from_turn(body, conversation.record.state.home)
        backend.pool.place_of(conversation).idle.check_later()

    @asynccontextmanager
    async def _connected_conversation(self, conversation: Conversation) -> AsyncIterator[None]:
        """This server holds the conversation, which has a session; its turn may be running. Raises
        AgentError."""
        async with conversation.hold.exclusive_use():
            await self._connect_conversation(conversation)
            yield

    async def _connect_conversation(self, conversation: Conversation) -> None:
        """Open a session for the conversation. Raises AgentError."""
        if conversation.session.is_closed:
            raise failure.no_session(conversation.id)
        if not conversation.workspace:
            raise AgentError(failure.VALIDATION_ERROR, NO_FOLDER)
        backend = self.backends[conversation.cli.id]
        self.conversations.remember(conversation)
        home = ""
        try:
            credentials = await backend.credentials_for(conversation)
            home = home_of(credentials)
            place = backend.pool.place_of(conversation, home)
            with place.idle.in_use():
                client = await place.runner.authenticated_client(credentials)
                await conversation.session.ensure_session(client)
        except AgentError as error:
            backend.account.learn_error(error.code, home)
            raise
        finally:
            if not conversation.record.has_begun:
                self.conversations.forget(conversation)
                backend.pool.leave_conversation(conversation)
        # Another attempt may have failed before and removed the conversation.
        self.conversations.remember(conversation)
        place.enter_conversation(conversation)
