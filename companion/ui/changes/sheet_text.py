"""The text of one sheet in its view and clones, and whether it is the one that was read or drawn
last. UI thread only."""

from __future__ import annotations

from typing import Sequence

import sublime

from ...base.change_sheet import Part
from .. import texts


class SheetText:
    def __init__(self, view: sublime.View) -> None:
        self.buffer_id = view.buffer_id()
        self._view = view
        # That of the view when its text was known.
        self._change_count = -1

    @property
    def views(self) -> list[sublime.View]:
        """The view and its clones."""
        return [view for view in sublime.Buffer(self.buffer_id).views() if view.is_valid()]

    @property
    def view(self) -> sublime.View | None:
        """One view that shows it; None if all are closed."""
        if self._view.is_valid():
            return self._view
        views = self.views
        if views:
            self._view = views[0]
        return views[0] if views else None

    def is_known(self, view: sublime.View) -> bool:
        """Whether nothing was typed since it was known."""
        return view.change_count() == self._change_count

    def mark_known(self, view: sublime.View, is_known: bool = True) -> None:
        """What stands there now is known, or is to be read again."""
        self._change_count = view.change_count() if is_known else -1

    def replace_parts(self, parts: Sequence[Part]) -> None:
        """Draw these parts, in order. What stands there then is known."""
        view = self.view
        if view is not None and parts:
            regions = [(sublime.Region(start, end), text) for start, end, text in parts]
            texts.replace_parts(view, regions)
            if int(sublime.version()) >= 4114:
                # The user takes back what they typed, and not what the sheet has drawn.
                view.clear_undo_stack()
            self.mark_known(view)
