"""A buffer: text, its file, its undo history; it knows its views only as a list to tell."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import files
from .text import Text

Regions = List[Tuple[int, int]]
_JOINED = "insert"  # consecutive typing is undone as one


class Change(NamedTuple):
    """One replacement: `removed` stood at `begin` (code points), `inserted` stands there now."""

    begin: int
    removed: str
    inserted: str


class Step:
    """What one undo takes back: the changes of one command and the selections around it."""

    def __init__(self, command: str, args: Any, selections: Dict[int, Regions]) -> None:
        self.command = command
        self.args = args
        self.changes: List[Change] = []
        self.before = selections
        self.after: Dict[int, Regions] = {}
        self.repeat = 1


class Buffer:
    """Shared by all views of one text. `reference` is what the gutter marks compare with."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.text = Text()
        self.views: List[Any] = []
        self.file_name: Optional[str] = None
        self.name = ""
        self.encoding = "UTF-8"
        self.line_endings = "Unix"
        self.scratch = False
        self.read_only = False
        self.loading = False
        self.change_count = 0
        self.reference: Optional[str] = None
        self.disk_text: Optional[str] = None
        self.stamp: Optional[files.Stamp] = None
        self.history: List[Tuple[int, Change]] = []
        self.edits: List[Any] = []
        # Changes of which on_text_changed has not told yet.
        self.untold: List[Any] = []
        self.clear_undo()

    def clear_undo(self) -> None:
        dirty = self.is_dirty() if hasattr(self, "undo_steps") else False
        self.undo_steps: List[Step] = []
        self.redo_steps: List[Step] = []
        self.open_step: Optional[Step] = None
        self._clean: Optional[Step] = None
        self._touched = dirty

    def is_dirty(self) -> bool:
        """Undoing back to what was saved makes a buffer clean again."""
        if self.scratch:
            return False
        return self._touched or self._top() is not self._clean

    def _top(self) -> Optional[Step]:
        return self.undo_steps[-1] if self.undo_steps else None

    def mark_clean(self) -> None:
        self._touched = False
        self._clean = self._top()

    def mark_dirty(self) -> None:
        self._touched = True

    def content(self) -> files.Content:
        return files.Content(self.text.characters, self.encoding, self.line_endings)

    def fill(self, content: files.Content) -> None:
        """Hold what a file holds, clean and with nothing to undo."""
        self.text = Text(content.text)
        self.encoding, self.line_endings = content.encoding, content.line_endings
        self.disk_text = content.text
        self.undo_steps.clear()
        self.redo_steps.clear()
        self.mark_clean()

    def drop(self) -> None:
        """No view is left; what still asks for its name or file has no use for the text."""
        self.text = Text()
        self.reference = self.disk_text = None
        self.history.clear()
        self.clear_undo()

    def shown_reference(self) -> Optional[str]:
        """The reference document, by default the file as it was last read or written."""
        return self.reference if self.reference is not None else self.disk_text

    # Changing

    def change(self, begin: int, end: int, inserted: str) -> Optional[Change]:
        """Replace begin..end (clamped); None where that changes nothing. Views are shifted."""
        begin, end = self.text.clamp(min(begin, end)), self.text.clamp(max(begin, end))
        if begin == end and not inserted:
            return None
        change = Change(begin, self.text.replace(begin, end, inserted), inserted)
        self._applied(change)
        if self.open_step is not None:
            self.open_step.changes.append(change)
        return change

    def _applied(self, change: Change) -> None:
        self.change_count += 1
        self.history.append((self.change_count, change))
        del self.history[:-1000]
        for view in self.views:
            view.shift(change)

    def begin_step(self, command: str, args: Any) -> bool:
        """Open an undo step; False where one is open already (a nested command joins it)."""
        if self.open_step is not None:
            return False
        self.open_step = Step(command, args, self._selections())
        return True

    def end_step(self) -> None:
        step, self.open_step = self.open_step, None
        if step is None or not step.changes:
            return
        step.after = self._selections()
        self.redo_steps.clear()
        last = self._top()
        if last is not None and last is not self._clean and _joins(last, step):
            last.changes.extend(step.changes)
            last.after = step.after
            last.args = {"characters": last.args["characters"] + step.args["characters"]}
        else:
            self.undo_steps.append(step)

    def _selections(self) -> Dict[int, Regions]:
        return {view.id: list(view.selection) for view in self.views}

    def undo(self) -> bool:
        """Take back the last step; False where there is none."""
        if not self.undo_steps:
            return False
        step = self.undo_steps.pop()
        for change in reversed(step.changes):
            self._revert(change)
        self.redo_steps.append(step)
        self._restore(step.before)
        return True

    def redo(self) -> bool:
        if not self.redo_steps:
            return False
        step = self.redo_steps.pop()
        for change in step.changes:
            self._revert(Change(change.begin, change.inserted, change.removed))
        self.undo_steps.append(step)
        self._restore(step.after)
        return True

    def _revert(self, change: Change) -> None:
        end = change.begin + len(change.inserted)
        self.text.replace(change.begin, end, change.removed)
        self._applied(Change(change.begin, change.inserted, change.removed))

    def _restore(self, selections: Dict[int, Regions]) -> None:
        for view in self.views:
            if view.id in selections:
                view.selection = list(selections[view.id])


def _joins(last: Step, step: Step) -> bool:
    if last.command != _JOINED or step.command != _JOINED or not step.args or not last.args:
        return False
    typed = step.args.get("characters", "")
    return len(typed) == 1 and not typed.isspace() and len(step.changes) == 1


def moved(point: int, change: Change, sticky: bool = False) -> int:
    """Where a point stands after a change; sticky points stay before text inserted at them."""
    end = change.begin + len(change.removed)
    if point < change.begin or (sticky and point == change.begin):
        return point
    if point > end or (point == end and change.removed):
        return point + len(change.inserted) - len(change.removed)
    return change.begin + len(change.inserted)
