"""Words of the user on a proposal: a note with a rejection, and comments on lines; UI thread only.

A CLI takes no words with a decision. They go into its prompt, not sent off, where it runs in
Terminus, else onto the clipboard.
"""

from __future__ import annotations

from functools import partial
from typing import Callable

import sublime

from .. import panels, queues
from ..prompt.terminals import Target, ask_where, hand_over, terminals
from . import comments
from .lookup import name_of
from .record import Comment, waiting
from .reviews import Reviews

PROMPT = "Why is {} rejected? Your words go into the prompt of the CLI"
NOTE = "your note"
# Milliseconds from the decision until the CLI's question is gone, whose title may not tell.
PROMPT_IS_BACK = 1000
NOT_DECIDED = "The diff waits on; your note is on the clipboard."
DECIDED = "That diff is decided already; your note is on the clipboard."


class Notes:
    """`reject` decides on a diff, with a note; it gives False where it could not."""

    def __init__(
        self,
        reviews: Reviews,
        tell: Callable[[str], None],
        reject: Callable[[sublime.View, str], bool],
    ) -> None:
        self._reviews = reviews
        self._tell = tell
        self._reject = reject

    def reject_with_note(self, right: sublime.View) -> None:
        """Ask for a line of text, then reject; comments go along."""
        window = right.window() or sublime.active_window()
        # The diff may be decided, and its comments gone, when the note is there.
        about = comments.words(right, self._reviews.of(right))
        done = partial(self._reject_with, right, about)
        panels.ask(window, PROMPT.format(name_of(right)), done)

    def _reject_with(self, right: sublime.View, about: str, text: str) -> None:
        if waiting(right) is not None and self._reject(right, text):
            return
        words = "\n".join(each for each in (text.strip(), about) if each)
        if words:
            # Decided meanwhile, or nobody is there who could be told.
            sublime.set_clipboard(words)
            self._tell(DECIDED if waiting(right) is None else NOT_DECIDED)

    def comment(self, right: sublime.View) -> None:
        """Ask for a note on the selected lines of the proposal."""
        window = right.window()
        if window is None:
            return
        selection = right.sel()
        region = selection[0] if len(selection) else sublime.Region(0)
        first = right.rowcol(region.begin())[0]
        last = right.rowcol(max(region.end() - 1, region.begin()))[0]

        def done(text: str) -> None:
            if text.strip() and waiting(right) is None:
                sublime.set_clipboard(text.strip())
                self._tell(DECIDED)
            elif text.strip():
                comments.add(right, Comment(first, last, text.strip()))
                self._reviews.drawing.comments(right)

        where = comments.lines_of(right, self._reviews.of(right), Comment(first, last, ""))
        caption = f"Comment on {name_of(right)} {where}".rstrip()
        panels.ask(window, caption, done)


def give(window: sublime.Window, words: str, tell: Callable[[str], None]) -> None:
    """After a decision: put the words into the prompt of a CLI of the window, without sending them
    off; onto the clipboard where there is none, and where the user chooses none: they are not
    lost."""
    to = partial(hand_over, text=words, what=NOTE, tell=tell)
    ask = partial(ask_where, window, to, lambda: to(Target()))
    if terminals(window):
        queues.on_ui_thread(ask, PROMPT_IS_BACK)
    else:
        ask()
