"""Asks for words about a proposal: a note with a rejection, and comments on lines. UI thread
only.
"""

from __future__ import annotations

from typing import Any, Callable, Coroutine, Optional

import sublime

from ...base.answer import Answer
from .. import panels
from . import comments
from .open_diffs import name_of
from .record import Comment, waiting_record
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
        about = comments.comment_words(right, self._reviews.review_of(right))
        answer, is_rejected = Answer[Optional[str]](), False
        try:
            text = await panels.ask_line(window, PROMPT.format(name_of(right)), answer=answer)
            if text is not None and waiting_record(right) is not None:
                is_rejected = await self._reject(right, text)
        finally:
            entered = _entered_line(answer)
            if entered is not None and not is_rejected:
                # It was decided meanwhile, or the companion does not run, or ends just now.
                self._copy_words(right, "\n".join(each for each in (entered, about) if each))

    async def ask_for_comment(self, right: sublime.View) -> None:
        """Ask for a comment on the selected lines of the proposal."""
        window = right.window()
        if window is None:
            return
        selection = right.sel()
        region = selection[0] if len(selection) else sublime.Region(0)
        first = right.rowcol(region.begin())[0]
        last = right.rowcol(max(region.end() - 1, region.begin()))[0]
        where = comments.lines_of(right, self._reviews.review_of(right), Comment(first, last, ""))
        answer = Answer[Optional[str]]()
        try:
            caption = f"Comment on {name_of(right)} {where}".rstrip()
            await panels.ask_line(window, caption, answer=answer)
        finally:
            # Also if the story is cut just when the user has entered it.
            words = _entered_line(answer)
            if words and waiting_record(right) is not None:
                comments.add_comment(right, Comment(first, last, words))
                self._reviews.drawing.draw_comments(right)
            else:
                self._copy_words(right, words)

    def _copy_words(self, right: sublime.View, words: str | None) -> None:
        if words:
            sublime.set_clipboard(words)
            self._tell(DECIDED if waiting_record(right) is None else NOT_DECIDED)


def _entered_line(answer: Answer[str | None]) -> str | None:
    """The line that the user has entered; None if they have not, or have cancelled."""
    text = answer.result() if answer.is_there else None
    return None if text is None else text.strip()
