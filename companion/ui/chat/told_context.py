"""What the agents of chats are told of the editor with a message: the same as the window's CLIs, by
the same rules. What the user looks at is told where the setting `chat_context` wants it. UI thread
only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import sublime

from ...agent.turn_events import QueuedMessage
from ...base.answer import Answer, Unanswered
from ...chat.attached import CONTEXT, PROBLEMS, Attached, split_said
from ...chat.editor_context import context_text
from ...ide.clis import GEMINI_CLI
from ...ide.companion import Companion
from ...ide.questions import ContextShared, WindowServed
from .. import settings, sharing_settings
from .chat_view import ChatView, workspace_of
from .edit_problems import EditProblems

if TYPE_CHECKING:
    from ...agent.tool_servers import ToolServer

VARIABLES = GEMINI_CLI.variables
# The path of the endpoint's tools (`ide/transport`, which imports aiohttp), and the server's name.
TOOLS, EDITOR = "/tools", "editor"


class ToldContext:
    """`companion` decides what may be told: the pause, excluded files, files of the project, the
    files of an agent in a work tree."""

    def __init__(self, companion: Companion) -> None:
        self._companion = companion
        self._problems = EditProblems(companion)
        self.follow_update = self._problems.follow_update
        self.note_loaded_view = self._problems.note_loaded_view
        self.forget_conversation = self._problems.forget_conversation
        # The last one of each conversation: what has not changed is not told again.
        self._told: dict[str, str] = {}

    async def context_for(self, chat: ChatView) -> tuple[Attached, ...]:
        """What goes along with the next message of the chat."""
        window = chat.views[0].window() if chat.views else None
        if window is None:
            return ()
        folder = await workspace_of(chat, window)
        text = await self._context_text(window, folder)
        is_new = text and text != self._told.get(chat.conversation)
        context = (Attached(CONTEXT, "of the editor", text=text),) if is_new else ()
        return (*context, *await self._problems.new_problems(chat.conversation, window, folder))

    async def _context_text(self, window: sublime.Window, folder: str) -> str:
        if not settings.current_settings(window).chat_context:
            return ""
        try:
            shared = await self._companion.ask(ContextShared(window.id(), folder))
        except Unanswered:
            # The message does not depend on it.
            return ""
        if shared is None:
            return ""
        maps = sharing_settings.path_maps(window)
        files = [
            {**file, "path": maps.to_local(str(file["path"]))} for file in shared.update.open_files
        ]
        return context_text(files, folder)

    async def tell_servers(
        self, window: sublime.Window, told: Answer[Sequence[ToolServer]]
    ) -> None:
        """Give the tool servers of the window, which are there once its endpoint is."""
        try:
            told.give(await self._tool_servers(window))
        finally:
            # Only the first one counts.
            told.give(())

    async def _tool_servers(self, window: sublime.Window) -> tuple[ToolServer, ...]:
        """The server `editor` of the window, with tools that ask it about code."""
        from ...agent.tool_servers import HTTP, read_servers

        try:
            await self._companion.ask(WindowServed(window.id()))
        except Unanswered:
            return ()
        told = self._companion.environments.get(window.id(), {})
        port, token = (told.get(name, "") for name in (VARIABLES.port, VARIABLES.token))
        if not port or not token:
            return ()
        headers = [{"name": "Authorization", "value": f"Bearer {token}"}]
        url = f"http://127.0.0.1:{port}{TOOLS}"
        return read_servers([{"type": HTTP, "name": EDITOR, "url": url, "headers": headers}])

    def note_sent(self, conversation: str, told: Sequence[Attached]) -> None:
        """This is on its way."""
        for each in told:
            if each.kind == CONTEXT:
                self._told[conversation] = each.text
        self._problems.note_sent(conversation)

    def taken_back(self, conversation: str, message: QueuedMessage) -> None:
        """The agent does not get the message, nor what it is told with it."""
        kinds = {attachment.kind for attachment in split_said(message)[1]}
        if CONTEXT in kinds:
            self._told.pop(conversation, None)
        if PROBLEMS in kinds:
            self._problems.taken_back(conversation)
