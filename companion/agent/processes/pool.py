"""The processes of one CLI, and which conversation is in which of them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import AsyncIterator, Iterator

from ...base import jsonrpc
from ...base.log import logger
from .. import elicitation, session_state
from ..acp import messages
from ..acp.acp_client import AcpClient, Listener
from ..acp.terminal_messages import TerminalRequest
from ..agents.cli import AgentCli
from ..auth_method import AuthMethod
from ..conversations.conversation import Conversation
from ..conversations.steering import pass_messages
from ..credentials import Credentials
from ..elicitation import ElicitationRequest
from ..sentence import Words
from ..turn import file_reads
from ..turn.turn import Turn
from .home_lock import HomeLock
from .idle import IdleWatch
from .runner import Launch, Runner


@dataclass(frozen=True)
class ProcessInfo:
    """A running process, with its bytes of memory (0 if this machine does not tell) and the number
    of its conversations. `warning` says that its version is newer than those that were tested, or
    is empty."""

    pid: int
    version: str
    memory: int
    conversations: int
    warning: Words = ""


class ProcessPlace(Listener):
    """A place for one process, with the conversations that have their sessions in it. A process
    that died is started again there. It gets what the process sends, for these conversations
    only."""

    def __init__(self, launch: Launch, cli: AgentCli, opening: HomeLock) -> None:
        self.runner = Runner(launch, cli, self, opening)
        self.idle = IdleWatch(self.runner, lambda: any(each.is_busy for each in self))
        self._cli = cli
        # The last used one is the last.
        self._conversations: dict[Conversation, None] = {}

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._conversations))

    def __contains__(self, conversation: object) -> bool:
        return conversation in self._conversations

    def __len__(self) -> int:
        return len(self._conversations)

    @property
    def process_info(self) -> ProcessInfo | None:
        client = self.runner.running_client
        if client is None:
            return None
        pid, version, memory = client.process.pid, client.version, self.runner.memory
        warning = self._cli.tested.version_warning(self._cli.program.script, version)
        return ProcessInfo(pid, version, memory, len(self), warning)

    def enter_conversation(self, conversation: Conversation) -> None:
        """The conversation is used here, now."""
        self._conversations.pop(conversation, None)
        self._conversations[conversation] = None

    def leave_conversation(self, conversation: Conversation) -> None:
        self._conversations.pop(conversation, None)

    # Messages of the process.

    def take_update(self, session: str, update: messages.SessionUpdate) -> None:
        conversation = self._of_session(session)
        if conversation is not None:
            conversation.take_update(update)
        elif isinstance(update, session_state.KINDS) and self.runner.running_client is not None:
            self.runner.running_client.early.keep_update(session, update)

    def take_permission_request(self, request: messages.PermissionRequest) -> None:
        turn = self._turn_of(request.session)
        if turn is not None:
            turn.take_question(request)
        elif self.runner.running_client is not None:
            # No turn asks for this, so nobody can decide.
            self.runner.running_client.answer_request(request.id, messages.permission_result(None))

    def take_elicitation_request(self, request: ElicitationRequest) -> None:
        turn = self._turn_of(request.session) if request.session else None
        if turn is not None:
            turn.take_question(request)
        elif self.runner.running_client is not None:
            # Nobody would see the question.
            self.runner.running_client.answer_request(
                request.id, elicitation.elicitation_result(elicitation.CANCEL)
            )

    def take_withdrawal(self, withdrawal: messages.Withdrawal) -> None:
        for conversation in self:
            if conversation.turn is not None and not conversation.turn.is_over:
                conversation.turn.take_question(withdrawal)

    def read_file(self, request: messages.ReadTextFile) -> None:
        if self.runner.running_client is not None:
            asyncio.ensure_future(
                file_reads.answer_read(request, self.runner.running_client, self._cli)
            )

    def write_file(self, request: messages.WriteTextFile) -> None:
        turn = self._turn_of(request.session)
        if turn is not None:
            turn.write_file(request)
        elif self.runner.running_client is not None:
            error = self._cli.refusal_error("The turn is over, so nothing was written.")
            self.runner.running_client.refuse_request(request.id, error)

    def take_terminal_request(self, request: TerminalRequest) -> None:
        conversation, turn = self._of_session(request.session), self._turn_of(request.session)
        client = self.runner.running_client
        # Clients of the API run nothing on this machine in this way.
        if turn is not None and conversation is not None and conversation.record.state.in_chat:
            turn.take_terminal_request(request)
        elif client is not None:
            error = self._cli.refusal_error("Terminals are there for the turns of a chat only.")
            client.refuse_request(request.id, error)

    def take_other_request(self, request: jsonrpc.Request) -> bool:
        if not request.method or request.method != self._cli.asks_for_messages:
            return False
        asyncio.ensure_future(self._pass_in(request))
        return True

    def take_noise(self, text: str) -> None:
        self.runner.take_noise(text)

    def take_log_text(self, text: str) -> None:
        retry = self._cli.read_retry(text)
        if retry is not None:
            for conversation in self:
                if conversation.turn is not None:
                    conversation.turn.report_retry(retry)

    def take_process_end(self) -> None:
        logger.info("%s ended", self._cli.name)

    async def _pass_in(self, request: jsonrpc.Request) -> None:
        session = messages.session_of(request)
        conversation = self._of_session(session) if session else None
        texts = [] if conversation is None else await pass_messages(conversation)
        if self.runner.running_client is not None:
            self.runner.running_client.answer_request(request.id, self._cli.said_meanwhile(texts))

    def _of_session(self, session: str) -> Conversation | None:
        # The last used ones first, because this is called for every word of an answer.
        newest = reversed(self._conversations)
        return next((each for each in newest if each.session.id == session), None)

    def _turn_of(self, session: str) -> Turn | None:
        """The turn that runs in the session."""
        found = self._of_session(session)
        turn = None if found is None else found.turn
        return turn if turn is not None and not turn.is_over else None


class Pool:
    """The processes of one CLI: as many places as `launch` says, whose processes share a home;
    `lock` is the path of a lock beside that. All methods are called on one loop."""

    def __init__(self, launch: Launch, cli: AgentCli, lock: str) -> None:
        opening = HomeLock(lock)
        self._places = [ProcessPlace(launch, cli, opening) for _ in range(launch.processes)]

    @property
    def starts(self) -> int:
        return sum(place.runner.starts for place in self._places)

    @property
    def running_processes(self) -> tuple[ProcessInfo, ...]:
        found = (place.process_info for place in self._places)
        return tuple(each for each in found if each is not None)

    @property
    def auth_methods(self) -> tuple[AuthMethod, ...]:
        """The ways to log in that the agent tells; none while no process runs."""
        running = (place.runner.running_client for place in self._places)
        return next((client.auth_methods for client in running if client is not None), ())

    def __contains__(self, conversation: object) -> bool:
        return any(conversation in place for place in self._places)

    def place_of(self, conversation: Conversation) -> ProcessPlace:
        """The place of the conversation, for good; a new one gets the place with the fewest."""
        here = [place for place in self._places if conversation in place]
        place = here[0] if here else min(self._places, key=len)
        place.enter_conversation(conversation)
        return place

    def leave_conversation(self, conversation: Conversation) -> None:
        """The conversation is not used any more."""
        for place in self._places:
            place.leave_conversation(conversation)

    def renew_launch(self, launch: Launch) -> None:
        """The next processes are started in this way. Their number stays."""
        for place in self._places:
            place.runner.launch = launch

    @asynccontextmanager
    async def first_client(self, credentials: Credentials) -> AsyncIterator[AcpClient]:
        """The first process, started if it does not run, for what belongs to no session. Raises
        AgentError."""
        place = self._places[0]
        with place.idle.in_use():
            yield await place.runner.authenticated_client(credentials)

    async def connect_apart(self, credentials: Credentials, listener: Listener) -> AcpClient:
        """A process apart from those of the places. Raises AgentError."""
        return await self._places[0].runner.connect_client(credentials, listener)

    async def stop(self) -> None:
        """End all processes."""
        await asyncio.gather(*(place.runner.stop() for place in self._places))

    def stop_watching(self) -> None:
        for place in self._places:
            place.idle.stop()
