"""The messages of a chat that wait, and what is attached to the next one: changed, taken back, sent
now. UI thread only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Awaitable, Callable, Sequence

import sublime

from ...agent.turn_events import QueuedMessage
from ...base.answer import Unanswered
from ...chat.attached import Attached, returned_attachments, text_of, words_of
from .. import panels
from ..stories import Stories
from .above import CHANGE, DETACH, PUT_IN, SEND_NOW, TAKE_BACK, message_summary
from .chat_view import ChatView

if TYPE_CHECKING:
    from ...chat.chat_service import ChatService

# The service in which the chat is open; None if there is none, which the user was told.
ServiceOf = Callable[[ChatView], Awaitable["ChatService | None"]]
# Hears, for a conversation, of a message that its agent does not get.
Untold = Callable[[str, QueuedMessage], None]

GONE = "This message was sent already, or taken back."
IS_BACK = "It is taken back. Press Up in an empty message to get its text."
NONE = "No message waits, and nothing is attached."
# What a list offers for a message that waits, and for what is attached.
FOR_MESSAGES = (
    ("Change it", CHANGE, "Its text goes to the end of the chat, before what you have written."),
    (
        "Send it now",
        SEND_NOW,
        "It goes before all others: into the running turn, or the agent is stopped for it.",
    ),
    ("Take it back", TAKE_BACK, "Press Up in an empty message to get its text."),
)
PUT, BACK = "Put it into the text", "Take it back"


class Queued:
    """`said` keeps, for a conversation, a text that is not to be lost; `untold` hears of a message
    that its agent does not get. `saved` answers when what is in the composers is on the disk."""

    def __init__(
        self,
        service_of: ServiceOf,
        said: Callable[[str, str], None],
        untold: Untold,
        saved: Callable[[], Awaitable[None]],
        stories: Stories,
        tell: Callable[[str], None],
    ) -> None:
        self._service_of = service_of
        self._said = said
        self._untold = untold
        self._saved = saved
        self._stories = stories
        self._tell = tell

    def follow_link(self, chat: ChatView, link: str) -> None:
        """A link above the composer."""
        action, _, argument = link.partition(" ")
        if action not in (DETACH, PUT_IN):
            self._stories.begin(self.act_on_message(chat, action, argument))
        elif int(argument) < len(chat.above.attached):
            self._use_attached(chat, action, chat.above.attached[int(argument)])

    def _use_attached(self, chat: ChatView, action: str, attached: Attached) -> None:
        if action == PUT_IN and chat.views:
            chat.composer.insert(chat.views[0], attached.text)
        chat.above.detach([attached])

    async def act_on_message(self, chat: ChatView, action: str, queued: str) -> None:
        """Do it with the message that waits. Raises Unanswered."""
        from ...chat.requests import SendNow

        message = next(
            (message for message in chat.above.queue.messages if message.id == queued), None
        )
        service = await self._service_of(chat)
        if service is None:
            return
        if message is None:
            self._tell(GONE)
        elif action == SEND_NOW:
            await service.ask(SendNow(chat.conversation, queued))
        elif action == CHANGE:
            await self._edit_message(chat, service, message)
        else:
            await self._take_back(chat, service, message)

    async def _edit_message(
        self, chat: ChatView, service: ChatService, message: QueuedMessage
    ) -> None:
        """Move a message to the composer first, and on the disk: whatever happens, the text is in
        one of the two places."""
        from ...chat.requests import TakeBack

        if not chat.views:
            return
        before, files = chat.composer.text, returned_attachments(message)
        put = words_of(message) + ("\n\n" if before.strip() else "")
        new = [file for file in files if file not in chat.above.attached]
        chat.composer.write(chat.views[0], put + before)
        chat.above.attach(files)
        try:
            await self._saved()
            await service.ask(TakeBack(chat.conversation, message.id))
            self._untold(chat.conversation, message)
        except Unanswered:
            chat.composer.remove_sent(put)
            chat.above.detach(new)
            raise

    async def _take_back(
        self, chat: ChatView, service: ChatService, message: QueuedMessage
    ) -> None:
        from ...chat.requests import TakeBack

        self._said(chat.conversation, text_of(message))
        await service.ask(TakeBack(chat.conversation, message.id))
        self._untold(chat.conversation, message)
        self._tell(IS_BACK)

    async def choose_waiting(self, window: sublime.Window, chat: ChatView) -> None:
        """Let the user choose by lists, for the keyboard, what to do with what waits. Raises
        Unanswered."""
        messages, attached = chat.above.queue.messages, chat.above.attached
        items = _waiting_items(messages, attached)
        if not items:
            self._tell(NONE)
            return
        found = await panels.ask_choice(window, items, "Waiting Messages")
        if 0 <= found < len(messages):
            rows = [[name, told] for name, _, told in FOR_MESSAGES]
            chosen = await panels.ask_choice(window, rows, message_summary(messages[found]))
            if chosen >= 0:
                await self.act_on_message(chat, FOR_MESSAGES[chosen][1], messages[found].id)
        elif found >= 0:
            await self._choose_attached(window, chat, attached[found - len(messages)])

    async def _choose_attached(
        self, window: sublime.Window, chat: ChatView, attached: Attached
    ) -> None:
        actions = [(PUT, PUT_IN)] if attached.text else []
        actions.append((BACK, DETACH))
        names = [name for name, _ in actions]
        chosen = await panels.ask_choice(window, names, f"{attached.kind}, {attached.name}")
        if chosen >= 0 and attached in chat.above.attached:
            self._use_attached(chat, actions[chosen][1], attached)


def _waiting_items(messages: Sequence[QueuedMessage], attached: Sequence[Attached]) -> list[str]:
    waiting = [f"Waits: {message_summary(message)}" for message in messages]
    return waiting + [
        f"Goes with the next one: {attachment.kind}, {attachment.name}" for attachment in attached
    ]
