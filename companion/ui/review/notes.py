"""Asks for words about a proposal: a note with a rejection, and comments on lines. UI thread
only.
"""

from __future__ import annotations

from typing import Any, Callable, Coroutine

import sublime

from .. import panels
from . import comments
from .open_diffs import name_of
from .record import Comment, waiting
from .reviews import Reviews

PROMPT = "Why is {} rejected? Your note goes to the CLI"
NOT_DECIDED = "The diff still waits; your note is on the clipboard."
DECIDED = "That diff is decided already; your note is on the clipboard."


class Notes:
    """`reject` decides on a diff, with a note; it gives False if that was not possible."""

    def __init__(
        self,
        reviews: Reviews,
        tell: Callable[[str], None],
        reject: Callable[[sublime.View, str], Coroutine[Any, Any, bool]],
    ) -> None:
        self._reviews = reviews
        self._tell = tell
        self._reject = reject

    async def reject_with_note(self, right: sublime.View) -> None:
        """Ask for a line of text, then reject; comments are sent as well."""
        window = right.window() or sublime.active_window()
        # By the time the note is written, the diff may be decided and its comments gone.
        about = comments.words(right, self._reviews.of(right))
        text = await panels.line(window, PROMPT.format(name_of(right)))
        if text is None or (waiting(right) is not None and await self._reject(right, text)):
            return
        words = "\n".join(each for each in (text.strip(), about) if each)
        if words:
            # It was decided meanwhile, or the companion does not run.
            sublime.set_clipboard(words)
            self._tell(DECIDED if waiting(right) is None else NOT_DECIDED)

    async def comment(self, right: sublime.View) -> None:
        """Ask for a comment on the selected lines of the proposal."""
        window = right.window()
        if window is None:
            return
        selection = right.sel()
        region = selection[0] if len(selection) else sublime.Region(0)
        first = right.rowcol(region.begin())[0]
        last = right.rowcol(max(region.end() - 1, region.begin()))[0]
        where = comments.lines_of(right, self._reviews.of(right), Comment(first, last, ""))
        text = await panels.line(window, f"Comment on {name_of(right)} {where}".rstrip())
        words = (text or "").strip()
        if words and waiting(right) is None:
            sublime.set_clipboard(words)
            self._tell(DECIDED)
        elif words:
            comments.add(right, Comment(first, last, words))
            self._reviews.drawing.comments(right)
