"""One line above the composer: what the agent does, what waits, what went wrong. UI thread only."""

from __future__ import annotations

import html
import os

import sublime

from ...agent.acp.session_state import MODE, MODEL
from ...base.shown_text import shown_line
from ...chat.chat_update import FAILED, STARTING, STOPPING, WORKING, ChatUpdate
from . import failure_words, question_words

KEY = "gemini_companion_chat_state"
# By the state; a chat that has nothing to tell shows who answers.
SENTENCES = {
    STARTING: "{} is starting …",
    WORKING: "{} is working … The next message waits for it.",
    STOPPING: "{} is being stopped …",
}
SENDS = "Ctrl+Enter sends."
WRITES = "Write your message below; Ctrl+Enter sends it."


class StateLine:
    """The line of one chat, in all of its views."""

    def __init__(self) -> None:
        self._shown: dict[int, tuple[str, str]] = {}

    def show(self, view: sublime.View, composer: int, words: str, links: str = "") -> None:
        """Show the words and the links (HTML) below the line that is before the composer, if they
        are others."""
        if self._shown.get(view.id()) == (words, links):
            return
        self._shown[view.id()] = (words, links)
        view.erase_phantoms(KEY)
        if words:
            place = sublime.Region(composer - 1)
            view.add_phantom(KEY, place, _html(words, links), sublime.LAYOUT_BELOW)


def words_of(update: ChatUpdate, patience: str = "", is_empty: bool = False) -> str:
    """What there is to tell of a conversation as it is now; `patience` is what there is to tell of
    the wait. Of one that `is_empty`, also where its agent works."""
    name = update.agent_name or "The agent"
    if update.state == FAILED:
        return failure_words.problem(update)
    if update.waiting:
        return question_words.above_composer(update, question_words.utc_now())
    if update.state in SENTENCES:
        told = f"{SENTENCES[update.state].format(name)} {patience}".strip()
    else:
        where = f" works in {_folder(update.workspace)}" if is_empty and update.workspace else ""
        told = " · ".join([name + where, *_chosen(update), WRITES if is_empty else SENDS])
    waiting = len(update.queue.messages)
    if waiting:
        told += (
            f" {waiting} message{'s' if waiting > 1 else ''} {'wait' if waiting > 1 else 'waits'}."
        )
    return told


def _folder(path: str) -> str:
    """Short, where it is within the user's own folder."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path


def _chosen(update: ChatUpdate) -> list[str]:
    """The mode and the model that the agent says it uses, by their names."""
    told = []
    for category, value in ((MODE, update.mode), (MODEL, update.model)):
        option = update.options.of_category(category)
        is_known = option is not None and option.current == value
        told.append(option.current_name if option is not None and is_known else value)
    return [it for it in told if it]


def _html(words: str, links: str) -> str:
    style = "<style>p { margin: 0.2rem 0; font-style: italic; }</style>"
    paragraphs = [html.escape(shown_line(words)), *([links] if links else [])]
    told = "".join(f"<p>{it}</p>" for it in paragraphs)
    return f'<body id="gemini-companion-chat">{style}{told}</body>'
