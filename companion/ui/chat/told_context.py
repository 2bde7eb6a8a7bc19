"""What the agents of chats are told of the editor with a message: the same as the window's CLIs, by
the same rules, where the setting `chat_context` wants it. UI thread only."""

from __future__ import annotations

from ...base.answer import Unanswered
from ...chat.editor_context import as_text
from ...ide.questions import ContextShared
from ...ide.service import Companion
from .. import settings, sharing_settings
from .chat_view import ChatView
from .drafts import folder_of


class ToldContext:
    """`companion` decides what may be told: the pause, excluded files, files of the project."""

    def __init__(self, companion: Companion) -> None:
        self._companion = companion
        # The last one of each conversation: what has not changed is not told again.
        self._told: dict[str, str] = {}

    async def of(self, chat: ChatView) -> str:
        """The text for the next message of the chat; empty if there is nothing new."""
        window = chat.views[0].window() if chat.views else None
        if window is None or not settings.of(window).chat_context:
            return ""
        try:
            shared = await self._companion.ask(ContextShared(window.id()))
        except Unanswered:
            # The message does not depend on it.
            return ""
        if shared is None:
            return ""
        maps = sharing_settings.path_maps(window)
        files = [{**it, "path": maps.to_local(str(it["path"]))} for it in shared.update.open_files]
        text = as_text(files, folder_of(window))
        return text if text != self._told.get(chat.conversation) else ""

    def sent(self, conversation: str, text: str) -> None:
        """The text is on its way."""
        if text:
            self._told[conversation] = text
