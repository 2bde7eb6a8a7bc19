"""Passes what is typed in a sheet on to the files' own reviews, which have the texts. UI thread
only.

A review with another text than the sheet shows takes nothing. If it is not open yet, it is opened,
and what is typed meanwhile waits for it.
"""

from __future__ import annotations

from typing import Callable, Mapping

import sublime

from ...base.sheet_typing import TypedEdit
from .. import texts
from ..review.record import waiting
from ..stories import Stories
from .sources import Source


class TypedEdits:
    """Of one sheet. `source_of` has the sources of its files. `opened` is called when a review was
    opened: with the file, and whether its text has all that was typed."""

    def __init__(
        self,
        source_of: Mapping[str, Source],
        stories: Stories,
        opened: Callable[[str, bool], None],
    ) -> None:
        self._source_of = source_of
        self._stories = stories
        self._opened = opened
        # The change counts of the reviews whose texts the sheet shows, None for those not open.
        self.counts: dict[str, int | None] = {}
        # The right views of the reviews that were changed from the sheet, the last one last; and
        # those in which that was undone.
        self._changed: list[sublime.View] = []
        self._undone: list[sublime.View] = []
        # How many edits were typed so far.
        self.typed_count = 0
        self._typed: set[str] = set()
        self._waiting: dict[str, list[TypedEdit]] = {}

    def begin(self) -> None:
        """What is made from now on knows what was typed so far."""
        self._typed.clear()

    @property
    def busy(self) -> set[str]:
        """The files in which something was typed since then, or waits."""
        return self._typed.union(self._waiting)

    def changed(self, view: sublime.View) -> None:
        """The review was changed from the sheet."""
        self._changed.append(view)
        self._undone.clear()

    def go_back(self, is_undo: bool) -> sublime.View | None:
        """Undo what was changed last, or redo what was undone last, in the review that has it;
        gives its right view, None if nothing is left. What is decided is left out."""
        some, others = self._changed, self._undone
        if not is_undo:
            some, others = others, some
        while some:
            view = some.pop()
            if waiting(view) is not None:
                view.run_command("undo" if is_undo else "redo")
                others.append(view)
                return view
        return None

    def pass_on(self, edit: TypedEdit, sheet: sublime.View) -> bool:
        """Put it into the file's own review; False if that has another text by now."""
        source = self._source_of.get(edit.file)
        self.typed_count += 1
        if source is None:
            return False
        if edit.file in self._waiting:
            self._waiting[edit.file].append(edit)
            return True
        view, count = source.view(edit.file), self.counts.get(edit.file)
        if view is None and count is None:
            self._waiting[edit.file] = [edit]
            self._stories.begin(self._open(edit.file, source, sheet))
            return True
        is_as_shown = view is not None and view.change_count() == count
        return is_as_shown and view is not None and self._put(view, edit)

    def _put(self, view: sublime.View, edit: TypedEdit) -> bool:
        region = sublime.Region(edit.start, edit.start + len(edit.old))
        if view.is_read_only() or view.substr(region) != edit.old:
            return False
        texts.replace_parts(view, [(region, edit.new)])
        self.changed(view)
        self.counts[edit.file] = view.change_count()
        self._typed.add(edit.file)
        return True

    async def _open(self, id: str, source: Source, sheet: sublime.View) -> None:
        view, window = None, sheet.window()
        try:
            if window is not None:
                view = await source.open(window, id)
        finally:
            edits = self._waiting.pop(id)
        # The story is cut if the package is unloaded; then nobody draws any more.
        self._opened(id, view is not None and all([self._put(view, it) for it in edits]))
