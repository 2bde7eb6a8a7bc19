"""Implements the engine's port to open files: tabs with unsaved changes are read and written as
they are. The engine's loop asks, the UI thread answers."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import partial
from typing import Callable, Iterable, Mapping, Sequence, TypeVar

import sublime

from ...agent.open_files import NeedsUser, NotSaved, OpenFiles, Saved, Withheld
from ...base.agent_rules import AgentRules
from ...base.background import in_thread
from ...base.log import logger
from ...base.signal import ValueSignal
from ...base.text_digest import text_digest
from .. import application, file_reading, queues, settings, sharing_settings, texts

T = TypeVar("T")
# Seconds for a disk to say what a path stands for.
PATIENCE = 10.0
# The most tabs whose files are looked at beside a command.
MOST_TABS = 200

Rule = Callable[[str], bool]


class OpenTabs(OpenFiles):
    """The open files of the editor. `accept_edit` is called on the UI thread, all else on the
    loop."""

    are_there = True

    def __init__(self) -> None:
        # By the path of an edit, the digests of the unsaved texts that the user lets it replace, by
        # the names of their tabs. UI thread only.
        self._accepted: dict[str, dict[str, str]] = {}
        # A tab whose text is about to be replaced. UI thread only.
        self.replacements = ValueSignal[sublime.View]()

    def accept_edit(self, path: str) -> None:
        """The user has accepted an edit of the file, with what is unsaved in its tab now. Which of
        these tabs is the file's is seen when the edit is saved."""
        found = [(tab, texts.unsaved_view(tab)) for tab in (path, *_other_paths(path))]
        digests = {tab: text_digest(texts.text_of(view)) for tab, view in found if view is not None}
        if digests:
            self._accepted[path] = digests

    async def unsaved_text(self, path: str) -> str | None:
        name = await _name_in_tabs(path)
        rules, text = await _on_ui_thread(partial(_look_at_tab, path, name))
        if await in_thread(lambda: any(rule(path) for rule in rules), PATIENCE):
            raise Withheld
        return text

    async def save_text(self, path: str, text: str) -> Saved | None:
        accepted: dict[str, str] = {}
        # An acceptance counts for one save, also if that fails before it looks at the tab.
        queues.on_ui_thread(lambda: accepted.update(self._accepted.pop(path, {})))
        name = await _name_in_tabs(path)
        return await _on_ui_thread(partial(self._save_tab, name, text, accepted))

    async def open_paths(self, folders: Sequence[str]) -> tuple[str, ...]:
        found = await _on_ui_thread(_paths_with_rules)
        return await in_thread(partial(_shared_paths, found, folders), PATIENCE)

    async def excludes_file(self, path: str) -> bool:
        rules = await _on_ui_thread(lambda: list(map(_exclusion_rule, _windows_of(path))))
        return await in_thread(lambda: any(rule(path) for rule in rules), PATIENCE)

    async def agent_rules(self) -> AgentRules:
        return await _on_ui_thread(lambda: settings.current_settings().agent_rules)

    async def asks_before_edits(self, folder: str) -> bool:
        return await _on_ui_thread(lambda: any(map(_asks_for_edits, _windows_of(folder))))

    def _save_tab(self, name: str, text: str, accepted: Mapping[str, str]) -> Saved | None:
        """Save the text to the tab with the name, in one step, so that nobody types in between."""
        view = texts.unsaved_view(name)
        if view is None:
            return None
        before = texts.text_of(view)
        if accepted.get(name) != text_digest(before):
            raise NeedsUser
        self.replacements.emit(view)
        if view.is_read_only() or not texts.replace_theirs(view, text):
            raise NotSaved
        view.run_command("save", {"async": False})
        if view.is_dirty():
            raise NotSaved
        return Saved(before, texts.text_of(view))


async def unsaved_text(path: str) -> str | None:
    """The text of a tab with unsaved changes of the file, also if it was opened by another path;
    None if there is none. For stories."""
    others = _other_paths(path)
    name = await file_reading.in_time(partial(_same_file, path, others), path) if others else path
    view = texts.unsaved_view(name)
    return None if view is None else texts.text_of(view)


async def _name_in_tabs(path: str) -> str:
    """The path by which that tab was opened; the same path if there is none. For the loop. Raises
    asyncio.TimeoutError."""
    others = await _on_ui_thread(partial(_other_paths, path))
    return await in_thread(partial(_same_file, path, others), PATIENCE) if others else path


def _other_paths(path: str) -> list[str]:
    """Other paths that may lead to the file, of tabs with unsaved changes; none if a tab has it by
    this path. UI thread only."""
    if texts.unsaved_view(path) is not None:
        return []
    views = [view for window in application.all_windows() for view in window.views()]
    dirty = [view.file_name() or "" for view in views if view.is_dirty()]
    return [tab for tab in dirty if os.path.basename(tab) == os.path.basename(path)]


def _same_file(path: str, others: Iterable[str]) -> str:
    """The first of the others that leads to the same file, else the path. Waits for the disk."""
    return next((other for other in others if _is_same(other, path)), path)


def _is_same(path: str, other: str) -> bool:
    with suppress(OSError, ValueError):
        return os.path.samefile(path, other)
    return False


def _look_at_tab(path: str, name: str) -> tuple[list[Rule], str | None]:
    """The rules for the file, and the text of the tab of this name if that has unsaved changes that
    may be told."""
    view, windows = texts.unsaved_view(name), _windows_of(path)
    home = view.window() if view is not None else None
    if home is not None and home not in windows:
        windows.append(home)
    is_told = view is not None and not any(map(sharing_settings.is_paused, windows))
    text = texts.text_of(view) if view is not None and is_told else None
    return [sharing_settings.exclusion_rule(window) for window in windows], text


def _paths_with_rules() -> list[tuple[str, list[Rule]]]:
    """The files of all tabs, each with the rules that exclude files. UI thread only."""
    views = [view for window in application.all_windows() for view in window.views()]
    paths = [path for path in dict.fromkeys(view.file_name() for view in views) if path]
    return [(path, list(map(_exclusion_rule, _windows_of(path)))) for path in paths[:MOST_TABS]]


def _shared_paths(
    found: Iterable[tuple[str, list[Rule]]], folders: Sequence[str]
) -> tuple[str, ...]:
    """Those in the folders (real paths) that no rule excludes. Waits for the disk."""
    within = tuple(os.path.join(folder, "") for folder in folders)
    return tuple(
        path
        for path, rules in found
        if os.path.realpath(path).startswith(within) and not any(rule(path) for rule in rules)
    )


def _windows_of(path: str) -> list[sublime.Window]:
    """The windows of whose folders one holds the file or folder, else all."""
    windows = application.all_windows()
    real = os.path.join(path, "")
    found = [
        window
        for window in windows
        if any(real.startswith(os.path.join(each, "")) for each in window.folders())
    ]
    return found or list(windows)


def _exclusion_rule(window: sublime.Window) -> Rule:
    return sharing_settings.exclusion_rule(window, is_outside_too=False)


def _asks_for_edits(window: sublime.Window) -> bool:
    return settings.current_settings(window).ask_for_edits


def _on_ui_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Run `work` there; the loop awaits the result."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run_work() -> None:
        if future.done():
            return
        outcome = _work_outcome(work, future)
        # If the loop is closed, nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if future.done() else outcome())

    queues.on_ui_thread(run_work)
    return future


def _work_outcome(work: Callable[[], T], future: asyncio.Future[T]) -> Callable[[], None]:
    """The boundary of these callbacks: a failure of ours is a file of which nothing is known. Gives
    the function that settles the future, to be called in its loop."""
    try:
        return partial(future.set_result, work())
    except (NeedsUser, NotSaved) as error:
        return partial(future.set_exception, error)
    except Exception:
        logger.exception("the editor failed")
        return partial(future.set_exception, NotSaved())
