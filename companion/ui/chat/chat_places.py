"""Where a conversation is shown: its views in all windows, and the one that commands are for. UI
thread only."""

from __future__ import annotations

from typing import Callable

import sublime

from .chat_tabs import ChatTabs
from .chat_view import CONVERSATION, ChatView

NO_CHAT = "This window has no chat."


def views_of(conversation: str) -> list[sublime.View]:
    """All that show the conversation."""
    all_views = (view for window in sublime.windows() for view in window.views())
    return [view for view in all_views if view.settings().get(CONVERSATION) == conversation]


def view_of(conversation: str, window: sublime.Window) -> sublime.View | None:
    """A view of the conversation, in this window if there is one; None if no window has one."""
    found = views_of(conversation)
    return next((view for view in found if view.window() == window), found[0] if found else None)


def in_front(
    tabs: ChatTabs, window: sublime.Window, tell: Callable[[str], None]
) -> ChatView | None:
    """The chat of the window, by `ChatTabs.in_window`; without one, `tell` gets a sentence."""
    view = tabs.in_window(window)
    chat = tabs.chat_of(view) if view is not None else None
    if chat is None:
        tell(NO_CHAT)
    return chat
