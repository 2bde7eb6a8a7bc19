"""What agents have changed in the work trees of a window, as a sheet shows it. UI thread only, but
for what says otherwise."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Callable, Iterator, Mapping, Sequence

import sublime

from ...base.change_sheet import FileChanges, Variant
from ...base.comparison import compare_rows
from ...base.shown_text import shown_line
from ...work_trees.git import GitFailure
from ...work_trees.inside import ABSENT, Found, path_in
from ...work_trees.taken import Taken
from ...work_trees.tree_changes import Left, SidesFailure, TreeChange, TreeReader
from .. import application, texts
from ..changes.sources import (
    SheetEntry,
    UndoStep,
    entry_of,
    file_title,
    maker_words,
    undo_of_accepted,
)
from ..ordered_work import UnderWay
from ..review.accepting import Accepting
from ..review.actions import Actions
from ..review.history import EditHistory
from ..review.record import seen_changes, waiting_record
from ..review.reviews import Reviews
from ..stories import run_in_thread
from .closed_files import NOT_SEEN, NOT_TAKEN, ClosedFiles
from .sides import Sides, is_as_listed, read_sides
from .tree_file import PREFIX, TreeFile, file_id
from .tree_lists import TreeList, TreeLists
from .tree_owner import TreeOwner
from .tree_reviews import TreeReviews, label_of
from .variant_texts import VariantTexts

HAS_ALL, NAME_ALONE = "Your file has all of this.", "Its name changes, and no line."
TOO_LARGE = "Too large to be shown here: Accept takes it over as it is."
NO_TEXT = "This is no text that can be edited here: accept the file, or reject it."
CONFLICT = "1 conflict with your file is marked: resolve it before you accept."
CONFLICTS = "{} conflicts with your file are marked: resolve them before you accept."


class TreeSource:
    """The changes in the work trees of one companion's windows."""

    names = ("file changed in a work tree", "files changed in work trees")
    meanings = (
        "What was changed in work trees is written into your own files.",
        "Files in work trees stay there, and can be shown again from their row in Agents.",
    )

    def __init__(
        self,
        lists: TreeLists,
        tree_reviews: TreeReviews,
        owner: TreeOwner,
        variants: VariantTexts,
        reviews: Reviews,
        accepting: Accepting,
        actions: Actions,
        history: EditHistory,
        tell: Callable[[str], None],
    ) -> None:
        self._lists = lists
        self._tree_reviews = tree_reviews
        self._owner = owner
        self._closed = ClosedFiles(lists, owner, variants, tell)
        self._variants = variants
        self._reviews = reviews
        self._accepting = accepting
        self._actions = actions
        self._history = history
        self._tell = tell
        # The right views of those that are open, by the ids of their files.
        self._views: dict[str, sublime.View] = {}
        self._kept: dict[str, frozenset[str]] = {}
        self._under_way = UnderWay()

    @property
    def is_complete(self) -> bool:
        return self._lists.is_complete

    def entries(self, window: sublime.Window) -> Iterator[SheetEntry]:
        """The files that differ: the variants of one below each other, that of the oldest tree
        first, and those that are alike once."""
        self._lists.look_at_new()
        found = self._lists.of_window(window)
        self._views = self._open_views() if found else {}
        for each in found:
            if each.problem:
                yield _problem_entry(each)
        for file in self._files(window, found):
            entry = self._sheet_entry(window, file)
            if entry is not None:
                yield entry

    def _files(self, window: sublime.Window, found: Sequence[TreeList]) -> Iterator[TreeFile]:
        unsaved = _unsaved_views() if any(each.changes for each in found) else {}
        # A few at a time: each asks the window.
        for each, change in _changes_in_order(self._lists, found):
            yield self._file_of(window, each, change, unsaved)

    def _file_of(
        self,
        window: sublime.Window,
        found: TreeList,
        change: TreeChange,
        unsaved: Mapping[str, sublime.View],
    ) -> TreeFile:
        path = path_in(found.tree.root, change.old_path)
        path = self._lists.trees.path_in_window(window, path)
        return TreeFile(found, change, path, unsaved.get(path))

    def _find_file(self, window: sublime.Window, id: str) -> TreeFile | None:
        found, change = self._find_change(id)
        if found is None or change is None:
            return None
        return self._file_of(window, found, change, _unsaved_views())

    def _find_change(self, id: str) -> tuple[TreeList | None, TreeChange | None]:
        tree, _, path = id[len(PREFIX) + 1 :].partition(" ")
        found = self._lists.with_id(tree)
        return found, found.by_path.get(path) if found is not None else None

    def _open_views(self) -> dict[str, sublime.View]:
        views = self._tree_reviews.all_views()
        return {file_id(record.tree, record.tree_path): view for view, record in views}

    def _sheet_entry(self, window: sublime.Window, file: TreeFile) -> SheetEntry | None:
        view = self._views.get(file.id)
        if view is None:
            key = file.found.tree.id, file.change.path
            is_under_way = key in self._owner.under_way
            return None if is_under_way else self._closed_entry(file, window)
        record, review = waiting_record(view), self._reviews.review_of(view)
        if record is None or review is None:
            return None
        sides = self._tree_reviews.opened.get(record.id)
        variant = _variant_of(self._lists, file, window)
        return _open_entry(entry_of(file.id, view, record, review), file, variant, sides)

    def _closed_entry(self, file: TreeFile, window: sublime.Window) -> SheetEntry | None:
        reader, text, count = self._lists.reader_of(file.found.tree.id), None, 0
        if reader is None:
            return None
        if file.unsaved is not None:
            text, count = texts.text_of(file.unsaved), file.unsaved.change_count()
        decided = file.found.taken.decided.get(file.change.path)
        variant = _variant_of(self._lists, file, window)
        made_of = file.change, decided, count, variant, self._owner.writings[file.path]
        shown = FileChanges(
            file.id,
            _title_of(file, variant),
            None,
            state=_state_words(file, variant),
            can_type=False,
            variant=variant,
            made_of=made_of,
            seen=_agents_sides(file.change),
        )
        work = partial(_file_changes, shown, reader, file.found, file.change, text)
        return SheetEntry(file.id, made_of, work)

    def review_view(self, id: str) -> sublime.View | None:
        """The right view of its review, if that is open."""
        view = self._views.get(id)
        if view is not None and waiting_record(view) is not None:
            return view
        # It may have got tabs since.
        if view is not None:
            self._views = self._open_views()
        return self._views.get(id)

    async def open_review(self, window: sublime.Window, id: str) -> sublime.View | None:
        """Opens its review without tabs; None if it is not known any more, or no text."""
        self._views = self._open_views()
        view, file = self._views.get(id), self._find_file(window, id)
        if view is not None or file is None:
            return view
        sides = await self._read(file)
        if sides is None:
            return None
        if not sides.is_shown:
            self._tell(NO_TEXT)
            return None
        return self._open(window, file, sides)

    def _open(self, window: sublime.Window, file: TreeFile, sides: Sides) -> sublime.View:
        there = self._open_views().get(file.id)
        view = there or self._tree_reviews.open_review(window, sides, file.path)
        self._views[file.id] = view
        return view

    async def _read(self, file: TreeFile) -> Sides | None:
        """Tells the user if it cannot be read, or is not what they have seen."""
        reader = self._lists.reader_of(file.found.tree.id)
        if reader is None:
            return None
        text = texts.text_of(file.unsaved) if file.unsaved is not None else None
        work = partial(_read_listed, reader, file.found.taken, file.change, text)
        sides = await run_in_thread(work)
        if isinstance(sides, str):
            self._lists.look_again()
            self._tell(NOT_TAKEN.format(os.path.basename(file.path), sides))
            return None
        return sides

    def kept_changes(self, id: str) -> frozenset[str]:
        """The keys of the changes that the user has kept, in the review or while that was not
        open."""
        view, own = self.review_view(id), self._kept.get(id, frozenset())
        return own | seen_changes(view) if view is not None else own

    def set_kept(self, id: str, keys: frozenset[str]) -> bool:
        view = self.review_view(id)
        self._kept[id] = keys
        if view is not None:
            self._reviews.set_seen(view, keys)
        return True

    # Decisions.

    def is_as_seen(self, file: FileChanges) -> bool:
        """The agent may have written since, and that is listed, and not drawn yet."""
        _found, change = self._find_change(file.id)
        return change is None or _agents_sides(change) == file.seen

    async def accept_changes(
        self, window: sublime.Window, id: str, asks: bool = True
    ) -> UndoStep | None:
        """Write what is kept into the user's own file."""
        if id in self._under_way:
            return None
        with self._under_way.hold(id):
            return await self._accept(window, id, asks)

    async def _accept(self, window: sublime.Window, id: str, asks: bool) -> UndoStep | None:
        self._views = self._open_views()
        view, is_own = self._views.get(id), False
        if view is None:
            file = self._find_file(window, id)
            sides = await self._read(file) if file is not None else None
            if file is None or sides is None:
                return None
            if not sides.is_shown:
                return await self._closed.accept_whole(window, file, sides, asks)
            if sides.merged.conflicts and not asks:
                return None
            view, is_own = self._open(window, file, sides), not sides.merged.conflicts
        record = waiting_record(view)
        edit = await self._accepting.accept_proposal(window, view, asks)
        if edit is None or record is None:
            if is_own and waiting_record(view) is not None:
                self._tree_reviews.close_review(view)
            return None
        ids = self._owner.edit_ids(record.id) or (edit.id,)
        if not await self._owner.wait_until_done(record.id):
            return None
        self._kept.pop(id, None)
        return undo_of_accepted(self._history, *ids)

    async def reject_changes(self, window: sublime.Window, id: str) -> UndoStep | None:
        """Leave it in the tree, where it is not shown again."""
        if id in self._under_way:
            return None
        with self._under_way.hold(id):
            return await self._reject(window, id)

    async def _reject(self, window: sublime.Window, id: str) -> UndoStep | None:
        self._views = self._open_views()
        view, file = self._views.get(id), self._find_file(window, id)
        record = waiting_record(view) if view is not None else None
        if view is None or record is None:
            left = await self._closed.leave_file(file) if file is not None else None
            if left is not None:
                self._kept.pop(id, None)
            return left
        async with self._reviews.presses.take_place(record.id):
            made = self._variants.made_of(view)
            if not self._actions.reject_proposal(view):
                return None
        if not await self._owner.wait_until_done(record.id):
            return None
        self._kept.pop(id, None)
        return self._closed.undo_of_left(record.tree, record.tree_path, file, made)


def _changes_in_order(
    lists: TreeLists, found: Sequence[TreeList]
) -> list[tuple[TreeList, TreeChange]]:
    """Those that are not shown as the like ones of other trees."""
    pairs = [
        (each, change)
        for each in found
        for change in each.changes
        if not lists.is_shown_elsewhere(each.tree.id, change.path)
    ]
    # Those of one path stay in the order of their trees.
    pairs.sort(key=lambda pair: (pair[0].tree.root, pair[1].old_path.split("/")))
    return pairs


def _variant_of(lists: TreeLists, file: TreeFile, window: sublime.Window) -> Variant:
    """In which trees the file was changed so, and by whom."""
    tree, makers = file.found.tree, []
    for each in (tree, *lists.trees_alike(tree.id, file.change.path)):
        agent = lists.trees.agent_of(each.id)
        words = f"{label_of(each)} ({agent})" if agent else label_of(each)
        makers.append((each.id, shown_line(words)))
    return Variant(file_title(file.path, window), tuple(makers))


def _open_entry(
    entry: SheetEntry, file: TreeFile, variant: Variant, sides: Sides | None
) -> SheetEntry:
    """That of a file whose review is open, which was opened with these sides if they are known."""
    made_of = entry.made_of, variant
    shown = replace(
        entry.make(),
        title=_title_of(file, variant),
        state=_state_words(file, variant),
        variant=variant,
        made_of=made_of,
        seen=_agents_sides(sides.change) if sides is not None else None,
    )
    return replace(entry, make=lambda: shown, made_of=made_of)


def files_of_tree(lists: TreeLists, id: str) -> frozenset[str]:
    """The ids of the files in which the sheet shows what was changed in the tree, and why that
    cannot be shown; empty if nothing was changed."""
    found = lists.with_id(id)
    if found is None:
        return frozenset()
    own = [(id, change.path) for change in found.changes]
    # What is like a change of an earlier tree may stand there alone.
    places = (place for each in own for place in (each, lists.equal.get(each, each)))
    problem = [_problem_id(found)] if found.problem else []
    return frozenset([*problem, *(file_id(*place) for place in places)])


def _agents_sides(change: TreeChange) -> tuple[Left, Found]:
    """What the change is without the user's own file, which their decisions on others make
    another one."""
    return change.left, change.right


def _unsaved_views() -> dict[str, sublime.View]:
    """The tabs with something unsaved, by their files."""
    views = (view for window in application.all_windows() for view in window.views())
    named = ((view.file_name(), view) for view in views if view.is_dirty())
    return {name: view for name, view in named if name is not None}


def _title_of(file: TreeFile, variant: Variant) -> str:
    change, title = file.change, variant.of
    if not change.is_renamed:
        return title
    top = title[: len(title) - len(change.old_path)]
    return shown_line(f"{top}{change.path} (was {change.old_path})")


def _problem_id(found: TreeList) -> str:
    return f"{PREFIX} {found.tree.id}"


def _state_words(file: TreeFile, variant: Variant) -> str:
    """Where it was changed, and by whom."""
    where = " and in ".join([words for _id, words in variant.makers])
    return maker_words(f"changed in {where}", file.change.left.mode == ABSENT)


def _problem_entry(found: TreeList) -> SheetEntry:
    id = _problem_id(found)
    title, made_of = shown_line(found.tree.name), (id, found.problem)
    said = FileChanges(id, title, None, found.problem, "work tree", can_type=False, made_of=made_of)
    return SheetEntry(id, made_of, lambda: said)


def _file_changes(
    shown: FileChanges,
    reader: TreeReader,
    found: TreeList,
    change: TreeChange,
    unsaved: str | None,
) -> FileChanges:
    """What is shown, with the changes. Runs in a thread."""
    sides = _read_or_say(reader, found.taken, change, unsaved)
    if isinstance(sides, str):
        return replace(shown, note=shown_line(sides))
    merged = sides.merged
    if merged.text is None:
        return replace(shown, note=shown_line(merged.note))
    if not sides.is_shown:
        return replace(shown, note=TOO_LARGE)
    comparison = compare_rows(merged.own.text, merged.text)
    notes = [merged.note]
    if merged.conflicts:
        notes.append(CONFLICT if merged.conflicts == 1 else CONFLICTS.format(merged.conflicts))
    elif merged.is_nothing:
        notes.append(NAME_ALONE if change.is_renamed else HAS_ALL)
    note = shown_line(" ".join(filter(None, notes)))
    return replace(shown, comparison=comparison, note=note, can_type=True)


def _read_listed(
    reader: TreeReader, taken: Taken, change: TreeChange, unsaved: str | None
) -> Sides | str:
    """The sides as they were listed, or a sentence. Runs in a thread."""
    found = _read_or_say(reader, taken, change, unsaved)
    # What is written after this look was not read.
    return found if isinstance(found, str) or is_as_listed(reader.tree, change) else NOT_SEEN


def _read_or_say(
    reader: TreeReader, taken: Taken, change: TreeChange, unsaved: str | None
) -> Sides | str:
    """The sides, or a sentence. Runs in a thread."""
    try:
        return read_sides(reader, taken, change, unsaved)
    except (SidesFailure, GitFailure) as error:
        return str(error)
