"""What the companion asks about code, answered in Sublime Text: crosses from the loop to the UI
thread."""

from __future__ import annotations

from functools import partial
from typing import Any, Awaitable, Callable

import sublime

from ...base import background
from ...ide.code_queries import Findings, Query, Selection
from ...ide.editor import CodeKnowledge
from ..stories import Stories
from . import code_tools

# Does work on the UI thread, for the loop.
Ask = Callable[[Callable[[], Any]], Awaitable[Any]]


class SublimeCode(CodeKnowledge):
    """`keyboard_in` gives the view of a window in which the user types."""

    def __init__(
        self,
        ask: Ask,
        stories: Stories,
        keyboard_in: Callable[[sublime.Window], sublime.View | None],
    ) -> None:
        self._ask = ask
        self._stories = stories
        self._keyboard_in = keyboard_in

    async def look_up(self, window_id: int, query: Query) -> Findings:
        answer = await self._ask(partial(code_tools.begin_query, self._stories, window_id, query))
        return await background.await_answer(answer)

    async def selection(self, window_id: int, view_id: int) -> Selection:
        found: Selection = await self._ask(partial(code_tools.read_selection, view_id))
        return found

    async def unsaved_files(self, window_id: int) -> frozenset[str]:
        found: frozenset[str] = await self._ask(partial(code_tools.unsaved_paths, window_id))
        return found

    async def show_line(self, window_id: int, path: str, line: int) -> bool:
        def show_in_window() -> bool:
            window = code_tools.window_of(window_id)
            return _show_line(window, path, line, self._keyboard_in(window))

        return bool(await self._ask(show_in_window))


def _show_line(window: sublime.Window, path: str, line: int, keyboard: sublime.View | None) -> bool:
    """Tells whether the user sees it: not if that would cover `keyboard`, the view they type in."""
    view = window.find_open_file(path)
    if view is not None and view == keyboard:
        # The caret stays where they type.
        view.show_at_center(view.text_point(line - 1, 0))
        return True
    group = _group_for(window, view, keyboard)
    view = window.open_file(f"{path}:{line}", sublime.ENCODED_POSITION, group)
    if keyboard is not None and keyboard.is_valid():
        window.focus_view(keyboard)
    shown = window.get_view_index(view)[0]
    return window.active_view_in_group(shown) == view


def _group_for(
    window: sublime.Window, view: sublime.View | None, keyboard: sublime.View | None
) -> int:
    """The group of the file's tab; else one in which the user does not type, if there is one."""
    if view is not None:
        return int(window.get_view_index(view)[0])
    theirs = window.get_view_index(keyboard)[0] if keyboard is not None else -1
    others = [group for group in range(window.num_groups()) if group != theirs]
    return others[0] if others and theirs >= 0 else window.active_group()
