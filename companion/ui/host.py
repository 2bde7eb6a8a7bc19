"""The companion inside the plugin host: what the listeners and commands of plugin.py do.

All of it runs on the UI thread, unless a method says otherwise.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any, Mapping

import sublime

from ..base import log
from ..base.log import logger
from ..ide import discovery
from ..ide.events import (
    DiffAccepted,
    DiffEdited,
    DiffRejected,
    DiffsRestored,
    FileAdded,
    FileAsked,
    FileClosed,
    FileFocused,
    SelectionChanged,
    TrustChanged,
    WindowsChanged,
)
from ..ide.file_content import Original
from ..ide.service import Companion
from . import diff_views, terminal, views
from .diff_views import Taken
from .editor import SETTINGS as SETTINGS
from .editor import SublimeEditor

# Milliseconds between looks at which windows and folders there are: neither every closed window
# nor a changed folder has an event.
POLL = 1000
# Tabs described at a time, so that a window with thousands does not hold up the UI thread.
CHUNK = 20
# Milliseconds without an edit after which the text of a proposal is kept, and those since the first
# one after which it is kept however fast the user types: what a crash may cost.
AT_REST = 500
AT_MOST = 2000
CHANGE_TAG = "GeminiCompanion"


class Host:
    """One companion, from `start` to `stop`; both can be called again and again.

    Until the start and after the stop, every other method does nothing.
    """

    def __init__(self) -> None:
        self.editor = SublimeEditor()
        self.companion: Companion | None = None
        self.log: log.RecentLines | None = None
        self._windows: Mapping[int, tuple[str, ...]] = {}
        self._generation = 0
        # When the first edit was made that is not kept yet, by the view's id; the worker's own.
        self._unkept: dict[int, float] = {}

    def start(self) -> None:
        settings = sublime.load_settings(SETTINGS)
        settings.clear_on_change(CHANGE_TAG)
        settings.add_on_change(CHANGE_TAG, self._settings_changed)
        self.log = log.start(str(settings.get("log_level")))
        self._windows = {}
        self._generation += 1
        state_path = os.path.join(sublime.cache_path(), "GeminiCompanion", "state.json")
        self.companion = Companion(self.editor, os.getppid(), state_path)
        self._settings_changed()
        self.companion.start()
        self._poll(self._generation)

    def stop(self) -> None:
        sublime.load_settings(SETTINGS).clear_on_change(CHANGE_TAG)
        self._generation += 1
        for window in sublime.windows():
            self._keep_diffs(window)
        diff_views.forget_kept()
        companion, self.companion = self.companion, None
        if companion is not None:
            # Nobody waits here: the next companion does, on its own thread.
            companion.stop(join=0)

    def quit(self) -> None:
        """The editor quits and its API is gone: take the files away with plain os calls."""
        discovery.remove_all(os.getppid())
        companion, self.companion = self.companion, None
        if companion is not None:
            companion.stop(join=0.2)

    @property
    def is_running(self) -> bool:
        return self.companion is not None and self.companion.is_running

    def look_at_windows(self) -> None:
        """Tell the companion of windows and folders that are new, and of windows that are gone."""
        if self.companion is None:
            return
        windows = {window.id(): views.folders(window) for window in sublime.windows()}
        if windows != self._windows:
            new = set(windows) - set(self._windows)
            self._windows = windows
            self.companion.post(WindowsChanged(windows))
            for window_id in new:
                window = sublime.Window(window_id)
                self.companion.post(DiffsRestored(window_id, diff_views.adopt(window)))
                self._add_files(window, window.views())
        for diff in diff_views.vanished() if windows else []:
            diff_views.put_away(diff, None, diff_views.REJECTED)

    def activated(self, view: sublime.View) -> None:
        self.look_at_windows()
        before = self.editor.keyboard
        # A preview that was replaced by the next one is not always said to be closed.
        if self.companion is not None and before is not None and not before.is_valid():
            self.companion.post(FileClosed(before.id()))
        element = view.element()
        # The palette has the keyboard only for a moment; a terminal's panel keeps it.
        if element is None or element.endswith(":output"):
            self.editor.keyboard = view
        window = view.window()
        if window is not None and diff_views.is_diff(view):
            diff_views.show(window, view)
        self._focus(view)

    def changed(self, view: sublime.View) -> None:
        """Cursor, selection or file of the view are others; any thread."""
        window, companion = view.window(), self.companion
        file = views.describe(view)
        if companion is not None and window is not None and file is not None:
            companion.post(SelectionChanged(window.id(), file))

    def appeared(self, view: sublime.View) -> None:
        """The view has a file now, or is in another window."""
        window, companion = view.window(), self.companion
        if companion is None or window is None:
            return
        if window.active_view() == view:
            self._focus(view)
        else:
            file = views.describe(view)
            if file is not None:
                companion.post(FileAdded(window.id(), file))

    def moved(self, view: sublime.View) -> None:
        window = view.window()
        if self.companion is not None and window is not None:
            self.companion.post(FileClosed(view.id(), still_in=window.id()))
        self.appeared(view)

    def closes(self, view: sublime.View) -> None:
        """The view is about to be closed by the user: for a diff, that is a rejection."""
        if self.is_running:
            self.decide(view, accept=False)
            return
        taken = diff_views.take(view)
        if taken is not None:
            sublime.set_timeout(lambda: diff_views.put_away(taken, None, "your edits"), 0)

    def edited(self, view: sublime.View) -> None:
        """The text of a view is another; on the worker. That of a diff is kept once it is at rest,
        or AT_MOST after the first edit."""
        if not diff_views.is_diff(view):
            return
        count = view.change_count()
        since = self._unkept.setdefault(view.id(), time.monotonic())

        def keep() -> None:
            is_late = (time.monotonic() - since) * 1000 >= AT_MOST - AT_REST
            # A later text than this one may have been kept meanwhile.
            is_unkept = self._unkept.get(view.id()) == since
            if is_unkept and (is_late or view.change_count() == count):
                del self._unkept[view.id()]
                self._keep_diff(view)

        sublime.set_timeout_async(keep, AT_REST)

    def _keep_diffs(self, window: sublime.Window) -> None:
        """What was typed in the last moment."""
        for view in diff_views.diffs(window):
            self._keep_diff(view)

    def _keep_diff(self, view: sublime.View) -> None:
        companion = self.companion
        if companion is None or not companion.is_running:
            return
        diff = diff_views.keep(view)
        if diff is not None and diff.text is not None:
            companion.post(DiffEdited(diff.window.id(), diff.session_id, diff.path, diff.text))

    def closed(self, view: sublime.View) -> None:
        if self.companion is not None:
            self.companion.post(FileClosed(view.id()))

    def accept(self, window: sublime.Window, view: sublime.View) -> None:
        """Accept a diff; where something speaks against it, ask first."""
        companion = self._listening()
        if companion is None:
            return

        def reply(present: Original) -> None:
            """On the companion's thread."""
            sublime.set_timeout(lambda: self._accept(window, view, present), 0)

        # A disk can be slow: neither the UI thread nor the worker of all packages may wait for it.
        companion.post(FileAsked(diff_views.path_of(view), reply))

    def _accept(self, window: sublime.Window, view: sublime.View, present: Original) -> None:
        doubts = diff_views.doubts(view, present) if diff_views.is_diff(view) else []
        if not doubts:
            self.decide(view, accept=True)
            return

        def answer(index: int) -> None:
            if index == 0 and diff_views.is_diff(view):
                diff_views.show_original(view, present)
                diff_views.show(window, view)
            elif index == 1:
                self.decide(view, accept=True)

        sentence = " ".join(doubts)
        items = [
            ["See the difference", sentence],
            ["Accept all the same", "Gemini CLI writes the text over the file."],
            ["Go back", "Nothing is sent, nothing is changed."],
        ]
        window.show_quick_panel(items, answer, placeholder=sentence)
        self.editor.tell(sentence)

    def _listening(self) -> Companion | None:
        """Who hears of a decision; where it has stopped, the user is told."""
        if self.is_running:
            return self.companion
        self.editor.tell('It has stopped. Run "Gemini Companion: Restart", then decide.')
        return None

    def decide(self, view: sublime.View, accept: bool) -> None:
        """Accept or reject a diff, if nobody else has, and close it."""
        companion = self._listening()
        taken = self._claim(view) if companion is not None else None
        if companion is None or taken is None:
            return
        window_id, session_id, path = taken.window.id(), taken.session_id, taken.path
        if accept:
            # Without a text, the CLI writes its own proposal (contract B1.4).
            companion.post(DiffAccepted(window_id, session_id, path, taken.text or ""))
            close = diff_views.close
        else:
            companion.post(DiffRejected(window_id, session_id, path))
            close = partial(diff_views.put_away, name=diff_views.REJECTED)
        keyboard = self.editor.keyboard_in(taken.window)
        # Closing views inside of an event that closes one may close others (sublime.md 4.9).
        sublime.set_timeout(lambda: close(taken, keyboard), 0)

    def release(self, view: sublime.View) -> None:
        """Give up a diff for which no CLI waits any more; its text stays as a tab of the user's. A
        CLI that does wait takes it for a rejection."""
        taken = self._claim(view)
        if taken is None:
            return
        if self.companion is not None:
            self.companion.post(DiffRejected(taken.window.id(), taken.session_id, taken.path))
        keyboard = self.editor.keyboard_in(taken.window)
        sublime.set_timeout(lambda: diff_views.release(taken, keyboard), 0)

    def _claim(self, view: sublime.View) -> Taken | None:
        """Claim the decision on a diff; None where nobody waits for it, or where it is none."""
        taken = diff_views.take(view)
        if taken is None or taken.window.is_valid():
            return taken
        sublime.set_timeout(lambda: diff_views.release(taken, None), 0)
        self.editor.tell("The window of its CLI is closed; the text stays here, as a new tab.")
        return None

    def terminus_arguments(
        self, window: sublime.Window, arguments: Mapping[str, Any] | None
    ) -> dict[str, Any] | None:
        """The arguments with which `terminus_open` leads the CLI to this window; None for those
        it has."""
        if not sublime.load_settings(SETTINGS).get("terminus_env", True):
            return None
        return terminal.with_environment(arguments or {}, self.environment(window))

    def environment(self, window: sublime.Window) -> Mapping[str, str]:
        if self.companion is None:
            return {}
        return self.companion.environments.get(window.id(), {})

    def run_cli(self, window: sublime.Window, folder: str) -> None:
        """Start Gemini CLI in the folder: in Terminus, else in the system's terminal."""
        command = self._words("cli_command") or ["gemini"]
        environment = self.environment(window)
        if terminal.has_terminus():
            terminal.run_in_terminus(window, command, folder, environment)
            return
        line = self._words("terminal_command")

        def run() -> None:
            try:
                terminal.run_in_system(line, command, folder, environment)
            except terminal.NoTerminal as error:
                logger.error("%s", error)
                self.editor.tell(str(error))

        sublime.set_timeout_async(run, 0)

    def _poll(self, generation: int) -> None:
        if generation == self._generation:
            # First the next look, so that one that fails is not the last.
            sublime.set_timeout(lambda: self._poll(generation), POLL)
            self.look_at_windows()

    def _settings_changed(self) -> None:
        log.set_level(str(sublime.load_settings(SETTINGS).get("log_level")))
        if self.companion is not None:
            is_trusted = sublime.load_settings(SETTINGS).get("is_trusted")
            self.companion.post(TrustChanged(is_trusted if isinstance(is_trusted, bool) else None))

    def _words(self, key: str) -> list[str]:
        """A setting that is a command line, as a list of its words."""
        value = sublime.load_settings(SETTINGS).get(key)
        return [str(word) for word in value] if isinstance(value, list) else []

    def _focus(self, view: sublime.View) -> None:
        window, companion = view.window(), self.companion
        file = views.describe(view)
        if companion is not None and window is not None and file is not None:
            companion.post(FileFocused(window.id(), file))

    def _add_files(self, window: sublime.Window, views: list[sublime.View]) -> None:
        """Tell of the tabs that were there before us, the active one as focused."""
        for view in views[:CHUNK]:
            if view.is_valid():
                self.appeared(view)
        if views[CHUNK:]:
            sublime.set_timeout(lambda: self._add_files(window, views[CHUNK:]), 0)
