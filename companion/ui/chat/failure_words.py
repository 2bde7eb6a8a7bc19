"""What a chat that failed, or waits for long, shows: what to do, and links for that. Does
nothing."""

from __future__ import annotations

from ...agent.credentials import OWN
from ...agent.failure import AUTH_NOT_SET, AUTH_REQUIRED
from ...chat.chat_update import FAILED, ChatUpdate
from ..pages import page
from ..wrapping import Piece
from . import agent_login, sign_in

COMMAND = "gemini_companion_chat_remedy"
RETRY, LOG_IN, IN_TERMINAL, OTHER = "retry", "log_in", "log_in_in_terminal", "other_agent"
STOP, SIGN_IN = "stop", "sign_in"
# The most ways to log in that have a link.
MOST_WAYS = 6
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
    if sign_in.ways_of(update.agent, update.sign_ins):
        return sign_in.CHOOSE.format(update.agent_name)
    advice = agent_login.what_to_do(update.agent, update.login) if needs_login(update) else ""
    return f"{update.problem} {advice}".strip()


def failure_links(update: ChatUpdate, is_long: bool = False) -> list[Piece]:
    """What can be done if it has failed, or if the user has been waiting for long; else empty."""
    actions = _failure_actions(update) if update.state == FAILED else [STOP] if is_long else []
    named = [({"action": action}, LABELS[action]) for action in actions]
    if needs_login(update):
        ways = sign_in.ways_of(update.agent, update.sign_ins)[:MOST_WAYS]
        named[:0] = [({"action": SIGN_IN, "way": way.id}, sign_in.label_of(way)) for way in ways]
    id = {"conversation": update.conversation_id}
    return [
        (page.command_link(COMMAND, {**arguments, **id}, label), len(label))
        for arguments, label in named
    ]


def _failure_actions(update: ChatUpdate) -> list[str]:
    actions = [RETRY]
    if needs_login(update) and not sign_in.ways_of(update.agent, update.sign_ins):
        is_known, is_own = bool(agent_login.ways_of(update.agent)), update.login.kind == OWN
        actions[:0] = [IN_TERMINAL] * (is_own or not is_known) + [LOG_IN] * is_known
    if not update.title:
        # Nothing was said yet.
        actions.append(OTHER)
    return actions
