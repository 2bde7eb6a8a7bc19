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
from .marks import comment_key
from .record import waiting
from .reviews import Comment, Review, Reviews

# Terminus' mark of its views, and the command by which it pastes into one.
TERMINUS_VIEW, PASTE = "terminus_view", "terminus_paste_text"
PROMPT = "Why is it rejected? Your words go into the prompt of the CLI"
TYPED = "Your note stands in the prompt of the CLI; send it off there."
COPIED = "Your note is on the clipboard; paste it into the CLI."
NOT_DECIDED = "The diff waits on; your note is on the clipboard."
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
        # The diff may be decided, and its record gone, when the words are there.
        words = partial(self._words, right, self._reviews.of(right), reference(right))
        done = partial(self._reject_with, window, right, words)
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
            if text.strip() and waiting(right) is None:
                sublime.set_clipboard(text.strip())
                self._tell(DECIDED)
            elif text.strip():
                review.comments.append(Comment(first, last, text.strip()))
                draw(right, review.comments)

        window.show_input_panel(f"Comment on {lines(first, last)}", "", done, None, None)

    def _reject_with(
        self,
        window: sublime.Window,
        right: sublime.View,
        words: Callable[[str], str],
        text: str,
    ) -> None:
        note, was_waiting = words(text), waiting(right) is not None
        if was_waiting:
            self._reject(right)
        if not note:
            return
        if not was_waiting or waiting(right) is not None:
            # Decided meanwhile, or nobody is there who could be told.
            sublime.set_clipboard(note)
            self._tell(NOT_DECIDED if was_waiting else DECIDED)
            return
        self._tell(TYPED if hand_over(window, note) else COPIED)

    def _words(self, right: sublime.View, review: Review | None, path: str, note: str) -> str:
        """The note, with the comments as the CLI's prompt refers to lines."""
        comments = enumerate(review.comments if review is not None else [])
        parts = [
            f"@{path}#{lines(*rows_now(right, number, each))}: {each.text}"
            for number, each in comments
        ]
        return "\n".join([*([note.strip()] if note.strip() else []), *parts])


def draw(right: sublime.View, comments: list[Comment]) -> None:
    """Show the newest comment beside its lines; the others are there already."""
    number = len(comments) - 1
    each = comments[number]
    start = right.text_point(each.first, 0)
    end = right.line(right.text_point(each.last, 0)).end()
    right.add_regions(
        comment_key(number),
        [sublime.Region(start, end)],
        "region.yellowish",
        "dot",
        sublime.DRAW_NO_FILL | sublime.DRAW_NO_OUTLINE,
        [html.escape(each.text)],
        "",
    )


def rows_now(right: sublime.View, number: int, comment: Comment) -> tuple[int, int]:
    """The first and the last row that the comment is on, wherever they were moved to."""
    regions = right.get_regions(comment_key(number)) if right.is_valid() else []
    if not regions:
        return comment.first, comment.last
    return right.rowcol(regions[0].begin())[0], right.rowcol(regions[0].end())[0]


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
