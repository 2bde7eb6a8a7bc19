"""One sheet: the changes of a window's files in one view, which follows them. UI thread only.

What is typed in an added row goes into the file's own review at once, and what happens there comes
back when its changes are computed. Everything else that is typed is put back.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base.answer import Answer
from ...base.change_sheet import ChangeStart, Section, Sheet, plain_section, section_of
from ...base.sheet_typing import equal_ends, typed_edits
from .. import queues, texts
from ..review.record import waiting_record
from ..review.reviews import FAILED, Reviews
from ..stories import Stories, run_in_thread, sleep
from .earlier_text import EarlierText, erase_signature, write_signature
from .marking import Marking
from .sheet_files import SheetFiles
from .sheet_text import SheetText
from .sources import SheetEntry, Source
from .typed_edits import YOURS, TypedEdits

# The id of the section that is the head of the sheet.
HEAD = ""
# Milliseconds between two looks at all files, if they change meanwhile, and how many times as long
# as a look takes.
PAUSE, REST = 100, 2.0
NOT_HERE = "Only added lines can be changed here. Enter on another line goes to its own review."
TYPED_BEFORE = "What you typed in the sheet while it was restored is in a tab of its own."
# Names the sheet's tab.
NAME = "Changes"
# Milliseconds until the files are looked at again, if there is typed text that waits for them.
AGAIN = 200
CHANGED = "{} has changed meanwhile, so what you typed there was taken back."
ASIDE = "{} has changed meanwhile, so what you typed there is in a tab of its own."


class ChangeSheet:
    """The sheet in one view and its clones. `sources` are asked in their order. What is drawn and
    what is typed change one text. `look_at` is called with each view that is in front, as long as
    it is, and `note_removal` with the sheet's line and each file that goes away."""

    def __init__(
        self,
        view: sublime.View,
        sources: Sequence[Source],
        stories: Stories,
        tell: Callable[[str], None],
        look_at: Callable[[sublime.View], None],
        note_removal: Callable[[tuple[str, str]], None],
    ) -> None:
        self.buffer_id = view.buffer_id()
        self._text = SheetText(view)
        # The line in which presses in it wait.
        self.line = f"sheet {self.buffer_id}"
        self.model = Sheet((plain_section(HEAD, ()),))
        self._files = SheetFiles(sources)
        self.marking = Marking(view.buffer_id(), self._files.kept_changes, look_at)
        self._stories = stories
        self._tell = tell
        self._note_removal = note_removal
        self.edits = TypedEdits(self._files.source_of, stories, self._end_typing, self.find_section)
        self._refreshing: Answer[None] | None = None
        self._is_old = False
        # What the view shows from before, until the files' changes are there.
        self._earlier: EarlierText | None = EarlierText(view)

    @property
    def views(self) -> list[sublime.View]:
        """The view and its clones."""
        return self._text.views

    @property
    def window(self) -> sublime.Window | None:
        """The window whose changes these are."""
        views = self.views
        return views[0].window() if views else None

    def find_source(self, id: str) -> Source | None:
        """Where the changes of the file come from; None if the sheet does not show it."""
        return self._files.source_of.get(id) if id in self.model.numbers else None

    def undecided_changes(self) -> list[ChangeStart]:
        """The changes that are neither kept nor dropped."""
        decided: dict[int, frozenset[str]] = {}
        found = []
        for start in self.model.change_starts:
            file = self.model.sections[start.section].file
            if file.comparison is None:
                continue
            if start.section not in decided:
                decided[start.section] = self._files.kept_changes(file.id) | file.comparison.dropped
            if file.comparison.keys[start.change] not in decided[start.section]:
                found.append(start)
        return found

    def find_section(self, id: str) -> Section | None:
        number = self.model.numbers.get(id)
        return self.model.sections[number] if number is not None else None

    # ----- following the files

    def refresh(self) -> Answer[None]:
        """Show what there is now; answered when all of it is shown."""
        self._is_old = True
        if self._refreshing is None:
            answer = self._refreshing = Answer[None]()
            self._stories.begin(self._refresh_all(answer))
            return answer
        return self._refreshing

    async def pass_typed_on(self) -> None:
        """Wait until the files' reviews have all that was typed."""
        self.take_typed()
        while self.edits.is_waiting:
            await sleep(PAUSE)

    async def wait_until_settled(self, reviews: Reviews) -> None:
        """Wait until all is drawn as it is now."""
        await self.pass_typed_on()
        for section in self.model.sections:
            source = self.find_source(section.file.id)
            view = source.review_view(section.file.id) if source is not None else None
            record = waiting_record(view) if view is not None else None
            if record is not None:
                await reviews.presses.wait_for_all(record.id)
            if view is not None and reviews.is_compared(view):
                await reviews.wait_for_comparison(view)
        await self.refresh()

    async def _refresh_all(self, answer: Answer[None]) -> None:
        try:
            # What happens at the same time is shown together.
            await sleep()
            while self._is_old:
                window = self.window
                if window is None:
                    return
                self._is_old, began = False, time.monotonic()
                # What is typed from here on may not be in what is found.
                self.edits.begin_round()
                await self._show_entries(await self._files.collect_entries(window))
                if self._is_old:
                    # Hundreds are decided one after the other.
                    lasted = time.monotonic() - began
                    await sleep(max(PAUSE, round(REST * lasted * 1000)))
        finally:
            self._refreshing = None
            answer.give(None)

    async def _show_entries(self, entries: Sequence[SheetEntry]) -> None:
        kept = {section.file.id: section for section in self.model.sections}
        todo = [
            entry
            for entry in entries
            if entry.is_current and not _is_same(entry, kept.get(entry.id))
        ]
        made = await run_in_thread(partial(_make_sections, todo)) if todo else {}
        if made is None:
            self._tell(FAILED)
            made = {}
        counts = {entry.id: entry.change_count for entry in todo}
        shown = [made.get(entry.id) or kept.get(entry.id) for entry in entries]
        sections = [section for section in shown if section is not None]
        # Of one file, the oldest comes first, as in the entries.
        sections.sort(key=_path_parts)
        head = plain_section(HEAD, [await self._files.summary_line(sections), ""])
        await self._draw_sections([head, *sections], counts)

    def _is_begun(self, wanted: Sequence[Section], counts: dict[str, int | None]) -> bool:
        """Whether the sheet is drawn from now on: what was typed before waits for its files."""
        view, earlier = self._text.view, self._earlier
        if view is None or earlier is None:
            return True
        is_restoring = self._files.are_restoring(wanted)
        if not earlier.may_begin(view, wanted, is_restoring, self._files.are_complete):
            queues.on_ui_thread(self.refresh, AGAIN)
            return False
        self._earlier = None
        mine = earlier.typed_text(view)
        # The command that replaces the text has what is typed taken first: that is no such text.
        self._text.mark_known(view)
        whole = Sheet(tuple(wanted))
        parts = earlier.parts_toward(view, whole)
        if parts is not None:
            self.model = whole
            self.edits.show_anew(counts)
            # The rest stays as it is, with the carets in it.
            self._text.replace_parts(parts)
            if mine is not None:
                self._text.mark_known(view, False)
            return True
        # The files are drawn below the head, some at a time.
        erase_signature(view)
        self.model = Sheet(tuple(wanted[:1]))
        self._text.replace_parts([(0, view.size(), self.model.text)])
        texts.select_ranges(view, [(0, 0)])
        if mine is not None:
            self._give_back(mine, view)
        return True

    def _give_back(self, mine: str, view: sublime.View) -> None:
        texts.return_text(view.window() or sublime.active_window(), NAME, mine, YOURS)
        self._tell(TYPED_BEFORE)

    def close(self, view: sublime.View) -> None:
        """The user closes the last view: what was typed counts as well."""
        mine = self._earlier.typed_text(view) if self._earlier is not None else None
        if mine is not None:
            queues.on_ui_thread(partial(self._give_back, mine, view))
        self.take_typed()

    def _sign_views(self) -> None:
        for view in self.views:
            write_signature(view, self.model.sections)

    async def _draw_sections(
        self, wanted: Sequence[Section], counts: dict[str, int | None]
    ) -> None:
        if not self._is_begun(wanted, counts):
            return
        while True:
            view = self._text.view
            if view is None:
                return
            self.take_typed()
            busy = self.edits.busy_files
            now = [
                self.find_section(section.file.id) if section.file.id in busy else section
                for section in wanted
            ]
            update = self.model.update_toward([section for section in now if section is not None])
            if update is None:
                break
            before = {id(section) for section in self.model.sections}
            gone = self.model.numbers.keys() - update.sheet.numbers.keys()
            self._text.replace_parts(update.parts)
            self.model = update.sheet
            for file in gone:
                self._note_removal((self.line, file))
            drawn = [
                section.file.id for section in self.model.sections if id(section) not in before
            ]
            self.edits.show_anew({id: counts[id] for id in drawn if id in counts})
            await sleep()
        self._sign_views()
        self.marking.draw_sections(self.model)

    # ----- typing

    def take_typed(self) -> None:
        """Pass on what was typed since the sheet was looked at last."""
        view = self._text.view
        if view is None or self._earlier or self._text.is_known(view):
            return
        self._text.mark_known(view)
        text = texts.text_of(view)
        if text == self.model.text:
            return
        carets = view.sel()
        is_one = len(carets) == 1 and carets[0].empty()
        found = typed_edits(self.model, text, carets[0].b if is_one else None)
        before, self.model = self.model, found.sheet
        refused = [edit for edit in found.edits if not self.edits.pass_on(edit, view)]
        for id in dict.fromkeys(edit.file for edit in refused):
            number = before.numbers[id]
            section = before.sections[number]
            self.model = self.model.with_section(number, section)
            edits = [edit for edit in refused if edit.file == id]
            is_aside = self.edits.put_aside(view.window(), section, edits)
            self._tell_changed(section, is_aside)
        if self.model.text != text:
            if not refused:
                self._tell(NOT_HERE)
            self._text.replace_parts([_text_difference(text, self.model.text)])
            self.refresh()
        self.marking.model = self.model
        self._sign_views()

    def _tell_changed(self, section: Section, is_aside: bool) -> None:
        self._tell((ASIDE if is_aside else CHANGED).format(section.file.title))

    def _end_typing(self, id: str, is_done: bool, is_aside: bool) -> None:
        """The file's review has opened, and has what was typed; or not."""
        number = self.model.numbers.get(id)
        if not is_done and number is not None:
            section = self.model.sections[number]
            self._tell_changed(section, is_aside)
            # The section is made again.
            other = replace(section, file=replace(section.file, made_of=None))
            self.model = self.model.with_section(number, other)
        self.refresh()


def _make_sections(entries: Sequence[SheetEntry]) -> dict[str, Section]:
    """Runs in a thread."""
    found = {}
    for entry in entries:
        section = section_of(entry.make())
        # Computed here, and not on the thread that draws.
        if section.text and section.starts and section.characters:
            found[entry.id] = section
    return found


def _path_parts(section: Section) -> list[str]:
    """What puts the files of a folder together, whatever came first."""
    return section.file.title.replace("\\", "/").split("/")


def _is_same(entry: SheetEntry, section: Section | None) -> bool:
    return section is not None and section.file.made_of == entry.made_of


def _text_difference(old: str, new: str) -> tuple[int, int, str]:
    """One part that makes the new text of the old one."""
    start, after = equal_ends(old, new)
    return start, len(old) - after, new[start : len(new) - after]
