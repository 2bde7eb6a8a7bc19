"""The sessions that an agent has held elsewhere with the user, in a terminal: listed, and taken
over by a conversation."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timezone
from functools import partial
from typing import Iterable, Iterator

from ...base.background import in_thread
from .. import elicitation
from ..acp import messages
from ..acp.acp_client import AcpClient, Listener
from ..acp.session_list import ListedSession, list_sessions
from ..acp.terminal_messages import TerminalRequest
from ..agents.cli import AgentCli
from ..conversations.conversation import Conversation
from ..conversations.index import agent_of
from ..conversations.registry import Conversations
from ..conversations.repeated_turns import RepeatedTurns
from ..conversations.transcripts import on_disk
from ..elicitation import ElicitationRequest
from ..failure import AUTH_REQUIRED, VALIDATION_ERROR, AgentError
from ..sentence import sentence
from .backend import Backend

# Seconds for a page of the list, and for a session to be repeated.
LISTING, REPEATING = 30.0, 120.0
# Pages that are asked for, and sessions that are listed.
MAX_PAGES, MOST = 40, 200
# Sorts before all times that an agent tells.
NEVER = datetime.min.replace(tzinfo=timezone.utc)
CANNOT_LIST = sentence("{cli} does not list its sessions.")
CANNOT_OPEN = sentence("{cli} does not open sessions again.")
NEEDS_LOGIN = sentence(
    "{cli} needs a login before it opens the session: begin a chat with it, which says how."
)
TAKEN = sentence("This session is a conversation here already.")


async def list_own_sessions(
    backend: Backend, conversations: Conversations, folder: str
) -> tuple[ListedSession, ...]:
    """The CLI's sessions of the folder (a real path) that are no conversations here, the last used
    ones first; of an agent with very many, only the newest are looked at. Raises AgentError."""
    # Some agents run what a workspace names as soon as they look at it.
    await in_thread(partial(backend.cli.session_meta, folder))
    await backend.account.refresh_credentials()
    async with backend.pool.first_client(backend.account.credentials) as client:
        if not client.capabilities.lists:
            raise AgentError(VALIDATION_ERROR, CANNOT_LIST.with_values(cli=backend.cli.name))
        told = await _read_pages(client, folder)
    await conversations.index.wait_for_all_since()
    known = set(_known_sessions(conversations, backend.cli))
    # Some list those of other folders as well.
    there = await in_thread(
        lambda: [session for session in told if _real_path(session.folder) == _real_path(folder)]
    )
    found = {session.id: session for session in there if session.id not in known}
    return tuple(
        sorted(found.values(), key=lambda session: session.updated or NEVER, reverse=True)[:MOST]
    )


async def take_over(
    backend: Backend, conversations: Conversations, folder: str, session: ListedSession
) -> Conversation:
    """A new conversation that goes on with the session, with its turns as far as the agent repeats
    them. Raises AgentError."""
    cli = backend.cli
    _check_free(conversations, cli, session)
    made = conversations.new_conversation(folder, cli)
    turns = RepeatedTurns(cli, made.id, session.updated or datetime.now(timezone.utc))
    home = await _repeat_session(backend, folder, session.id, turns)
    title = session.title
    async with made.hold.exclusive_use():
        # It may have been taken over while the agent repeated it.
        _check_free(conversations, cli, session)
        made.record.take_over(session.id, home, title, cli.id, turns.finish_turns(title))
        conversations.remember(made)
        await on_disk(made.record.transcript.write_now)
    return made


def _check_free(conversations: Conversations, cli: AgentCli, session: ListedSession) -> None:
    """Raises AgentError."""
    if session.id in set(_known_sessions(conversations, cli)):
        raise AgentError(VALIDATION_ERROR, TAKEN)


def _real_path(folder: str) -> str:
    return os.path.normcase(os.path.realpath(folder))


async def _read_pages(client: AcpClient, folder: str) -> list[ListedSession]:
    found: list[ListedSession] = []
    cursor = ""
    for _page in range(MAX_PAGES):
        told = await client.request(list_sessions(folder, cursor), LISTING)
        found += told.sessions
        # Codex filters each page by itself, which may leave nothing of it; others do not filter.
        is_enough = sum(session.folder == folder for session in found) >= MOST
        if not told.next or told.next == cursor or is_enough:
            break
        cursor = told.next
    return found


async def _repeat_session(backend: Backend, folder: str, session: str, turns: RepeatedTurns) -> str:
    """Let the agent repeat the session in a process apart, so that nobody hears of it twice: the
    conversation opens the session again in its own. Gives the home of the process. Raises
    AgentError."""
    cli = backend.cli
    meta = await in_thread(partial(cli.session_meta, folder))
    listener = _Repeating(session, turns)
    client = listener.client = await backend.pool.connect_apart(
        backend.account.credentials, listener
    )
    try:
        told = client.capabilities
        if told.load:
            place = messages.SessionPlace(folder, meta=meta)
            asked = messages.reopen_session(messages.LOAD, session, place)
            await client.request(asked, REPEATING)
        elif not told.resume:
            raise AgentError(VALIDATION_ERROR, CANNOT_OPEN.with_values(cli=cli.name))
        return client.home
    except AgentError as error:
        if error.code != AUTH_REQUIRED:
            raise
        raise AgentError(AUTH_REQUIRED, NEEDS_LOGIN.with_values(cli=cli.name)) from error
    finally:
        await asyncio.shield(client.stop())


def _known_sessions(conversations: Conversations, cli: AgentCli) -> Iterator[str]:
    """The sessions of the agent that are conversations here."""
    used: Iterable[str] = (
        conversation.session.id or "" for conversation in conversations if conversation.cli is cli
    )
    yield from used
    for summary in conversations.index.summaries.values():
        if agent_of(summary) == cli.id:
            yield summary.state.session


class _Repeating(Listener):
    """Hears of one session that is loaded, and answers nothing."""

    def __init__(self, session: str, turns: RepeatedTurns) -> None:
        self.client: AcpClient | None = None
        self._session, self._turns = session, turns

    def take_update(self, session: str, update: messages.SessionUpdate) -> None:
        if session == self._session:
            self._turns.take_update(update)

    def take_permission_request(self, request: messages.PermissionRequest) -> None:
        if self.client is not None:
            self.client.answer_request(request.id, messages.permission_result(None))

    def take_elicitation_request(self, request: ElicitationRequest) -> None:
        if self.client is not None:
            self.client.answer_request(
                request.id, elicitation.elicitation_result(elicitation.CANCEL)
            )

    def take_withdrawal(self, withdrawal: messages.Withdrawal) -> None:
        """Nothing waits."""

    def read_file(self, request: messages.ReadTextFile) -> None:
        """It was not offered."""

    def write_file(self, request: messages.WriteTextFile) -> None:
        """It was not offered."""

    def take_terminal_request(self, request: TerminalRequest) -> None:
        """It was not offered."""

    def take_noise(self, text: str) -> None:
        """Nobody looks."""

    def take_log_text(self, text: str) -> None:
        """Nobody looks."""

    def take_process_end(self) -> None:
        """The request fails, which reports it."""
