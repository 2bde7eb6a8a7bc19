"""The editor as the core sees it: every request crosses from the loop to the UI thread here."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import partial
from typing import Callable, TypeVar

import sublime

from ..base.log import logger
from ..ide import file_content
from ..ide.editor import ClosedDiff, Editor, EditorError, Proposal
from . import diff_views

T = TypeVar("T")

SETTINGS = "GeminiCompanion.sublime-settings"
# What a tab is called whose text reached no file.
YOURS = "your edits"
GONE = "Gemini CLI is gone. Its diff stays: decide for the next CLI, or release it."

RESTORED = "The proposal for {} is as you had it last; undo brings back what its tab had."


class SublimeEditor(Editor):
    """What the core may ask. `keyboard` is the view activated last; the UI thread owns it."""

    def __init__(self) -> None:
        self.keyboard: sublime.View | None = None

    def keyboard_in(self, window: sublime.Window) -> sublime.View | None:
        """The view of the window in which the user types; a terminal's panel can be one."""
        keyboard = self.keyboard
        if keyboard is not None and keyboard.is_valid() and keyboard.window() == window:
            return keyboard
        return window.active_view()

    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        present = await file_content.in_time(file_content.read, proposal.path)
        await _on_ui_thread(partial(self._open, window_id, proposal, present))

    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> ClosedDiff | None:
        return await _on_ui_thread(partial(self._close, window_id, session_id, path, decided))

    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        return await _on_ui_thread(partial(self._restore, window_id, session_id, path, saved))

    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        def show() -> None:
            if diff_views.set_orphaned(sublime.Window(window_id), session_id, orphaned):
                if orphaned:
                    self.tell(GONE)

        sublime.set_timeout(show, 0)

    def return_text(self, window_id: int, path: str, text: str) -> None:
        def show() -> None:
            window = sublime.Window(window_id)
            home = window if window.is_valid() else sublime.active_window()
            view = diff_views.open_text(home, path, text)
            view.set_name(f"{os.path.basename(path)} ({YOURS})")

        sublime.set_timeout(show, 0)

    def tell(self, sentence: str) -> None:
        message = "Gemini Companion: " + sentence
        sublime.set_timeout(lambda: sublime.status_message(message), 0)

    def _open(self, window_id: int, proposal: Proposal, present: file_content.Original) -> None:
        window = sublime.Window(window_id)
        if not window.is_valid():
            raise EditorError("The editor's window is closed.")
        take_focus = bool(sublime.load_settings(SETTINGS).get("focus_diff", False))
        keyboard = self.keyboard_in(window)
        diff_views.open_diff(window, proposal, present, keyboard, take_focus)
        if not take_focus:
            # Panels are not sure to be activated again.
            self.keyboard = keyboard
        if present.note or present.warning:
            self.tell(present.note or present.warning)

    def _close(
        self, window_id: int, session_id: str, path: str, decided: bool
    ) -> ClosedDiff | None:
        window = sublime.Window(window_id)
        view = diff_views.find(window, session_id, path)
        taken = diff_views.take(view) if view is not None else None
        if taken is None:
            return None
        keyboard = self.keyboard_in(window)
        if decided:
            diff_views.close(taken, keyboard)
        else:
            diff_views.put_away(taken, keyboard, "your edits of a closed proposal")
        return ClosedDiff(taken.text, taken.is_edited)

    def _restore(self, window_id: int, session_id: str, path: str, saved: str | None) -> str | None:
        view = diff_views.find(sublime.Window(window_id), session_id, path)
        if view is None:
            return None
        if diff_views.catch_up(view, saved):
            self.tell(RESTORED.format(os.path.basename(path)))
        diff = diff_views.keep(view)
        return diff.text if diff is not None else None


def _on_ui_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Crossing B: run `work` on the UI thread; to be awaited. Raises what it raises as EditorError.

    The UI thread never waits for the loop: a loop that is gone is no concern of its any more.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        if not future.done():
            _settle(loop, future, _outcome(work, future))
        # Else nobody waits any more: the companion stops.

    sublime.set_timeout(run, 0)
    return future


def _outcome(work: Callable[[], T], future: asyncio.Future[T]) -> Callable[[], None]:
    """The boundary of UI callbacks: a failure becomes the answer, and a line in the
    log. Gives what settles the future, to be called in its loop."""
    try:
        return partial(future.set_result, work())
    except EditorError as error:
        return partial(future.set_exception, error)
    except Exception:
        logger.exception("the editor failed")
        sorry = EditorError("The editor failed; the log of Gemini Companion tells more.")
        return partial(future.set_exception, sorry)


def _settle(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], outcome: Callable[[], None]
) -> None:
    """Give the outcome to whoever still waits; a loop that is closed has nobody."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(lambda: None if future.done() else outcome())
