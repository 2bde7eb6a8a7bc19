"""Where a conversation is opened from a list: in the window that it belongs to. UI thread only."""

from __future__ import annotations

import sublime

from .. import application
from ..chat import chat_places
from ..chat.chat_actions import ChatActions
from ..chat.conversation_list import window_workspaces


async def open_at_home(
    chats: ChatActions, conversation: str, workspace: str, window: sublime.Window
) -> None:
    """Go to its tab, wherever that is; if it has none, open one in this window, unless another one
    has the folder in which its agent works and this one has not."""
    home = window
    if workspace and chat_places.view_of(conversation, window) is None:
        others = [each for each in application.all_windows() if each != window]
        for each in (window, *others):
            if (await window_workspaces(each, chats.trees)).has(workspace):
                home = each
                break
    if not home.is_valid():
        home = window
    chats.open_chat(home, conversation)
    if home != window:
        home.bring_to_front()
