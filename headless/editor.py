"""The editor: the one registry of windows, views, buffers and settings; draws nothing.

Front ends work on this object from any thread through `editor.ui(function, ...)`, which runs the
function on the UI thread and hands back its result. What they look at: `editor.windows` and their
groups, sheets, panels and questions, `editor.focused`, `editor.messages`; what they do:
`editor.commands.run(window, name, args)` (a key or menu), `editor.commands.choose(...)` (the
palette), `window.answer(...)`, `clicks.click(...)`, `editor.type_text(...)`,
`editor.close_window(...)`.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import Any, Callable, Dict, List, Optional, TypeVar

from . import files, switches, syntaxes, windows
from .buffers import Buffer
from .commands import TEXT, WINDOW, Commands
from .events import Events
from .packages import Packages
from .plugins import Plugins
from .queues import Queues
from .schemes import Schemes
from .settings import Settings
from .views import View
from .windows import Group, Sheet, Window

T = TypeVar("T")
_REMEMBERED = 256  # closed views that still answer for name, file and settings
CANCEL, YES, NO = 0, 1, 2


class Editor:
    """Sublime Text, as far as a plugin can tell. `api` is the module plugins import."""

    def __init__(
        self, api: Any, data: str, build: int = 4200, slow: Optional[float] = None
    ) -> None:
        self.api = api
        self.data = data
        self.build = build
        self.switches = switches.for_build(build)
        self.queues = Queues(slow)
        self.events = Events(self)
        self.packages = Packages(self, data)
        self.schemes = Schemes(self)
        self.syntaxes = syntaxes.Syntaxes(self)
        self.commands = Commands(self)
        self.plugins = Plugins(self)
        self.windows: List[Window] = []
        self.active_window: Optional[Window] = None
        self.views: Dict[int, View] = {}
        self.sheets: Dict[int, Sheet] = {}
        self.buffers: Dict[int, Buffer] = {}
        self.closed_views: "OrderedDict[int, View]" = OrderedDict()
        self.focused: Optional[View] = None
        self.clipboard = ""
        self.messages: List[str] = []
        # What was said there last, and how often anything was.
        self.status_message, self.status_count = "", 0
        # What a package did that a real editor does not survive, or not well.
        self.misuses: List[str] = []
        self.answers: List[Any] = []
        self.alive = True
        self._ids = itertools.count(1)
        self._named_settings: Dict[str, Settings] = {}
        self._settings_seen: Dict[str, Any] = {}
        self._named_buffers: Dict[str, List[Buffer]] = {}
        self.nothing = self._null_view()
        self._watching = threading.Event()
        self.leave: Callable[[], None] = self.quit

    def new_id(self) -> int:
        return next(self._ids)

    # Threads

    def ui(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a function on the UI thread, at once where this is it, and wait for the result."""
        return self.queues.ui.call(function, *args, **kwargs)

    def notify(self, callback: Callable[[], None]) -> None:
        """Tell a settings callback: inline on the UI thread, else as its next work."""
        if self.queues.ui.is_here():
            self.queues.ui.run_one(callback)
        else:
            self.queues.ui.post(callback)

    # Finding

    def window(self, id: int) -> Optional[Window]:
        for window in list(self.windows):
            if window.id == id:
                return window
        return None

    def view(self, id: int) -> View:
        """The view with an id; a closed or unknown one answers for an empty, nameless view."""
        return self.views.get(id) or self.closed_views.get(id) or self.nothing

    def all_views(self) -> List[View]:
        """Views of tabs and previews, in the order of windows, groups and tabs."""
        return [view for window in list(self.windows) for view in window.views(previews=True)]

    def _null_view(self) -> View:
        view = View(0, Buffer(0), Settings(self.notify), self.switches)
        view.closed = True
        return view

    # Settings

    def preferences(self) -> Settings:
        return self.settings_file("Preferences.sublime-settings")

    def settings_file(self, name: str) -> Settings:
        """The one object for a settings file: every package's values, User's over them."""
        name = name.replace("\\", "/").rsplit("/", 1)[-1]
        if name not in self._named_settings:
            settings = Settings(self.notify)
            self._named_settings[name] = settings
            self._settings_seen[name] = self.packages.settings_stamps(name)
            settings.own = self.packages.merged_settings(name)
        return self._named_settings[name]

    def save_settings(self, name: str) -> None:
        name = name.replace("\\", "/").rsplit("/", 1)[-1]
        self.packages.save_settings(name, self.settings_file(name).own)
        self._settings_seen[name] = self.packages.settings_stamps(name)

    def reload_settings(self) -> None:
        """Read every settings file in use again, after packages came, went or were edited."""
        for name in list(self._named_settings):
            self._reload_settings(name)

    def _reload_settings(self, name: str) -> None:
        self._settings_seen[name] = self.packages.settings_stamps(name)
        self._named_settings[name].replace(self.packages.merged_settings(name))

    def _edited_settings(self) -> List[str]:
        """The settings in use whose files are no longer what was read."""
        return [
            name
            for name, seen in list(self._settings_seen.items())
            if self.packages.settings_stamps(name) != seen
        ]

    def check_packages(self) -> None:
        """Load packages that came, unload those that went, read settings files that changed."""
        self.packages.refresh()
        for name in self._edited_settings():
            self._reload_settings(name)
        self.plugins.follow()
        self.plugins.reload_edited()

    def _view_settings(self, syntax: str) -> Settings:
        return Settings(self.notify, self._syntax_settings(syntax), self.preferences())

    def _syntax_settings(self, path: str) -> Settings:
        stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        return self.settings_file(stem + ".sublime-settings")

    def assign_syntax(self, view: View, path: str) -> None:
        """A path that names no syntax is reported on the console and gives plain text."""
        found = self.syntaxes.by_path(path)
        if found is None:
            sys.stderr.write("Unable to read %s\n" % path)
        view.syntax = found or syntaxes.PLAIN
        view.settings.set_parents(
            self._syntax_settings(view.syntax.path), *self._outer_settings(view)
        )
        view.settings.set("syntax", view.syntax.path)

    def _outer_settings(self, view: View) -> List[Settings]:
        window = view.window
        project = [window.settings] if window is not None else []
        return project + [self.preferences()]

    # Making

    def new_window(self, folders: Optional[List[str]] = None) -> Window:
        """A window with an untitled view, which has no tab until somebody types into it."""
        window = self.bare_window(folders)
        self.new_file(window, windows.TRANSIENT)
        return window

    def bare_window(self, folders: Optional[List[str]] = None) -> Window:
        settings = Settings(self.notify, self.preferences())
        window = Window(next(self._ids), self, settings, folders or [])
        self.windows.append(window)
        self.active_window = window
        self.refocus()
        self.events.everyone("on_new_window", self.api.Window(window.id))
        return window

    def new_buffer(self) -> Buffer:
        buffer = Buffer(next(self._ids))
        self.buffers[buffer.id] = buffer
        return buffer

    def associate(self, buffer: Buffer, path: str) -> None:
        """Let a buffer be the one of a file; with thousands of tabs files are found by name."""
        self._unname(buffer)
        buffer.file_name = path
        self._named_buffers.setdefault(path, []).append(buffer)

    def _unname(self, buffer: Buffer) -> None:
        same = self._named_buffers.get(buffer.file_name or "", [])
        if buffer in same:
            same.remove(buffer)
            if not same:
                del self._named_buffers[str(buffer.file_name)]

    def named(self, path: str) -> List[Buffer]:
        """The buffers of a file, an absolute path; more than one after a retarget only."""
        return list(self._named_buffers.get(path, ()))

    def make_view(self, buffer: Buffer, syntax: syntaxes.SyntaxInfo = syntaxes.PLAIN) -> View:
        """A view that stands nowhere yet; listeners come once it has a place."""
        view = View(next(self._ids), buffer, self._view_settings(syntax.path), self.switches)
        view.syntax = syntax
        view.settings.own["syntax"] = syntax.path
        buffer.views.append(view)
        self.views[view.id] = view
        return view

    def make_sheet(self, group: Group, view: Optional[View], kind: int = windows.TEXT) -> Sheet:
        sheet = Sheet(next(self._ids) << 2 | kind, group, view, kind)
        self.sheets[sheet.id] = sheet
        if view is not None:
            view.sheet = sheet
            view.settings.set_parents(
                self._syntax_settings(view.syntax.path), *self._outer_settings(view)
            )
            view.settings.listener = lambda: self.events.check_view(view)
        return sheet

    def make_widget(self, window: Window, element: str) -> View:
        """A panel or input: a view without a tab, with is_widget set where it takes input."""
        view = self.make_view(self.new_buffer())
        view.panel_window = window
        view.element = element
        view.buffer.scratch = True
        if element.endswith(":input"):
            view.settings.own["is_widget"] = True
        return view

    def place(self, group: Group, view: View, flags: int = 0) -> Sheet:
        """Give a view its tab, as the flags of new_file and open_file want it."""
        sheet = self.make_sheet(group, view)
        if flags & windows.TRANSIENT:
            if group.preview is not None:
                self.drop_preview(group.preview)
            sheet.state, group.preview = windows.PREVIEW, sheet
            return sheet
        if flags & windows.SEMI_TRANSIENT:
            sheet.state = windows.SEMI
            for old in [old for old in group.sheets if old.state == windows.SEMI]:
                self.close_sheet(old)
        group.insert(sheet)
        if flags & windows.CLEAR_TO_RIGHT:
            for right in group.sheets[group.index(sheet) + 1 :]:
                self.close_sheet(right)
        return sheet

    def new_file(self, window: Window, flags: int = 0, syntax: str = "") -> View:
        found = self.syntaxes.by_path(syntax) if syntax else None
        view = self.make_view(self.new_buffer(), found or syntaxes.PLAIN)
        view.buffer.line_endings = self._default_line_ending()
        sheet = self.place(window.group, view, flags)
        self._introduce(view)
        self.events.view_only("on_new", view)
        window.show(sheet, add=bool(flags & windows.ADD_TO_SELECTION))
        return view

    def _default_line_ending(self) -> str:
        name = str(self.preferences().get("default_line_ending", "system"))
        if name == "system":
            return "Windows" if sys.platform == "win32" else "Unix"
        return files.line_ending_name(name)

    def _introduce(self, view: View) -> None:
        if len(view.buffer.views) == 1:
            self.events.everyone("on_new_buffer", self.api.Buffer(view.buffer.id))
            self.events.check_buffer(view.buffer)
        self.events.check_view(view)

    def clone(
        self, view: View, window: Window, group: Optional[Group] = None, flags: int = 0
    ) -> View:
        copy = self.make_view(view.buffer, view.syntax)
        copy.settings.own.update(view.settings.own)
        copy.selection = list(view.selection)
        copy.viewport = view.viewport
        sheet = self.place(group or window.group, copy, flags)
        self._introduce(copy)
        self.events.view_only("on_clone", copy)
        window.show(sheet, add=bool(flags & windows.ADD_TO_SELECTION))
        return copy

    # Opening

    def open_file(self, window: Window, path: str, flags: int = 0, group: int = -1) -> View:
        """A file that is open already is brought to the front; others load in the background."""
        path, row, column = _position(path, flags)
        path = os.path.abspath(os.path.expanduser(path))
        present = (
            None if flags & windows.FORCE_CLONE else self._open_already(window, path, flags, group)
        )
        target = window.group_at(group)
        if present is not None:
            if present.sheet.state != windows.TAB and not flags & windows.TRANSIENT:
                window.promote(present.sheet)
            window.show(present.sheet, add=bool(flags & windows.ADD_TO_SELECTION))
            self._go_to(present, row, column)
            return present
        other = self._buffer_of(path)
        if other is not None:
            view = self.clone(other.views[0], window, target, flags)
            self._go_to(view, row, column)
            return view
        return self._open_new(window, target, path, flags, row, column)

    def _open_already(self, window: Window, path: str, flags: int, group: int) -> Optional[View]:
        if flags & windows.FORCE_GROUP:
            return window.find(path, group if group >= 0 else window.active_group)
        return window.find(path) or window.find_preview(path)

    def _buffer_of(self, path: str) -> Optional[Buffer]:
        for buffer in self.named(path):
            if buffer.views and buffer.views[0].sheet is not None:
                return buffer
        return None

    def _open_new(
        self, window: Window, group: Group, path: str, flags: int, row: int, column: int
    ) -> View:
        view = self.make_view(self.new_buffer(), self.syntaxes.for_file(path))
        buffer = view.buffer
        self.associate(buffer, path)
        buffer.line_endings = self._default_line_ending()
        buffer.loading = os.path.isfile(path)
        sheet = self.place(group, view, flags)
        self._remember_file(window, path)
        self._introduce(view)
        self.events.everyone("on_associate_buffer", self.api.Buffer(buffer.id))
        window.show(sheet, add=bool(flags & windows.ADD_TO_SELECTION))
        if buffer.loading:
            self.queues.files.post(lambda: self._load(buffer, row, column))
        return view

    def _remember_file(self, window: Window, path: str) -> None:
        if path in window.file_history:
            window.file_history.remove(path)
        window.file_history.insert(0, path)

    def _load(self, buffer: Buffer, row: int, column: int) -> None:
        path = str(buffer.file_name)
        stamp = files.stamp(path)
        try:
            content: Optional[files.Content] = files.read(path)
            problem = ""
        except OSError as error:
            content, problem = None, "Unable to open %s: %s" % (path, error.strerror)
        self.queues.ui.post(lambda: self._loaded(buffer, content, stamp, problem, row, column))

    def _loaded(
        self,
        buffer: Buffer,
        content: Optional[files.Content],
        stamp: Optional[files.Stamp],
        problem: str,
        row: int,
        column: int,
    ) -> None:
        buffer.loading = False
        if content is None:
            self.message(problem)
        else:
            buffer.fill(content)
            buffer.stamp = stamp
        for view in list(buffer.views):
            self._go_to(view, row, column)
            if content is not None:
                self.guess_syntax(view)
            self.events.view("on_load", view)
            if self.switches.activated_after_load and self.focused is view:
                self.events.view("on_activated", view)

    def guess_syntax(self, view: View) -> None:
        """Where the name says nothing the first line may ("#!/usr/bin/env python")."""
        first = view.text.slice(0, min(200, len(view.text))).split("\n", 1)[0]
        found = self.syntaxes.for_file(str(view.file_name), first)
        if found.path != view.syntax.path and "syntax" in view.settings.own:
            self.assign_syntax(view, found.path)

    def _go_to(self, view: View, row: int, column: int) -> None:
        """Row and column from 1; row 0 goes nowhere."""
        if row > 0 and not view.buffer.loading:
            point = view.text.point(row - 1, max(0, column - 1), clamp_column=True)
            view.select([(point, point)])
            view.scroll_to(point)

    # Focus

    def refocus(self) -> None:
        """Tell who lost and who got the keyboard, once windows, sheets or panels changed."""
        window = self.active_window
        wanted = window.focused_view() if window is not None else None
        old = self.focused
        if wanted is old:
            return
        self.focused = wanted
        if old is not None and not old.closed:
            self.events.view("on_deactivated", old)
        if wanted is not None and self.focused is wanted:
            wanted.redraw()
            if not (self.switches.activated_after_load and wanted.buffer.loading):
                self.events.view("on_activated", wanted)

    def focus_window(self, window: Window) -> None:
        """The window gets the operating system's focus, and looks at its files on disk."""
        if window in self.windows:
            self.active_window = window
            self.refocus()
            self.check_files()

    # Closing

    def close_view(self, view: View) -> bool:
        """False where it stays: previews, panels, and what the user does not want to lose."""
        if view.sheet is None or view.closed or view.sheet.state == windows.PREVIEW:
            return False
        return self.close_sheet(view.sheet)

    def close_sheet(self, sheet: Sheet) -> bool:
        window, view = sheet.window, sheet.view
        if window is None:
            return False
        if view is not None and (view.closing or not self._may_lose(view)):
            return False
        if view is not None:
            view.closing = True
            self.events.view("on_pre_close", view)
            if self.switches.deactivate_on_close and self.focused is view:
                self.events.view("on_deactivated", view)
        if sheet.group is not None:
            sheet.group.remove(sheet)
        self.sheets.pop(sheet.id, None)
        if self.switches.activated_before_close:
            self.refocus()
        if view is not None:
            self._finish(view)
        self._after_close(window)
        return True

    def _after_close(self, window: Window) -> None:
        self.refocus()
        if (
            not window.closed
            and not window.sheets()
            and len(self.windows) > 1
            and self.preferences().get("close_windows_when_empty", False)
        ):
            self.close_window(window)

    def _may_lose(self, view: View) -> bool:
        if len(view.buffer.views) > 1 or not view.buffer.is_dirty():
            return True
        answer = self.dialog("%s has been modified, save changes?" % view.title(), YES, NO, CANCEL)
        if answer == YES:
            return self.save(view)
        return bool(answer == NO)

    def _finish(self, view: View) -> None:
        self.forget_view(view)
        self.events.view("on_close", view)
        self.events.forget_view(view)
        self.commands.forget_target(TEXT, view.id)
        # The closing view still counts as primary until the next turn.
        self.queues.ui.post(self.events.check_views)

    def forget_view(self, view: View) -> None:
        """Take a view out of the registry; it answers for name, file and settings a while."""
        if view.closed:
            return
        view.closed = True
        self.views.pop(view.id, None)
        self.closed_views[view.id] = view
        # Each change of the window's settings would go on to all views that it ever had.
        view.settings.unsubscribe()
        while len(self.closed_views) > _REMEMBERED:
            self.closed_views.popitem(last=False)
        if view.popup is not None:
            self.hide_popup(view)
        buffer = view.buffer
        if self.switches.phantoms_of_buffer and view.is_primary() and len(buffer.views) > 1:
            view.leave_phantoms(buffer.views[1])
        if view in buffer.views:
            buffer.views.remove(view)
        if not buffer.views and self.buffers.pop(buffer.id, None) is not None:
            self._unname(buffer)
            self.events.everyone("on_close_buffer", self.api.Buffer(buffer.id))
            self.events.forget_buffer(buffer)
            buffer.drop()

    def drop_preview(self, sheet: Sheet) -> None:
        """A preview goes when another sheet of its group is shown."""
        group, view = sheet.group, sheet.view
        if group is None:
            return
        if view is not None:
            self.events.view("on_pre_close", view)
        group.remove(sheet)
        self.sheets.pop(sheet.id, None)
        if view is not None:
            self._finish(view)

    def close_window(self, window: Window) -> bool:
        """False where the user wants to keep unsaved text."""
        if window not in self.windows:
            return False
        if not self.preferences().get("hot_exit", True) or self.switches.close_events:
            if not all(self._may_lose(view) for view in window.views()):
                return False
        if self.switches.pre_close_window:
            self.events.everyone("on_pre_close_window", self.api.Window(window.id))
        if self.switches.close_events:
            for view in window.views(previews=True):
                self.events.view("on_pre_close", view)
        self._take_down(window)
        return True

    def _take_down(self, window: Window) -> None:
        views = window.views(previews=True)
        self.windows.remove(window)
        window.closed = True
        for sheet in window.sheets():
            self.sheets.pop(sheet.id, None)
        for view in views + [panel.view for panel in window.panels.values()]:
            self.forget_view(view)
            if self.switches.close_events and view.element is None:
                self.events.view("on_close", view)
            self.events.forget_view(view)
            self.commands.forget_target(TEXT, view.id)
        self.commands.forget_target(WINDOW, window.id)
        if self.active_window is window:
            self.active_window = self.windows[-1] if self.windows else None
        self.refocus()

    # Saving and reloading

    def save(self, view: View, path: Optional[str] = None) -> bool:
        """Write the buffer, keeping encoding and line endings; problems become a message."""
        buffer = view.buffer
        target = path or buffer.file_name or self._ask_path()
        if not target:
            return False
        self.events.view("on_pre_save", view)
        try:
            files.write(target, buffer.content())
        except (OSError, ValueError) as error:
            self.message("Unable to save %s: %s" % (target, error))
            return False
        renamed = buffer.file_name != target
        self.associate(buffer, target)
        self._saved(buffer)
        if renamed:
            self.events.everyone("on_associate_buffer", self.api.Buffer(buffer.id))
            self.guess_syntax(view)
        self.events.view("on_post_save", view)
        return True

    def _ask_path(self) -> Optional[str]:
        answer = self.dialog("save as", None)
        return os.path.abspath(answer) if isinstance(answer, str) else None

    def _saved(self, buffer: Buffer) -> None:
        buffer.stamp = files.stamp(str(buffer.file_name))
        buffer.disk_text = buffer.text.characters
        buffer.mark_clean()
        path = str(buffer.file_name)
        if path.startswith(self.packages.user_folder()) and path.endswith(".sublime-settings"):
            self.reload_settings()

    def retarget(self, view: View, path: str) -> None:
        self.associate(view.buffer, os.path.abspath(path))
        self.events.everyone("on_associate_buffer", self.api.Buffer(view.buffer.id))

    def revert(self, view: View) -> None:
        self._reread(view.buffer, "on_revert")

    def _reread(self, buffer: Buffer, event: str) -> None:
        if buffer.file_name is None:
            return
        stamp = files.stamp(buffer.file_name)
        try:
            content = files.read(buffer.file_name)
        except OSError:
            return
        self.put(buffer, content, stamp, event)

    def put(
        self, buffer: Buffer, content: files.Content, stamp: Optional[files.Stamp], event: str
    ) -> None:
        """Let a buffer hold what its file holds now, as one step of undo."""
        buffer.begin_step("revert", None)
        begin, end, middle = _difference(buffer.text.characters, content.text)
        buffer.change(begin, end, middle)
        buffer.end_step()
        buffer.encoding, buffer.line_endings = content.encoding, content.line_endings
        buffer.stamp, buffer.disk_text = stamp, content.text
        buffer.mark_clean()
        for view in list(buffer.views):
            if not self.switches.phantoms_survive_reload:
                view.erase_phantoms([phantom.id for phantom in view.own_phantoms])
            self.events.view(event, view)
        self.events.text(event, buffer)

    def check_files(self) -> None:
        """Reload the clean buffers whose files changed; buffers with edits stay as they are."""
        if not self.preferences().get("reload_file_on_change", True):
            return
        for buffer in list(self.buffers.values()):
            if _changed_on_disk(buffer):
                self._reread(buffer, "on_reload")

    def watch_files(self) -> None:
        """Look at open files, packages and settings every now and then, until the editor quits.

        Looks on the calling thread, which is not the UI thread; what it finds is read there.
        """
        while self.alive and self.switches.watch_seconds:
            self._watching.wait(self.switches.watch_seconds)
            if not self.alive:
                return
            # A folder that cannot be read now may be so the next time.
            with suppress(OSError):
                self._look_at_disk()

    def _look_at_disk(self) -> None:
        """Raises OSError."""
        if any(_changed_on_disk(buffer) for buffer in list(self.buffers.values())):
            self.queues.ui.post(self.check_files)
        if self.packages.differ() or self._edited_settings() or self.plugins.are_edited():
            self.queues.ui.post(self.check_packages)

    def stop_watching(self) -> None:
        self.alive = False
        self._watching.set()

    # Changing text

    def begin_edit(self, view: View, command: str, args: Any) -> int:
        """A token that lets its holder change this view until `end_edit`."""
        token = next(self._ids)
        nested = not view.buffer.begin_step(command, args)
        view.edit_tokens.append(token)
        view.buffer.edits.append(_Edit(view.buffer, nested))
        return token

    def end_edit(self, view: View, token: int) -> None:
        if token not in view.edit_tokens:
            return
        view.edit_tokens.remove(token)
        view.redraw()
        edit = view.buffer.edits.pop()
        if not edit.nested:
            view.buffer.end_step()
        self._tell_changes(view.buffer, edit)

    def _tell_changes(self, buffer: Buffer, edit: "_Edit") -> None:
        modified = buffer.change_count != edit.change_count
        selected = any(view.selection != edit.selections.get(view.id) for view in buffer.views)
        names = [("on_modified", modified), ("on_selection_modified", selected)]
        if modified:
            self._promote_previews(buffer)
            for window in list(self.windows):
                if window.question is not None and window.question.view in buffer.views:
                    window.question.changed()
            changes = [self.api.text_change(entry) for entry in edit.changes]
            self._tell_of_text(buffer, changes)
        for name, happened in names if self.switches.modified_first else reversed(names):
            if happened:
                for view in list(buffer.views):
                    self.events.view(name, view)

    def _tell_of_text(self, buffer: Buffer, changes: List[Any]) -> None:
        delay = self.switches.text_event_delay
        if delay is None:
            self.events.text("on_text_changed", buffer, changes)
            return
        buffer.untold += changes
        if len(buffer.untold) == len(changes):
            wait = self.switches.chance.uniform(*delay)
            self.queues.ui.post(lambda: self._tell_late(buffer), wait)

    def _tell_late(self, buffer: Buffer) -> None:
        changes, buffer.untold = buffer.untold, []
        if buffer.views:
            self.events.text("on_text_changed", buffer, changes)

    def _promote_previews(self, buffer: Buffer) -> None:
        for view in buffer.views:
            if view.sheet is not None and view.sheet.state != windows.TAB:
                view.sheet.window.promote(view.sheet)

    def change(self, view: View, begin: int, end: int, text: str) -> bool:
        """Change the text within an edit; read-only buffers stay as they are."""
        buffer = view.buffer
        if buffer.read_only:
            return False
        for edit in buffer.edits:
            edit.note(begin, end, text)
        return buffer.change(begin, end, text) is not None

    def select(self, view: View, regions: List[Any]) -> None:
        """Set a selection; listeners hear of it once the running edit or turn is over."""
        if not view.select(regions) or view.closed or view.buffer.edits:
            return
        if not view.selection_told:
            return
        view.selection_told = False
        self.queues.ui.post(lambda: self._tell_selection(view))

    def _tell_selection(self, view: View) -> None:
        view.selection_told = True
        for other in list(view.buffer.views):
            self.events.view("on_selection_modified", other)

    def type_text(self, view: View, text: str) -> None:
        """What a person types at the caret."""
        hooks = not self.switches.input_method or text == "\n"
        self.commands.run_text(view, "insert", {"characters": text}, hooks)

    def see_read_only(self, view: View) -> None:
        """Somebody makes a view read-only, or lets it be written into. Raises RuntimeError."""
        is_here = self.queues.ui.is_here() and self.events.tells_of_selection
        if is_here and self.switches.read_only_event_freezes:
            misuse = "set_read_only within on_selection_modified, in %r" % view.title()
            self.misuses.append(misuse)
            raise RuntimeError(misuse)

    # Talking to the user

    def message(self, text: str) -> None:
        self.messages.append(text)
        sys.stderr.write(text + "\n")

    def dialog(self, text: str, *choices: Any) -> Any:
        """The next of `answers`, by default the last choice; printed, so that it is seen."""
        answer = self.answers.pop(0) if self.answers else choices[-1]
        self.message("[dialog] %s -> %r" % (text, answer))
        return answer

    def show_status(self, window: Optional[Window], text: str) -> None:
        self.status_message = text
        self.status_count += 1
        if window is not None:
            window.status_message = text

    def hide_popup(self, view: View) -> None:
        popup, view.popup = view.popup, None
        if popup is not None and popup.on_hide is not None:
            self.queues.ui.post(popup.on_hide)

    # The end

    def quit(self) -> None:
        """Leave as Sublime does: no events for views; on_exit once the API is gone."""
        self.stop_watching()
        if self.switches.close_events:
            for window in list(self.windows):
                self.close_window(window)
        self.api.shut_down()
        self.events.everyone("on_exit")


class _Edit:
    """What a buffer looked like when an edit began."""

    def __init__(self, buffer: Buffer, nested: bool) -> None:
        self.buffer = buffer
        self.nested = nested
        self.change_count = buffer.change_count
        self.selections = {view.id: list(view.selection) for view in buffer.views}
        self.changes: List[Any] = []

    def note(self, begin: int, end: int, text: str) -> None:
        """Keep where a change is about to happen, in all units, for on_text_changed."""
        content = self.buffer.text
        low, high = content.clamp(min(begin, end)), content.clamp(max(begin, end))
        self.changes.append(
            (
                _historic(content, low),
                _historic(content, high),
                content.utf16_units(low, high),
                content.utf8_units(low, high),
                text,
            )
        )


def _historic(text: Any, point: int) -> Any:
    row, column = text.rowcol(point)
    return point, row, column, text.rowcol_utf16(point)[1], text.rowcol_utf8(point)[1]


def _changed_on_disk(buffer: Buffer) -> bool:
    if buffer.file_name is None or buffer.loading or buffer.is_dirty() or not buffer.views:
        return False
    stamp = files.stamp(buffer.file_name)
    return stamp is not None and stamp != buffer.stamp


def _difference(old: str, new: str) -> Any:
    """The stretch of old to replace: common beginnings and ends stay, and so do carets there."""
    head = _common(len(old), len(new), lambda count: old[:count] == new[:count])
    tail = _common(
        len(old) - head,
        len(new) - head,
        lambda count: old[len(old) - count :] == new[len(new) - count :],
    )
    return head, len(old) - tail, new[head : len(new) - tail]


def _common(first: int, second: int, same: Callable[[int], bool]) -> int:
    """The largest count for which `same` holds, found by halving."""
    low, high = 0, min(first, second)
    while low < high:
        middle = (low + high + 1) // 2
        if same(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _position(path: str, flags: int) -> Any:
    """Path, row and column (from 1, 0 where not given) of `path:row:column`."""
    if not flags & windows.ENCODED_POSITION:
        return path, 0, 0
    parts = path.rsplit(":", 2)
    numbers = [int(part) for part in parts[1:] if part.isdigit()]
    if len(parts) == 3 and len(numbers) == 2:
        return parts[0], numbers[0], numbers[1]
    head, _, last = path.rpartition(":")
    return (head, int(last), 1) if head and last.isdigit() else (path, 0, 0)
