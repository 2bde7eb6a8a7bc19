"""What a chat that failed, or waits for long, shows: what to do, and links for that. Does
nothing."""

from __future__ import annotations

from ...agent.failure import AUTH_NOT_SET, AUTH_REQUIRED
from ...chat.chat_update import FAILED, ChatUpdate
from ..pages import page
from ..wrapping import Piece
from . import agent_login

COMMAND = "gemini_companion_chat_remedy"
RETRY, LOG_IN, IN_TERMINAL, OTHER = "retry", "log_in", "log_in_in_terminal", "other_agent"
STOP = "stop"
LABELS = {
    LOG_IN: "Log in",
    IN_TERMINAL: "Log in in a terminal",
    RETRY: "Try again",
    OTHER: "Use another agent",
    STOP: "Stop",
}


def needs_login(update: ChatUpdate) -> bool:
    return update.code in (AUTH_NOT_SET, AUTH_REQUIRED) and bool(update.agent)


def failure_text(update: ChatUpdate) -> str:
    """Why it failed, and what there is to do."""
    advice = agent_login.what_to_do(update.agent) if needs_login(update) else ""
    return f"{update.problem} {advice}".strip()


def failure_links(update: ChatUpdate, is_long: bool = False) -> list[Piece]:
    """What can be done if it has failed, or if the user has been waiting for long; else empty."""
    actions = _failure_actions(update) if update.state == FAILED else [STOP] if is_long else []
    id = update.conversation_id
    made = (
        page.command_link(COMMAND, {"action": action, "conversation": id}, LABELS[action])
        for action in actions
    )
    return [(link, len(LABELS[action])) for link, action in zip(made, actions)]


def _failure_actions(update: ChatUpdate) -> list[str]:
    actions = [RETRY]
    if needs_login(update):
        actions.insert(0, LOG_IN if agent_login.ways_of(update.agent) else IN_TERMINAL)
    if not update.title:
        # Nothing was said yet.
        actions.append(OTHER)
    return actions
