"""Words of the user on a proposal: a note with a rejection, and comments on lines; UI thread only.

A CLI takes no words with a decision. They go into its prompt, not sent off, where it runs in
Terminus, else onto the clipboard.
"""

from __future__ import annotations

import html
from functools import partial
from typing import Callable

import sublime

from ..prompt.references import NoReference, lines, reference
from ..prompt.terminals import Target, ask_where, hand_over
from .lookup import path_of
from .marks import comment_key
from .record import waiting
from .reviews import Comment, Review, Reviews

PROMPT = "Why is it rejected? Your words go into the prompt of the CLI"
NOTE = "your note"
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
        words = partial(self._words, right, self._reviews.of(right), named(right))
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
        # What they wrote is not lost where they choose no CLI.
        give = partial(hand_over, text=note, what=NOTE, tell=self._tell)
        ask_where(window, give, lambda: give(Target()))

    def _words(self, right: sublime.View, review: Review | None, path: str, note: str) -> str:
        """The note, with the comments as the CLI's prompt refers to lines."""
        comments = enumerate(review.comments if review is not None else [])
        parts = [
            f"{path}#{lines(*rows_now(right, number, each))}: {each.text}"
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


def named(right: sublime.View) -> str:
    """The diff's file, as the CLI's prompt names it."""
    window, path = right.window(), path_of(right)
    try:
        return reference(path, window.folders() if window is not None else [])
    except NoReference:
        return path
