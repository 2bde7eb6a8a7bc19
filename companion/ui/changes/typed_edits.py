"""Passes what is typed in a sheet on to the files' own reviews, which have the texts. UI thread
only.

A review with another text than the sheet shows takes nothing. If it is not open yet, it is opened,
and what is typed meanwhile waits for it.
"""

from __future__ import annotations

from functools import partial
from typing import Callable, Mapping, Sequence

import sublime

from ...base.change_sheet import Section
from ...base.sheet_typing import TypedEdit
from .. import queues, texts
from ..stories import Stories
from .sources import Source
from .steps import Step, StepDone, edit_step

# Names a tab with what was typed.
YOURS = "your edits"


class TypedEdits:
    """What is typed in one sheet. `source_of` has the sources of its files. `opened` is called when
    a review was opened: with the file, whether its text has all that was typed, and else whether
    that was put aside; `section` gives what the sheet shows of the file."""

    def __init__(
        self,
        source_of: Mapping[str, Source],
        stories: Stories,
        opened: Callable[[str, bool, bool], None],
        section: Callable[[str], Section | None],
    ) -> None:
        self._source_of = source_of
        self._stories = stories
        self._opened = opened
        self._section = section
        # The change counts of the reviews whose texts the sheet shows, None for those not open.
        self.counts: dict[str, int | None] = {}
        # What the user has done in the sheet, the last one last; and what of that was undone.
        self._done: list[Step] = []
        self._undone: list[Step] = []
        # How many edits were typed so far.
        self.typed_count = 0
        self._typed: set[str] = set()
        self._waiting: dict[str, list[TypedEdit]] = {}
        # By files: what the sheet shows of them beyond what it was made of.
        self._passed_on: dict[str, list[TypedEdit]] = {}

    def show_anew(self, counts: Mapping[str, int | None]) -> None:
        """The sheet shows these files as their reviews are, which have these change counts."""
        self.counts.update(counts)
        for id in counts:
            self._passed_on.pop(id, None)

    def begin_round(self) -> None:
        """What is made from now on knows what was typed so far."""
        self._typed.clear()

    @property
    def busy_files(self) -> set[str]:
        """The files in which something was typed since then, or waits."""
        return self._typed.union(self._waiting)

    @property
    def is_waiting(self) -> bool:
        """Whether something that was typed waits until its file's review is open."""
        return bool(self._waiting)

    def note_step(self, step: Step) -> None:
        """The user has done this in the sheet."""
        self._done.append(step)
        self._undone.clear()

    def go_back(self, is_undo: bool) -> StepDone:
        """Undo what was done last, or redo what was undone last; gives where that was. What is
        decided is left out."""
        some, others = self._done, self._undone
        if not is_undo:
            some, others = others, some
        while some:
            step = some.pop()
            found = step.undo_or_redo(is_undo)
            if found is not None:
                others.append(step)
                return found
        return StepDone()

    def pass_on(self, edit: TypedEdit, sheet: sublime.View) -> bool:
        """Put it into the file's own review; False if that has another text by now."""
        self.typed_count += 1
        # Before it is: a review may open at once and refuse it.
        self._passed_on.setdefault(edit.file, []).append(edit)
        is_taken = self._is_taken(edit, sheet)
        if not is_taken:
            self._passed_on[edit.file].pop()
        return is_taken

    def _is_taken(self, edit: TypedEdit, sheet: sublime.View) -> bool:
        source = self._source_of.get(edit.file)
        if source is None:
            return False
        if edit.file in self._waiting:
            self._waiting[edit.file].append(edit)
            return True
        view, count = source.review_view(edit.file), self.counts.get(edit.file)
        if view is None and count is None:
            self._waiting[edit.file] = [edit]
            self._stories.begin(self._open_review(edit.file, source, sheet))
            return True
        is_as_shown = view is not None and view.change_count() == count
        return is_as_shown and view is not None and self._put_edit(view, edit)

    def _put_edit(self, view: sublime.View, edit: TypedEdit) -> bool:
        if view.is_read_only():
            return False
        region = sublime.Region(edit.start, edit.start + len(edit.old))
        texts.replace_parts(view, [(region, edit.new)])
        self.note_step(edit_step(view))
        self.counts[edit.file] = view.change_count()
        self._typed.add(edit.file)
        return True

    async def _open_review(self, id: str, source: Source, sheet: sublime.View) -> None:
        view, window, is_over = None, sheet.window(), False
        shown = _text_of(self._section(id))
        try:
            if window is not None:
                view = await source.open_review(window, id)
            is_over = True
        finally:
            edits = self._waiting.pop(id)
            if not is_over:
                # Nobody draws the sheet any more.
                self.put_aside(window, self._section(id))
        # The user may have typed in it before the sheet heard that it is open.
        is_as_shown = view is not None and texts.text_of(view) == shown
        is_done = (
            is_as_shown and view is not None and all([self._put_edit(view, edit) for edit in edits])
        )
        is_aside = not is_done and self.put_aside(window, self._section(id))
        self._opened(id, is_done, is_aside)

    def put_aside(
        self,
        window: sublime.Window | None,
        section: Section | None,
        refused: Sequence[TypedEdit] = (),
    ) -> bool:
        """The file's review does not take what was typed: the file's text, with that, is a tab of
        the user; `refused` was not passed on. Gives whether there was anything to keep."""
        text = _text_of(section)
        passed_on = self._passed_on.get(section.file.id, []) if section is not None else []
        if section is None or text is None or not any(edit.new for edit in refused or passed_on):
            return False
        # The places of later ones count in a text with the earlier ones.
        for edit in [*passed_on, *refused]:
            text = text[: edit.start] + edit.new + text[edit.start + len(edit.old) :]
        home = window or sublime.active_window()
        # Not now: the sheet may be closing, and no tab opens within that.
        queues.on_ui_thread(partial(texts.return_text, home, section.file.title, text, YOURS))
        return True


def _text_of(section: Section | None) -> str | None:
    """The file's text before what is typed; None where the sheet does not show it."""
    comparison = section.file.comparison if section is not None else None
    return "".join(comparison.new.rows) if comparison is not None else None
