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
from . import code_tools, shown_lines

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
            return shown_lines.show_line(window, path, line, self._keyboard_in(window))

        return bool(await self._ask(show_in_window))
