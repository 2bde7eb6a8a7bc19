"""Messages on their way from a composer to the agent. UI thread only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import sublime

from ...base.answer import Answer
from ...chat.attached import Attached
from ..stories import Stories
from .chat_tabs import ChatTabs
from .chat_view import ChatView
from .composing import Composing
from .drafts import Drafts
from .queued import ServiceOf
from .told_context import ToldContext

if TYPE_CHECKING:
    from ...chat.requests import Sent

# What goes along with a message.
Along = Sequence[Attached]


class MessageSending:
    """One message of a conversation at a time."""

    def __init__(
        self,
        tabs: ChatTabs,
        service_of: ServiceOf,
        composing: Composing,
        context: ToldContext,
        drafts: Drafts,
        stories: Stories,
    ) -> None:
        self._tabs = tabs
        self._service_of = service_of
        self._composing = composing
        self._context = context
        self._drafts = drafts
        self._stories = stories
        # The conversations with a message on its way.
        self._sending: set[str] = set()

    def is_under_way(self, conversation: str) -> bool:
        return conversation in self._sending

    def begin_sending(
        self, window: sublime.Window, chat: ChatView, words: str, written: str, attached: Along
    ) -> None:
        """Send the words; `written` is what of them stands in the composer, which keeps it, and
        what is attached, until the message has arrived."""
        self._stories.begin(self._send_message(chat, words, written, attached), window)

    async def _send_message(
        self, chat: ChatView, words: str, written: str, attached: Along
    ) -> None:
        """Nothing is sent once the window or the tab is closed: the draft has it then."""
        from ...chat.requests import Send

        self._sending.add(chat.conversation)
        is_on_its_way = False
        try:
            service = await self._service_of(chat)
            if service is not None and await self._composing.may_send(chat, words):
                context = await self._context.context_for(chat)
                if chat.views:
                    message = Send(chat.conversation, words.strip(), (*attached, *context))
                    sent = service.ask(message)
                    is_on_its_way = True
                    self._stories.begin(
                        self._finish_sending(chat, sent, context, written, attached)
                    )
        finally:
            if not is_on_its_way:
                self._sending.discard(chat.conversation)

    async def _finish_sending(
        self, chat: ChatView, sent: Answer[Sent], context: Along, written: str, attached: Along
    ) -> None:
        """Only the package ends this: the window and the tab may be closed meanwhile, or the tab be
        another one."""
        try:
            await sent
            self._context.note_sent(chat.conversation, context)
            all_tabs = [
                other for other in self._tabs.chats if other.conversation == chat.conversation
            ]
            for each in all_tabs or [chat]:
                each.composer.remove_sent(written)
                each.above.detach(attached)
            # After a crash, what was sent is not to stand in the composer again.
            self._drafts.save()
        finally:
            self._sending.discard(chat.conversation)
