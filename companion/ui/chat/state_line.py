"""What stands above the composer: the true mode, what the agent does, what waits, what went wrong.
UI thread only."""

from __future__ import annotations

import os
import sys
from typing import Sequence

import sublime

from ...agent.session_state import MODE, MODEL
from ...chat.amounts import count_text, name_beside
from ...chat.chat_update import FAILED, STARTING, STOPPING, WORKING, ChatUpdate
from ..pages import page
from ..wrapping import Piece, fill_rows, text_pieces
from . import agent_login, failure_words, question_words
from .one_phantom import OnePhantom, narrowest_columns

KEY = "gemini_companion_chat_state"
# By the state; a chat that has nothing to tell shows who answers.
SENTENCES = {
    STARTING: "{} is starting …",
    WORKING: "{} is working … What you send now waits until it is done.",
    STOPPING: "{} is being stopped …",
}
BETWEEN = " · "
SHOW_CHANGES, CHANGES = "gemini_companion_show_changes", "Show changes"
# Bound beside Ctrl+Enter where it is usual.
SEND = "Cmd+Enter" if sys.platform == "darwin" else "Ctrl+Enter"
SENDS = f"{SEND} sends."
WRITES = f"Write your message below; {SEND} sends it."


class StateLine:
    """The line of one chat."""

    def __init__(self) -> None:
        self._phantom = OnePhantom(KEY)

    def show(
        self, views: Sequence[sublime.View], composer: int, told: str, links: Sequence[Piece] = ()
    ) -> None:
        """Show the words and the links below the line that is before the composer, in as many rows
        as they need, if they are others."""
        width = narrowest_columns(views)
        shown = fill_rows(text_pieces(told, width), width) + fill_rows(_link_row(links), width)
        self._phantom.show(views, composer - 1, _state_html(shown) if shown else "")

    def leave_view(self, view: sublime.View) -> None:
        self._phantom.leave_view(view)


def words_of(
    update: ChatUpdate, patience: str = "", is_empty: bool = False, place: str = ""
) -> str:
    """What there is to tell of a conversation as it is now; `patience` is what there is to tell of
    the wait. Of one that `is_empty`, also where its agent works. `place` says where, if that is no
    folder of the user."""
    name = update.agent_name or "The agent"
    if update.state == FAILED:
        return failure_words.failure_text(update)
    mode, model = (
        _option_name(update, *pair) for pair in ((MODE, update.mode), (MODEL, update.model))
    )
    if update.waiting:
        return _join_parts(place, mode, question_words.above_composer(update))
    if update.state in SENTENCES:
        says = f"{SENTENCES[update.state].format(name)} {patience}".strip()
        # Before the agent runs, none is true.
        told = _join_parts(place, "" if update.state == STARTING else mode, says)
    else:
        where = (
            f" works in {_short_folder(update.workspace)}" if is_empty and update.workspace else ""
        )
        login = agent_login.whose_login(update.agent, update.login) if is_empty else ""
        told = _join_parts(
            place,
            mode,
            f"{name}{where} {login}".strip(),
            name_beside(mode, model),
            WRITES if is_empty else SENDS,
        )
    waiting = len(update.queue.messages)
    if waiting:
        told += f" {count_text(waiting, 'message')} {'wait' if waiting > 1 else 'waits'}."
    return told


def changes_link() -> Piece:
    """The link to the changes of the window, those in its work trees among them."""
    return page.command_link(SHOW_CHANGES, {"show": "tab"}, CHANGES), len(CHANGES)


def _short_folder(path: str) -> str:
    """Short, where it is within the user's own folder."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path


def _option_name(update: ChatUpdate, category: str, value: str) -> str:
    """The mode or the model that the agent says it uses, by its name; empty if that is not
    known."""
    option = update.options.of_category(category)
    is_known = option is not None and option.current == value
    return option.current_name if option is not None and is_known else value


def _join_parts(*parts: str) -> str:
    return BETWEEN.join(filter(None, parts))


def _link_row(links: Sequence[Piece]) -> list[Piece]:
    """Links of a row, with what stands between them."""
    return [*links[:1], *((f"· {link}", width + 2) for link, width in links[1:])]


def _state_html(shown: Sequence[str]) -> str:
    style = "<style>p { margin: 0.2rem 0; font-style: italic; }</style>"
    return f'<body id="gemini-companion-chat">{style}<p>{"<br>".join(shown)}</p></body>'
