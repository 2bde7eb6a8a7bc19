"""What is said of questions that wait: in the status bar of every view, above the composer, on the
desktop. Pure."""

from __future__ import annotations

from ...chat.amounts import count_text, one_line, shorten_text
from ...chat.chat_update import ChatUpdate
from ...chat.question import PERMISSION, ChatQuestion
from ...ide.clis import short_label

# Characters of what a question is about.
MAX_TITLE, MAX_SUBJECT = 30, 120
IN_BAR = "{name}: asks{about} in a chat (Show Question)"
SEVERAL_IN_BAR = "{name}: {count} questions in a chat (Show Question)"
IN_CHAT = "{name} asks{more}: choose an answer above, or press {keys}."
THE_AGENT, AN_AGENT = "The agent", "An agent"
KEYS = "F8 y to allow once, F8 x to deny"
FORM_KEYS = "F8 y to answer, F8 x to decline"


def in_status_bar(chat: ChatUpdate) -> str:
    """The words for the status bar, of a chat in which something waits."""
    name, count = short_label(chat.agent_name or AN_AGENT), len(chat.waiting)
    if count > 1:
        return SEVERAL_IN_BAR.format(name=name, count=count)
    question = chat.waiting[0]
    is_tool = question.kind == PERMISSION
    about = f" about {shorten_text(question.title, MAX_TITLE)}" if is_tool else ""
    return IN_BAR.format(name=name, about=about)


def above_composer(update: ChatUpdate) -> str:
    """The words above the composer of a chat in which something waits."""
    first, count = update.waiting[0], len(update.waiting)
    name = update.agent_name or THE_AGENT
    more = f" you {count_text(count, 'question')}" if count > 1 else " you"
    keys = KEYS if first.kind == PERMISSION else FORM_KEYS
    return IN_CHAT.format(name=name, more=more, keys=keys)


def on_desktop(name: str, question: ChatQuestion) -> str:
    """The question as a sentence for a notice."""
    subject = one_line(question.text) if question.kind == PERMISSION else ""
    what = question.title + (f": {subject}" if subject else "")
    return f"{name or AN_AGENT} asks you: {shorten_text(one_line(what), MAX_SUBJECT)}"
