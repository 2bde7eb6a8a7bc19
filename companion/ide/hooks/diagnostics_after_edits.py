"""Problems that the tools of the editor find in a file after a CLI has written it: the model reads
them with the result of its edit. The companion's loop owns it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Sequence

from ...base.background import in_thread
from ..context import ContextStore
from ..editor import EditorError, EditWatch, NewDiagnostics
from ..extension_forms import Moment
from ..hook_events import HookEvent
from ..session import Session
from .hook_answers import NOTHING, HookAnswer, takes_context

# Seconds for the editor before an edit, and for the disk; for its tools to report; and between two
# looks whether they have.
PATIENCE, REPORTED, LOOK = 0.3, 2.0, 0.05
# Lines for the model, and characters of one.
MAX_LINES, MAX_LINE = 20, 300
HEADING = "After this edit the tools of the editor report these problems in {}, which are new:"
MORE = "({} more are left out.)"


class DiagnosticsAfterEdits:
    """A listener of the window's HookDesk. `context` knows which files the CLIs may be told."""

    def __init__(self, window_id: int, editor: EditWatch, context: ContextStore) -> None:
        self._window_id = window_id
        self._editor = editor
        self._context = context
        self.is_on = True
        # The editor's paths of files that CLIs are about to write.
        self._watched: set[str] = set()

    async def answer_hook(self, event: HookEvent, session: Session | None) -> HookAnswer:
        paths = {self._context.path_maps.to_local(path) for path in event.written_paths()}
        form = event.cli.extension
        if session is not None and form is not None and form.finds_problems:
            return NOTHING
        if self.is_on and event.moment is Moment.TOOL_BEGINS:
            for path in paths:
                await self._watch_file(path)
        elif event.moment is Moment.TOOL_ENDED:
            known = paths & self._watched
            self._watched -= known
            if known and self.is_on and takes_context(event):
                return await self._diagnostics_answer(known.pop())
        return NOTHING

    async def _watch_file(self, path: str) -> None:
        self._watched.discard(path)
        with suppress(EditorError, asyncio.TimeoutError):
            watched = self._editor.watch_edit(self._window_id, path)
            if await asyncio.wait_for(watched, PATIENCE):
                self._watched.add(path)

    async def _diagnostics_answer(self, path: str) -> HookAnswer:
        with suppress(EditorError, asyncio.TimeoutError):
            if not await in_thread(partial(self._context.gate().reason_to_hide, path), PATIENCE):
                return HookAnswer(
                    context=self._report_text(path, (await self._wait_for_report(path)).lines)
                )
        return NOTHING

    async def _wait_for_report(self, path: str) -> NewDiagnostics:
        """Raises EditorError, asyncio.TimeoutError."""
        loop = asyncio.get_running_loop()
        end, is_last = loop.time() + REPORTED, False
        while True:
            asked = self._editor.new_diagnostics(self._window_id, path, is_last)
            found = await asyncio.wait_for(asked, max(end - loop.time(), PATIENCE))
            if found.is_final:
                return found
            await asyncio.sleep(LOOK)
            is_last = loop.time() > end

    def _report_text(self, path: str, found: Sequence[str]) -> str:
        if not found:
            return ""
        lines = [
            line if len(line) <= MAX_LINE else line[:MAX_LINE] + "..." for line in found[:MAX_LINES]
        ]
        more = [MORE.format(len(found) - MAX_LINES)] if len(found) > MAX_LINES else []
        name = self._context.path_maps.to_remote(path)
        return "\n".join([HEADING.format(name), *lines, *more])
