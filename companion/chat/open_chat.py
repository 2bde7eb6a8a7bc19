"""One conversation that a front end follows: its state, its updates."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import AsyncContextManager, Callable

from ..agent.agent import Agent, Conversation
from ..agent.failure import AUTH_REQUIRED, NOT_SENT, SESSION_NOT_FOUND
from . import finding, problems
from .chat_update import FAILED, READY, STARTING, STOPPING, WORKING, ChatUpdate
from .chat_work import MessagesUnderWay, Tasks
from .finding import WantedChat
from .live_document import LiveDocument
from .unsaid import Unsaid

# Seconds between two updates: at most thirty in one second.
PAUSE = 1 / 30


class OpenChat:
    """All methods are called on the engine's loop. `on_update` gets the updates. It is opened
    `after` the end of another one of the same conversation, which may delete that.

    `conversation` and `unsaid` are None until it is found.
    """

    def __init__(
        self,
        agent: Agent,
        wanted: WantedChat,
        on_update: Callable[[ChatUpdate], None],
        after: asyncio.Future[None] | None = None,
    ) -> None:
        self._after = after
        self.conversation: Conversation | None = None
        self.unsaid: Unsaid | None = None
        self.is_stopping = False
        self._agent, self._wanted, self._on_update = agent, wanted, on_update
        self._finding = asyncio.Lock()
        self._tasks, self._sending = Tasks(self.show_problem), MessagesUnderWay(self.tell_soon)
        self._opening: asyncio.Future[None] | None = None
        self._following: asyncio.Future[None] | None = None
        self._is_opening = self._is_closed = False
        self._problem = self._code = ""
        self._document = LiveDocument(agent.feed, self.tell_soon, self._message_said)
        self._last = wanted.first_update
        self._timer: asyncio.TimerHandle | None = None
        self._not_before = 0.0
        self._stop_hearing_undos: Callable[[], None] | None = None

    @property
    def has_session(self) -> bool:
        """Whether the agent could be talked to, at least once."""
        return self.conversation is not None and self.conversation.session.agent is not None

    @property
    def is_busy(self) -> bool:
        return self.conversation is not None and self.conversation.is_busy

    def open(self) -> None:
        """Find it, show it, and have the agent's session ready before the first message."""
        self._is_opening, self._problem, self._code = True, "", ""
        self.tell_soon()
        self._opening = self._tasks.begin_task(self._open_conversation)

    def retry(self) -> None:
        """Open it again if that failed."""
        if self._problem and not self.is_busy:
            self.open()

    async def ready_conversation(self) -> Conversation:
        """The conversation, which is followed; a session of the agent may still be missing. Raises
        AgentError."""
        async with self._finding:
            if self.conversation is None:
                self.conversation = await self._find_conversation()
                self.tell_soon()
            elif self._following is None or self._following.done() or self._document.is_behind:
                await self._follow_conversation(self.conversation)
        return self.conversation

    def forget_problem(self) -> None:
        """It is tried again: what failed before does not count."""
        self._problem = self._code = ""

    def show_problem(self, problem: str, code: str) -> None:
        self._problem, self._code = problem, code
        self.tell_soon()

    def stop(self) -> None:
        """End the turn that runs, or the start of the agent: a message that waits for it is not
        sent."""
        found, opening = self.conversation, self._opening
        self._sending.stop_messages()
        if found is not None:
            self.is_stopping = found.is_busy
            self._agent.backends.end_start(found)
            found.cancel_turn()
        if opening is not None and self._is_opening:
            opening.cancel()
            # What was said, and what waits, is shown all the same.
            self._tasks.begin_task(self.ready_conversation)
            self.show_problem(problems.STOPPED, NOT_SENT)
        self.tell_soon()

    def lose_conversation(self) -> None:
        """The conversation was deleted. What the tab shows stays until something is said."""
        if self._following is not None:
            self._following.cancel()
        self.conversation = self.unsaid = None
        self._hear_undos(None)
        self.show_problem(problems.DELETED, SESSION_NOT_FOUND)

    def sending_message(self) -> AsyncContextManager[Callable[[], None]]:
        """A message is being sent in it, which may also be closed meanwhile. Gives what raises
        AgentError once the user has stopped the message."""
        return self._sending.send_one()

    def tell_soon(self) -> None:
        """Something has changed: tell it soon."""
        if self._timer is None and not self._is_closed:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._not_before, loop.time()), self._tell_update)

    async def close(self) -> None:
        """Tell nothing any more. A turn that runs goes on, without anybody who answers its
        questions."""
        self._is_closed = True
        self._hear_undos(None)
        if self._timer is not None:
            self._timer.cancel()
        await self._tasks.end_all()
        await self._sending.wait_until_none()
        if self.conversation is not None:
            self.conversation.set_attended(False)
        if self.unsaid is not None:
            await self.unsaid.remove_conversation(self._agent)
        await _end_of(self._after)

    # Opening.

    async def _open_conversation(self) -> None:
        try:
            conversation = await self.ready_conversation()
            await finding.check_folder(conversation)
            await self._agent.outbox.open_session(conversation)
            if self.unsaid is not None:
                await self.unsaid.keep_conversation()
            self._is_opening = False
            self.tell_soon()
            # They come a moment later, and some agents have none.
            self._document.commands = (await conversation.session.offered_commands()).commands
        finally:
            self._is_opening = False
            self.tell_soon()

    async def _find_conversation(self) -> Conversation:
        """Raises AgentError."""
        wanted = self._wanted
        await _end_of(self._after)
        found = await finding.find_conversation(self._agent, wanted)
        self.unsaid = Unsaid(found)
        found.session.lend_servers(wanted.tools)
        beside = finding.folders_beside(self._agent, found.workspace, wanted.folders)
        found.session.lend_folders(await beside)
        self._hear_undos(found)
        await self._follow_conversation(found)
        found.set_attended(True)
        _leave_to_user(found)
        return found

    def _hear_undos(self, conversation: Conversation | None) -> None:
        """Subscribe to the undos of this conversation alone, or of none."""
        if self._stop_hearing_undos is not None:
            self._stop_hearing_undos()
        document = self._document
        self._stop_hearing_undos = (
            None
            if conversation is None
            else conversation.undos.subscribe(lambda undone: document.undo_turn(*undone))
        )

    async def _follow_conversation(self, conversation: Conversation) -> None:
        """Follow the conversation from now on; a disk that could not be read may have ended it
        before. Raises AgentError."""
        if self._following is not None:
            self._following.cancel()
        # Before the transcript is read, so that no event is missed in between.
        coming = self._agent.feed.follow_events(conversation.id, None, passing=True)
        await self._document.load_conversation(conversation)
        follow = partial(self._document.follow_conversation, conversation, coming)
        self._following = self._tasks.begin_task(follow)

    def _message_said(self) -> None:
        self.forget_problem()
        _leave_to_user(self.conversation)

    # Updates.

    def _tell_update(self) -> None:
        self._timer = None
        self._not_before = asyncio.get_running_loop().time() + PAUSE
        conversation = self.conversation
        if conversation is not None and not self._document.is_of(conversation.past):
            self._tasks.begin_task(partial(self._document.load_conversation, conversation))
        update = self._document.take_update(self._current_update())
        if update.patches or update != self._last:
            self._last = replace(update, patches=(), is_anew=False, unasked=(), changed=())
            self._on_update(update)

    def _current_update(self) -> ChatUpdate:
        found, first = self.conversation, self._wanted.first_update
        update = replace(first, state=self._current_state(), problem=self._problem, code=self._code)
        if found is None:
            return update
        asks_for_login = self._code == AUTH_REQUIRED
        return replace(
            update,
            queue=found.queue.body,
            title=found.record.title,
            agent=found.cli.id,
            agent_name=found.cli.name,
            login=self._agent.backends.used_login(found.cli.id, found.record.state.home),
            workspace=found.workspace,
            other_folders=found.session.other_folders,
            mode=found.session.choices.mode,
            model=found.session.choices.models.current,
            options=found.session.state.options,
            usage=found.session.state.usage,
            turn=found.turn.id if found.turn is not None else "",
            is_unanswered=found.turn is not None and found.turn.is_unanswered,
            sign_ins=self._agent.backends[found.cli.id].sign_ins if asks_for_login else (),
        )

    def _current_state(self) -> str:
        found = self.conversation
        runs = found is not None and found.turn is not None and not found.turn.is_over
        self.is_stopping = self.is_stopping and self.is_busy
        if runs:
            return STOPPING if self.is_stopping else WORKING
        if self._sending or (self._is_opening and not self._problem):
            return STARTING
        if self._problem:
            return FAILED
        return WORKING if self.is_busy else READY


async def _end_of(other: asyncio.Future[None] | None) -> None:
    if other is not None:
        await asyncio.wait({other})


def _leave_to_user(conversation: Conversation | None) -> None:
    """A turn that a tab follows is its user's, whoever began it: it goes on where a client of the
    API leaves it, and has no limit of time."""
    if conversation is not None and conversation.turn is not None:
        conversation.turn.leave_to_user()
