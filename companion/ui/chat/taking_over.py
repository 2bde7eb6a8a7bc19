"""The sessions of a terminal in a panel; the chosen one goes on in a chat. UI thread only."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Callable, Sequence

import sublime

from ...agent.credentials import OWN
from ...base.shown_text import shown_line
from ...chat.amounts import age_text, shorten_text
from ...chat.workspaces import Workspaces
from .. import panels
from . import agent_choice
from .chat_actions import ChatActions
from .drafts import folder_of

if TYPE_CHECKING:
    from ...agent.agent import ListedSession
    from ...chat.requests import OfferedAgent

WHICH = "Which session of {}?"
# The most characters of a title.
MOST_OF_TITLE = 200
UNTITLED = "Session without a title"
# A session that was used within this time may still be open in its terminal.
JUST_USED = timedelta(minutes=2)
MAY_BE_OPEN = "it may still be open in a terminal: end it there first"
NO_OWN_LOGIN = (
    "No agent here knows the sessions of your terminal, because none has your own login. Choose"
    ' "As in your terminal" with "Gemini Companion: Log In to Agent".'
)
ASKING, TAKING = "Asking {} for its sessions …", "Asking {} what was said in the session …"
NONE = "{} has no sessions in {} beside those that are chats here already."


class TakingOver:
    """`chats` opens the tabs; `tell` shows a sentence."""

    def __init__(self, chats: ChatActions, tell: Callable[[str], None]) -> None:
        self._chats = chats
        self._tell = tell

    async def show_sessions(self, window: sublime.Window) -> None:
        """Let the user choose a session of the window's folder, and open it in a chat. Raises
        Unanswered."""
        from ...chat.session_requests import OwnSessions, TakeOver

        service = await self._chats.ensure_service()
        row = await self._choose_agent(window) if service is not None else None
        if service is None or row is None:
            return
        folder = folder_of(window)
        self._tell(ASKING.format(row.name))
        found = await service.ask(OwnSessions(row.id, folder))
        if not found:
            self._tell(NONE.format(row.name, shown_line(folder)))
            return
        number = await panels.ask_choice(window, _session_items(found), WHICH.format(row.name))
        if number >= 0:
            self._tell(TAKING.format(row.name))
            made = await service.ask(TakeOver(row.id, folder, found[number]))
            self._chats.open_chat(window, made)

    async def _choose_agent(self, window: sublime.Window) -> OfferedAgent | None:
        """The only agent that has the user's own login, or the one that they choose of several;
        None for none. Raises Unanswered."""
        rows = [row for row in await agent_choice.agent_rows(self._chats) if _knows_terminal(row)]
        if not rows:
            self._tell(NO_OWN_LOGIN)
            return None
        if len(rows) == 1:
            return rows[0]
        last = await self._last_agent(window)
        return await agent_choice.choose_from_rows(
            window, sorted(rows, key=lambda row: row.id != last)
        )

    async def _last_agent(self, window: sublime.Window) -> str:
        """The agent of the window's chat, else that of the last one in its folder; empty if there
        was none. Raises Unanswered."""
        from ...chat.requests import ListConversations

        view = self._chats.tabs.in_window(window)
        chat = self._chats.tabs.chat_of(view) if view is not None else None
        if chat is not None and chat.told is not None and chat.told.agent:
            return chat.told.agent
        service = await self._chats.ensure_service()
        if service is None:
            return ""
        found = await service.ask(ListConversations(Workspaces((folder_of(window),)), limit=1))
        return found.conversations[0].agent if found.conversations else ""


def _knows_terminal(row: OfferedAgent) -> bool:
    return row.is_there and row.login.kind == OWN and row.lists_sessions


def _session_items(sessions: Sequence[ListedSession]) -> list[sublime.QuickPanelItem]:
    now = datetime.now(timezone.utc)
    return [
        panels.panel_item(_title_of(session), *_session_details(session.updated, now))
        for session in sessions
    ]


def _title_of(session: ListedSession) -> str:
    # The agent's own text, which may be of any length.
    return shorten_text(session.title, MOST_OF_TITLE) or UNTITLED


def _session_details(updated: datetime | None, now: datetime) -> tuple[str, str]:
    """What is below the title, and beside it."""
    if updated is None:
        return "", ""
    return (MAY_BE_OPEN if now - updated < JUST_USED else ""), age_text(now - updated)
