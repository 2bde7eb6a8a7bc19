"""Sends messages: at once, or those of a queue when their turn comes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, AsyncContextManager, Callable, Coroutine, Sequence

from ...base.background import in_thread
from .. import turn_events as events
from ..acp.acp_client import AcpSession
from ..failure import AgentError
from ..turn.turn import Limits, Turn
from . import prompt
from .conversation import Conversation, message_with_attachments
from .steering import DECIDED, FAILED, may_pass, steer_turn, steered_session


class Outbox:
    """`connected` holds a conversation whose session is open, `on_turn_end` gets the last body of
    each turn. Once it `is_closed`, what waits in queues stays there."""

    def __init__(
        self,
        limits: Limits,
        connected: Callable[[Conversation], AsyncContextManager[None]],
        on_turn_end: Callable[[Conversation, events.Body], None],
    ) -> None:
        self.is_closed = False
        self._limits = limits
        self._connected = connected
        self._on_turn_end = on_turn_end
        # Kept from being collected while they run.
        self._sending: set[asyncio.Task[None]] = set()

    async def open_session(self, conversation: Conversation) -> None:
        """Open a session for it, so that its next message does not wait. Raises AgentError."""
        async with self._connected(conversation):
            pass

    async def send_message(
        self,
        conversation: Conversation,
        message: str,
        files: Sequence[str],
        attachments: Sequence[str],
        asks: bool,
        additions: tuple[events.Addition, ...] = (),
    ) -> Turn:
        """Send a message now. Raises AgentError."""
        conversation.reserve()
        if asks:
            conversation.set_attended(True)
        conversation.queue.release()
        before, is_sent = conversation.turn, False
        try:
            turn = await self._send_reserved(
                conversation, message, files, attachments, asks, additions=additions
            )
            is_sent = True
            return turn
        finally:
            conversation.reservation.release()
            # It may be cancelled, too.
            if not is_sent:
                self._leave_unsent(conversation, before)

    def send_next(self, conversation: Conversation, id: str) -> None:
        """Send a message of the queue before all others: at once, within the turn that runs if the
        agent takes messages there, or as soon as that turn is cancelled, for this or the second
        time. While the agent is being given another one, it comes after that. Raises AgentError."""
        queue = conversation.queue
        was_tried = id in (queue.passing, queue.not_taken)
        queue.move_message(id, 0)
        if not conversation.is_busy:
            self._send_first(conversation)
        elif queue.is_giving:
            queue.follow_given(id)
        elif not was_tried and may_pass(conversation, queue.get_message(id)):
            self._pass_in(conversation, queue.get_message(id))
        elif not queue.sending:
            self._stop_turn_for(conversation, id)

    def go_on(self, conversation: Conversation) -> None:
        """Send the first message of the queue, if nothing else is under way and nothing is held."""
        queue = conversation.queue
        if queue.messages and not queue.is_held and not conversation.is_busy:
            self._send_first(conversation)

    def _pass_in(self, conversation: Conversation, message: events.QueuedMessage) -> None:
        session = steered_session(conversation)
        if session is None:
            # It goes when the agent asks for it.
            conversation.queue.pass_in(message.id)
        else:
            conversation.queue.start_passing(message.id)
            self._begin_task(self._give_message(conversation, session, message))

    async def _give_message(
        self, conversation: Conversation, session: AcpSession, message: events.QueuedMessage
    ) -> None:
        """The turn is stopped for it if the agent offers to take it and fails."""
        queue = conversation.queue
        outcome = await steer_turn(conversation, session, message)
        if outcome == FAILED:
            self._stop_turn_for(conversation, message.id)
        elif outcome == DECIDED:
            following = queue.take_following()
            if following:
                self.send_next(conversation, following)

    def _stop_turn_for(self, conversation: Conversation, id: str) -> None:
        conversation.queue.urgent = id
        conversation.queue.release()
        conversation.cancel_turn()

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _send_first(self, conversation: Conversation) -> None:
        queue = conversation.queue
        if self.is_closed:
            queue.hold_back()
            return
        # At once: nobody else begins a turn before the task does.
        conversation.reserve()
        self._begin_task(self._send_queued(conversation, queue.start_sending()))

    async def _send_queued(self, conversation: Conversation, first: events.QueuedMessage) -> None:
        ids, said = [each.id for each in first.attachments], (first.text, first.files)
        try:
            await self._send_reserved(conversation, *said, ids, True, first.id, first.additions)
        except AgentError as error:
            conversation.queue.hold_back(error.message)
        finally:
            if conversation.queue.sending == first.id:
                # What came in between is no reason to wait for ever.
                conversation.queue.hold_back()
            conversation.reservation.release()

    async def _send_reserved(
        self,
        conversation: Conversation,
        message: str,
        files: Sequence[str],
        attachments: Sequence[str],
        asks: bool,
        queued: str = "",
        additions: tuple[events.Addition, ...] = (),
    ) -> Turn:
        make = partial(
            prompt.prompt_message, message, files, conversation.workspace, conversation.cli
        )
        # Without files, a thread would only delay the message.
        said = replace(await in_thread(make) if files else make(), additions=additions)
        connected = AsyncExitStack()
        async with connected:
            entering = connected.enter_async_context(self._connected(conversation))
            await conversation.reservation.wait_until_ready(entering)
            if queued:
                # Another server may have said it, or its user has taken it back there.
                conversation.queue.get_message(queued)
            if attachments:
                said = await message_with_attachments(conversation, said, attachments)
            on_end = partial(self._turn_ended, conversation)
            turn = await conversation.begin_turn(said, self._limits, asks, on_end, queued)
        return turn

    def _leave_unsent(self, conversation: Conversation, before: Turn | None) -> None:
        """A message is not sent, or nobody waits for its turn any more; `before` is the turn
        before."""
        if conversation.turn is not None and conversation.turn is not before:
            conversation.turn.cancel()
        elif conversation.queue.is_urgent:
            # It was taken back for this one.
            self._send_first(conversation)
        else:
            # No turn will end that the queue could wait for.
            conversation.queue.hold_back()

    def _turn_ended(self, conversation: Conversation, body: events.Body) -> None:
        self._on_turn_end(conversation, body)
        # The turn is over only after this.
        asyncio.get_running_loop().call_soon(self._after_turn, conversation, body)

    def _after_turn(self, conversation: Conversation, body: events.Body) -> None:
        queue = conversation.queue
        went_well = isinstance(body, events.Complete) and body.success
        if not queue.messages:
            return
        if not (went_well or queue.is_urgent) or self.is_closed:
            queue.hold_back()
        elif not conversation.is_busy:
            self._send_first(conversation)
        # Whatever else it is busy with goes on with the queue.
