"""Keeps edits over a restart, and shows those again that the user accepted, and undoes them if the
file has not changed since. UI thread only."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from typing import Callable, Iterable, Mapping

import sublime

from ...base.answer import Answer, Unanswered
from ...base.comparison import compare_texts
from ...base.file_content import Original
from ...base.signal import ValueSignal
from ...base.unified import unified_text
from ...edits import edit_store
from ...edits.edit import Edit
from ...edits.ledger import EditLedger
from ...ide.companion import Companion
from ...ide.questions import FileUndoing, SavingBegun
from ...ide.sharing import Sharing
from .. import panels, queues, settings, sharing_settings, texts
from ..stories import run_in_thread
from . import written_files
from .edit_rows import EditRow
from .ending import ClaimedDiff

# The most edits that are listed. More are known, because hundreds can be accepted together.
MAX_EDITS = 50
# How many times as long as a save lasts the next one waits, and the most seconds.
REST, MOST_REST = 3.0, 2.0
NOTHING = "No accepted edits in this window so far."
NOT_WRITTEN = "The file is as it was before the edit: there is nothing to undo."
NOT_SHOWN = 'The difference could not be made; "Gemini Companion: Show Log" shows more.'
NOTHING_UNDONE = "Nothing was undone."
CHANGED = "The file has changed since: nothing was undone. The three texts are in tabs."
UNSAVED = "The file has unsaved changes: nothing was undone. The three texts are in tabs."
ACTIONS = [
    ["Show it", "What it changed, as a patch in one tab."],
    ["Undo it", "The old text is put back, if the file is still what you accepted."],
]


class EditHistory:
    """The accepted edits of one companion; `folder` keeps all that the ledger keeps."""

    caption, nothing = "Edits that you accepted", NOTHING

    def __init__(
        self,
        companion: Companion,
        edits: EditLedger,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
        folder: str,
    ) -> None:
        self._companion = companion
        self.edits = edits
        self._tell = tell
        self._warn = warn
        self._folder = folder
        # What the writer saves at its turn: a frozen tuple that is replaced as a whole.
        self._picture: tuple[Edit, ...] = ()
        # Nothing is saved before the saved edits are known, nor once the next companion may have
        # begun.
        self._may_save = False
        self._is_stopped = False
        # Whether edits are being saved, or were a moment ago; and whether there are others since.
        self._is_saving = self._is_due = False
        self._is_writing = False
        self._problem = ""
        # The file is as it was before the edit.
        self.undone = ValueSignal[Edit]()
        edits.made.changes.subscribe(self._save_edits)

    async def load_edits(self) -> None:
        """Load the edits that earlier runs of the editor saved, once the folder is this one's."""
        try:
            await self._companion.ask(SavingBegun())
        except Unanswered:
            # Another editor keeps the folder to the end.
            return
        read: Answer[list[Edit] | None] = Answer()
        edit_store.writer.do_soon(partial(self._read_edits, read))
        saved = await read
        if saved is None:
            self._warn(edit_store.LOAD_FAILED)
        self._may_save = saved is not None
        # Also removes edits that are too old, excluded by now, or damaged.
        self.edits.made.restore(saved or ())

    def find_edit(self, id: str) -> Edit | None:
        return self.edits.made.find(id)

    @property
    def is_saved(self) -> bool:
        """Whether all edits are in the folder, as far as they can be."""
        return not (self._is_due or self._is_writing)

    def stop(self) -> None:
        """End the saving: from now on only the next companion saves."""
        if self._is_due:
            self._begin_save()
        self._is_stopped = True

    def _read_edits(self, read: Answer[list[Edit] | None]) -> None:
        """Runs on the writer's thread, which logs a failure."""
        try:
            read.give(edit_store.load_edits(self._folder))
        finally:
            # Only the first answer counts.
            read.give(None)

    def _save_edits(self) -> None:
        if self._may_save and not self._is_stopped:
            self._is_due = True
            if not self._is_saving:
                self._begin_save()

    def _begin_save(self) -> None:
        self._is_due, self._is_saving, self._is_writing = False, True, True
        self._picture = _with_rules(self.edits.made.all)
        edit_store.writer.do_soon(self._write_edits)

    def _write_edits(self) -> None:
        """Runs on the writer's thread."""
        problem, began = edit_store.SAVE_FAILED, time.monotonic()
        try:
            problem = edit_store.save_edits(self._folder, self._picture)
        finally:
            lasted = time.monotonic() - began
            queues.on_ui_thread(partial(self._note_saved, problem))
            # Each save looks at all edits, and hundreds are accepted one after the other.
            rest = min(REST * lasted, MOST_REST)
            queues.on_ui_thread(self._save_others, round(rest * 1000))

    def _note_saved(self, problem: str) -> None:
        self._is_writing = False
        if problem and problem != self._problem:
            self._warn(problem)
        self._problem = problem

    def _save_others(self) -> None:
        self._is_saving = False
        if self._is_due and not self._is_stopped:
            self._begin_save()

    async def edit_rows(self, window: sublime.Window) -> list[EditRow]:
        """The edits that the user accepted in the window, the newest first; choosing one asks what
        to do with it."""
        edits = self.edits.accepted_edits(window.id())[:MAX_EDITS]
        return [
            EditRow(_edit_item(edit), partial(self._choose_action, window, edit)) for edit in edits
        ]

    async def _choose_action(self, window: sublime.Window, edit: Edit) -> None:
        if edit.problem:
            self._tell(edit.problem)
            return
        action = await panels.ask_choice(window, ACTIONS, os.path.basename(edit.path))
        if action == 0:
            await self.show_difference(window, edit)
        elif action == 1:
            await self.undo_edit(window, edit)

    async def show_difference(self, window: sublime.Window, edit: Edit) -> None:
        """Open the difference between the texts before and after, as a new tab."""
        found = await run_in_thread(partial(_difference_text, edit))
        if found is None:
            self._tell(NOT_SHOWN)
            return
        name = os.path.basename(edit.path)
        view = texts.open_tab(window, name + ".diff", found)
        texts.name_tab(view, edit.path, "accepted edit")
        view.set_scratch(True)

    async def undo_edit(self, window: sublime.Window, edit: Edit) -> None:
        """Restore the old text if the file is still as it was accepted; else show the texts."""
        if edit.after is None:
            self._tell(edit.problem)
            return
        if texts.unsaved_view(edit.path) is not None:
            self._refuse_undo(window, edit, UNSAVED, None)
            return
        after = None if edit.is_removal else edit.after
        undoing = FileUndoing(edit.path, edit.before, after)
        problem, present = await self._companion.ask(undoing)
        if present is not None and present.note and not present.digest:
            self._tell(f"{present.note} {NOTHING_UNDONE}")
        elif present is not None and present.digest == edit.before.digest:
            self._tell(NOT_WRITTEN)
        elif present is not None:
            self._refuse_undo(window, edit, CHANGED, present)
        elif problem:
            self._tell(problem)
        else:
            written_files.show_again(edit)
            self.edits.made.replace(edit, None)
            self.undone.emit(edit)
            self._tell(f"{os.path.basename(edit.path)} is as it was before the edit.")

    def _refuse_undo(
        self, window: sublime.Window, edit: Edit, sentence: str, present: Original | None
    ) -> None:
        found = {"before the edit": edit.before.text, "as accepted": edit.after or ""}
        if present is not None:
            found["as it is now"] = present.text
        for name, text in found.items():
            view = texts.open_tab(window, edit.path, text)
            texts.name_tab(view, edit.path, name)
            view.set_scratch(True)
        if present is None:
            window.open_file(edit.path)
        self._tell(sentence)


def newest_undoable(edits: EditLedger, window: sublime.Window) -> Edit | None:
    """The newest accepted edit of the window that can be undone."""
    own = reversed(edits.made.of_window(window.id()))
    return next((edit for edit in own if edit.is_accepted and not edit.problem), None)


def open_windows() -> Mapping[int, tuple[str, ...]]:
    """The folders of each open window, by its id."""
    return {window.id(): tuple(window.folders()) for window in sublime.windows()}


def accepted_edit(claimed: ClaimedDiff, before: Original) -> Edit:
    """The edit of a file that was `before` until now."""
    record, window = claimed.record, claimed.window
    return Edit(
        record.window_id,
        record.path,
        before,
        claimed.accepted,
        record.client,
        time.time(),
        tuple(window.folders()),
        sharing_settings.sharing_rules(window),
    )


def _with_rules(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Each edit with the present rules of its window. If that is closed, the rules when the edit
    was accepted, or those of a window with the same folders."""
    by_id: dict[int, Sharing] = {}
    by_folders: dict[tuple[str, ...], Sharing] = {}
    for window in sublime.windows():
        rules = by_id[window.id()] = sharing_settings.sharing_rules(window)
        by_folders.setdefault(tuple(window.folders()), rules)
    usual = Sharing(exclude=settings.current_settings().exclude)
    return tuple(
        replace(
            edit,
            rules=by_id.get(edit.window_id) or edit.rules or by_folders.get(edit.folders, usual),
        )
        for edit in edits
    )


def _difference_text(edit: Edit) -> str:
    name = os.path.basename(edit.path)
    found = compare_texts(edit.before.text, edit.after or "")
    return unified_text(found, f"{name} before", f"{name} accepted")


def _edit_item(edit: Edit) -> sublime.QuickPanelItem:
    when = time.localtime(edit.at)
    is_today = when[:3] == time.localtime()[:3]
    details = [
        os.path.dirname(edit.path),
        *(words for words in (edit.client, edit.problem) if words),
    ]
    return sublime.QuickPanelItem(
        os.path.basename(edit.path),
        details,
        time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M", when),
    )
