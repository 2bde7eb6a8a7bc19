"""Updates a review when the user comes to rest in its proposal: changes, links, the caret's place.

Sublime reports keystrokes and carets on its worker, where all of this runs.
"""

from __future__ import annotations

from functools import partial

import sublime

from .. import queues
from .record import waiting_record
from .reviews import Reviews

# Milliseconds without a keystroke after which the changes are computed again.
TEXT_AT_REST = 200
# Milliseconds after which the links at the caret are updated.
CARET_AT_REST = 50


class Resting:
    """Follows the user in the proposals of one companion."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews
        # Whether a caret has moved and was not followed yet.
        self._is_following = False

    def note_modified(self, view: sublime.View) -> None:
        """The text of a view has changed."""
        if waiting_record(view) is not None:
            count = view.change_count()
            queues.on_worker(partial(self._if_at_rest, view, count), TEXT_AT_REST)

    def _if_at_rest(self, view: sublime.View, count: int) -> None:
        if view.is_valid() and view.change_count() == count:
            queues.on_ui_thread(partial(self._reviews.refresh_review, view))

    def note_caret_moved(self, view: sublime.View) -> None:
        """The caret of a view has moved."""
        if not self._is_following and waiting_record(view) is not None:
            self._is_following = True
            queues.on_worker(partial(self._follow_caret, view), CARET_AT_REST)

    def _follow_caret(self, view: sublime.View) -> None:
        self._is_following = False
        queues.on_ui_thread(partial(self._reviews.drawing.draw_links, view))
