"""A window: groups of sheets in a layout, panels and folders; every change on the UI thread."""

from __future__ import annotations

import html
import os
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from .settings import Settings
from .values import copy_value
from .views import View

_TAG = re.compile("<[^<>]*>")

ONE_GROUP = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}

# The bits of NewFileFlags that open_file looks at.
ENCODED_POSITION, TRANSIENT, FORCE_GROUP, SEMI_TRANSIENT = 1, 4, 8, 16
ADD_TO_SELECTION, REPLACE_MRU, CLEAR_TO_RIGHT, FORCE_CLONE = 32, 64, 128, 256

TAB, PREVIEW, SEMI = "tab", "preview", "semi"
TEXT, IMAGE, HTML = 0, 1, 2


class Sheet:
    """A tab. `state` is TAB, PREVIEW (in no list of sheets) or SEMI (replaced by the next)."""

    def __init__(self, id: int, group: "Group", view: Optional[View], kind: int = TEXT) -> None:
        self.id = id
        self.group: Optional[Group] = group
        self.view = view
        self.kind = kind
        self.state = TAB
        self.name = ""
        self.contents = ""

    @property
    def window(self) -> Optional["Window"]:
        return self.group.window if self.group is not None else None

    def title(self) -> str:
        return self.view.title() if self.view is not None else self.name


class Group:
    """Sheets from left to right; `selected` are shown side by side, `active` has the caret."""

    def __init__(self, window: "Window") -> None:
        self.window = window
        self.sheets: List[Sheet] = []
        self.preview: Optional[Sheet] = None
        self.selected: List[Sheet] = []
        self.active: Optional[Sheet] = None

    def index(self, sheet: Sheet) -> int:
        """-1 for a preview, which stands in no list."""
        return self.sheets.index(sheet) if sheet in self.sheets else -1

    def insert(self, sheet: Sheet, index: int = -1) -> None:
        """At -1 the sheet opens after the active one."""
        if index < 0:
            after = self.index(self.active) if self.active is not None else -1
            index = after + 1 if after >= 0 else len(self.sheets)
        sheet.group = self
        self.sheets.insert(min(index, len(self.sheets)), sheet)

    def remove(self, sheet: Sheet) -> None:
        """Take a sheet out; where it was active its neighbour becomes so."""
        at = self.index(sheet)
        if at >= 0:
            del self.sheets[at]
        if self.preview is sheet:
            self.preview = None
        if sheet in self.selected:
            self.selected.remove(sheet)
        if self.active is sheet:
            left = self.selected or self.sheets[max(0, at - 1) :][:1] or self.sheets[-1:]
            self.active = left[-1] if left else None
            self.selected = self.selected or list(left)
        sheet.group = None


class Panel:
    """An output or io panel; `unlisted` ones are not offered in the panel switcher."""

    def __init__(self, name: str, view: View, unlisted: bool) -> None:
        self.name = name
        self.view = view
        self.unlisted = unlisted
        self.input: Optional[View] = None
        self.on_input: Optional[Callable[[str], None]] = None


class Question:
    """A quick panel (`items`) or input panel (`view`) that waits for the user.

    `highlighted` is the item under the bar, from 0; -1 where there is none.
    """

    def __init__(self, items: Optional[List[Any]], view: View, callbacks: Dict[str, Any]) -> None:
        self.items = items
        self.view = view
        self.callbacks = callbacks
        self.caption = ""
        self.selected_index = -1
        self.highlighted = 0 if items else -1

    def count(self) -> int:
        return len(self.items or [])

    def rows(self, index: int) -> List[str]:
        """The lines of text that an item shows."""
        item = (self.items or [])[index]
        if isinstance(item, str):
            return [item]
        if isinstance(item, (list, tuple)):
            return [str(row) for row in item] or [""]
        details = [item.details] if isinstance(item.details, str) else list(item.details)
        first = "%s  %s" % (item.trigger, item.annotation) if item.annotation else item.trigger
        return [first] + [_plain(row) for row in details if row]

    def highlight(self, index: int) -> None:
        """Move the bar, as the arrow keys do; raises IndexError."""
        if not 0 <= index < self.count():
            raise IndexError("expected an item from 0 to %d, got %d" % (self.count() - 1, index))
        self.highlighted = index
        _call(self.callbacks.get("on_highlight"), index)

    def changed(self) -> None:
        """The user typed: an input panel tells its text."""
        if self.items is None:
            _call(self.callbacks.get("on_change"), self.view.text.characters)


class Window:
    """The state behind sublime.Window."""

    def __init__(self, id: int, editor: Any, settings: Settings, folders: List[str]) -> None:
        self.id = id
        self.editor = editor
        self.settings = settings
        self.template_settings = Settings(editor.notify)
        self.folders = [os.path.abspath(folder) for folder in folders]
        self.project_file: Optional[str] = None
        self.project_data: Optional[Dict[str, Any]] = None
        self.layout: Dict[str, Any] = dict(ONE_GROUP)
        self.groups = [Group(self)]
        self.active_group = 0
        self.panels: Dict[str, Panel] = {}
        self.active_panel: Optional[str] = None
        self.panel_has_focus = False
        self.question: Optional[Question] = None
        self.status_message = ""
        self.shows = {
            "sidebar": True,
            "minimap": True,
            "status_bar": True,
            "tabs": True,
            "menu": True,
        }
        self.file_history: List[str] = []
        self.closed = False

    # Looking

    @property
    def group(self) -> Group:
        return self.groups[self.active_group]

    def active_sheet(self) -> Optional[Sheet]:
        return self.group.active

    def active_view(self) -> Optional[View]:
        sheet = self.active_sheet()
        return sheet.view if sheet is not None else None

    def sheets(self) -> List[Sheet]:
        return [sheet for group in list(self.groups) for sheet in list(group.sheets)]

    def views(self, previews: bool = False) -> List[View]:
        sheets = self.sheets()
        if previews:
            sheets += [group.preview for group in self.groups if group.preview is not None]
        return [sheet.view for sheet in sheets if sheet.view is not None]

    def find(self, path: str, group: int = -1) -> Optional[View]:
        """The first tab of a file, in all groups or in one."""
        found = [
            (self.index_of(view.sheet), view.id, view)
            for view in self._showing(path)
            if view.sheet.state != PREVIEW
        ]
        here = [each for each in found if group < 0 or each[0][0] == group]
        return min(here)[2] if here else None

    def find_preview(self, path: str) -> Optional[View]:
        previews = [view for view in self._showing(path) if view.sheet.state == PREVIEW]
        return previews[0] if previews else None

    def _showing(self, path: str) -> List[View]:
        return [
            view
            for buffer in self.editor.named(os.path.abspath(path))
            for view in list(buffer.views)
            if view.sheet is not None and view.window is self
        ]

    def index_of(self, sheet: Optional[Sheet]) -> Tuple[int, int]:
        """Group and index, both from 0; (-1, -1) for what is not here."""
        if sheet is None or sheet.group not in self.groups:
            return -1, -1
        group = self.groups.index(sheet.group)
        index = self.groups[group].index(sheet)
        return (group, index) if index >= 0 else (-1, -1)

    def focused_view(self) -> Optional[View]:
        """What takes the keyboard: an open question, a focused panel, else the active sheet."""
        if self.question is not None:
            return self.question.view
        if self.panel_has_focus and self.active_panel is not None:
            panel = self.panels.get(self.active_panel.split(".", 1)[-1])
            if panel is not None:
                return panel.input or panel.view
        return self.active_view()

    def panel_named(self, name: str) -> Optional[Panel]:
        """A panel by the name that show_panel takes ("output.exec")."""
        return self.panels.get(name.split(".", 1)[1]) if name.startswith("output.") else None

    # Showing

    def group_at(self, index: int) -> Group:
        return self.groups[index] if 0 <= index < len(self.groups) else self.group

    def show(self, sheet: Sheet, add: bool = False, focus: bool = True) -> None:
        """Make a sheet the active one of its group and, with focus, give it the caret."""
        group = sheet.group
        if group is None:
            return
        keep = add or (sheet in group.selected and len(group.selected) > 1)
        if not keep:
            group.selected = [sheet]
        elif sheet not in group.selected:
            group.selected.append(sheet)
        group.active = sheet
        if group.preview is not None and group.preview is not sheet:
            self.editor.drop_preview(group.preview)
        if focus:
            self.active_group = self.groups.index(group)
            self.panel_has_focus = False
        self.editor.refocus()

    def focus_group(self, index: int) -> None:
        if 0 <= index < len(self.groups):
            self.active_group = index
            self.panel_has_focus = False
            self.editor.refocus()

    def select_sheets(self, sheets: List[Sheet]) -> None:
        for group in self.groups:
            chosen = [sheet for sheet in sheets if sheet.group is group]
            if chosen:
                group.selected = chosen
                group.active = chosen[-1]
        if sheets and sheets[-1].group in self.groups:
            self.active_group = self.groups.index(sheets[-1].group)
        self.editor.refocus()

    def promote(self, sheet: Sheet) -> None:
        group = sheet.group
        if sheet.state == PREVIEW and group is not None:
            group.preview = None
            group.sheets.append(sheet)
        sheet.state = TAB

    # Moving

    def move(self, sheet: Sheet, group: int, index: int = -1, select: bool = True) -> None:
        """Put a sheet of this or another window at a place here."""
        if not 0 <= group < len(self.groups) or sheet.group is None:
            return
        if self.index_of(sheet) == (group, index):
            return
        events = self.editor.events
        if sheet.view is not None:
            events.view("on_pre_move", sheet.view)
        target = self.groups[group]
        sheet.group.remove(sheet)
        target.insert(sheet, index if index >= 0 else len(target.sheets))
        sheet.state = TAB
        if select or target.active is None:
            target.active, target.selected = sheet, [sheet]
        if sheet.view is not None:
            events.view("on_post_move", sheet.view)
        self.editor.refocus()

    def set_layout(self, layout: Dict[str, Any]) -> None:
        """Sheets of groups that vanish move to the last one left; raises ValueError."""
        fresh = _checked_layout(layout)
        self.layout = fresh
        while len(self.groups) < len(fresh["cells"]):
            self.groups.append(Group(self))
        last = self.groups[len(fresh["cells"]) - 1]
        for group in self.groups[len(fresh["cells"]) :]:
            if group.preview is not None:
                self.editor.drop_preview(group.preview)
            self._take_over(last, group)
        del self.groups[len(fresh["cells"]) :]
        self.active_group = min(self.active_group, len(self.groups) - 1)
        self.editor.refocus()

    def _take_over(self, target: Group, group: Group) -> None:
        was_active = self.group is group
        active = group.active
        for sheet in list(group.sheets):
            sheet.group = target
            target.sheets.append(sheet)
        if active is not None and (was_active or target.active is None):
            target.active, target.selected = active, [active]
        group.sheets = []

    # Panels

    def show_panel(self, name: str, toggle: bool = False) -> None:
        if toggle and self.active_panel == name:
            self.hide_panel()
            return
        if name.startswith("output.") and self.panel_named(name) is None:
            return
        self.active_panel = name
        self.panel_has_focus = not name.startswith("output.") or self._takes_input(name)
        self.editor.refocus()

    def _takes_input(self, name: str) -> bool:
        panel = self.panel_named(name)
        return panel is not None and panel.input is not None

    def hide_panel(self) -> None:
        self.active_panel = None
        self.panel_has_focus = False
        self.editor.refocus()

    def ask(self, items: Optional[List[Any]], element: str, callbacks: Dict[str, Any]) -> Question:
        """Open a quick panel, or an input panel where there are no items; one that is open is
        cancelled."""
        if self.question is not None:
            self.answer()
        self.question = Question(items, self.editor.make_widget(self, element), callbacks)
        return self.question

    def add_folder(self, path: str) -> None:
        if self.project_data is not None:
            known = self.project_data.get("folders") or []
            self.project_data = {**self.project_data, "folders": [*known, {"path": path}]}
        self.folders = [*self.folders, path]

    def answer(self, index: int = -1, text: Optional[str] = None) -> None:
        """Answer the open question: an index, or text for an input panel; neither cancels."""
        question, self.question = self.question, None
        if question is None:
            raise ValueError("expected an open quick panel or input panel, there is none")
        self.editor.forget_view(question.view)
        self.editor.refocus()
        callbacks = question.callbacks
        if question.items is not None:
            callbacks["on_select"](index)
        elif text is not None:
            _call(callbacks.get("on_done"), text)
        else:
            _call(callbacks.get("on_cancel"))


def _plain(details: str) -> str:
    """What minihtml says in one line."""
    return html.unescape(_TAG.sub("", details))


def _call(callback: Optional[Callable[..., object]], *args: Any) -> None:
    if callback is not None:
        callback(*args)


def _checked_layout(layout: Dict[str, Any]) -> Dict[str, Any]:
    fresh: Any = copy_value(dict(layout))
    for key in ("cols", "rows", "cells"):
        if not isinstance(fresh.get(key), list) or not fresh[key]:
            raise ValueError("expected a list %r in the layout, got %r" % (key, fresh.get(key)))
    for cell in fresh["cells"]:
        if (
            len(cell) != 4
            or max(cell[0], cell[2]) >= len(fresh["cols"])
            or max(cell[1], cell[3]) >= len(fresh["rows"])
        ):
            raise ValueError("expected [column, row, column, row] within the layout, got %r" % cell)
    for key in ("cols", "rows"):
        fresh[key] = [float(position) for position in fresh[key]]
    return {key: fresh[key] for key in ("cols", "rows", "cells")}
