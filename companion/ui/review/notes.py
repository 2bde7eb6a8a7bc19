"""Words of the user on a proposal: a note with a rejection, and comments on lines; UI thread only.

A CLI takes no words with a decision. They go into its prompt, not sent off, where it runs in
Terminus, else onto the clipboard.
"""

from __future__ import annotations

import html
import os
from functools import partial
from typing import Any, Callable

import sublime

from .lookup import path_of
from .record import waiting
from .reviews import Comment, Reviews

COMMENTS = "gemini_companion_comments"
# Terminus' mark of its views, and the command by which it pastes into one.
TERMINUS_VIEW, PASTE = "terminus_view", "terminus_paste_text"
PROMPT = "Why is it rejected? Your words go into the prompt of the CLI"
TYPED = "Your note stands in the prompt of the CLI; send it off there."
COPIED = "Your note is on the clipboard; paste it into the CLI."
DECIDED = "That diff is decided already; your note is on the clipboard."


class Notes:
    """`reject` decides on a diff."""

    def __init__(
        self,
        reviews: Reviews,
        tell: Callable[[str], None],
        reject: Callable[[sublime.View], None],
    ) -> None:
        self._reviews = reviews
        self._tell = tell
        self._reject = reject

    def reject_with_note(self, right: sublime.View) -> None:
        """Ask for a line of text, then reject; comments go along."""
        window = right.window() or sublime.active_window()
        done = partial(self._reject_with, window, right)
        window.show_input_panel(PROMPT, "", done, None, None)

    def comment(self, right: sublime.View) -> None:
        """Ask for a note on the selected lines of the proposal."""
        review, window = self._reviews.of(right), right.window()
        if review is None or window is None:
            return
        selection = right.sel()
        region = selection[0] if len(selection) else sublime.Region(0)
        first = right.rowcol(region.begin())[0]
        last = right.rowcol(max(region.end() - 1, region.begin()))[0]

        def done(text: str) -> None:
            if text.strip():
                review.comments.append(Comment(first, last, text.strip()))
                draw(right, review.comments)

        window.show_input_panel(f"Comment on {lines(first, last)}", "", done, None, None)

    def _reject_with(self, window: sublime.Window, right: sublime.View, text: str) -> None:
        note = self.text(right, text)
        if waiting(right) is None:
            sublime.set_clipboard(note)
            self._tell(DECIDED)
            return
        self._reject(right)
        if note:
            self._tell(TYPED if hand_over(window, note) else COPIED)

    def text(self, right: sublime.View, note: str) -> str:
        """The note, with the comments as the CLI's prompt refers to lines."""
        review = self._reviews.of(right)
        path = reference(right)
        parts = [
            f"@{path}#{lines(each.first, each.last)}: {each.text}"
            for each in (review.comments if review is not None else [])
        ]
        return "\n".join([*([note.strip()] if note.strip() else []), *parts])


def draw(right: sublime.View, comments: list[Comment]) -> None:
    """Show the comments beside their lines."""
    regions = [
        sublime.Region(right.text_point(each.first, 0), right.text_point(each.last + 1, 0) - 1)
        for each in comments
    ]
    right.add_regions(
        COMMENTS,
        regions,
        "region.yellowish",
        "dot",
        sublime.DRAW_NO_FILL | sublime.DRAW_NO_OUTLINE,
        [html.escape(each.text) for each in comments],
        "",
    )


def lines(first: int, last: int) -> str:
    """As the CLI's prompt names them; `first` and `last` are rows, from 0.

    >>> lines(9, 11)
    'L10-12'
    """
    return f"L{first + 1}" if first == last else f"L{first + 1}-{last + 1}"


def reference(right: sublime.View) -> str:
    """The diff's path, relative to the folder of its window that it lies in."""
    path, window = path_of(right), right.window()
    for folder in window.folders() if window is not None else []:
        if path.startswith(folder + os.sep):
            return path[len(folder) + 1 :]
    return path


def hand_over(window: sublime.Window, text: str) -> bool:
    """Paste the text into the CLI's prompt, without sending it off; put it onto the clipboard where
    the window has no terminal, and give False."""
    terminal = terminal_in(window)
    if terminal is None:
        sublime.set_clipboard(text)
        return False
    terminal.run_command(PASTE, {"text": text, "bracketed": True})
    return True


def terminal_in(window: sublime.Window) -> sublime.View | None:
    """The view of Terminus in which the CLI runs, as far as its title tells."""
    found: list[Any] = [view for view in window.views() if view.settings().get(TERMINUS_VIEW)]
    named = [view for view in found if "gemini" in view.name().lower()]
    return next(iter(named or found), None)
