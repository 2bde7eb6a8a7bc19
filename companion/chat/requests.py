"""What a front end asks of its chats, one frozen class for each request. Knows no thread.

To add a request: a class here that does it, and an `await service.ask(...)` where a front end needs
it. `chat` is the id of an open conversation, `conversation` that of any.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Callable, Generic, Iterator, Mapping, Sequence, TypeVar

from ..agent import document, failure
from ..agent.agent import (
    Backend,
    CallDecision,
    Conversation,
    ConversationSummary,
    SessionInfo,
    on_disk,
)
from ..agent.attachments import Attachments
from ..agent.credentials import AuthStatus
from ..agent.failure import SESSION_NOT_FOUND, VALIDATION_ERROR, AgentError, NotInstalled
from ..agent.sentence import ENGLISH, sentence
from ..agent.turn_events import Attachment, MessageAdded, PastTurn, QueuedMessage
from ..agent.turn_undo import FileChange
from ..base.background import in_thread
from . import enclosed, finding, problems
from .attached import Attached, OutgoingMessage, outgoing_message, words_of
from .chats import Chats
from .finding import WantedChat
from .open_chat import OpenChat
from .workspaces import Workspaces

T = TypeVar("T")

# Of an agent that is not there, in its row: what was looked for, and before it how to install it.
LOOKED_FOR, INSTALLED_BY = "looked for “{}” in PATH", "{} · {}"
NO_TURN = sentence("This turn is not in the conversation any more.")


class ChatRequest(ABC, Generic[T]):
    """Created on any thread; done on the engine's loop. What it is about is told by updates."""

    @abstractmethod
    async def carry_out(self, chats: Chats) -> T:
        """The answer. Raises AgentError."""


@dataclass(frozen=True)
class Open(ChatRequest[None]):
    """Follow a conversation, or begin it. Its updates tell how that goes."""

    wanted: WantedChat

    async def carry_out(self, chats: Chats) -> None:
        chats.open_chat(self.wanted)


@dataclass(frozen=True)
class Close(ChatRequest[None]):
    """Follow it no longer. A turn that runs goes on, and its questions are answered with no; a
    conversation in which nothing was said is deleted."""

    chat: str

    async def carry_out(self, chats: Chats) -> None:
        await chats.close_chat(self.chat)


# Messages.


@dataclass(frozen=True)
class Sent:
    """What became of a message: the turn that it began, or its id among those that wait."""

    turn: str = ""
    queued: str = ""


@dataclass(frozen=True)
class Send(ChatRequest[Sent]):
    """Send the words of the user, with what is attached; while a turn runs, they wait for the end
    of that. What the words name as `@path` is read as well; attached texts, which only quote, name
    no files. Images and PDF documents become attachments."""

    chat: str
    words: str
    attached: tuple[Attached, ...] = ()

    async def carry_out(self, chats: Chats) -> Sent:
        chat = chats.find_chat(self.chat)
        chat.forget_problem()
        async with chat.sending_message() as check:
            try:
                return await self._send_message(chats, chat, await chat.ready_conversation(), check)
            except AgentError as error:
                if error.code == SESSION_NOT_FOUND:
                    chat.lose_conversation()
                    raise AgentError(error.code, problems.DELETED) from error
                if not chat.has_session or error.code not in problems.OF_MESSAGES:
                    chat.show_problem(problems.problem_sentence(error), error.code)
                raise

    async def _send_message(
        self,
        chats: Chats,
        chat: OpenChat,
        conversation: Conversation,
        check: Callable[[], None],
    ) -> Sent:
        await finding.check_folder(conversation)
        folder, attachments = conversation.workspace, conversation.attachments
        given = outgoing_message(self.words, self.attached)
        # Before anything is said: an image that cannot be read begins nothing.
        more = await enclosed.enclose_files(self.words, given.images, folder, attachments)
        files = tuple(dict.fromkeys([*given.files, *more.files]))
        whole = replace(given, files=files, attachments=(*given.attachments, *more.attachments))
        try:
            if chat.unsaid is not None:
                await chat.unsaid.end_temporary()
            check()
            if conversation.is_busy:
                return await _queue_message(chats, conversation, whole, given.files)
            return await _send_now(chats, conversation, whole)
        except AgentError:
            await enclosed.discard_enclosed(more, attachments)
            raise


@dataclass(frozen=True)
class TakeBack(ChatRequest[QueuedMessage]):
    """Take back a message that waits; gives it as it was."""

    chat: str
    queued: str

    async def carry_out(self, chats: Chats) -> QueuedMessage:
        conversation = await chats.find_chat(self.chat).ready_conversation()
        async with conversation.hold.exclusive_use():
            message = conversation.queue.get_message(self.queued)
            conversation.queue.remove_message(self.queued)
        return message


@dataclass(frozen=True)
class SaidBefore(ChatRequest["tuple[str, ...]"]):
    """The last messages of the user in the conversation, the oldest first."""

    chat: str
    most: int = 100

    async def carry_out(self, chats: Chats) -> tuple[str, ...]:
        conversation = await chats.find_chat(self.chat).ready_conversation()
        if not conversation.record.turns:
            return ()
        turns = (await conversation.past.read_history()).turns
        # There may be many events, and the loop is that of all chats.
        return await in_thread(lambda: tuple(_said_words(turns))[-self.most :])


@dataclass(frozen=True)
class SendNow(ChatRequest[None]):
    """Send a message that waits before all others: within the turn that runs, where the agent takes
    messages there; else that is stopped first."""

    chat: str
    queued: str

    async def carry_out(self, chats: Chats) -> None:
        conversation = await chats.find_chat(self.chat).ready_conversation()
        async with conversation.hold.exclusive_use():
            chats.agent.outbox.send_next(conversation, self.queued)


@dataclass(frozen=True)
class Stop(ChatRequest[None]):
    """End the turn that runs, or the start of the agent, if there is one. What waits is held."""

    chat: str

    async def carry_out(self, chats: Chats) -> None:
        chats.find_chat(self.chat).stop()


# Answers of the user.


@dataclass(frozen=True)
class Decide(ChatRequest[None]):
    """Decide on a call that waits, as `revision` of its question asks; only the first decision
    counts. `outcome` is one of `OUTCOMES` of `agent/turn_events`; with MODIFY, `new_text` is
    written instead."""

    chat: str
    call_id: str
    outcome: str
    new_text: str | None = None
    revision: str = ""

    async def carry_out(self, chats: Chats) -> None:
        decision = CallDecision(self.outcome, self.new_text, revision=self.revision)
        chats.agent.turns.confirm_call(self.call_id, decision, self.chat)


@dataclass(frozen=True)
class StopSubagent(ChatRequest[None]):
    """End the work of the subagent that a call runs; its turn goes on."""

    chat: str
    call_id: str

    async def carry_out(self, chats: Chats) -> None:
        chats.agent.turns.stop_subagent(self.chat, self.call_id)


@dataclass(frozen=True)
class AnswerElicitation(ChatRequest[None]):
    """Answer another question of the agent. `action` is one of `agent/elicitation`; `content`
    are the values of a form's fields, by their names."""

    elicitation: str
    action: str
    content: Mapping[str, Any] | None = None

    async def carry_out(self, chats: Chats) -> None:
        chats.agent.turns.answer_elicitation(self.elicitation, self.action, self.content)


@dataclass(frozen=True)
class ChooseOption(ChatRequest[None]):
    """Choose another value of one of the agent's options, its model and its mode among them; the
    updates have them all."""

    chat: str
    id: str
    value: str | bool

    async def carry_out(self, chats: Chats) -> None:
        chat = chats.find_chat(self.chat)
        await chat.ready_conversation()
        await chats.agent.choose_option(self.chat, self.id, self.value)
        chat.tell_soon()


# Turns and what they did to files.


@dataclass(frozen=True)
class UndoTurn(ChatRequest["tuple[FileChange, ...]"]):
    """Restore the files that are still as the turn left them, or do what was undone `again`; gives
    all of its files with their states afterwards. The agent is told with the next message."""

    chat: str
    turn: str
    again: bool = False

    async def carry_out(self, chats: Chats) -> tuple[FileChange, ...]:
        chat = chats.find_chat(self.chat)
        conversation = await chat.ready_conversation()
        try:
            files = await conversation.undo_turn(self.turn, self.again)
        finally:
            # What somebody has sent meanwhile had to wait for it.
            chats.agent.outbox.go_on(conversation)
            chat.tell_soon()
        if files is None:
            raise AgentError(VALIDATION_ERROR, NO_TURN)
        return tuple(files)


# All conversations.


@dataclass(frozen=True)
class FoundConversations:
    """A page of conversations, the last used one first. `excerpts` has the places where the words
    are, by the conversations' ids. `next` is the cursor of the next page, empty if there is none;
    a page of a search may be short although there is one."""

    conversations: tuple[SessionInfo, ...]
    excerpts: Mapping[str, str]
    next: str


@dataclass(frozen=True)
class ListConversations(ChatRequest[FoundConversations]):
    """The conversations of these workspaces, or all; with words, those that have them in their
    titles or texts."""

    workspaces: Workspaces | None = None
    words: str = ""
    cursor: str = ""
    limit: int = 50

    async def carry_out(self, chats: Chats) -> FoundConversations:
        if not self.cursor:
            await chats.agent.refresh_conversations()
        page = await chats.agent.listing.list_page(
            self.limit, self.cursor, self.words, self._is_listed
        )
        return FoundConversations(page.infos, page.excerpts, page.next)

    def _is_listed(self, summary: ConversationSummary) -> bool:
        is_here = self.workspaces is None or self.workspaces.has(summary.workspace)
        return is_here and bool(summary.turns)


@dataclass(frozen=True)
class Rename(ChatRequest[None]):
    """Another title."""

    conversation: str
    title: str

    async def carry_out(self, chats: Chats) -> None:
        await chats.agent.change_session(self.conversation, self.title, None, None)
        chats.touch_chat(self.conversation)


@dataclass(frozen=True)
class Fork(ChatRequest[SessionInfo]):
    """A new conversation with all that was said until the end of this turn, or of the last one; it
    still has to be opened."""

    conversation: str
    turn: str | None = None

    async def carry_out(self, chats: Chats) -> SessionInfo:
        made = await chats.agent.fork_conversation(self.conversation, self.turn)
        if made is None:
            raise AgentError(VALIDATION_ERROR, NO_TURN)
        return made


@dataclass(frozen=True)
class Delete(ChatRequest[None]):
    """Delete a conversation for good, also in the own files of an agent that `removes_sessions`; a
    turn that runs is ended first."""

    conversation: str

    async def carry_out(self, chats: Chats) -> None:
        agent, id = chats.agent, self.conversation
        await agent.refresh_conversation(id)
        if id not in agent.conversations:
            raise failure.no_session(id)
        agent.turns.cancel_turns(id)
        await agent.remove_when_over(id)
        await chats.close_chat(id)


@dataclass(frozen=True)
class Export(ChatRequest[str]):
    """The whole conversation as a document in Markdown."""

    conversation: str

    async def carry_out(self, chats: Chats) -> str:
        conversation = await chats.known_conversation(self.conversation)
        turns = (await conversation.past.read_history()).turns
        info, name = conversation.session_info, conversation.cli.name
        facts = (name, info.workspace, info.created.isoformat(timespec="seconds"), info.id)
        written = partial(document.document_pieces, info.title, facts, name, turns, ENGLISH)
        return await in_thread(lambda: "".join(written()))


# Agents.


@dataclass(frozen=True)
class OfferedAgent:
    """An agent that can be chosen for a new conversation. It `is_there` if its program was found;
    else `problem` says in short how to install it. `login` is who the user is to it, by the
    credentials of `kinds` that it takes. It may list the sessions of a terminal."""

    id: str
    name: str
    is_usual: bool
    is_there: bool
    problem: str
    kinds: tuple[str, ...]
    has_google_login: bool
    login: AuthStatus
    lists_sessions: bool = True


@dataclass(frozen=True)
class Agents(ChatRequest["tuple[OfferedAgent, ...]"]):
    """The agents of the settings, the usual one first. Starts none."""

    async def carry_out(self, chats: Chats) -> tuple[OfferedAgent, ...]:
        backends = chats.agent.backends
        return tuple(
            [await _agent_row(backend, backend.cli.id == backends.usual) for backend in backends]
        )


async def _agent_row(backend: Backend, is_usual: bool) -> OfferedAgent:
    problem = ""
    try:
        await in_thread(backend.launch.find_command)
    except NotInstalled as missing:
        problem = LOOKED_FOR.format(missing.words)
        if missing.install:
            problem = INSTALLED_BY.format(missing.install, problem)
    except AgentError as error:
        problem = str(error)
    cli = backend.cli
    return OfferedAgent(
        cli.id,
        cli.name,
        is_usual,
        not problem,
        problem,
        cli.kinds,
        cli.login.is_offered,
        backend.account.auth_status(),
        cli.lists_sessions,
    )


async def _send_now(chats: Chats, conversation: Conversation, message: OutgoingMessage) -> Sent:
    outbox = chats.agent.outbox
    turn = await outbox.send_message(
        conversation, message.text, message.files, message.attachments, True, message.additions
    )
    # The front end hears it by the feed, which nobody counts.
    turn.leave_to_user()
    return Sent(turn=turn.id)


async def _queue_message(
    chats: Chats, conversation: Conversation, message: OutgoingMessage, given: Sequence[str]
) -> Sent:
    attached: Sequence[Attachment] = ()
    if message.attachments:
        attached = await on_disk(
            partial(_find_attachments, conversation.attachments, message.attachments)
        )
    async with conversation.hold.exclusive_use():
        added = conversation.queue.add_message(
            message.text, given, message.files, attached, message.additions
        )
        chats.agent.outbox.go_on(conversation)
        # The draft goes with the answer.
        await conversation.record.write_to_disk()
    return Sent(queued=added.id)


def _said_words(turns: Sequence[PastTurn]) -> Iterator[str]:
    """The user's own words."""
    for turn in turns:
        bodies = (event.body for event in turn.events)
        messages = (body for body in bodies if isinstance(body, MessageAdded))
        yield from filter(None, [words_of(turn), *map(words_of, messages)])


def _find_attachments(attachments: Attachments, ids: Sequence[str]) -> list[Attachment]:
    """Blocks. Raises AgentError."""
    return [attachments.get(id) for id in ids]
