"""What is said of questions that wait: in the status bar of every view, above the composer, on the
desktop. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Sequence

from ...chat.amounts import count_text, one_line, shorten_text
from ...chat.chat_update import ChatUpdate
from ...chat.question import PERMISSION, ChatQuestion

# Characters of what a question is about.
MAX_TITLE, MAX_SUBJECT = 30, 120
IN_BAR = "asks{about} in a chat ({rest}Show Question)"
SEVERAL_IN_BAR = "{count} questions in chats ({rest}Show Question)"
IN_CHAT = "{name} asks{more}: choose an answer above, or press {keys}."
KEYS = "F8 y to allow once, F8 x to reject"
FORM_KEYS = "F8 y to answer, F8 x to decline"
LEFT = "{} left"
MOMENT_LEFT = "less than a minute"


def time_left(question: ChatQuestion, patience: float, now: datetime) -> str:
    """How long it still waits; empty if that is not known."""
    if question.asked is None or not patience:
        return ""
    left = question.asked + timedelta(seconds=patience) - now
    minutes = int(left.total_seconds() // 60)
    return LEFT.format(MOMENT_LEFT if minutes < 1 else f"{minutes} min")


def in_status_bar(waiting: Sequence[tuple[ChatQuestion, float]], now: datetime) -> str:
    """The words for the status bar, of questions with their patience, the oldest first; empty
    without any."""
    if not waiting:
        return ""
    left = time_left(*waiting[0], now)
    rest = f"{left}, " if left else ""
    if len(waiting) > 1:
        return SEVERAL_IN_BAR.format(count=len(waiting), rest=rest)
    (question, _patience) = waiting[0]
    is_tool = question.kind == PERMISSION
    about = f" about {shorten_text(question.title, MAX_TITLE)}" if is_tool else ""
    return IN_BAR.format(about=about, rest=rest)


def above_composer(update: ChatUpdate, now: datetime) -> str:
    """The words above the composer of a chat in which something waits."""
    first, count = update.waiting[0], len(update.waiting)
    name = update.agent_name or "The agent"
    more = f" you {count_text(count, 'question')}" if count > 1 else " you"
    keys = KEYS if first.kind == PERMISSION else FORM_KEYS
    told = [IN_CHAT.format(name=name, more=more, keys=keys)]
    left = time_left(first, update.patience, now)
    if left:
        told.append(f"{left[:1].upper()}{left[1:]}; then the answer is no.")
    return " ".join(told)


def on_desktop(name: str, question: ChatQuestion) -> str:
    """The question as a sentence for a notice."""
    subject = one_line(question.text) if question.kind == PERMISSION else ""
    what = question.title + (f": {subject}" if subject else "")
    return f"{name or 'An agent'} asks you: {shorten_text(one_line(what), MAX_SUBJECT)}"


def utc_now() -> datetime:
    return datetime.now(timezone.utc)
