"""Which agent a new chat is with. UI thread only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import sublime

from .. import panels, settings
from .chat_actions import ChatActions

if TYPE_CHECKING:
    from ...chat.requests import OfferedAgent

WHICH = "Which agent?"
USUAL, NOT_INSTALLED = "usual", "not installed"
NEEDS_LOGIN = "needs a login"


def are_several() -> bool:
    """Whether the settings name more than the usual one."""
    found = settings.current_settings()
    return bool({each.id for each in found.agents} - {found.usual_agent})


async def choose_agent(window: sublime.Window, chats: ChatActions) -> str | None:
    """The id of the agent that the user chooses; None for none. Raises Unanswered."""
    row = await choose_agent_row(window, chats)
    return row.id if row is not None else None


async def choose_agent_row(window: sublime.Window, chats: ChatActions) -> OfferedAgent | None:
    """The agent that the user chooses; None for none. Raises Unanswered."""
    found = await agent_rows(chats)
    return await choose_from_rows(window, found) if found else None


async def agent_rows(chats: ChatActions) -> Sequence[OfferedAgent]:
    """All agents, those of the user's settings first; none if there is no service, which the user
    is told. Raises Unanswered."""
    from ...chat.requests import Agents

    service = await chats.ensure_service()
    if service is None:
        return ()
    # Those of the settings as they are now.
    await chats.engines.ensure_engine()
    named = {each.id for each in settings.current_settings().agents}
    found = await service.ask(Agents())
    return sorted(found, key=lambda row: (not row.is_usual, row.id not in named, not row.is_there))


async def choose_from_rows(
    window: sublime.Window, found: Sequence[OfferedAgent]
) -> OfferedAgent | None:
    """The one of these that the user chooses; None for none."""
    number = await panels.ask_choice(window, [_agent_item(row) for row in found], WHICH)
    return found[number] if number >= 0 else None


def _agent_item(row: OfferedAgent) -> sublime.QuickPanelItem:
    if not row.is_there:
        return sublime.QuickPanelItem(row.name, row.problem, NOT_INSTALLED)
    details = (row.login.account or "") if row.login.is_authenticated else NEEDS_LOGIN
    return sublime.QuickPanelItem(row.name, details, USUAL if row.is_usual else "")
