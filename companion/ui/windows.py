"""Which windows, folders and settings there are: looked at now and then, and told to the core."""

from __future__ import annotations

from typing import Callable, Mapping, Sequence

import sublime

from ..base import log
from ..base.log import logger
from ..ide.events import DiffsRestored, TrustChanged, WindowsChanged
from ..ide.service import Companion
from . import queues, settings, views
from .editor import SublimeEditor
from .files import Files
from .review import restoring
from .review.reviews import Reviews

# Milliseconds between looks: neither every closed window nor a changed folder has an event
# (docs/sublime.md 4.6).
POLL = 1000
CHANGE_TAG = "GeminiCompanion"


class Windows:
    """What one companion is told of them, from `start` to `stop`; on the UI thread. `looks` are
    called with each look, too."""

    def __init__(
        self,
        companion: Companion,
        editor: SublimeEditor,
        files: Files,
        reviews: Reviews,
        looks: Sequence[Callable[[], None]],
    ) -> None:
        self._companion = companion
        self._editor = editor
        self._files = files
        self._reviews = reviews
        self._looks = looks
        self._folders: Mapping[int, tuple[str, ...]] = {}
        self._trusted: dict[int, bool | None] = {}
        # The sentences on bad values that were told already.
        self._problems: set[str] = set()
        self._is_stopped = False

    def start(self) -> None:
        stored = sublime.load_settings(settings.FILE)
        stored.clear_on_change(CHANGE_TAG)
        stored.add_on_change(CHANGE_TAG, self.look)
        self._poll()

    def stop(self) -> None:
        self._is_stopped = True
        sublime.load_settings(settings.FILE).clear_on_change(CHANGE_TAG)

    def look(self) -> None:
        """Tell the companion of windows, folders and settings that are others now."""
        windows = sublime.windows()
        self._look_at_folders(windows)
        self._look_at_settings(windows)
        for look in self._looks:
            look()

    def _look_at_folders(self, windows: list[sublime.Window]) -> None:
        folders = {window.id(): views.folders(window) for window in windows}
        if folders == self._folders:
            return
        known, self._folders = self._folders, folders
        self._companion.post(WindowsChanged(folders))
        for window in windows:
            if window.id() not in known:
                self._companion.post(DiffsRestored(window.id(), restoring.adopt(window)))
                self._reviews.resume(window)
                self._files.add_all(window.views())

    def _look_at_settings(self, windows: list[sublime.Window]) -> None:
        found = {window.id(): settings.read(window) for window in windows}
        log.set_level(settings.read()[0].log_level)
        trusted = {window_id: read.is_trusted for window_id, (read, _) in found.items()}
        for window_id, is_trusted in trusted.items():
            if self._trusted.get(window_id) != is_trusted:
                self._companion.post(TrustChanged(window_id, is_trusted))
        self._trusted = trusted
        problems = {problem for _, of_window in found.values() for problem in of_window}
        for problem in sorted(problems - self._problems):
            logger.warning("%s", problem)
            self._editor.tell(problem)
        self._problems = problems

    def _poll(self) -> None:
        if not self._is_stopped:
            # First the next look, so that one that fails is not the last.
            queues.on_ui_thread(self._poll, POLL)
            self.look()
