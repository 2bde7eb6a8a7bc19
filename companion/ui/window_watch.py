"""Checks windows, folders and settings from time to time, and reports them to the companion."""

from __future__ import annotations

from functools import partial
from typing import Callable, Iterable, Mapping, Sequence

import sublime

from ..base import log
from ..base.log import logger
from ..ide.companion import Companion
from ..ide.events import (
    DiffsRestored,
    TreeFolders,
    WindowsChanged,
    WindowSettings,
    WindowSettingsChanged,
)
from . import queues, settings, sharing_settings, views
from .files import Files
from .known_trees import KnownTrees
from .review import restoring
from .review.reviews import Reviews
from .review.unopened_tabs import AT_START, UnopenedTabs
from .review.unopened_texts import UnopenedTexts
from .stories import Stories
from .user_messages import UserMessages

# Milliseconds between checks: not every closed window has an event, and changed folders have none
# (docs/sublime.md 4.6).
POLL = 1000
CHANGE_TAG = "GeminiCompanion"
# What the sentences about invalid values are about.
INVALID = "settings"


class WindowWatch:
    """Reports them to one companion, from `start` to `stop`; on the UI thread. `polls` are called
    at each check as well."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        messages: UserMessages,
        files: Files,
        reviews: Reviews,
        unopened: UnopenedTexts,
        tabs: UnopenedTabs,
        trees: KnownTrees,
        polls: Sequence[Callable[[], None]],
    ) -> None:
        self._companion = companion
        self._stories = stories
        self._messages = messages
        self._files = files
        self._reviews = reviews
        self._unopened = unopened
        self._tabs = tabs
        self._trees = trees
        self._polls = polls
        self._folders: Mapping[int, tuple[str, ...]] = {}
        # Those of the work trees that belong to each window.
        self._tree_folders: Mapping[int, tuple[TreeFolders, ...]] = {}
        self._settings: Mapping[int, WindowSettings] = {}
        # The sentences about invalid values that were shown already.
        self._problems: set[str] = set()
        self._is_stopped = False
        self._forget_trees: Callable[[], None] = lambda: None

    def start(self) -> None:
        stored = sublime.load_settings(settings.FILE)
        stored.clear_on_change(CHANGE_TAG)
        stored.add_on_change(CHANGE_TAG, self.check_windows)
        # The trees outlive this.
        self._forget_trees = self._trees.changes.subscribe(self.check_windows)
        self._poll_windows()

    def stop(self) -> None:
        self._is_stopped = True
        self._tell_folders()
        sublime.load_settings(settings.FILE).clear_on_change(CHANGE_TAG)
        self._forget_trees()

    def check_windows(self) -> None:
        """Report windows, folders and settings that have changed."""
        windows = sublime.windows()
        found = {window.id(): settings.read_settings(window) for window in windows}
        wanted = {
            window.id(): sharing_settings.window_settings(window, found[window.id()][0])
            for window in windows
        }
        # Before the folders: a window that was closed is not known any more by then.
        for window_id, mine in wanted.items():
            if window_id in self._folders and self._settings.get(window_id) != mine:
                self._companion.post(WindowSettingsChanged(window_id, mine))
        self._settings = wanted
        self._check_folders(windows)
        self._report_problems(problem for _, mine in found.values() for problem in mine)
        log.set_level(settings.current_settings().log_level)
        for poll in self._polls:
            # One by one, so that keystrokes come between.
            queues.on_ui_thread(partial(self._run_poll, poll))

    def _run_poll(self, poll: Callable[[], None]) -> None:
        if not self._is_stopped:
            poll()

    def _check_folders(self, windows: list[sublime.Window]) -> None:
        folders = {window.id(): views.window_folders(window) for window in windows}
        trees = {window.id(): self._trees.as_told_of(window) for window in windows}
        if folders == self._folders and trees == self._tree_folders:
            return
        if folders != self._folders:
            self._stories.begin(self._trees.look_again())
        known, self._folders, self._tree_folders = self._folders, folders, trees
        self._companion.post(WindowsChanged(folders, self._settings, trees))
        for window in windows:
            if window.id() not in known:
                found = restoring.adopt_diffs(window) + self._unopened.adopt_kept(window)
                self._companion.post(DiffsRestored(window.id(), found))
                self._tabs.open_next(window, delay_ms=AT_START)
                self._reviews.resume_reviews(window)
                self._files.add_all(window.views())

    def _tell_folders(self) -> None:
        """The next companion knows a window by its folders of this moment, which may have changed
        since the last check."""
        present = {window.id(): window for window in sublime.windows()}
        folders = {id: views.window_folders(present[id]) for id in self._folders if id in present}
        if folders != self._folders:
            trees = {id: self._trees.as_told_of(present[id]) for id in folders}
            self._companion.post(WindowsChanged(folders, self._settings, trees))

    def _report_problems(self, found: Iterable[str]) -> None:
        """Report invalid values, once; and again those that are left when others are mended."""
        problems = set(found)
        if problems == self._problems:
            return
        for problem in sorted(problems - self._problems):
            logger.warning("%s", problem)
        self._messages.withdraw_warning(INVALID)
        if problems:
            # What the user has written just now comes first.
            first, *rest = sorted(
                problems, key=lambda problem: (problem in self._problems, problem)
            )
            more = f" The log has {len(rest)} more." if rest else ""
            self._messages.warn_user(first + more, INVALID)
        self._problems = problems

    def _poll_windows(self) -> None:
        if not self._is_stopped:
            # The next check is scheduled first, so that a failed one is not the last.
            queues.on_ui_thread(self._poll_windows, POLL)
            self.check_windows()
